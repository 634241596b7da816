// Groups inside one torus: the plans and closed forms of collective.hpp on the rings and lines of the mesh.
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/communicator.hpp"

namespace lockstep::collectives::network {
namespace {

class Torus final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "torus"; }
  std::string label(workloads::CollectiveKind kind, const GroupStructure& groups) const override {
    return algorithm_name(kind, groups.torus);
  }

  bool serves(workloads::CollectiveKind /*kind*/, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return cluster.unit_is_torus() && groups.units == 1;
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& groups) const override {
    return SlotLayout(groups.torus).total;
  }

  std::vector<Flow> flows(const topologies::Cluster& /*cluster*/, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return flows_of_lanes(group.lanes, groups.torus);
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& groups, const topologies::Protocol& /*protocol*/) const override {
    return lockstep::collectives::plan(kind, groups.torus, full_size);
  }

  std::optional<Seconds> closed_form(workloads::CollectiveKind kind, Bytes full_size,
                                     const GroupStructure& groups) const override {
    return cost(kind, groups.torus, full_size);
  }
};

}  // namespace

const CollectiveAlgorithm& torus() {
  static const Torus algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
