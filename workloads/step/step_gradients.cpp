#include "workloads/step/step_gradients_private.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep::workloads {

StepGradients::StepGradients(StepWriter& writer)
    : writer_(writer),
      copies_(writer),
      chains_(writer),
      in_flight_(writer.pipeline.order.shape.ranks, writer.options.reductions_in_flight) {
  hold_weights();
  if (writer.options.local_updates) hold_outer_state();
  count_microbatches();
}

// ---- who holds what ------------------------------------------------------------------------------

void StepGradients::hold_weights() {
  const auto& shape = writer_.pipeline.order.shape;
  writer_.graph.held.assign(shape.ranks, {});
  for (std::int32_t stage = 0; stage < shape.ranks; ++stage) {
    writer_.graph.held[stage].overhead = writer_.options.memory_overhead;
    copies_.for_each_copy(stage, [&](const Owner& owner, BlockId block) { hold_copy(stage, owner, block); });
    hold_uneven_states(stage);
  }
  for (const auto& [owner, stages] : stages_of_) writer_.graph.parameters += writer_.update_of(owner).parameters;
}

void StepGradients::hold_copy(std::int32_t stage, const Owner& owner, int block) {
  auto& state = states_[{stage, owner}];
  state.contributors.push_back(block);
  if (!stages_of_[owner].insert(stage).second) return;  // tied to a block that stands here too
  updated_by_[stage][block].push_back(owner);
  const auto& update = writer_.update_of(owner);
  auto& held = writer_.graph.held[stage];
  held.weights += update.stored;
  held.weight_padding += update.padding;
  (writer_.options.offload.optimizer ? held.host : held.optimizer) += state_of(writer_.options.optimizer, update);
}

/// What the outer optimizer of local updates keeps, and the outer gradients of the largest fragment while it is under
/// way.
void StepGradients::hold_outer_state() {
  const auto& updates = *writer_.options.local_updates;
  for (const auto& [stage, blocks] : updated_by_) {
    std::int64_t elements = 0;
    std::map<std::int64_t, std::int64_t> of_fragment;
    for (const auto& [block, owners] : blocks) {
      for (const auto& owner : owners) {
        const auto own = writer_.update_of(owner).optimizer_elements;
        elements += own;
        of_fragment[updates.fragment_of(block, writer_.blocks())] += own;
      }
    }
    auto& held = writer_.graph.held[stage];
    held.outer_state = outer_state_element * elements;
    (updates.on_host ? held.host : held.optimizer) += held.outer_state;
    if (updates.delay == 0) continue;
    Bytes largest(0);
    for (const auto& [fragment, own] : of_fragment) largest = std::max(largest, updates.reduced(own));
    (updates.on_host ? held.host : held.buffers) += largest;
  }
}

void StepGradients::count_microbatches() {
  const auto& shape = writer_.pipeline.order.shape;
  for (auto& [copy, state] : states_) {
    std::vector<std::int32_t> parts;
    for (const int block : state.contributors) merge(parts, writer_.pipeline.stage_of_block(block));
    for (std::int32_t m = 0; m < shape.microbatches; ++m) {
      state.microbatches_left +=
          std::any_of(parts.begin(), parts.end(),
                      [&, stage = copy.first](auto part) { return shape.rank_of(part, m) == stage; })
              ? 1
              : 0;
    }
  }
}

// ---- contributions and their reduction -----------------------------------------------------------

void StepGradients::take(const StepPlace& place, const PassVertices& backward) {
  for (const auto& contribution : contributions(place.stage, place.block)) contribute(place, contribution, backward);
  if (writer_.options.gradient_buckets.ends_with_layer()) flush(place.stage);
  in_flight_.issue(place.stage);
}

const std::vector<StepGradients::Contribution>& StepGradients::contributions(std::int32_t stage, int block) {
  const auto [known, is_new] = contributions_.try_emplace({stage, block});
  if (!is_new) return known->second;
  auto& made = known->second;
  const auto& kind = writer_.kind(block);
  const auto add = [&, stage = stage](const Owner& owner, std::vector<int> steps) {
    made.push_back({owner, &writer_.update_of(owner), std::move(steps), &states_.at({stage, owner})});
  };
  for (const auto& tied : kind.tied_gradients) add(copies_.owner(tied.weight), {tied.step});
  copies_.for_each_weight(block,
                          [&](const Owner& owner, const WeightUpdate& update) { add(owner, update.gradient_steps); });
  return made;
}

