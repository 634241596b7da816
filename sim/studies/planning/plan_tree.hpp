#pragma once
/// The tree of a plan space: degrees; then the tokens of a pass, by microbatches and recomputation; then the ZeRO
/// stage; then, together, schedules of one form and all placements on which collectives cost the same; then single
/// plans.
#include <map>

#include "sim/studies/planning/plan_bound.hpp"
#include "sim/studies/planning/summary_book.hpp"

namespace lockstep::planning {

/// A set of plans and a lower bound of their step times.
struct PlanBranch {
  enum class Level { degrees, tokens, step, cost_class, plan };
  double bound_s = 0;
  Level level = Level::degrees;
  PlanChoice choice;      ///< as far as decided; of placements that cost the same and schedules of one form, the first
  std::int32_t node = 0;  ///< among PlanSpace::nodes
  std::int64_t plans = 1;
  std::int64_t bytes = 0;  ///< that each of its plans needs at least, on the fullest rank; 0: not known
};
/// Whether `a` is looked at before `b`: by the lower bound, then in canonical order.
[[nodiscard]] bool goes_first(const PlanBranch& a, const PlanBranch& b);

class PlanTree {
 public:
  explicit PlanTree(const PlanSpace& space) : space_(space), summaries_(space), book_(space), sequences_(space) {}

  /// Plans too large for the chips' memory are left out, and counted.
  struct Branches {
    std::vector<PlanBranch> branches;
    std::int64_t too_large = 0;
  };
  [[nodiscard]] PlanBranch root(std::int32_t node);
  [[nodiscard]] Branches below(const PlanBranch& branch);
  /// The bounds of every branch on the path from the root to one plan, each computed by itself.
  [[nodiscard]] std::vector<LowerBound> bounds_of(const PlanChoice& choice);
  [[nodiscard]] std::int64_t bounds() const { return bounds_; }

 private:
  using Node = PlanSpace::Node;
  [[nodiscard]] const Node& node_at(std::int32_t number) const { return space_.nodes()[position_of(number)]; }
  void tokens_of(const PlanBranch& branch, Branches& result);
  void steps_of(const PlanBranch& branch, Branches& result);
  void cost_classes_of(const PlanBranch& branch, Branches& result);
  void plans_of(const PlanBranch& branch, Branches& result);
  [[nodiscard]] LowerBound bound_of_tokens(std::int32_t node, const PlanChoice& choice);
  [[nodiscard]] LowerBound bound_of_order(PlanBounds& bounds, std::int32_t pipeline, std::int64_t microbatches,
                                          const ScheduleChoice& schedule);
  [[nodiscard]] LowerBound bound_of_step(std::int32_t node, const PlanChoice& choice);
  /// The lightest passes of the ZeRO stages allowed or, if their passes are not alike, of all stages.
  [[nodiscard]] const PassesSummary& lightest_passes(const Node& node, PlanChoice choice);

  /// Passes and states timed, as many as memory allows, by node and summary.
  template <class Timed>
  using Known = std::map<std::pair<std::int32_t, const CollectiveList*>, Timed>;
  template <class Timed, class Summary>
  const ByPlacement<Timed>& by_placement(Known<ByPlacement<Timed>>& known, std::int32_t node, const Summary& summary);
  template <class Timed, class Summary>
  const Timed& at_least(Known<Timed>& known, std::int32_t node, const Summary& summary);
  [[nodiscard]] double least_norm(std::int32_t node) {
    return node_at(node).degrees.pipeline > 1 ? book_.least_costs(node, summaries_.norm_over_stages()).alone.front()
                                              : 0;
  }
  void make_room();

  /// The placements of a node for one summary.
  struct Placed {
    const PassesSummary& summary;
    const ByPlacement<TimedPasses>& passes;
    const ByPlacement<TimedState>& states;
    std::vector<double> norms;  ///< by placement
    const ByPlacement<const StagesAlong*>& stages;
    PlacementSets alike;  ///< cost the same
    [[nodiscard]] PlanParts on(std::int32_t placement) const {
      return {summary, passes.of(placement), states.of(placement), norms[position_of(placement)], stages.of(placement)};
    }
  };
  [[nodiscard]] Placed placed(std::int32_t node, const PlanChoice& choice);
  void take(PlanBranch branch, const LowerBound& bound, double above, Branches& result);

  const PlanSpace& space_;
  SummaryBook summaries_;
  CostBook book_;
  SequenceBook sequences_;
  Known<TimedPasses> least_passes_;
  Known<TimedState> least_states_;
  Known<ByPlacement<TimedPasses>> passes_;
  Known<ByPlacement<TimedState>> states_;
  std::int64_t bounds_ = 0;
};

}  // namespace lockstep::planning
