// Recursive halving (reduce-scatter) and doubling (all-gather) for N = 2^K members. In step k each member exchanges
// with the partner whose number differs in bit k the half of what it still holds that the partner keeps: V / 2^(k+1).
// The nearest partners, which share a unit, come first and take most of the bytes; all-gather goes the same way back.
#include <bit>

#include "sim/collectives/algorithms.hpp"

namespace lockstep::collectives::network {
namespace {

class RecursiveHalving final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "recursive halving"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    return without_torus(cluster, groups) && std::has_single_bit(static_cast<unsigned>(groups.members)) &&
           (kind == workloads::CollectiveKind::all_reduce || kind == workloads::CollectiveKind::all_gather ||
            kind == workloads::CollectiveKind::reduce_scatter);
  }

  std::int32_t slots(const topologies::Cluster& /*cluster*/, const GroupStructure& groups) const override {
    return steps(groups);
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    const auto members = by_unit(group);
    std::vector<Flow> flows;
    for (std::int32_t step = 0; step < steps(groups); ++step) {
      Flow exchange{step, {}};
      for (std::size_t i = 0; i < members.size(); ++i) {
        append_route(cluster, members[i], members[i ^ (std::size_t{1} << static_cast<unsigned>(step))], exchange.links);
      }
      flows.push_back(std::move(exchange));
    }
    return flows;
  }

  std::vector<Phase> plan(workloads::CollectiveKind kind, Bytes full_size, const topologies::Cluster& /*cluster*/,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const std::int32_t last = steps(groups);
    std::vector<Phase> halving;
    double bytes = carried(full_size, protocol);
    for (std::int32_t step = 0; step < last; ++step) {
      const int block = 2 << step;  // members among whom step and all before it stay
      const bool local = groups.units == 1 || (groups.local > 0 && groups.local % block == 0);
      Phase phase{local ? local_step(groups, protocol) : remote_step(groups, protocol),
                  Indexed<SlotId, double>(last, 0.0)};
      bytes /= 2;
      phase.slot_bytes[step] = bytes;
      halving.push_back(std::move(phase));
    }
    std::vector<Phase> phases;
    if (kind != workloads::CollectiveKind::all_gather) phases = halving;
    if (kind != workloads::CollectiveKind::reduce_scatter)
      phases.insert(phases.end(), halving.rbegin(), halving.rend());
    phases.front().latency += protocol.launch;
    return phases;
  }

 private:
  static std::int32_t steps(const GroupStructure& groups) {
    return std::countr_zero(static_cast<unsigned>(groups.members));
  }
};

}  // namespace

const CollectiveAlgorithm& recursive_halving() {
  static const RecursiveHalving algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