/// The steps' contributions wait, unreduced, for the weight's bucket; the accumulated gradient exists from the first
/// on.
void StepGradients::contribute(const StepPlace& place, const Contribution& contribution, const PassVertices& backward) {
  auto& state = *contribution.state;
  auto& gradient = state.gradient;
  const auto& steps = contribution.steps;
  for (const int step : steps) {
    if (step == BlockStep::outside) {
      merge(gradient.ready, backward.received.ops);
    } else {
      merge(gradient.ready, backward.of_step[step]);
    }
    if (!writer_.remembers()) continue;
    const auto buffer = backward.first_buffer + step;
    if (writer_.graph.buffers[buffer].kind == MemoryKind::gradients) gradient.unreduced.push_back(buffer);
  }
  if (!gradient.accumulated && !steps.empty()) {
    const auto size = writer_.options.gradient_element * contribution.update->gradient_elements;
    gradient.accumulated = writer_.hold(MemoryKind::gradients, size, gradient.ready.front(), place.stage);
  }
  for (const int step : steps) {
    if (step != BlockStep::outside) drop_earlier_passes(gradient.ready, backward.of_step[step]);
  }
  const int wanted = expected(state, place.stage, place.microbatch);
  if (wanted > 1) {
    if (++state.taken[place.microbatch] < wanted) return;
    state.taken.erase(place.microbatch);
  }
  send(place, contribution);
}

/// An operation of the pass that is being written waits for all that its stage has computed in earlier ones
/// (pass_order_private.hpp): who waits for it need not wait for them.
void StepGradients::drop_earlier_passes(OpIds& ready, OpId latest) const {
  const auto& graph = writer_.graph;
  const auto of_cell = graph.cells.back().first;
  if (latest < of_cell) return;
  std::erase_if(ready, [&](OpId id) { return id < of_cell && graph.op(id)->kind == StepOp::Kind::compute; });
}

/// Contributions of one microbatch to a copy: a block that is tied may stand elsewhere for it.
int StepGradients::expected(const State& state, std::int32_t stage, std::int32_t microbatch) const {
  const auto& pipeline = writer_.pipeline;
  return static_cast<int>(std::count_if(state.contributors.begin(), state.contributors.end(), [&](int block) {
    return pipeline.order.shape.rank_of(pipeline.stage_of_block(block), microbatch) == stage;
  }));
}

void StepGradients::send(const StepPlace& place, const Contribution& contribution) {
  auto& state = *contribution.state;
  const bool last = --state.microbatches_left == 0;
  const auto& chain = chains_.of(*contribution.update,
                                 last ? CollectiveChain::Of::last_microbatch : CollectiveChain::Of::each_microbatch);
  if (chain.collectives.empty()) return;
  auto& buckets = buckets_[place.stage];
  auto bucket = chain.alone ? buckets.end() : std::find_if(buckets.begin(), buckets.end(), [&](const auto& other) {
    return other.chains.front()->kind == chain.kind;
  });
  if (bucket == buckets.end()) bucket = buckets.emplace(buckets.end());
  bucket->chains.push_back(&chain);
  bucket->contributions.push_back(&contribution);
  bucket->size += chain.collectives.front()->full_size;
  merge(bucket->after, state.gradient.ready);
  if (!writer_.options.gradient_buckets.is_full(bucket->size)) return;
  flush(place.stage, *bucket);
  buckets.erase(bucket);
}

/// Buckets of a size are sent when they are full, a matrix with an owner of its own when it alone is as large; the rest
/// goes after the last gradient.
void StepGradients::flush(std::int32_t stage) {
  auto& buckets = buckets_[stage];
  if (writer_.options.gradient_buckets.unit == Bucketing::Unit::size) {
    OpIds last;
    for (const auto& bucket : buckets) merge(last, bucket.after);
    std::sort(last.begin(), last.end());
    for (auto& bucket : buckets) {
      if (bucket.chains.front()->alone) bucket.after = last;
    }
  }
  for (auto& bucket : buckets) flush(stage, bucket);
  buckets.clear();
  in_flight_.issue(stage);
}

void StepGradients::flush(std::int32_t stage, const Bucket& bucket) {
  OpIds after = bucket.after;
  const OpId first = writer_.graph.size();
  for (const auto* work : chains_.works(bucket.chains)) {
    const StepPlace place{stage, bucket.contributions.back()->owner.block, microbatch_of(after), 0};
    after = {writer_.add(StepWriter::at(place, StepPass::backward, work), after)};
  }
  // Gradients that are kept whole lie in one array from the first microbatch on: they may wait as long as they like.
  const bool frees_memory = std::any_of(bucket.contributions.begin(), bucket.contributions.end(),
                                        [](const auto* one) { return !one->update->each_microbatch.empty(); });
  if (frees_memory) in_flight_.add(stage, first);
  hold_sent_copy(stage, bucket, first, after.back());
  for (const auto* contribution : bucket.contributions) {
    auto& gradient = contribution->state->gradient;
    for (const auto buffer : gradient.unreduced) writer_.read(buffer, first);
    gradient.unreduced.clear();
    gradient.ready = after;
  }
}

