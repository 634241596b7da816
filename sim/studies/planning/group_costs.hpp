#pragma once
/// The cost of each collective alone, by where its groups lie: plans whose axes lie alike share networks and costs.
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

namespace lockstep::planning {

/// All groups along some axes, whatever the other axes do with the rest of the machine. Where positions of the machine
/// are alike, one group of each orbit is laid out and stands for all (group_orbits.hpp).
class GroupsAlong {
 public:
  GroupsAlong(const PlanSpace& space, PlanSpace::Placement placement, std::uint32_t axes);
  [[nodiscard]] Seconds cost(const PlanCollective& collective);
  [[nodiscard]] collectives::CollectiveChoice choose(const PlanCollective& collective);
  [[nodiscard]] const collectives::Communicator& communicator(const collectives::CollectiveAlgorithm& algorithm) {
    return network().communicator(algorithm);
  }
  [[nodiscard]] topologies::DeviceId device_of(topologies::RankId rank) const {
    return mesh_ ? mesh_->device_of(rank) : rank;
  }
  [[nodiscard]] const std::vector<topologies::Factor>& factors() const { return factors_; }  ///< in mesh order
  /// Groups and their flows are made at first use. They fill memory, and can be dropped and made again.
  [[nodiscard]] bool made() const { return network_.has_value(); }
  void forget();

 private:
  collectives::GroupNetwork& network();

  const PlanSpace& space_;
  PlanSpace::Placement placement_;
  workloads::AxisNames axes_;
  std::vector<topologies::Factor> factors_;
  std::unique_ptr<const topologies::Mesh> mesh_;  ///< null where one group of each orbit is laid out
  std::optional<collectives::GroupNetwork> network_;
};

/// The places of a pipeline's stages, and transfers from each stage to the next and from the last to the first.
class StagesAlong {
 public:
  StagesAlong(const PlanSpace& space, const PlanSpace::Placement& placement);
  /// Times of transfers of a number of bytes, from each stage to the next one and back.
  struct Times {
    std::vector<double> upward, downward;
    [[nodiscard]] double between(std::int32_t from, std::int32_t to) const;
  };
  /// Computed at first use.
  [[nodiscard]] const Times& times(std::int64_t bytes) const;
  [[nodiscard]] std::int32_t stages() const { return static_cast<std::int32_t>(next_.size()); }
  [[nodiscard]] std::int32_t stage_of(topologies::DeviceId device) const {
    return stage_of_device_[position_of(device)];
  }
  [[nodiscard]] const std::vector<topologies::Factor>& factors() const { return factors_; }

 private:
  std::vector<topologies::Factor> factors_;
  std::vector<std::int32_t> stage_of_device_;
  std::vector<collectives::StagePairRoutes>
      next_;  ///< by the lower stage of the pair; the last entry joins the last and the first
  mutable std::unordered_map<std::int64_t, Times> times_;
};

/// The ports by which ranks send to the network between units, where each rank has its own.
class NetworkPorts {
 public:
  explicit NetworkPorts(const topologies::Cluster& cluster);
  [[nodiscard]] bool any() const { return !rate_of_nic_.empty(); }
  /// Seconds for which a byte of each slot fills the ports of a group's members, one with another.
  [[nodiscard]] std::vector<double> seconds_of_slots(const collectives::ProgramGroup& group, std::int32_t slots,
                                                     const GroupsAlong& groups) const;

 private:
  const topologies::Cluster& cluster_;
  Indexed<topologies::NodeId, double>
      rate_of_nic_;  ///< bytes a second to the network; empty: ranks share NICs, or none
};

/// Costs of collectives along some axes. Groups of one stage run at the same time and share links. Groups of other
/// stages may not be running, so the closed form, which counts them, is not a lower bound; the load of the busiest link
/// of one stage is.
class GroupCosts {
 public:
  /// `stages`: null without a pipeline.
  GroupCosts(const PlanSpace& space, const NetworkPorts& ports, GroupsAlong& groups, const StagesAlong* stages)
      : space_(space), ports_(ports), groups_(groups), stages_(stages) {}
  struct Cost {
    double alone = 0, of_network = 0;  ///< as in CollectiveCosts
    friend bool operator==(const Cost&, const Cost&) = default;
  };
  /// `number`: of the collective in the book.
  [[nodiscard]] Cost cost(std::int32_t number, const PlanCollective& collective);
  [[nodiscard]] bool knows(std::int32_t number) const { return known_.contains(number); }
  [[nodiscard]] GroupsAlong& groups() { return groups_; }

