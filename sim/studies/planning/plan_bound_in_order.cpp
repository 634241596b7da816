// The longest path through a schedule's actions, each rank's one after the other, and what each rank holds meanwhile.
#include <algorithm>
#include <array>

#include "sim/core/indexed.hpp"
#include "sim/studies/planning/plan_bound.hpp"

namespace lockstep::planning {
class PlanBounds::InOrder {
 public:
  InOrder(PlanBounds& bounds, const ActionSequence& sequence, const ScheduleChoice& choice)
      : bounds_(bounds),
        sequence_(sequence),
        stages_(bounds.virtual_stages(sequence.shape.virtual_stages())),
        prefetch_(position_of(bounds.space_.base().step.prefetch)),
        inputs_(position_of(stages_.size()) * position_of(sequence.shape.microbatches), 0.0),
        gradients_(inputs_),
        windows_at_forward_(inputs_.size(), 0),
        loses_(bounds.space_.lost_beside_collectives() > 0),
        ranks_(position_of(sequence.shape.ranks)) {
    const auto& step = bounds.space_.base().step;
    // If arrays are gathered one by one, or a pair's blocks take turns, the bound does not wait for weights.
    gathers_ = !bounds.space_.schedule(choice).overlaps && step.weight_buckets.merges() &&
               std::any_of(bounds.plan_.passes.kinds.begin(), bounds.plan_.passes.kinds.end(),
                           [](const TimedPasses::Kind& kind) { return kind.forward.gather.first > 0; });
    for (std::int32_t rank = 0; rank < sequence.shape.ranks; ++rank) {
      auto& own = ranks_[rank];
      own.accumulated.resize(position_of(stages_.size()), false);
      own.bytes = step.memory_overhead.value();
      for (const auto stage : sequence.shape.virtual_stages_of(rank)) own.bytes += stages_.of(stage).held;
      own.most_bytes = own.bytes;
    }
  }

  LowerBound run() {
    for (const auto& action : sequence_.actions) {
      run(action);
      hold(action);
    }
    const auto& step = bounds_.space_.base().step;
    LowerBound bound;
    double before_barrier = 0, after_barrier = 0;
    for (std::int32_t rank = 0; rank < sequence_.shape.ranks; ++rank) {
      auto& own = ranks_[rank];
      own.reduce_until(std::numeric_limits<double>::infinity());
      bound.bytes = std::max(bound.bytes, own.most_bytes);
      before_barrier = std::max({before_barrier, own.free, own.stream});
      for (int i = 0; i < own.opened; ++i)
        before_barrier =
            std::max(before_barrier, own.windows[position_of(i)].end(bounds_, own.windows[position_of(i)].by_barrier));
      after_barrier = std::max(after_barrier, bounds_.published(sequence_.shape.virtual_stages_of(rank), stages_));
    }
    bound.seconds = before_barrier + step.step_overhead.value();
    if (step.optimizer_barrier)
      bound.seconds += (sequence_.shape.ranks > 1 ? bounds_.plan_.norm_over_stages : 0) + after_barrier;
    return bound;
  }

 private:
  /// A span of a rank that begins `since` the first microbatch's input has arrived or the first pair may run, with what
  /// is computed in it so far and for how long streams are certainly busy in it: before that is computed, and before
  /// the optimizer's barrier.
  struct Window {
    double since = 0, compute = 0;
    BusyStreams busy{}, by_barrier{};
    [[nodiscard]] double end(const PlanBounds& bounds, const BusyStreams& streams) const {
      return since + bounds.span(compute, streams);
    }
  };

  /// A rank on its way through its actions.
  struct Rank {
    double free = 0;  ///< when its compute stream is
    struct {
      double free = 0, compute = 0;
    } before;                   ///< the cell that runs: when the stream was free for it, and what it computes
    double gathered = 0;        ///< when the weights asked for so far are there
    double stream = 0;          ///< when the stream of the data axis has done all that was ready so far
    std::vector<double> rooms;  ///< of each pass of a block, when nobody needs its weights any more
    std::vector<std::pair<double, double>>
        reductions;                           ///< of gradients: when ready and how long, those not on the stream yet
    std::size_t reduced = 0;                  ///< that are
    Indexed<std::int32_t, bool> accumulated;  ///< by stage: gradients exist
    std::int64_t bytes = 0, most_bytes = 0;
    std::array<Window, 2> windows;
    std::int8_t opened = 0;  ///< of the windows

