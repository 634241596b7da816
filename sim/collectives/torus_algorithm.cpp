// Groups inside one torus: the plans and closed forms of collective.hpp on the rings and lines of the mesh. Where the
// mesh joins two lines to one ring through their block, an all-to-all has a second way: along one line, then along the
// other. The ring has two links at any cut, the block more.
#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/communicator.hpp"

namespace lockstep::collectives::network {
namespace {

class Torus final : public CollectiveAlgorithm {
 public:
  explicit Torus(bool by_axis) : by_axis_(by_axis) {}

  std::string_view name() const override { return by_axis_ ? "torus all-to-all" : "torus"; }
  std::string label(workloads::CollectiveKind kind, const GroupStructure& groups) const override {
    return algorithm_name(kind, dimensions(groups));
  }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    if (!cluster.unit_is_torus() || groups.units > 1) return false;
    return !by_axis_ || (kind == workloads::CollectiveKind::all_to_all && !groups.torus_by_axis.empty());
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& groups) const override {
    return SlotLayout(dimensions(groups)).total;
  }

  std::vector<Flow> flows(const topologies::Cluster& /*cluster*/, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return flows_of_lanes(by_axis_ ? group.lanes_by_axis : group.lanes, dimensions(groups));
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& groups, const topologies::Protocol& /*protocol*/) const override {
    return lockstep::collectives::plan(kind, dimensions(groups), full_size);
  }

  std::optional<Seconds> closed_form(workloads::CollectiveKind kind, Bytes full_size,
                                     const GroupStructure& groups) const override {
    if (groups.parts_of_one_axis) return std::nullopt;  // it takes each dimension to have links of its own
    return cost(kind, dimensions(groups), full_size);
  }

 private:
  [[nodiscard]] const Dimensions& dimensions(const GroupStructure& groups) const {
    return by_axis_ ? groups.torus_by_axis : groups.torus;
  }

  bool by_axis_;
};

}  // namespace

const CollectiveAlgorithm& torus() {
  static const Torus algorithm(false);
  return algorithm;
}

const CollectiveAlgorithm& torus_all_to_all() {
  static const Torus algorithm(true);
  return algorithm;
}

}  // namespace lockstep::collectives::network
