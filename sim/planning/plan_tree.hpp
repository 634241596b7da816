#pragma once
/// The tree of a plan space: degrees; then ZeRO, recomputation and microbatches; then placement and schedule.
#include <optional>

#include "sim/planning/plan_floor.hpp"

namespace lockstep {

/// A set of plans with what none of them is faster than.
struct PlanBranch {
  enum class Level { degrees, step, plan };
  double floor_s = 0;
  Level level = Level::degrees;
  PlanChoice choice;       ///< as far as decided
  std::int32_t node = 0;   ///< among PlanSpace::nodes
  std::int64_t plans = 1;
};
/// Who is looked at first: the lowest floor, then the canonical order.
[[nodiscard]] bool goes_first(const PlanBranch& a, const PlanBranch& b);

class PlanTree {
 public:
  explicit PlanTree(const PlanSpace& space) : space_(space), book_(space) {}

  /// What is too large for the chips' memory is left out, and counted.
  struct Branches {
    std::vector<PlanBranch> branches;
    std::int64_t too_large = 0;
  };
  [[nodiscard]] Branches roots();
  [[nodiscard]] Branches below(const PlanBranch& branch);
  /// Of every branch on the way to one plan, from the root on.
  [[nodiscard]] std::vector<Floor> floors_of(const PlanChoice& choice);
  [[nodiscard]] std::int64_t floors() const { return floors_; }

 private:
  [[nodiscard]] PlanBranch root(std::size_t node);
  void steps_of(const PlanBranch& branch, Branches& result);
  void plans_of(const PlanBranch& branch, Branches& result);
  [[nodiscard]] Floor floor_of_step(const PlanSpace::Node& node, const PlanChoice& choice);
  [[nodiscard]] PlanFloors floors_on(const PlanSpace::Node& node, std::size_t placement, const PlanSketch& sketch);
  [[nodiscard]] PlanSketch sketch(const PlanSpace::Node& node, const PlanChoice& choice) const;
  [[nodiscard]] double norm_over_stages(const PlanSpace::Node& node, std::optional<std::size_t> placement);
  void take(PlanBranch branch, const Floor& floor, double above, Branches& result);

  const PlanSpace& space_;
  PriceBook book_;
  std::int64_t floors_ = 0;
};

}  // namespace lockstep
