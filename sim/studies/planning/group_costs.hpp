#pragma once
/// What collectives cost alone, by where their groups lie: plans whose axes lie alike share networks and costs.
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/slot_loads.hpp"
#include "sim/collectives/stage_pairs.hpp"
#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/plan_summary.hpp"

namespace lockstep {

/// All groups along some axes, whatever the other axes do with the rest of the machine.
class GroupsAlong {
 public:
  GroupsAlong(const PlanSpace& space, PlanSpace::Placement placement, std::uint32_t axes);
  [[nodiscard]] Seconds cost(const PlanCollective& collective) {
    return model().cost(collective.kind, axes_, collective.size, collective.copies);
  }
  [[nodiscard]] CollectiveModel::Lowered lower(const PlanCollective& collective) {
    return model().lower(collective.kind, axes_, collective.size, "", collective.copies);
  }
  [[nodiscard]] const Communicator& communicator(const CollectiveModel::Lowered& lowered) {
    return model().communicator(lowered.layout);
  }
  [[nodiscard]] DeviceId device_of(RankId rank) { return (void)model(), mesh_->device_of(rank); }
  /// Groups and their flows are made when first asked for; they fill memory, and can be made again.
  [[nodiscard]] bool made() const { return model_.has_value(); }
  void forget();

 private:
  CollectiveModel& model();

  const PlanSpace& space_;
  PlanSpace::Placement placement_;
  AxisNames axes_;
  std::unique_ptr<const Mesh> mesh_;
  std::optional<CollectiveModel> model_;
};

/// Where the stages of a pipeline lie, and transfers from each to the next and from the last to the first.
class StagesAlong {
 public:
  StagesAlong(const PlanSpace& space, const PlanSpace::Placement& placement);
  /// Of transfers of so many bytes: to each stage's next, and from there back.
  struct Times {
    std::vector<double> upward, downward;
    [[nodiscard]] double between(std::int32_t from, std::int32_t to) const;
  };
  /// Made when first asked for.
  [[nodiscard]] const Times& times(std::int64_t bytes) const;
  [[nodiscard]] std::int32_t stages() const { return static_cast<std::int32_t>(next_.size()); }
  [[nodiscard]] std::int32_t stage_of(DeviceId device) const {
    return stage_of_device_[static_cast<std::size_t>(device)];
  }

 private:
  std::vector<std::int32_t> stage_of_device_;
  std::vector<StagePairRoutes> next_;  ///< by the lower stage of the pair; the last entry joins the last and the first
  mutable std::unordered_map<std::int64_t, Times> times_;
};

/// Costs of collectives along some axes. Groups of one stage run at the same time and share links; those of other
/// stages may not be there, so that the closed form, which counts them, is no bound: what counts is the busiest link of
/// one stage.
class GroupCosts {
 public:
  /// `stages`: null without a pipeline.
  GroupCosts(const Cluster& cluster, GroupsAlong& groups, const StagesAlong* stages)
      : cluster_(cluster), groups_(groups), stages_(stages) {}
  /// `number`: of the collective in the book.
  [[nodiscard]] double cost(std::int32_t number, const PlanCollective& collective);
  [[nodiscard]] bool knows(std::int32_t number) const { return known_.contains(number); }
  [[nodiscard]] GroupsAlong& groups() { return groups_; }

 private:
  [[nodiscard]] double cost_of_stage(const PlanCollective& collective);
  /// Of the stages that differ.
  [[nodiscard]] const SlotLoads& loads(const CollectiveModel::Lowered& lowered);

  const Cluster& cluster_;
  GroupsAlong& groups_;
  const StagesAlong* stages_;
  std::map<std::pair<AxisNames, std::string>, SlotLoads> loads_;  ///< by layout
  std::unordered_map<std::int32_t, double> known_;                ///< by number
};

/// What a node's placements differ in.
template <class Value>
struct ByPlacement {
  std::vector<Value> different;
  std::vector<std::int32_t> which;  ///< of each placement: among the different ones
  [[nodiscard]] const Value& of(std::int32_t placement) const {
    return different[static_cast<std::size_t>(which[static_cast<std::size_t>(placement)])];
  }
};

/// Placements in sets, numbered as they come; all are one at first.
struct PlacementSets {
  explicit PlacementSets(std::size_t placements) : which(placements, 0) {}
  /// Of one set afterwards: those that were and of which `by` says the same, a number below `most`.
  void tell_apart(const std::vector<std::int32_t>& by, std::size_t most);
  std::vector<std::int32_t> which;     ///< of each placement: its set
  std::vector<std::int32_t> first{0};  ///< placement of each set
};

/// The book of all costs that a search has asked for.
class CostBook {
 public:
  explicit CostBook(const PlanSpace& space) : space_(space), nodes_(space.nodes().size()) {}

  /// Of each collective of a list. `node`: its number in the space.
  [[nodiscard]] ByPlacement<std::vector<double>> costs(std::int32_t node, const CollectiveList& list);
  /// Of each the least over all placements.
  [[nodiscard]] std::vector<double> least_costs(std::int32_t node, const CollectiveList& list);
  /// Null without a pipeline.
  [[nodiscard]] const ByPlacement<const StagesAlong*>& stages(std::int32_t node);

 private:
  /// Where axes lie: axis by axis.
  using Place = std::vector<std::vector<Factor>>;
  struct Before {
    bool operator()(const Place& a, const Place& b) const;
  };
  struct Node {
    std::array<ByPlacement<GroupCosts*>, 1U << plan_axes.size()> along;  ///< each set of axes
    ByPlacement<const StagesAlong*> stages;
  };
  [[nodiscard]] double cost(GroupCosts& groups, const CollectiveList& list, std::size_t which);
  [[nodiscard]] const ByPlacement<GroupCosts*>& groups(std::int32_t node, std::uint32_t axes);

  void make_room();

  const PlanSpace& space_;
  std::map<std::uint32_t, std::map<Place, std::unique_ptr<GroupsAlong>, Before>> groups_;  ///< by axes
  std::map<Place, std::unique_ptr<StagesAlong>, Before> stages_;
  std::map<std::pair<const GroupsAlong*, const StagesAlong*>, std::unique_ptr<GroupCosts>> costs_;
  std::vector<Node> nodes_;
  std::vector<GroupsAlong*> made_;  ///< that fill memory
};

}  // namespace lockstep