/// Accumulated gradients that travel in another precision than they are kept in are copied; contributions that nothing
/// has been added to yet are written as they travel.
void StepGradients::hold_sent_copy(std::int32_t stage, const Bucket& bucket, OpId first, OpId last) {
  const auto& options = writer_.options;
  if (!writer_.remembers() || options.gradient_reduce_element == options.gradient_element) return;
  std::int64_t elements = 0;
  for (const auto* contribution : bucket.contributions) {
    const auto& unreduced = contribution->state->gradient.unreduced;
    const bool accumulated = std::none_of(unreduced.begin(), unreduced.end(),
                                          [&](auto buffer) { return writer_.graph.buffers[buffer].size.value() > 0; });
    if (accumulated) elements += contribution->update->gradient_elements;
  }
  if (elements > 0)
    writer_.read(writer_.hold(MemoryKind::buffers, options.gradient_reduce_element * elements, first, stage), last);
}

std::int32_t StepGradients::microbatch_of(const OpIds& after) const {
  return after.empty() ? 0 : writer_.graph.op(after.back()).microbatch;
}

// ---- update --------------------------------------------------------------------------------------

/// Weights that two stages hold (tied embeddings, both ends of a bidirectional pipeline): each adds the other's
/// gradient.
void StepGradients::exchange_copies() {
  std::map<std::tuple<std::int32_t, std::int32_t, int>, std::vector<Owner>> shared;  // both stages, block
  for (const auto& [owner, stages] : stages_of_) {
    if (stages.size() == 2) shared[{*stages.begin(), *stages.rbegin(), owner.block}].push_back(owner);
  }
  for (auto& [where, owners] : shared) {
    const auto [stage, other, block] = where;
    std::sort(owners.begin(), owners.end(), [&](const Owner& a, const Owner& b) {
      return writer_.update_of(a).weight < writer_.update_of(b).weight;
    });
    StepWork work;
    work.kind = StepWork::Kind::collective;
    work.collective = CollectiveKind::all_reduce;
    work.axes = {"pipeline"};
    work.role = CollectiveRole::gradient;
    work.name = "AllReduce_pipeline";
    work.detail = "stages " + std::to_string(stage) + " and " + std::to_string(other) + " hold copies";
    work.reason = "gradients of weights that two stages hold are added up";
    OpIds after;
    for (const auto& owner : owners) {
      work.name += " d" + writer_.update_of(owner).weight;
      work.full_size += writer_.options.gradient_reduce_element * writer_.update_of(owner).optimizer_elements;
      for (const auto side : {stage, other}) merge(after, states_.at({side, owner}).gradient.ready);
    }
    std::sort(after.begin(), after.end());
    auto op =
        StepWriter::at({stage, block, last_microbatch(), 0}, StepPass::backward, writer_.graph.share(std::move(work)));
    op.other_stage = other;
    const auto id = writer_.add(op, after);
    for (const auto& owner : owners) {
      for (const auto side : {stage, other}) states_.at({side, owner}).gradient.ready = {id};
    }
  }
}

/// No weight changes before all gradients are known to be finite: per stage, and then between the stages.
OpIds StepGradients::wait_for_all() {
  OpIds reached;
  const auto& shape = writer_.pipeline.order.shape;
  const bool clips = writer_.options.gradient_clipping;
  for (std::int32_t stage = 0; stage < shape.ranks; ++stage) {
    OpIds ready;
    AxisNames split_over;
    std::int64_t elements = 0;
    for (const auto& [copy, state] : states_) {
      if (copy.first != stage) continue;
      ready.insert(ready.end(), state.gradient.ready.begin(), state.gradient.ready.end());
      const auto& update = writer_.update_of(copy.second);
      elements += update.optimizer_elements;
      for (const auto& axis : update.split_over) {
        if (!contains(split_over, axis)) split_over.push_back(axis);
      }
    }
    std::sort(ready.begin(), ready.end());
    ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
    const StepPlace place{stage, writer_.pipeline.first_block[shape.virtual_stages_of(stage).front()],
                          last_microbatch(), 0};
    StepWork work;
    work.name = clips ? "gradient norm" : "all gradients ready";
    if (clips) work.traffic = writer_.options.gradient_element * elements;
    reached.push_back(writer_.add(place, StepPass::update, std::move(work), ready));
    if (!clips || split_over.empty()) continue;
    std::sort(split_over.begin(), split_over.end());
    reached.back() = writer_.add(place, StepPass::update, sum_of_norms(split_over), {reached.back()});
  }
  if (shape.ranks == 1) return reached;
  return {writer_.add({StepOp::every_stage, 0, last_microbatch(), 0}, StepPass::update, sum_of_norms({"pipeline"}),
                      reached)};
}

StepWork StepGradients::sum_of_norms(const AxisNames& axes) {
  StepWork work;
  work.kind = StepWork::Kind::collective;
  work.collective = CollectiveKind::all_reduce;
  work.axes = axes;
  work.role = CollectiveRole::activation;  // nothing else goes before it
  work.full_size = Bytes(4);
  work.name = "AllReduce_" + subscript(axes) + " gradient norm";
  work.reason = "the optimizer needs the norm of all gradients before it changes a weight";
  return work;
}

}  // namespace lockstep::workloads
