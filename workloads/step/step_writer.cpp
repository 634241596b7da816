#include <algorithm>
#include <utility>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

StepWriter::StepWriter(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order, const StepPipeline& placed,
                       const StepOptions& chosen)
    : pipeline(placed),
      options(chosen),
      kinds_(kinds),
      order_(order),
      remembers_(chosen.memory || chosen.offload.optimizer || chosen.offload.activation_layers > 0),
      routed_(order.size()) {
  for (const auto& kind : kinds) {
    of_input_gradient_.push_back(steps_of_input_gradient(kind));
    works_.push_back({Indexed<BlockStepId, const StepWork*>(kind.forward.size()),
                      Indexed<BlockStepId, const StepWork*>(kind.backward.size())});
  }
  std::map<int, int> many, seen;
  for (const int which : order) ++many[which];
  for (const int which : order) {
    const auto& name = kinds[which].name;
    graph.block_names.push_back(many[which] == 1 ? name : name + " " + std::to_string(seen[which]++));
  }
}

const WeightUpdate& StepWriter::update_of(const Owner& owner) const {
  return kind(owner.block).weights[position_of(owner.weight)];
}

StepOp StepWriter::at(const StepPlace& place, StepPass pass, const StepWork* what) {
  StepOp op;
  op.what = what;
  op.pass = pass;
  op.stage = place.stage;
  op.pair = place.pair;
  op.half = place.half;
  op.block = place.block;
  op.microbatch = place.microbatch;
  return op;
}

StepWriter::Routed& StepWriter::routed(const StepPlace& place) {
  auto& of_block = routed_[place.block];
  if (!of_block.contains(place.microbatch)) of_block.resize(position_of(place.microbatch) + 1);
  auto& known = of_block[place.microbatch];
  if (known.load > 0) return known;
  known.load = options.expert_load.fullest(place.block, place.microbatch);
  if (known.load != 1.0) {
    known.works = {Indexed<BlockStepId, const StepWork*>(kind(place.block).forward.size()),
                   Indexed<BlockStepId, const StepWork*>(kind(place.block).backward.size())};
  }
  return known;
}

StepWriter::Works& StepWriter::of_documents(const StepPlace& place) {
  const auto [found, is_new] = of_documents_.try_emplace({kind_id(place.block, place.microbatch), place.microbatch});
  const auto& kind = this->kind(place.block);
  if (is_new)
    found->second = {Indexed<BlockStepId, const StepWork*>(kind.forward.size()),
                     Indexed<BlockStepId, const StepWork*>(kind.backward.size())};
  return found->second;
}

const StepWork* StepWriter::work_of(const StepPlace& place, StepPass pass, BlockStepId index) {
  const auto& step = steps(place, pass)[index];
  const double load = this->load(place, step);
  const bool documents = follows_documents(step);
  auto& works = documents     ? of_documents(place)
                : load == 1.0 ? works_[kind_id(place.block, place.microbatch)]
                              : routed(place).works;
  auto& known = works[pass == StepPass::forward ? 0 : 1][index];
  if (known != nullptr) return known;
  StepWork work = step;
  work.flops = step.flops * load;
  work.traffic = scaled(step.traffic, load);
  work.casts = scaled(step.casts, load);
  work.indexed = scaled(step.indexed, load);
  work.full_size = scaled(step.full_size, load);
  if (documents && step.attends) {
    const double attended = options.sequence_load.attended(*step.attends, place.microbatch);
    work.flops = step.flops * attended;
    work.shape.k = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(step.shape.k) * attended));
  }
  if (documents && step.travels)
    work.full_size = scaled(step.full_size, options.sequence_load.microbatches[place.microbatch].travelling);
  return known = graph.share(std::move(work));
}

const StepWork* StepWriter::collective(const DerivedCollective& derived, CollectiveRole role,
                                       const std::vector<std::string>& arrays) {
  const auto [known, is_new] =
      collectives_.try_emplace({arrays, derived.kind, derived.axes, derived.full_size.value(), role}, nullptr);
  if (!is_new) return known->second;
  StepWork work;
  work.kind = StepWork::Kind::collective;
  work.name = std::string(book_name(derived.kind)) + "_" + subscript(derived.axes);
  for (const auto& array : arrays) work.name += " " + array;
  work.detail = derived.before.to_string() + " -> " + derived.after.to_string();
  if (arrays.size() > 1) work.detail += " and " + std::to_string(arrays.size() - 1) + " more arrays";
  work.collective = derived.kind;
  work.axes = derived.axes;
  work.full_size = derived.full_size;
  work.role = role;
  work.reason = derived.reason;
  return known->second = graph.share(std::move(work));
}

StepWork StepWriter::given(const std::string& stream, const std::string& name, Seconds time, GivenTime what) {
  StepWork work;
  work.kind = StepWork::Kind::collective;
  work.name = name;
  work.stream = stream;
  work.given_time = time;
  work.given = what;
  return work;
}

StepWork StepWriter::transfer(const std::string& direction, const std::string& what, Bytes size) const {
  auto work = given(direction, what + " " + direction, size / options.offload.link, GivenTime::host_link);
  work.full_size = size;
  return work;
}

OpId StepWriter::add(const StepOp& op, const OpIds& after) { return graph.add(op, after); }

OpId StepWriter::add(const StepPlace& place, StepPass pass, StepWork work, const OpIds& after) {
  return add(at(place, pass, graph.share(std::move(work))), after);
}

BufferId StepWriter::hold(MemoryKind kind, Bytes size, OpId producer, StageId stage) {
  if (!remembers_) return 0;
  graph.buffers.push_back({kind, size, producer, {}, stage});
  return graph.buffers.count() - 1;
}

}  // namespace lockstep::workloads
