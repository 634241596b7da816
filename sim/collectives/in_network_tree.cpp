// In-network reduction inside each node and a tree between nodes (NCCL's NVLSTree): the node's switch adds up V/g for
// each of its g members, which join their sums over a tree on their own NICs, and the switch copies the results to all.
// Pieces of the message follow one another through all of it: one phase, which takes as long as the busier of NICs and
// ports.
#include <algorithm>
#include <functional>

#include "sim/collectives/unit_stages.hpp"

namespace lockstep::collectives::network {
namespace {

class InNetworkTree final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "in-network tree"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return kind == workloads::CollectiveKind::all_reduce && UnitStages::possible(kind, cluster, groups, tree()) &&
           stages(cluster, groups).inside_serves(kind);
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
    std::vector<Phase> parts;
    stages(cluster, groups).inside(parts, kind, full_size, 1, protocol);
    stages(cluster, groups).across(parts, kind, full_size, 1.0 / groups.local, protocol);
    Phase all = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      all.latency += parts[i].latency;
      std::transform(all.slot_bytes.begin(), all.slot_bytes.end(), parts[i].slot_bytes.begin(), all.slot_bytes.begin(),
                     std::plus{});
    }
    return {all};
  }

 private:
  static UnitStages stages(const topologies::Cluster& cluster, const GroupStructure& groups) {
    return {cluster, groups, tree(), in_network()};
  }
};

}  // namespace

const CollectiveAlgorithm& in_network_tree() {
  static const InNetworkTree algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
