#include "workloads/pipeline/pipeline_timing.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::workloads {
namespace {

constexpr double not_yet = -1;

/// Ends of forwards and of input gradients (whole backwards count).
class Ends {
 public:
  explicit Ends(const PipelineShape& shape)
      : shape_(shape), forward_(shape.virtual_stages(), shape.microbatches, not_yet), input_gradient_(forward_) {}

  void note(const PipelineAction& action, double end) {
    if (action.work == PipelineWork::forward)
      forward_(action.stage, action.microbatch) = end;
    else if (action.work != PipelineWork::weight_gradient)
      input_gradient_(action.stage, action.microbatch) = end;
  }

  /// When the inputs of an action are on its rank; not_yet if one of them has no time yet.
  [[nodiscard]] double inputs(const PipelineAction& action, double latency) const {
    const auto stage = action.stage;
    const auto m = action.microbatch;
    switch (action.work) {
      case PipelineWork::forward: return stage == 0 ? 0 : arrival(forward_, stage - 1, stage, m, latency);
      case PipelineWork::weight_gradient: return input_gradient_(stage, m);
      case PipelineWork::backward:
      case PipelineWork::input_gradient: {
        const double own = forward_(stage, m);
        if (own == not_yet || stage + 1 == shape_.virtual_stages()) return own;
        const double above = arrival(input_gradient_, stage + 1, stage, m, latency);
        return above == not_yet ? not_yet : std::max(own, above);
      }
    }
    return not_yet;
  }

  /// The action that the given one waits for and that has no time yet.
  [[nodiscard]] PipelineAction missing(const PipelineAction& action) const {
    const auto forward_of = [&](std::int32_t stage) {
      return PipelineAction{PipelineWork::forward, stage, action.microbatch};
    };
    const auto gradient_of = [&](std::int32_t stage) {
      return PipelineAction{PipelineWork::input_gradient, stage, action.microbatch};
    };
    if (action.work == PipelineWork::forward) return forward_of(action.stage - 1);
    if (action.work == PipelineWork::weight_gradient) return gradient_of(action.stage);
    if (forward_(action.stage, action.microbatch) == not_yet) return forward_of(action.stage);
    return gradient_of(action.stage + 1);
  }

 private:
  using Table = Grid<VirtualStageId, MicrobatchId, double>;
  [[nodiscard]] double arrival(const Table& ends, VirtualStageId from, VirtualStageId to, MicrobatchId m,
                               double latency) const {
    const double end = ends(from, m);
    if (end == not_yet || shape_.rank_of(from, m) == shape_.rank_of(to, m)) return end;
    return end + latency;
  }

  const PipelineShape& shape_;
  Table forward_, input_gradient_;
};

class Timing {
 public:
  Timing(const PipelineOrder& order, const PipelineTimes& times)
      : order_(order),
        times_(times),
        ends_(order.shape),
        next_(order.ranks.size(), 0),
        free_(order.ranks.size(), 0),
        waiting_for_(order.ranks.size()) {
    for (const auto& cells : order.ranks) result_.spans.emplace_back(cells.size());
  }

