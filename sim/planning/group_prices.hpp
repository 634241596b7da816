#pragma once
/// What collectives cost alone, by where their groups lie: plans whose axes lie alike share networks and prices.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/stage_pairs.hpp"
#include "sim/planning/plan_space.hpp"
#include "sim/planning/sketch.hpp"

namespace lockstep {

/// All groups along some axes, whatever the other axes do with the rest of the machine.
class GroupsAlong {
 public:
  GroupsAlong(const PlanSpace& space, const PlanSpace::Placement& placement, std::uint32_t axes);
  [[nodiscard]] Seconds cost(const PricedCollective& collective) { return model_.cost(collective.kind, axes_, collective.size, collective.copies); }
  [[nodiscard]] CollectiveModel::Lowered lower(const PricedCollective& collective) { return model_.lower(collective.kind, axes_, collective.size, "", collective.copies); }
  [[nodiscard]] const Communicator& communicator(const CollectiveModel::Lowered& lowered) { return model_.communicator(lowered.layout); }
  [[nodiscard]] DeviceId device_of(RankId rank) const { return mesh_->device_of(rank); }

 private:
  std::unique_ptr<const Mesh> mesh_;
  CollectiveModel model_;
  AxisNames axes_;
};

/// Where the stages of a pipeline lie, and transfers from each to the next and from the last to the first.
class StagesAlong {
 public:
  StagesAlong(const PlanSpace& space, const PlanSpace::Placement& placement);
  [[nodiscard]] double time(std::int32_t from, std::int32_t to, double bytes) const;
  [[nodiscard]] std::int32_t stages() const { return static_cast<std::int32_t>(next_.size()); }
  [[nodiscard]] std::int32_t stage_of(DeviceId device) const { return stage_of_device_[static_cast<std::size_t>(device)]; }

 private:
  std::vector<std::int32_t> stage_of_device_;
  std::vector<StagePairRoutes> next_;  ///< by the lower stage of the pair; the last entry joins the last and the first
};

/// Prices of collectives along some axes. Groups of one stage run at the same time and share links; those of other stages may
/// not be there, so that the closed form, which counts them, is no floor: what counts is the busiest link of one stage.
class GroupPrices {
 public:
  /// `stages`: null without a pipeline.
  GroupPrices(const Cluster& cluster, GroupsAlong& groups, const StagesAlong* stages) : cluster_(cluster), groups_(groups), stages_(stages) {}
  /// `id`: of the collective in the book.
  [[nodiscard]] double price(std::int32_t id, const PricedCollective& collective);

 private:
  /// How often flows of each slot cross a link, by slot.
  struct Load {
    std::vector<std::pair<std::int32_t, std::int32_t>> crossings;
    double bandwidth = 0;
    friend auto operator<=>(const Load&, const Load&) = default;
  };
  /// Loads that occur, and of every stage that differs which of them its links have.
  struct StageLoads {
    std::vector<Load> loads;
    std::set<std::vector<std::int32_t>> stages;
  };
  [[nodiscard]] double price_of_stage(const PricedCollective& collective);
  [[nodiscard]] const StageLoads& loads(const CollectiveModel::Lowered& lowered);

  const Cluster& cluster_;
  GroupsAlong& groups_;
  const StagesAlong* stages_;
  std::map<std::pair<AxisNames, std::string>, StageLoads> loads_;  ///< by layout
  std::vector<std::optional<double>> known_;                       ///< by id
};

/// The book of all prices that a search has asked for.
class PriceBook {
 public:
  explicit PriceBook(const PlanSpace& space) : space_(space) {}

  /// On one placement of the node.
  [[nodiscard]] std::vector<double> prices(const PlanSpace::Node& node, std::size_t placement, const std::vector<PricedCollective>& collectives);
  /// Of each the least over all placements.
  [[nodiscard]] std::vector<double> least_prices(const PlanSpace::Node& node, const std::vector<PricedCollective>& collectives);
  /// Null without a pipeline.
  [[nodiscard]] const StagesAlong* stages(const PlanSpace::Node& node, std::size_t placement);

 private:
  /// Where axes lie: axis by axis.
  using Place = std::vector<std::vector<Factor>>;
  struct Before {
    bool operator()(const Place& a, const Place& b) const;
  };
  /// The prices of a node's groups along some axes.
  struct Known {
    std::vector<GroupPrices*> of_placement;
    std::vector<GroupPrices*> different;
  };
  [[nodiscard]] const Known& known(const PlanSpace::Node& node, std::uint32_t axes);
  [[nodiscard]] std::int32_t id_of(const PricedCollective& collective);

  const PlanSpace& space_;
  std::map<std::uint32_t, std::map<Place, std::unique_ptr<GroupsAlong>, Before>> groups_;  ///< by axes
  std::map<Place, std::unique_ptr<StagesAlong>, Before> stages_;
  std::map<std::pair<const GroupsAlong*, const StagesAlong*>, std::unique_ptr<GroupPrices>> prices_;
  std::map<Degrees, std::map<std::uint32_t, Known>> nodes_;
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::int32_t> ids_;
};

}  // namespace lockstep
