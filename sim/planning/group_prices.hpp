#pragma once
/// What collectives cost alone, by where their groups lie: plans whose axes lie alike share the prices.
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/stage_pairs.hpp"
#include "sim/planning/pass_floor.hpp"
#include "sim/planning/plan_space.hpp"

namespace lockstep {

/// Where the axes of a group lie, axis by axis.
using GroupPlace = std::vector<std::vector<Factor>>;
struct FactorOrder {
  bool operator()(const GroupPlace& a, const GroupPlace& b) const;
};

/// Prices of all groups along some axes. Groups of one stage run at the same time and share links; those of other stages may
/// not be there, so that the closed form, which counts them, is no floor: what counts is the busiest link of one stage.
class GroupPrices {
 public:
  GroupPrices(const PlanSpace& space, const PlanSpace::Placement& placement, AxisNames axes);
  [[nodiscard]] double price(const PricedCollective& collective);

 private:
  /// How often flows of each slot cross a link.
  struct Load {
    std::map<std::int32_t, double> crossings;
    double bandwidth = 0;
    friend auto operator<=>(const Load&, const Load&) = default;
  };
  using StageLoads = std::set<Load>;
  [[nodiscard]] double price_of_stage(const PricedCollective& collective);
  [[nodiscard]] const std::set<StageLoads>& loads(const std::pair<AxisNames, std::string>& layout);

  const Cluster& cluster_;
  std::unique_ptr<const Mesh> mesh_;
  CollectiveModel model_;
  AxisNames axes_;
  std::vector<std::int32_t> stage_of_rank_;  ///< empty: no pipeline
  std::map<std::pair<AxisNames, std::string>, std::set<StageLoads>> loads_;  ///< by layout: those of every stage that differs
  std::map<std::tuple<CollectiveKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, double> known_;
};

/// Transfers from each stage of a pipeline to the next, and from the last to the first.
class StageRoutes {
 public:
  StageRoutes(const PlanSpace& space, const PlanSpace::Placement& placement);
  [[nodiscard]] double time(std::int32_t from, std::int32_t to, double bytes) const;

 private:
  std::vector<StagePairRoutes> next_;  ///< by the lower stage of the pair; the last entry joins the last and the first
};

/// The book of all prices that a search has asked for.
class PriceBook {
 public:
  explicit PriceBook(const PlanSpace& space) : space_(space) {}

  /// By PlanSketch::collectives, on one placement of the node.
  [[nodiscard]] std::vector<double> prices(const PlanSpace::Node& node, std::size_t placement, const PlanSketch& sketch);
  /// Of each the least over all placements.
  [[nodiscard]] std::vector<double> least_prices(const PlanSpace::Node& node, const PlanSketch& sketch);
  [[nodiscard]] double price(const PlanSpace::Node& node, std::size_t placement, const PricedCollective& collective);
  [[nodiscard]] const StageRoutes& routes(const PlanSpace::Node& node, std::size_t placement);

 private:
  struct Known {
    std::vector<std::map<std::uint32_t, GroupPrices*>> groups;  ///< by placement and axes
    std::map<std::uint32_t, std::vector<GroupPrices*>> different;  ///< by axes, over all placements
    std::vector<const StageRoutes*> routes;
  };
  Known& known(const PlanSpace::Node& node);
  GroupPrices& group(const PlanSpace::Node& node, std::size_t placement, std::uint32_t axes);

  const PlanSpace& space_;
  std::map<std::uint32_t, std::map<GroupPlace, std::unique_ptr<GroupPrices>, FactorOrder>> groups_;  ///< by axes
  std::map<GroupPlace, std::unique_ptr<StageRoutes>, FactorOrder> routes_;
  std::map<Degrees, Known> nodes_;
};

}  // namespace lockstep
