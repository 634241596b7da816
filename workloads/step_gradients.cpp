#include "workloads/step_gradients_private.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep {

StepGradients::StepGradients(StepWriter& writer) : writer_(writer) {
  for (int block = 0; block < writer.blocks(); ++block) {
    for (const auto& update : writer.kind(block).weights) tied_to_.try_emplace(update.weight, block, update.weight);
  }
  hold_weights();
  count_microbatches();
}

// ---- who holds what ------------------------------------------------------------------------------

void StepGradients::hold_weights() {
  const auto& shape = writer_.pipeline.order.shape;
  writer_.graph.held.assign(static_cast<std::size_t>(shape.ranks), {});
  for (std::int32_t stage = 0; stage < shape.ranks; ++stage) {
    for (const auto part : shape.stages_of(stage)) {
      const int first = writer_.pipeline.first_block[static_cast<std::size_t>(part)];
      for (int block = first; block < first + writer_.pipeline.blocks_of(part); ++block) {
        for (const auto& update : writer_.kind(block).weights) hold_copy(stage, {block, update.weight}, block);
        for (const auto& tied : writer_.kind(block).tied_gradients) hold_copy(stage, tied_to_.at(tied.weight), block);
      }
    }
  }
  for (const auto& [owner, stages] : stages_of_) writer_.graph.parameters += writer_.update_of(owner).parameters;
}

void StepGradients::hold_copy(std::int32_t stage, const Owner& owner, int block) {
  auto& state = states_[{stage, owner}];
  state.contributors.push_back(block);
  if (!stages_of_[owner].insert(stage).second) return;  // tied to a block that stands here too
  updated_by_[stage][block].push_back(owner);
  const auto& update = writer_.update_of(owner);
  auto& held = writer_.graph.held[static_cast<std::size_t>(stage)];
  held.weights += update.stored;
  held.weight_padding += update.padding;
  held.optimizer += writer_.options.optimizer_state_per_parameter * update.optimizer_elements;
}

void StepGradients::count_microbatches() {
  const auto& shape = writer_.pipeline.order.shape;
  for (auto& [copy, state] : states_) {
    std::vector<std::int32_t> parts;
    for (const int block : state.contributors) merge(parts, {writer_.pipeline.stage_of_block(block)});
    for (std::int32_t m = 0; m < shape.microbatches; ++m) {
      state.microbatches_left += std::any_of(parts.begin(), parts.end(), [&, stage = copy.first](auto part) { return shape.rank_of(part, m) == stage; }) ? 1 : 0;
    }
  }
}

// ---- contributions and their reduction -----------------------------------------------------------

void StepGradients::take(const StepPlace& place, const PassVertices& backward) {
  const auto& kind = writer_.kind(place.block);
  for (const auto& tied : kind.tied_gradients) contribute(place, tied_to_.at(tied.weight), {tied.step}, backward);
  for (const auto& update : kind.weights) contribute(place, {place.block, update.weight}, update.gradient_steps, backward);
  if (writer_.options.gradient_buckets.unit == Bucketing::Unit::layer) flush(place.stage);
}

/// The steps' contributions wait, unreduced, for the weight's bucket; the accumulated gradient exists from the first
/// on.
void StepGradients::contribute(const StepPlace& place, const Owner& owner, const std::vector<int>& steps, const PassVertices& backward) {
  auto& state = states_.at({place.stage, owner});
  auto& gradient = state.gradient;
  for (const int step : steps) {
    merge(gradient.ready, step == BlockStep::outside ? backward.received.ops : OpIds{backward.of_step[static_cast<std::size_t>(step)]});
    const auto buffer = backward.first_buffer + static_cast<std::size_t>(step);
    if (writer_.graph.buffers[buffer].kind == MemoryKind::gradients) gradient.unreduced.push_back(buffer);
  }
  if (!gradient.accumulated && !steps.empty()) {
    const auto size = writer_.options.gradient_element * writer_.update_of(owner).gradient_elements;
    gradient.accumulated = writer_.hold(MemoryKind::gradients, size, gradient.ready.front(), place.stage);
  }
  const int wanted = expected(state, place.stage, place.microbatch);
  if (wanted > 1) {
    if (++state.taken[place.microbatch] < wanted) return;
    state.taken.erase(place.microbatch);
  }
  send(place, owner, state);
}

