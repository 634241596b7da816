// Groups inside one torus: the plans and closed forms of collective.hpp on the rings and lines of the mesh.
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/communicator.hpp"

namespace lockstep::network {
namespace {

class Torus final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "torus"; }
  std::string label(CollectiveKind kind, const GroupStructure& groups) const override {
    return algorithm_name(kind, groups.torus);
  }

  bool serves(CollectiveKind /*kind*/, const Cluster& cluster, const GroupStructure& groups) const override {
    return cluster.unit_is_torus() && groups.units == 1;
  }

  std::int32_t slots(const Cluster& /*cluster*/, const GroupStructure& groups) const override {
    return SlotLayout(groups.torus).total;
  }

  std::vector<Flow> flows(const Cluster& /*cluster*/, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return flows_of_lanes(group.lanes, groups.torus);
  }

  std::vector<Phase> plan(CollectiveKind kind, Bytes full_size, const Cluster& /*cluster*/,
                          const GroupStructure& groups, const Protocol& /*protocol*/) const override {
    return lockstep::plan(kind, groups.torus, full_size);
  }

  std::optional<Seconds> closed_form(CollectiveKind kind, Bytes full_size,
                                     const GroupStructure& groups) const override {
    return cost(kind, groups.torus, full_size);
  }
};

}  // namespace

const CollectiveAlgorithm& torus() {
  static const Torus algorithm;
  return algorithm;
}

}  // namespace lockstep::network
