// Hierarchical all-to-all, as with rail-optimised fabrics: each member first sends all that a unit's members shall get
// to the one of them that has its own place (g V/N^2 to each unit, on its own rail), then units deal it out inside (V/n
// each). The NICs carry what they do without the detour, in g times fewer messages.
#include "sim/collectives/unit_stages.hpp"

namespace lockstep::collectives::network {
namespace {

/// Inside a unit along the axes one by one, where a ring would join two of them.
UnitStages stages(const topologies::Cluster& cluster, const GroupStructure& groups) {
  if (!cluster.unit_is_torus() || groups.torus_by_axis.empty()) return {cluster, groups, direct()};
  return {cluster, groups, direct(), torus_all_to_all()};
}

class HierarchicalAllToAll final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "hierarchical all-to-all"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return kind == workloads::CollectiveKind::all_to_all && UnitStages::possible(kind, cluster, groups, direct());
  }

  std::int32_t slots(const topologies::Cluster& cluster, const GroupStructure& groups) const override {
    return stages(cluster, groups).slots();
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return stages(cluster, groups).flows(group);
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    return phases_of(kind, full_size, 1.0, cluster, groups, protocol);
  }

  /// A token crosses to each unit once and is copied there, or its results are summed before they cross back.
  std::vector<Phase> plan_tokens(Bytes full_size, workloads::TokenCopies copies, const topologies::Cluster& cluster,
                                 const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    return phases_of(workloads::CollectiveKind::all_to_all, full_size, copies.share_across(groups.units), cluster,
                     groups, protocol);
  }

 private:
  static std::vector<Phase> phases_of(workloads::CollectiveKind kind, Bytes full_size, double share_across,
                                      const topologies::Cluster& cluster, const GroupStructure& groups,
                                      const topologies::Protocol& protocol) {
    const UnitStages both = stages(cluster, groups);
    std::vector<Phase> phases;
    both.across(phases, kind, full_size, share_across / groups.local, protocol);
    both.inside(phases, kind, full_size, 1.0 / groups.units, protocol);
    return phases;
  }
};

}  // namespace

const CollectiveAlgorithm& hierarchical_all_to_all() {
  static const HierarchicalAllToAll algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