/// Contributions of one microbatch to a copy: a block that is tied may stand elsewhere for it.
int StepGradients::expected(const State& state, std::int32_t stage, std::int32_t microbatch) const {
  const auto& pipeline = writer_.pipeline;
  return static_cast<int>(std::count_if(state.contributors.begin(), state.contributors.end(), [&](int block) {
    return pipeline.order.shape.rank_of(pipeline.stage_of_block(block), microbatch) == stage;
  }));
}

void StepGradients::send(const StepPlace& place, const Owner& owner, State& state) {
  const auto& update = writer_.update_of(owner);
  auto chain = update.each_microbatch;
  if (--state.microbatches_left == 0) chain.insert(chain.end(), update.last_microbatch.begin(), update.last_microbatch.end());
  if (chain.empty()) return;
  auto& buckets = buckets_[place.stage];
  auto& bucket = bucket_for(buckets, chain);
  bucket.take(chain, owner.second, owner.first, state.gradient.ready);
  const auto& unit = writer_.options.gradient_buckets;
  const bool full = unit.unit == Bucketing::Unit::size && bucket.size() >= unit.size;
  if (full || unit.unit == Bucketing::Unit::matrix) flush(place.stage, bucket);
  std::erase_if(buckets, [](const auto& b) { return b.chain.empty(); });
}

void StepGradients::flush(std::int32_t stage) {
  auto& buckets = buckets_[stage];
  for (auto& bucket : buckets) flush(stage, bucket);
  buckets.clear();
}

void StepGradients::flush(std::int32_t stage, Bucket& bucket) {
  OpIds after = bucket.after;
  const OpId first = writer_.graph.size();
  std::vector<std::string> arrays;
  for (const auto& array : bucket.arrays) arrays.push_back("d" + array);
  for (const auto& derived : bucket.chain) {
    const StepPlace place{stage, bucket.owners.back().first, microbatch_of(after), 0};
    after = {writer_.add(StepWriter::collective(place, StepPass::backward, derived, CollectiveRole::gradient, arrays), after)};
  }
  for (const auto& owner : bucket.owners) {
    auto& gradient = states_.at({stage, owner}).gradient;
    for (const auto buffer : gradient.unreduced) writer_.read(buffer, first);
    gradient.unreduced.clear();
    gradient.ready = after;
  }
  bucket = {};
}

std::int32_t StepGradients::microbatch_of(const OpIds& after) const {
  return after.empty() ? 0 : writer_.graph.op(after.back()).microbatch;
}

// ---- update --------------------------------------------------------------------------------------

/// Weights that two stages hold (tied embeddings, both ends of a bidirectional pipeline): each adds the other's gradient.
void StepGradients::exchange_copies() {
  std::map<std::tuple<std::int32_t, std::int32_t, int>, std::vector<Owner>> shared;  // both stages, block
  for (const auto& [owner, stages] : stages_of_) {
    if (stages.size() == 2) shared[{*stages.begin(), *stages.rbegin(), owner.first}].push_back(owner);
  }
  for (const auto& [where, owners] : shared) {
    const auto [stage, other, block] = where;
    auto op = StepWriter::blank({stage, block, last_microbatch(), 0}, StepPass::backward);
    op.kind = StepOp::Kind::collective;
    op.collective = CollectiveKind::all_reduce;
    op.axes = {"pipeline"};
    op.other_stage = other;
    op.role = CollectiveRole::gradient;
    op.name = "AllReduce_pipeline";
    op.detail = "stages " + std::to_string(stage) + " and " + std::to_string(other) + " hold copies";
    op.reason = "gradients of weights that two stages hold are added up";
    OpIds after;
    for (const auto& owner : owners) {
      op.name += " d" + owner.second;
      op.full_size += writer_.options.gradient_element * writer_.update_of(owner).optimizer_elements;
      for (const auto side : {stage, other}) merge(after, states_.at({side, owner}).gradient.ready);
    }
    std::sort(after.begin(), after.end());
    const auto id = writer_.add(std::move(op), after);
    for (const auto& owner : owners) {
      for (const auto side : {stage, other}) states_.at({side, owner}).gradient.ready = {id};
    }
  }
}