 private:
  [[nodiscard]] double cost_of_stage(const PlanCollective& collective);
  /// Every rank is in one group, so if each group fills its members' ports for this long or longer, one with another,
  /// all ranks of a stage together do.
  [[nodiscard]] double cost_of_network(const PlanCollective& collective);
  /// Loads of links by the stages that differ.
  [[nodiscard]] const collectives::SlotLoads& loads(const collectives::CollectiveAlgorithm& algorithm);
  [[nodiscard]] collectives::SlotLoads loads_of_stages(const collectives::Communicator& communicator,
                                                       const topologies::GroupOrbits* orbits);

  const PlanSpace& space_;
  const NetworkPorts& ports_;
  GroupsAlong& groups_;
  const StagesAlong* stages_;
  /// By algorithm, of the groups that differ: NetworkPorts::seconds_of_slots.
  std::vector<std::pair<const collectives::CollectiveAlgorithm*, std::vector<std::vector<double>>>> of_network_;
  std::vector<std::pair<const collectives::CollectiveAlgorithm*, collectives::SlotLoads>> loads_;
  std::unordered_map<std::int32_t, Cost> known_;  ///< by number
};

/// A value for each placement of a node, stored once for placements with equal values.
template <class Value>
struct ByPlacement {
  std::vector<Value> different;
  std::vector<std::int32_t> which;  ///< by placement: index into `different`
  [[nodiscard]] const Value& of(std::int32_t placement) const {
    return different[position_of(which[position_of(placement)])];
  }
};

/// A partition of placements into numbered sets; at first all are in one set.
struct PlacementSets {
  explicit PlacementSets(std::size_t placements) : which(placements, 0) {}
  /// Splits the sets: placements stay in one set if they were and have the same number, below `most`, in `by`.
  void tell_apart(const std::vector<std::int32_t>& by, std::size_t most);
  std::vector<std::int32_t> which;     ///< by placement: its set
  std::vector<std::int32_t> first{0};  ///< by set: its first placement
};

/// Keeps all costs that a search has asked for.
class CostBook {
 public:
  explicit CostBook(const PlanSpace& space) : space_(space), ports_(space.cluster()), nodes_(space.nodes().size()) {}

  /// Costs of the collectives of a list on each placement. `node`: the node's number in the space.
  [[nodiscard]] ByPlacement<CollectiveCosts> costs(std::int32_t node, const CollectiveList& list);
  /// For each collective the least cost over all placements.
  [[nodiscard]] CollectiveCosts least_costs(std::int32_t node, const CollectiveList& list);
  /// Null without a pipeline.
  [[nodiscard]] const ByPlacement<const StagesAlong*>& stages(std::int32_t node);

 private:
  /// The places of axes, axis by axis.
  using Place = std::vector<std::vector<topologies::Factor>>;
  struct Before {
    bool operator()(const Place& a, const Place& b) const;
  };
  struct Node {
    std::array<ByPlacement<GroupCosts*>, 1U << plan_axes.size()> along;  ///< each set of axes
    ByPlacement<const StagesAlong*> stages;
  };
  [[nodiscard]] GroupCosts::Cost cost(GroupCosts& groups, const CollectiveList& list, std::size_t which);
  [[nodiscard]] const ByPlacement<GroupCosts*>& groups(std::int32_t node, std::uint32_t axes);

  void make_room();

  const PlanSpace& space_;
  NetworkPorts ports_;
  std::map<std::uint32_t, std::map<Place, std::unique_ptr<GroupsAlong>, Before>> groups_;  ///< by axes
  std::map<Place, std::unique_ptr<StagesAlong>, Before> stages_;
  std::map<std::pair<const GroupsAlong*, const StagesAlong*>, std::unique_ptr<GroupCosts>> costs_;
  std::vector<Node> nodes_;
  std::vector<GroupsAlong*> made_;  ///< groups that fill memory now
};

}  // namespace lockstep::planning