    /// A reduction that is ready later never goes first, so the end of the stream is a bound whatever the order.
    void reduce_until(double ready) {
      for (; reduced < reductions.size() && reductions[reduced].first <= ready; ++reduced) {
        stream = std::max(stream, reductions[reduced].first) + reductions[reduced].second;
      }
    }
  };

  [[nodiscard]] std::size_t place(std::int32_t stage, std::int32_t microbatch) const {
    return position_of(stage) * position_of(sequence_.shape.microbatches) + position_of(microbatch);
  }

  [[nodiscard]] static bool ends_gradients(const SequencedAction& action) {
    return action.work == workloads::PipelineWork::backward || action.work == workloads::PipelineWork::weight_gradient;
  }

  void run(const SequencedAction& action) {
    const auto& stage = stages_.of(action.stage);
    const auto here = place(action.stage, action.microbatch);
    switch (action.work) {
      case workloads::PipelineWork::forward: {
        const auto after = through(action, inputs_[here], &TimedPasses::Kind::forward, stage.forward_load);
        if (action.stage + 1 < stages_.size()) {
          hand_on(action, action.stage + 1, after.data, inputs_);
        } else {
          gradients_[here] = after.data;
        }
        break;
      }
      case workloads::PipelineWork::backward: {
        const auto after = through(action, gradients_[here], &TimedPasses::Kind::backward, stage.backward_load);
        if (action.stage == 0) break;
        const bool sends = sequence_.shape.rank_of(action.stage - 1, action.microbatch) != action.rank &&
                           !bounds_.space_.base().step.delay_weight_gradients;
        hand_on(action, action.stage - 1, sends ? std::max(after.data, after.free) : after.data,
                gradients_);  // whole before anything is sent
        break;
      }
      case workloads::PipelineWork::input_gradient: {
        const auto after =
            through(action, gradients_[here], &TimedPasses::Kind::input_gradient, stage.input_gradient_load);
        if (action.stage > 0) hand_on(action, action.stage - 1, after.data, gradients_);
        break;
      }
      case workloads::PipelineWork::weight_gradient:
        (void)through(action, never, &TimedPasses::Kind::weight_gradient, stage.weight_gradient_load);
        break;
    }
  }

  void hand_on(const SequencedAction& action, std::int32_t next, double ready, std::vector<double>& arrivals) {
    const auto to = sequence_.shape.rank_of(next, action.microbatch);
    arrivals[place(next, action.microbatch)] =
        ready + bounds_.send(action.rank, to, stages_.of(std::max(next, action.stage)).sent);
  }

  /// An action through the blocks of its stage. Both halves of a pair follow what was before it, each waits for its own
  /// input, and both compute on one chip.
  Front through(const SequencedAction& action, double input, TimedPasses::Pass TimedPasses::Kind::*pass,
                const PassLoad& load) {
    auto& rank = ranks_[action.rank];
    const auto& blocks = stages_.of(action.stage).blocks;
    const bool forward = action.work == workloads::PipelineWork::forward;
    const bool uses_weights = gathers_ && action.work != workloads::PipelineWork::weight_gradient;
    if (action.half != 2) rank.before = {rank.free, 0};
    rank.before.compute += load.compute;
    Front front{rank.before.free, input};
    for (int i = 0; i < blocks.last - blocks.first; ++i) {
      const auto kind = bounds_.kind(forward ? blocks.first + i : blocks.last - 1 - i);
      const auto& own = bounds_.plan_.passes.kinds[kind].*pass;
      const auto begin = front.free;
      const double weights = uses_weights ? gather(rank, own.gather) : never;
      const auto room = own.path.room_after(front, weights);
      front = own.path.after(front, weights);
      if (uses_weights) rank.rooms.push_back(room > never ? room : front.free);
      if (ends_gradients(action)) {
        const auto& state = bounds_.plan_.state.kinds[kind];
        rank.reductions.emplace_back(begin, action.last ? state.reduced : state.reduced_each);
      }
    }
    if (!gathers_) rank.reduce_until(front.free);
    rank.free =
        action.half == 0 ? front.free : std::max({rank.free, front.free, rank.before.free + rank.before.compute});
    if (loses_) slow_down(action, input, load);
    return front;
  }

