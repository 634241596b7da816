#pragma once
/// The tree of a plan space: degrees; then ZeRO, recomputation and microbatches; then the schedule and, together, all
/// placements on which collectives cost the same; then single plans.
#include <optional>

#include "sim/planning/plan_floor.hpp"
#include "sim/planning/sketch_book.hpp"

namespace lockstep {

/// A set of plans with what none of them is faster than.
struct PlanBranch {
  enum class Level { degrees, step, priced, plan };
  double floor_s = 0;
  Level level = Level::degrees;
  PlanChoice choice;       ///< as far as decided; of placements that cost the same, the first
  std::int32_t node = 0;   ///< among PlanSpace::nodes
  std::int64_t plans = 1;
};
/// Who is looked at first: the lowest floor, then the canonical order.
[[nodiscard]] bool goes_first(const PlanBranch& a, const PlanBranch& b);

class PlanTree {
 public:
  explicit PlanTree(const PlanSpace& space) : space_(space), sketches_(space), book_(space), sequences_(space) {}

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
  using Node = PlanSpace::Node;
  [[nodiscard]] PlanBranch root(std::size_t node);
  void steps_of(const PlanBranch& branch, Branches& result);
  void priced_of(const PlanBranch& branch, Branches& result);
  void plans_of(const PlanBranch& branch, Branches& result);
  [[nodiscard]] Floor floor_of_step(const Node& node, const PlanChoice& choice);
  [[nodiscard]] PlanSketch sketch(const PlanChoice& choice) { return {sketches_.passes(choice), sketches_.state(choice)}; }
  [[nodiscard]] PlanPrices prices(const Node& node, std::size_t placement, const PlanSketch& sketch);
  /// Placements by what their collectives cost.
  struct Priced {
    PlanPrices prices;
    std::vector<std::int32_t> placements;
  };
  [[nodiscard]] std::vector<Priced> priced_placements(const Node& node, const PlanSketch& sketch);
  void take(PlanBranch branch, const Floor& floor, double above, Branches& result);

  const PlanSpace& space_;
  SketchBook sketches_;
  PriceBook book_;
  SequenceBook sequences_;
  std::int64_t floors_ = 0;
};

}  // namespace lockstep
