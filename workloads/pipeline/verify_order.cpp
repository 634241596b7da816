#include "workloads/pipeline/verify_order.hpp"

#include <limits>
#include <set>
#include <utility>

#include "workloads/pipeline/action_places.hpp"
#include "workloads/pipeline/order_deadlock.hpp"
#include "workloads/pipeline/problem_list.hpp"

namespace lockstep::workloads {
namespace {

constexpr auto absent = ActionPlaces::absent;

std::string text(std::int64_t number) { return std::to_string(number); }

/// "3", or "3 to 5".
std::string run_text(std::int32_t first, std::int32_t last) {
  return text(first) + (first == last ? "" : " to " + text(last));
}

class Verifier {
 public:
  explicit Verifier(const PipelineOrder& order)
      : order_(order), shape_(order.shape), places_(fits() ? shape_ : PipelineShape{}) {}

  std::vector<OrderProblem> run() {
    if (!is_shape()) {
      add(-1, -1, "the shape does not fit the order",
          "at least one virtual stage and microbatch, and as many ranks as the order has");
      return problems_.take();
    }
    if (shape_.microbatches % shape_.slices != 0) {
      add(-1, -1, text(shape_.microbatches) + " slices are no whole microbatches of " + text(shape_.slices),
          "a multiple of " + text(shape_.slices) + " slices");
      return problems_.take();
    }
    if (!fits()) {
      const auto [rank, index] = highest();
      add(rank, index,
          text(shape_.virtual_stages()) + " virtual stages and " + text(shape_.microbatches) +
              " microbatches are far more than the " + text(order_.cells()) + " cells there are",
          "a forward and a backward of every microbatch on every virtual stage");
      return problems_.take();
    }
    for_each_cell([&](std::int32_t rank, std::int32_t index, const PipelineCell& cell) { enter(rank, index, cell); });
    look_for_gaps();
    for_each_cell(
        [&](std::int32_t rank, std::int32_t index, const PipelineCell& cell) { check_order(rank, index, cell); });
    if (problems_.empty()) {
      if (auto deadlock = find_deadlock(order_, places_)) problems_.add([&] { return std::move(*deadlock); });
    }
    return problems_.take();
  }

 private:
  [[nodiscard]] bool is_shape() const {
    return shape_.microbatches > 0 && shape_.slices > 0 && shape_.ranks > 0 && shape_.chunks > 0 &&
           std::ssize(order_.ranks) == shape_.ranks &&
           shape_.chunks <= std::numeric_limits<std::int32_t>::max() / shape_.ranks;
  }
  /// Whether tables by stage and microbatch are no larger than the order itself; a little slack, to name the
  /// gaps of small orders.
  [[nodiscard]] bool fits() const {
    return is_shape() && shape_.virtual_stages() <= (2 * order_.cells() + 4096) / shape_.microbatches;
  }

  /// The first cell of the highest microbatch.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> highest() const {
    std::pair<std::int32_t, std::int32_t> result{-1, -1};
    std::int32_t most = -1;
    for_each_cell([&](std::int32_t rank, std::int32_t index, const PipelineCell& cell) {
      for_each_action(cell, [&](const PipelineAction& action) {
        if (action.microbatch <= most) return;
        most = action.microbatch;
        result = {rank, index};
      });
    });
    return result;
  }

  template <class Visit>
  void for_each_cell(Visit visit) const {
    for (std::int32_t rank = 0; rank < shape_.ranks; ++rank) {
      const auto& cells = order_.ranks[rank];
      for (const CellId index : cells.ids()) visit(rank, index, cells[index]);
    }
  }

  void add(std::int32_t rank, std::int32_t index, std::string what, std::string expected) {
    problems_.add([&] { return OrderProblem{rank, index, std::move(what), std::move(expected)}; });
  }

  [[nodiscard]] bool exists(const PipelineAction& action) const {
    return action.stage >= 0 && action.stage < shape_.virtual_stages() && action.microbatch >= 0 &&
           action.microbatch < shape_.microbatches;
  }

