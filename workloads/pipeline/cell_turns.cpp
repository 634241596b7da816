#include "workloads/pipeline/cell_turns.hpp"

#include <algorithm>
#include <utility>

#include "workloads/pipeline/action_places.hpp"

namespace lockstep::workloads {
namespace {

/// Each rank goes on until it needs what has no turn yet; the rank that is to make it wakes it up.
class Turns {
 public:
  Turns(const PipelineShape& shape, const CellsAndOthers& ranks)
      : shape_(shape),
        ranks_(ranks),
        turn_of_step_(shape),
        next_(ranks.size(), 0),
        turn_(ranks.size(), -1),
        waiting_for_(ranks.size()) {}

  std::vector<CellPlace> run() {
    std::vector<std::int32_t> able;
    for (auto rank = ranks_.count(); rank > 0; --rank) able.push_back(rank - 1);
    while (!able.empty()) {
      const auto rank = able.back();
      able.pop_back();
      if (!go_on(rank)) continue;
      for (const auto waiting : std::exchange(waiting_for_[rank], {})) able.push_back(waiting);
    }
    for (const StageId rank : ranks_.ids()) {
      if (!done(rank)) refuse(rank);
    }
    std::sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) {
      return std::pair(a.turn, a.place.rank) < std::pair(b.turn, b.place.rank);
    });
    std::vector<CellPlace> places;
    places.reserve(taken_.size());
    for (const auto& taken : taken_) places.push_back(taken.place);
    return places;
  }

 private:
  static constexpr std::int32_t none = ActionPlaces::absent;

  [[nodiscard]] bool done(std::int32_t rank) const { return next_[rank] == ranks_[rank].count(); }
  [[nodiscard]] const PipelineCell* current(std::int32_t rank) const { return ranks_[rank][next_[rank]]; }

  /// True if the rank had any turn.
  bool go_on(std::int32_t rank) {
    bool any = false;
    for (; !done(rank); ++next_[rank], any = true) {
      const auto* cell = current(rank);
      auto turn = turn_[rank] + 1;
      std::int32_t awaited = none;
      if (cell != nullptr) {
        for_each_action(*cell, [&](const PipelineAction& action) {
          for_each_need(action, shape_, [&](const PipelineNeed& need) {
            const auto maker = shape_.rank_of(need.stage, need.microbatch);
            const auto made = turn_of_step_.of(need.step, need.stage, need.microbatch);
            if (made == none && awaited == none) awaited = maker;
            // In one turn of all ranks those of lower numbers go first.
            turn = std::max(turn, made + (maker < rank ? 0 : 1));
          });
        });
      }
      if (awaited != none) {
        waiting_for_[awaited].push_back(rank);
        break;
      }
      turn_[rank] = turn;
      taken_.push_back({turn, {rank, next_[rank]}});
      if (cell == nullptr) continue;
      for_each_action(*cell, [&](const PipelineAction& action) {
        for_each_step(action.work,
                      [&](PipelineStep step) { turn_of_step_.of(step, action.stage, action.microbatch) = turn; });
      });
    }
    return any;
  }

  [[noreturn]] void refuse(std::int32_t rank) const {
    throw ScheduleError("schedule",
                        "rank " + std::to_string(rank) + " never comes to run " + current(rank)->to_string(),
                        "an order in which everything that is waited for comes first");
  }

  struct Taken {
    std::int32_t turn;
    CellPlace place;
  };

  const PipelineShape& shape_;
  const CellsAndOthers& ranks_;
  ActionPlaces turn_of_step_;  ///< here: turns, not places
  Indexed<StageId, CellId> next_;
  Indexed<StageId, std::int32_t> turn_;
  Indexed<StageId, std::vector<StageId>> waiting_for_;  ///< ranks that wait for something that this one makes
  std::vector<Taken> taken_;
};

}  // namespace

std::vector<CellPlace> cells_in_turn(const PipelineShape& shape, const CellsAndOthers& ranks) {
  return Turns(shape, ranks).run();
}

std::vector<CellPlace> cells_in_turn(const PipelineOrder& order) {
  CellsAndOthers ranks;
  for (const auto& cells : order.ranks) {
    auto& own = ranks.emplace_back();
    own.reserve(cells.size());
    for (const auto& cell : cells) own.push_back(&cell);
  }
  return cells_in_turn(order.shape, ranks);
}

}  // namespace lockstep::workloads
