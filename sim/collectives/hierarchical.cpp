// Hierarchical: scatter or reduce-scatter inside each unit, so that each of its g members has 1/g of the data; across
// units among the members that have the same part, each over its own NIC; gather inside. For all kinds but all-to-all:
//   reduce-scatter: inside V, across V/g         all-gather: across V/g, inside V
//   all-reduce, broadcast, reduce: inside V (scatter), across V/g, inside V (gather)
#include "sim/collectives/unit_stages.hpp"

namespace lockstep::collectives::network {
namespace {

class Hierarchical final : public CollectiveAlgorithm {
 public:
  Hierarchical(std::string_view name, const CollectiveAlgorithm& across) : name_(name), across_(across) {}

  std::string_view name() const override { return name_; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return kind != workloads::CollectiveKind::all_to_all && kind != workloads::CollectiveKind::point_to_point &&
           UnitStages::possible(kind, cluster, groups, across_);
  }

  std::int32_t slots(const topologies::Cluster& cluster, const GroupStructure& groups) const override {
    return UnitStages(cluster, groups, across_).slots();
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return UnitStages(cluster, groups, across_).flows(group);
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const UnitStages stages(cluster, groups, across_);
    std::vector<Phase> phases;
    if (kind != workloads::CollectiveKind::all_gather)
      stages.inside(phases, workloads::CollectiveKind::reduce_scatter, full_size, 1, protocol);
    stages.across(phases, kind, full_size, 1.0 / groups.local, protocol);
    if (kind != workloads::CollectiveKind::reduce_scatter)
      stages.inside(phases, workloads::CollectiveKind::all_gather, full_size, 1, protocol);
    return phases;
  }

 private:
  std::string_view name_;
  const CollectiveAlgorithm& across_;
};

}  // namespace

const CollectiveAlgorithm& hierarchical_ring() {
  static const Hierarchical algorithm("hierarchical ring", ring());
  return algorithm;
}

const CollectiveAlgorithm& hierarchical_tree() {
  static const Hierarchical algorithm("hierarchical tree", tree());
  return algorithm;
}

}  // namespace lockstep::collectives::network