/// No weight changes before all gradients are known to be finite: per stage, and then between the stages.
OpIds StepGradients::wait_for_all() {
  OpIds reached;
  const auto stages = writer_.pipeline.order.shape.ranks;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    OpIds ready;
    for (const auto& [copy, state] : states_) {
      if (copy.first == stage) ready.insert(ready.end(), state.gradient.ready.begin(), state.gradient.ready.end());
    }
    std::sort(ready.begin(), ready.end());
    ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
    const auto first = writer_.pipeline.order.shape.stages_of(stage).front();
    auto op = StepWriter::blank({stage, writer_.pipeline.first_block[static_cast<std::size_t>(first)], last_microbatch(), 0}, StepPass::update);
    op.name = "all gradients ready";
    reached.push_back(writer_.add(std::move(op), ready));
  }
  if (stages == 1) return reached;
  auto op = StepWriter::blank({StepOp::every_stage, 0, last_microbatch(), 0}, StepPass::update);
  op.kind = StepOp::Kind::collective;
  op.collective = CollectiveKind::all_reduce;
  op.axes = {"pipeline"};
  op.role = CollectiveRole::activation;  // nothing else goes before it
  op.full_size = Bytes(4);
  op.name = "AllReduce_pipeline gradient norm";
  op.reason = "the optimizer needs the norm of all gradients before it changes a weight";
  return {writer_.add(std::move(op), reached)};
}

void StepGradients::update() {
  exchange_copies();
  OpIds barrier;
  if (writer_.options.optimizer_barrier) barrier = wait_for_all();
  for (const auto& [stage, blocks] : updated_by_) {
    for (const auto& [block, owners] : blocks) update_block(stage, block, owners, barrier);
  }
}

void StepGradients::update_block(std::int32_t stage, int block, const std::vector<Owner>& owners, const OpIds& barrier) {
  if (owners.empty()) return;
  const auto& options = writer_.options;
  const StepPlace place{stage, block, last_microbatch(), 0};
  OpIds after = barrier;
  auto op = StepWriter::blank(place, StepPass::update);
  op.name = options.optimizer_name + " update";
  for (const auto& owner : owners) {
    if (!options.optimizer_barrier) merge(after, states_.at({stage, owner}).gradient.ready);
    // reads gradient and state, writes state, reads and writes the weight
    op.traffic += (options.gradient_element + options.optimizer_state_per_parameter * 2 + Bytes(4)) * writer_.update_of(owner).optimizer_elements;
  }
  const auto id = writer_.add(std::move(op), after);
  std::vector<Bucket> published;
  for (const auto& owner : owners) {
    const auto& buffer = states_.at({stage, owner}).gradient.accumulated;
    if (buffer) writer_.read(*buffer, id);
    const auto& publish = writer_.update_of(owner).publish;
    if (!publish.empty()) bucket_for(published, publish).take(publish, owner.second, block, {id});
  }
  for (const auto& bucket : published) {
    OpIds previous{id};
    for (const auto& derived : bucket.chain) {
      previous = {writer_.add(StepWriter::collective(place, StepPass::update, derived, CollectiveRole::weight, bucket.arrays), previous)};
    }
  }
}

}  // namespace lockstep