  PipelineTiming run() {
    // Each rank runs on until an input is missing; whoever makes that input wakes it.
    std::vector<std::int32_t> able;
    for (auto rank = order_.ranks.count(); rank > 0; --rank) able.push_back(rank - 1);
    while (!able.empty()) {
      const auto rank = able.back();
      able.pop_back();
      if (!run_on(rank)) continue;
      for (const auto waiting : std::exchange(waiting_for_[rank], {})) able.push_back(waiting);
    }
    for (const StageId rank : order_.ranks.ids()) {
      if (!done(rank)) refuse(rank);
    }
    finish();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const PipelineCell& cell(std::int32_t rank) const { return order_.ranks[rank][next_[rank]]; }
  [[nodiscard]] bool done(std::int32_t rank) const { return next_[rank] == order_.ranks[rank].count(); }

  [[nodiscard]] double inputs(const PipelineCell& cell) const {
    const double first = ends_.inputs(cell.first, times_.latency);
    if (!cell.second || first == not_yet) return first;
    const double second = ends_.inputs(*cell.second, times_.latency);
    return second == not_yet ? not_yet : std::max(first, second);
  }
  /// The action that keeps a cell from starting.
  [[nodiscard]] PipelineAction missing(const PipelineCell& cell) const {
    return ends_.missing(ends_.inputs(cell.first, 0) == not_yet ? cell.first : *cell.second);
  }

  /// Runs a rank until it waits for another; true if it ran anything.
  bool run_on(std::int32_t rank) {
    bool any = false;
    for (; !done(rank); ++next_[rank], any = true) {
      const auto& cell = this->cell(rank);
      const double ready = inputs(cell);
      if (ready == not_yet) {
        const auto awaited = missing(cell);
        waiting_for_[order_.shape.rank_of(awaited.stage, awaited.microbatch)].push_back(rank);
        break;
      }
      const double start = std::max(free_[rank], ready);
      const double end = start + times_.of(cell);
      result_.spans[rank][next_[rank]] = {start, end};
      free_[rank] = end;
      result_.by_start.emplace_back(rank, next_[rank]);
      for_each_action(cell, [&](const PipelineAction& action) { ends_.note(action, end); });
    }
    return any;
  }

  [[noreturn]] void refuse(std::int32_t rank) const {
    const auto& stuck = cell(rank);
    throw ScheduleError("schedule",
                        "rank " + std::to_string(rank) + " never comes to run " + stuck.to_string() +
                            ", which waits for " + missing(stuck).to_string(),
                        "an order in which everything that is waited for comes first");
  }

  void finish() {
    for (const auto& spans : result_.spans) {
      if (!spans.empty()) result_.makespan = std::max(result_.makespan, spans.back().end);
    }
    for (const StageId rank : order_.ranks.ids()) {
      double busy = 0;
      for (const auto& cell : order_.ranks[rank]) busy += times_.of(cell);
      const auto& spans = result_.spans[rank];
      const double span = spans.empty() ? 0 : spans.back().end - spans.front().start;
      result_.busy.push_back(busy);
      result_.bubble_step.push_back(result_.makespan - busy);
      result_.bubble_span.push_back(span - busy);
    }
    // Stable: cells that start together stay as they were run, with whatever they wait for before them.
    const auto start = [&](const auto& cell) { return result_.spans[cell.first][cell.second].start; };
    std::stable_sort(result_.by_start.begin(), result_.by_start.end(),
                     [&](const auto& a, const auto& b) { return start(a) < start(b); });
  }

  const PipelineOrder& order_;
  const PipelineTimes& times_;
  Ends ends_;
  Indexed<StageId, CellId> next_;
  Indexed<StageId, double> free_;
  Indexed<StageId, std::vector<StageId>> waiting_for_;  ///< ranks that wait for something that this one makes
  PipelineTiming result_;
};

}  // namespace

double PipelineTimes::of(const PipelineAction& action) const {
  const auto& stage = of(action.stage);
  const double share = share_of(action.microbatch);
  switch (action.work) {
    case PipelineWork::forward: return stage.forward * share;
    case PipelineWork::backward: return (stage.input_gradient + stage.weight_gradient) * share;
    case PipelineWork::input_gradient: return stage.input_gradient * share;
    case PipelineWork::weight_gradient: return stage.weight_gradient * share;
  }
  return 0;
}

double PipelineTimes::of(const PipelineCell& cell) const {
  if (!cell.second) return of(cell.first);
  return pair ? *pair : of(cell.first) + of(*cell.second);
}

PipelineTiming time_order(const PipelineOrder& order, const PipelineTimes& times) { return Timing(order, times).run(); }

HeldActivations held_activations(const PipelineOrder& order) {
  HeldActivations result;
  for (const auto& cells : order.ranks) {
    std::int32_t input = 0, weight = 0, most_input = 0, most_weight = 0;
    for (const auto& cell : cells) {
      // A pair's forward is held before its backward lets go.
      for_each_action(cell, [&](const PipelineAction& action) {
        if (action.work != PipelineWork::forward) return;
        most_input = std::max(most_input, ++input);
        most_weight = std::max(most_weight, ++weight);
      });
      for_each_action(cell, [&](const PipelineAction& action) {
        if (action.work == PipelineWork::backward || action.work == PipelineWork::input_gradient) --input;
        if (action.work == PipelineWork::backward || action.work == PipelineWork::weight_gradient) --weight;
      });
    }
    result.until_input_gradient.push_back(most_input);
    result.until_weight_gradient.push_back(most_weight);
  }
  return result;
}

}  // namespace lockstep::workloads
