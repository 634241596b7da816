#include "workloads/pipeline/order_deadlock.hpp"

#include <algorithm>

namespace lockstep::workloads {
namespace {

/// A cell of another rank that has to run first.
struct Wait {
  PipelineAction action;
  StageId rank = -1;
  CellId index = -1;
};

class Run {
 public:
  Run(const PipelineOrder& order, const ActionPlaces& places)
      : order_(order), places_(places), next_(order.ranks.size(), 0), waiting_on_(order.ranks.size()) {}

  std::optional<OrderProblem> operator()() {
    // Each rank runs until it needs what has not run yet; the rank that is to run it wakes it up.
    for (auto rank = order_.ranks.count(); rank > 0; --rank) able_.push_back(rank - 1);
    while (!able_.empty()) {
      const auto rank = able_.back();
      able_.pop_back();
      run_on(rank);
      wake_who_waits_on(rank);
    }
    for (const StageId rank : order_.ranks.ids()) {
      if (!done(rank)) return cycle_from(rank);
    }
    return {};
  }

 private:
  [[nodiscard]] bool done(std::int32_t rank) const { return next_[rank] == order_.ranks[rank].count(); }
  [[nodiscard]] const PipelineCell& current(std::int32_t rank) const { return order_.ranks[rank][next_[rank]]; }
  [[nodiscard]] bool has_run(const Wait& wait) const { return next_[wait.rank] > wait.index; }

  [[nodiscard]] std::optional<Wait> what_it_waits_for(const PipelineCell& cell) const {
    std::optional<Wait> result;
    for_each_action(cell, [&](const PipelineAction& action) {
      for_each_need(action, order_.shape, [&](const PipelineNeed& need) {
        Wait wait;
        wait.rank = order_.shape.rank_of(need.stage, need.microbatch);
        wait.index = places_.of(need.step, need.stage, need.microbatch);
        if (result || has_run(wait)) return;
        for_each_action(order_.ranks[wait.rank][wait.index], [&](const PipelineAction& made) {
          for_each_step(made.work, [&](PipelineStep step) {
            if (step == need.step && made.stage == need.stage && made.microbatch == need.microbatch) wait.action = made;
          });
        });
        result = wait;
      });
    });
    return result;
  }

  void run_on(std::int32_t rank) {
    for (; !done(rank); ++next_[rank]) {
      const auto wait = what_it_waits_for(current(rank));
      if (!wait) continue;
      waiting_on_[wait->rank].push_back({rank, wait->index});
      return;
    }
  }

  void wake_who_waits_on(std::int32_t rank) {
    std::erase_if(waiting_on_[rank], [&](const Sleeper& sleeper) {
      if (next_[rank] <= sleeper.until) return false;
      able_.push_back(sleeper.rank);
      return true;
    });
  }

  /// Every stuck rank waits for another stuck one, so following the waits runs into a circle.
  [[nodiscard]] OrderProblem cycle_from(std::int32_t rank) const {
    Indexed<StageId, bool> seen(order_.ranks.size());
    for (; !seen[rank]; rank = what_it_waits_for(current(rank))->rank) seen[rank] = true;
    std::vector<std::int32_t> circle;
    do {
      circle.push_back(rank);
      rank = what_it_waits_for(current(rank))->rank;
    } while (rank != circle.front());
    std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
    return {circle.front(), next_[circle.front()], "deadlock: " + spelled_out(circle),
            "an order in which no ranks wait for each other in a circle"};
  }

  [[nodiscard]] std::string spelled_out(const std::vector<std::int32_t>& circle) const {
    constexpr std::size_t most_ranks = 12;
    std::string text;
    for (std::size_t i = 0; i < circle.size(); ++i) {
      if (i == most_ranks - 1 && circle.size() > most_ranks) {
        text += ", and so on over " + std::to_string(circle.size() - i - 1) + " more ranks to rank " +
                std::to_string(circle.back());
        i = circle.size() - 1;
      }
      const auto& cell = current(circle[i]);
      const auto wait = *what_it_waits_for(cell);
      text += (i == 0 ? "rank " + std::to_string(circle[i]) : std::string(", which")) + " waits at " +
              cell.to_string() + " for " + wait.action.to_string() + " on rank " + std::to_string(wait.rank);
    }
    const auto& begin = current(circle.front());
    const bool is_later = what_it_waits_for(current(circle.back()))->index > next_[circle.front()];
    return text + (is_later ? ", which comes after " + begin.to_string() : ", where the circle closes");
  }

  struct Sleeper {
    StageId rank;
    CellId until;  ///< this cell of the rank it waits on has run
  };

  const PipelineOrder& order_;
  const ActionPlaces& places_;
  Indexed<StageId, CellId> next_;
  Indexed<StageId, std::vector<Sleeper>> waiting_on_;
  std::vector<std::int32_t> able_;
};

}  // namespace

std::optional<OrderProblem> find_deadlock(const PipelineOrder& order, const ActionPlaces& places) {
  return Run(order, places)();
}

}  // namespace lockstep::workloads