  void enter(std::int32_t rank, std::int32_t index, const PipelineCell& cell) {
    if (cell.second && !is_pair(cell.first.work, cell.second->work)) {
      add(rank, index, "only a forward and a backward can overlap",
          "one forward and one whole backward or input gradient");
    }
    for_each_action(cell, [&](const PipelineAction& action) { enter(rank, index, action); });
  }

  static bool is_pair(PipelineWork one, PipelineWork other) {
    if (one != PipelineWork::forward) std::swap(one, other);
    return one == PipelineWork::forward && (other == PipelineWork::backward || other == PipelineWork::input_gradient);
  }

  void enter(std::int32_t rank, std::int32_t index, const PipelineAction& action) {
    if (!exists(action)) {
      add(rank, index, action.to_string() + " does not exist",
          "virtual stages 0 to " + text(shape_.virtual_stages() - 1) + " and microbatches 0 to " +
              text(shape_.microbatches - 1));
      return;
    }
    const auto home = shape_.rank_of(action.stage, action.microbatch);
    if (home != rank &&
        strays_.emplace(rank, action.stage).second) {  // once is enough, or a wrong placement fills the list
      add(rank, index,
          action.to_string() + " is on rank " + text(rank) + ", but with placement " +
              std::string(name(shape_.placement)) + " virtual stage " + text(action.stage) + " of microbatch " +
              text(action.microbatch) + " is on rank " + text(home),
          "it on rank " + text(home) + ", or another placement");
    }
    bool again = false;
    for_each_step(action.work, [&](PipelineStep step) {
      auto& place = places_.of(step, action.stage, action.microbatch);
      again = again || place != absent;
      if (place == absent) place = home == rank ? index : ActionPlaces::on_wrong_rank;
    });
    if (again) {
      add(rank, index, action.to_string() + " repeats what came before",
          "one " + text(action.stage) + "F" + text(action.microbatch) +
              ", and one whole backward or one input and one weight gradient");
    }
  }

  [[nodiscard]] std::int32_t place(PipelineStep step, std::int32_t stage, std::int32_t m) const {
    return places_.of(step, stage, m);
  }
  /// Any cell of a microbatch on a stage; absent if there is none.
  [[nodiscard]] std::int32_t any_place(std::int32_t stage, std::int32_t m) const {
    for (const auto step : {PipelineStep::forward, PipelineStep::input_gradient, PipelineStep::weight_gradient}) {
      if (place(step, stage, m) != absent) return place(step, stage, m);
    }
    return absent;
  }

  void look_for_gaps() {
    Indexed<VirtualStageId, bool> stage_is_used(shape_.virtual_stages());
    Indexed<MicrobatchId, bool> microbatch_is_used(shape_.microbatches);
    for (std::int32_t stage = 0; stage < shape_.virtual_stages(); ++stage) {
      for (std::int32_t m = 0; m < shape_.microbatches; ++m) {
        if (any_place(stage, m) == absent) continue;
        stage_is_used[stage] = true;
        microbatch_is_used[m] = true;
      }
    }
    gaps(stage_is_used, [&](std::int32_t first, std::int32_t last) {
      add(shape_.rank_of(first, 0), -1, "no cell of virtual stage " + run_text(first, last),
          "cells of all virtual stages, 0 to " + text(shape_.virtual_stages() - 1));
    });
    gaps(microbatch_is_used, [&](std::int32_t first, std::int32_t last) {
      const auto [rank, index] = cell_of(last + 1 < shape_.microbatches ? last + 1 : first - 1);
      add(rank, index, "no cell of microbatch " + run_text(first, last),
          "cells of all microbatches, 0 to " + text(shape_.microbatches - 1));
    });
    for (std::int32_t m = 0; m < shape_.microbatches; ++m) {
      if (microbatch_is_used[m]) look_for_gaps_of(m, stage_is_used);
    }
  }

  template <class Report>
  static void gaps(const Indexed<std::int32_t, bool>& used, Report report) {
    const auto end = used.count();
    for (std::int32_t first = 0; first < end; ++first) {
      auto after = first;
      while (after < end && !used[after]) ++after;
      if (after > first) report(first, after - 1);
      first = after;
    }
  }

