// Tokens to experts as DeepEP and HybridEP move them: each member sends a token once to each other unit that has one of
// its experts, to the member with its own place there and so on its own rail. That member passes it on to each chip of
// the unit that has one, once, while further tokens arrive: both parts are one phase. Results come back the same way,
// summed where the token was copied.
#include "sim/collectives/unit_stages.hpp"

namespace lockstep::collectives::network {
namespace {

constexpr auto kind_of_tokens = workloads::CollectiveKind::all_to_all;

class ForwardedAllToAll final : public CollectiveAlgorithm {
 public:
  std::string_view name() const override { return "forwarded all-to-all"; }

  bool serves(workloads::CollectiveKind kind, const topologies::Cluster& cluster,
              const GroupStructure& groups) const override {
    if (kind != kind_of_tokens || cluster.unit_is_torus() || groups.local == 0) return false;
    return has_stages(groups) ? UnitStages::possible(kind, cluster, groups, direct())
                              : direct().serves(kind, cluster, groups);
  }

  std::int32_t slots(const topologies::Cluster& cluster, const GroupStructure& groups) const override {
    return has_stages(groups) ? UnitStages(cluster, groups, direct()).slots() : direct().slots(cluster, groups);
  }

  std::vector<Flow> flows(const topologies::Cluster& cluster, const NetworkGroup& group,
                          const GroupStructure& groups) const override {
    return has_stages(groups) ? UnitStages(cluster, groups, direct()).flows(group)
                              : direct().flows(cluster, group, groups);
  }

  std::vector<Phase> plan(workloads::CollectiveKind /*kind*/, Bytes full_size, const topologies::Cluster& cluster,
                          const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    return plan_tokens(full_size, {}, cluster, groups, protocol);
  }

  std::vector<Phase> plan_tokens(Bytes full_size, workloads::TokenCopies copies, const topologies::Cluster& cluster,
                                 const GroupStructure& groups, const topologies::Protocol& protocol) const override {
    const double to_chips = copies.share_across(groups.members);
    if (!has_stages(groups)) {
      auto phases = direct().plan(kind_of_tokens, full_size, cluster, groups, protocol);
      for (auto& phase : phases) {
        for (auto& bytes : phase.slot_bytes) bytes *= to_chips;
      }
      return phases;
    }
    const UnitStages both(cluster, groups, direct());
    std::vector<Phase> stages;
    both.across(stages, kind_of_tokens, full_size, copies.share_across(groups.units) / groups.local, protocol);
    both.inside(stages, kind_of_tokens, full_size, to_chips / groups.units, protocol);
    return {at_once(stages)};
  }

 private:
  static bool has_stages(const GroupStructure& groups) { return groups.units > 1 && groups.local > 1; }

  /// The first token passes all stages, and from then on all are busy.
  static Phase at_once(const std::vector<Phase>& stages) {
    Phase all = stages.front();
    for (auto stage = stages.begin() + 1; stage != stages.end(); ++stage) {
      all.latency += stage->latency;
      for (const SlotId slot : all.slot_bytes.ids()) all.slot_bytes[slot] += stage->slot_bytes[slot];
    }
    return all;
  }
};

}  // namespace

const CollectiveAlgorithm& forwarded_all_to_all() {
  static const ForwardedAllToAll algorithm;
  return algorithm;
}

}  // namespace lockstep::collectives::network