  /// What the collectives of an action take from the compute beside them, whichever that is.
  void slow_down(const SequencedAction& action, double input, const PassLoad& load) {
    auto& rank = ranks_[action.rank];
    const auto& stage = stages_.of(action.stage);
    auto& at_forward = windows_at_forward_[place(action.stage, action.microbatch)];
    if (rank.opened == 0) rank.windows[position_of(rank.opened++)].since = std::max(0.0, input);
    if (rank.opened == 1 && action.half == 1) rank.windows[position_of(rank.opened++)].since = rank.before.free;
    if (action.work == workloads::PipelineWork::forward) at_forward = rank.opened;
    const bool comes_back =
        action.work == workloads::PipelineWork::backward || action.work == workloads::PipelineWork::input_gradient;
    for (std::int8_t i = 0; i < rank.opened; ++i) {
      auto& window = rank.windows[position_of(i)];
      BusyStreams busy = load.streams.between, by_barrier = load.streams.last;
      if (input >= window.since) add(busy, load.streams.first);
      if (ends_gradients(action)) {
        add(by_barrier, stage.reduced_each);
        if (action.last) add(by_barrier, stage.once);
      }
      add(by_barrier, busy);
      if (comes_back && i < at_forward) add(busy, stage.forward_load.streams.last);  // it went around the pipeline
      window.compute += load.compute;
      add(window.busy, busy);
      add(window.by_barrier, by_barrier);
      if (action.half != 1) rank.free = std::max(rank.free, window.end(bounds_, window.busy));
    }
  }

  /// When the first weights of the next block are there: gathered one block after the other, as soon as there is room.
  double gather(Rank& rank, const TimedPasses::Gather& gather) {
    const auto passes = rank.rooms.size();
    const double room = passes > prefetch_ ? rank.rooms[passes - 1 - prefetch_] : 0;
    rank.reduce_until(room);
    rank.stream = std::max(rank.stream, room) + gather.along_data;
    const double first = std::max(rank.gathered, room) + gather.first;
    rank.gathered = std::max(rank.gathered, room) + gather.along_data;
    return first;
  }

  /// Adds up the bytes that a rank holds while an action runs, and after it.
  void hold(const SequencedAction& action) {
    auto& rank = ranks_[action.rank];
    const auto& stage = stages_.of(action.stage);
    std::int64_t most = 0;
    switch (action.work) {
      case workloads::PipelineWork::forward:
        most = rank.bytes + stage.forward_most;
        rank.bytes += stage.kept;
        break;
      case workloads::PipelineWork::backward:
        most = rank.bytes + stage.backward_most;
        rank.bytes -= stage.kept;
        break;
      case workloads::PipelineWork::input_gradient:
        most = rank.bytes + stage.input_gradient_most;
        rank.bytes += stage.kept_for_weights - stage.kept;
        break;
      case workloads::PipelineWork::weight_gradient: rank.bytes -= stage.kept_for_weights; break;
    }
    if (ends_gradients(action) && !rank.accumulated[action.stage]) {
      rank.accumulated[action.stage] = true;
      rank.bytes += stage.gradients;
    }
    // In a pair, the backward may free memory before the forward has ended.
    if (action.half == 0) rank.most_bytes = std::max(rank.most_bytes, most);
    if (action.half != 1) rank.most_bytes = std::max(rank.most_bytes, rank.bytes);
  }

  PlanBounds& bounds_;
  const ActionSequence& sequence_;
  const VirtualStages& stages_;
  bool gathers_ = false;
  std::size_t prefetch_;
  std::vector<double> inputs_, gradients_;       ///< when they arrive, by stage and microbatch
  std::vector<std::int8_t> windows_at_forward_;  ///< open when it ran, by stage and microbatch
  bool loses_;                                   ///< compute loses speed beside collectives
  Indexed<std::int32_t, Rank> ranks_;
};

LowerBound PlanBounds::in_order(const ActionSequence& sequence, const ScheduleChoice& choice) {
  return InOrder(*this, sequence, choice).run();
}

/// Block by block the update, then its weights to where they are stored, unless the next step gathers them.
double PlanBounds::published(const std::vector<std::int32_t>& own, const VirtualStages& stages) const {
  double free = 0, stream = 0;
  for (const auto number : own) {
    const auto& blocks = stages.of(number).blocks;
    for (int block = blocks.first; block < blocks.last; ++block) {
      const auto& state = plan_.state.kinds[kind(block)];
      free += state.update;
      if (!space_.base().step.publish_ahead) stream = std::max(stream, free) + state.published_along_data;
    }
  }
  return std::max(free, stream);
}

}  // namespace lockstep::planning
