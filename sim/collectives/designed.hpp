#pragma once
/// The algorithm that is designed for the very network and groups (sim/collectives/design).
#include <array>
#include <string_view>
#include <vector>

#include "sim/collectives/design/pieces.hpp"
#include "topologies/cluster/cluster_spec.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::collectives {

inline constexpr std::string_view designed_name = "designed";

/// Devices in the order of the cluster's ranks: member r of a designed collective.
[[nodiscard]] std::vector<topologies::DeviceId> in_order_of_ranks(const topologies::Cluster& cluster,
                                                                  std::vector<topologies::DeviceId> members);

/// Whether trees run collectives of this kind.
[[nodiscard]] bool is_designed(workloads::CollectiveKind kind);

/// The trees of a design on all groups: every tree between the members with the same numbers,
/// over the cluster's routes.
class TreesOnGroups {
 public:
  /// `groups`: devices in the order of ranks. `rate`: of a link.
  TreesOnGroups(const topologies::Cluster& cluster, const std::vector<std::vector<topologies::DeviceId>>& groups,
                const design::LinkRate& rate, design::Design design);

  enum Pass : std::int32_t { down, up, both };  ///< from the roots to all, from all to the roots, up and then down
  static constexpr int passes = 3;
  [[nodiscard]] const design::Design& design() const { return design_; }
  /// Of both passes there are as many trees, in the order of their roots.
  [[nodiscard]] const design::BroadcastTrees& trees(Pass pass) const {
    return pass == up ? design_.reduce : design_.gather;
  }
  [[nodiscard]] const design::TreeUse& use(Pass pass) const { return use_[position_of(pass)]; }
  /// The links of all trees on one group, in its order of ranks, as often as trees cross them.
  [[nodiscard]] std::vector<topologies::LinkId> links_of(const topologies::Cluster& cluster,
                                                         const std::vector<topologies::DeviceId>& members,
                                                         Pass pass) const;
  /// How long the busiest link takes for a byte of each tree, all groups at once.
  [[nodiscard]] double busiest(Pass pass) const { return busiest_[position_of(pass)]; }
  /// A pass over an array of so many bytes. `step_slowdown`: of steps between units.
  [[nodiscard]] design::Pieces pieces(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                                      double step_slowdown) const;
  /// The same where every connection has one channel, which takes the trees' pieces in an order made for all of them
  /// (design::moves_in_order).
  [[nodiscard]] design::Pieces pieces_in_order(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                                               double step_slowdown) const;
  /// Without the protocol's launch, all groups at once.
  [[nodiscard]] Seconds time(Pass pass, Bytes full_size, const topologies::Protocol& protocol,
                             double step_slowdown) const;
  /// Bytes of each tree as links carry them.
  [[nodiscard]] double bytes_of_tree(Pass pass, Bytes full_size, const topologies::Protocol& protocol) const;

 private:
  /// The longest way of a step, without the protocol's part.
  struct Step {
    Seconds local{0}, remote{0};
    bool has_local = false, has_remote = false;
  };
  template <class Visit>
  void visit_arcs(const std::vector<topologies::DeviceId>& members, Pass pass, Visit visit) const;
  [[nodiscard]] design::Pieces pieces_of(Pass pass, const design::TreeUse& use, int of_channel, Bytes full_size,
                                         const topologies::Protocol& protocol, double step_slowdown) const;
  void find_step(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& members, Pass pass);

  design::Design design_;
  std::array<design::TreeUse, passes> use_{};
  std::array<double, passes> busiest_{};
  std::array<Step, passes> step_{};
};

/// What trees do for a kind.
[[nodiscard]] TreesOnGroups::Pass pass_of(workloads::CollectiveKind kind);

/// The designs for the group that has the lowest rate, on all groups (design::designs_for, all_reduce_designs_for).
/// `groups`: devices by member. Throws NoRoute if links without a rate part a group.
[[nodiscard]] std::vector<TreesOnGroups> designs_on_groups(workloads::CollectiveKind kind,
                                                           const topologies::Cluster& cluster,
                                                           std::vector<std::vector<topologies::DeviceId>> groups,
                                                           const design::LinkRate& rate);

/// The one that takes least.
[[nodiscard]] std::size_t fastest(const std::vector<TreesOnGroups>& designs, TreesOnGroups::Pass pass, Bytes full_size,
                                  const topologies::Protocol& protocol, double step_slowdown);

}  // namespace lockstep::collectives
