#include <algorithm>
#include <utility>

#include "workloads/step_writer_private.hpp"

namespace lockstep {

StepWriter::StepWriter(const std::vector<DerivedBlock>& kinds, const std::vector<int>& order, const StepPipeline& placed, const StepOptions& chosen)
    : pipeline(placed), options(chosen), kinds_(kinds), order_(order) {
  for (const auto& kind : kinds) of_input_gradient_.push_back(steps_of_input_gradient(kind));
  std::map<int, int> many, seen;
  for (const int which : order) ++many[which];
  for (const int which : order) {
    const auto& name = kinds[static_cast<std::size_t>(which)].name;
    graph.block_names.push_back(many[which] == 1 ? name : name + " " + std::to_string(seen[which]++));
  }
}

const WeightUpdate& StepWriter::update_of(const Owner& owner) const {
  const auto& updates = kind(owner.first).weights;
  return *std::find_if(updates.begin(), updates.end(), [&](const auto& update) { return update.weight == owner.second; });
}

StepOp StepWriter::blank(const StepPlace& place, StepPass pass) {
  StepOp op;
  op.pass = pass;
  op.stage = place.stage;
  op.pair = place.pair;
  op.half = place.half;
  op.block = place.block;
  op.microbatch = place.microbatch;
  return op;
}

double StepWriter::load(const StepPlace& place, const BlockStep& step) {
  if (!step.routed) return 1.0;
  const auto [known, is_new] = loads_.try_emplace({place.block, place.microbatch}, 1.0);
  if (is_new) known->second = options.expert_load.fullest(place.block, place.microbatch);
  return known->second;
}

StepOp StepWriter::as_op(const StepPlace& place, StepPass pass, const BlockStep& step) {
  auto op = blank(place, pass);
  op.kind = step.kind == BlockStep::Kind::compute ? StepOp::Kind::compute : StepOp::Kind::collective;
  op.name = step.name;
  op.detail = step.detail;
  op.work = step.work;
  op.shape = step.shape;
  const double load = this->load(place, step);
  op.flops = step.flops * load;
  op.traffic = scaled(step.traffic, load);
  op.casts = scaled(step.casts, load);
  op.collective = step.collective;
  op.axes = step.axes;
  op.full_size = scaled(step.full_size, load);
  op.copies = step.copies;
  op.role = step.role;
  op.reason = step.reason;
  op.given_time = step.given_time;
  op.stream = step.stream;
  return op;
}

StepOp StepWriter::collective(const StepPlace& place, StepPass pass, const DerivedCollective& derived, CollectiveRole role,
                              const std::vector<std::string>& arrays) {
  auto op = blank(place, pass);
  op.kind = StepOp::Kind::collective;
  op.name = std::string(book_name(derived.kind)) + "_" + subscript(derived.axes);
  for (const auto& array : arrays) op.name += " " + array;
  op.detail = derived.before.to_string() + " -> " + derived.after.to_string();
  if (arrays.size() > 1) op.detail += " and " + std::to_string(arrays.size() - 1) + " more arrays";
  op.collective = derived.kind;
  op.axes = derived.axes;
  op.full_size = derived.full_size;
  op.role = role;
  op.reason = derived.reason;
  return op;
}

StepOp StepWriter::given(const StepPlace& place, StepPass pass, const std::string& stream, const std::string& name, Seconds time) {
  auto op = blank(place, pass);
  op.kind = StepOp::Kind::collective;
  op.name = name;
  op.stream = stream;
  op.given_time = time;
  return op;
}

StepOp StepWriter::transfer(const StepPlace& place, StepPass pass, const std::string& direction, const std::string& what, Bytes size) const {
  auto op = given(place, pass, direction, what + " " + direction, size / options.offload.link);
  op.full_size = size;
  return op;
}

OpId StepWriter::add(StepOp op, const OpIds& after) {
  const auto id = graph.add(std::move(op));
  for (const auto before : after) graph.depend(id, before);
  return id;
}

std::size_t StepWriter::hold(MemoryKind kind, Bytes size, OpId producer, std::int32_t stage) {
  graph.buffers.push_back({kind, size, producer, {}, stage});
  return graph.buffers.size() - 1;
}

}  // namespace lockstep