  /// The rank and index of a microbatch's first cell.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> cell_of(std::int32_t m) const {
    for (std::int32_t stage = 0; m >= 0 && stage < shape_.virtual_stages(); ++stage) {
      if (const auto index = any_place(stage, m); index >= 0) return {shape_.rank_of(stage, m), index};
    }
    return {-1, -1};
  }

  void look_for_gaps_of(std::int32_t m, const Indexed<VirtualStageId, bool>& stage_is_used) {
    auto has_cell = stage_is_used;
    for (std::int32_t stage = 0; stage < shape_.virtual_stages(); ++stage) {
      has_cell[stage] = any_place(stage, m) != absent || !stage_is_used[stage];
    }
    std::string missing;
    gaps(has_cell, [&](std::int32_t first, std::int32_t last) {
      missing += (missing.empty() ? "" : ", ") + run_text(first, last);
    });
    if (!missing.empty()) {
      const auto [rank, index] = cell_of(m);
      add(rank, index, "microbatch " + text(m) + " is here, but has no cell on virtual stage " + missing,
          "every microbatch on every virtual stage, or on none");
      return;
    }
    for (std::int32_t stage = 0; stage < shape_.virtual_stages(); ++stage) look_for_gaps_of(stage, m);
  }

  void look_for_gaps_of(std::int32_t stage, std::int32_t m) {
    const auto forward = place(PipelineStep::forward, stage, m);
    const auto input = place(PipelineStep::input_gradient, stage, m);
    const auto weight = place(PipelineStep::weight_gradient, stage, m);
    if ((forward == absent && input == absent && weight == absent) || forward == ActionPlaces::on_wrong_rank ||
        input == ActionPlaces::on_wrong_rank || weight == ActionPlaces::on_wrong_rank) {
      return;  // said already
    }
    const auto called = [&](PipelineWork work) { return PipelineAction{work, stage, m}.to_string(); };
    const auto f = called(PipelineWork::forward), b = called(PipelineWork::backward),
               i = called(PipelineWork::input_gradient), w = called(PipelineWork::weight_gradient);
    const auto rank = shape_.rank_of(stage, m);
    const auto& gradient = input == weight ? b : i;
    if (forward == absent)
      add(rank, input != absent ? input : weight, (input != absent ? gradient : w) + " has no forward",
          f + " before it");
    if (input == absent && weight == absent)
      add(rank, forward, f + " has no backward", b + ", or " + i + " and " + w + ", after it");
    else if (input == absent)
      add(rank, weight, w + " has no input gradient", i + " before it");
    else if (weight == absent)
      add(rank, input, i + " has no weight gradient", w + " after it");
  }

  /// Checks that everything a cell needs on its own rank comes before it. find_deadlock checks the needs on other
  /// ranks.
  void check_order(std::int32_t rank, std::int32_t index, const PipelineCell& cell) {
    for_each_action(cell, [&](const PipelineAction& action) {
      if (!exists(action) || shape_.rank_of(action.stage, action.microbatch) != rank) return;
      for_each_need(action, shape_, [&](const PipelineNeed& need) {
        if (shape_.rank_of(need.stage, need.microbatch) != rank) return;
        const auto needed = place(need.step, need.stage, need.microbatch);
        if (needed < index) return;
        const auto wanted = text(need.stage) +
                            (need.step == PipelineStep::forward ? "F"
                             : is_whole(need)                   ? "B"
                                                                : "I") +
                            text(need.microbatch);
        add(rank, index,
            action.to_string() + (needed == index ? " overlaps with " : " comes before ") + wanted + ", which it needs",
            wanted + " in an earlier cell of the rank");
      });
    });
  }

  [[nodiscard]] bool is_whole(const PipelineNeed& need) const {
    return place(PipelineStep::input_gradient, need.stage, need.microbatch) ==
           place(PipelineStep::weight_gradient, need.stage, need.microbatch);
  }

  const PipelineOrder& order_;
  const PipelineShape& shape_;
  ActionPlaces places_;
  std::set<std::pair<std::int32_t, std::int32_t>> strays_;
  ProblemList<OrderProblem> problems_;
};

}  // namespace

std::vector<OrderProblem> verify_order(const PipelineOrder& order) { return Verifier(order).run(); }

}  // namespace lockstep::workloads
