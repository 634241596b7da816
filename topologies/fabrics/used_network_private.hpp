#pragma once
/// The part of a given network that routes between a cluster's NICs may use, as it is modelled: sprayed with groups of
/// switches and one link for all cables between two of them, hashed with every switch and cable.
#include <map>
#include <string>
#include <variant>

#include "topologies/fabrics/switch_groups_private.hpp"
#include "topologies/fabrics/switch_network_private.hpp"

namespace lockstep::topologies {

using EndId = int;

/// Cables side by side become one link of their summed rates. Equal rates are multiplied, so that the sum has no
/// rounding of its own.
class SummedCables {
 public:
  void add(int count, BytesPerSecond rate, Seconds latency);
  [[nodiscard]] BytesPerSecond rate() const;
  [[nodiscard]] Seconds latency() const { return latency_; }

 private:
  std::map<BytesPerSecond, std::int64_t> cables_;
  Seconds latency_{0};
};

/// Between two groups of switches, as fast both ways; rates are as achieved.
struct GroupLink {
  SwitchGroupId lower, upper;
  BytesPerSecond rate;
  Seconds latency;
};

/// From a NIC to its first switch.
struct PortOfEnd {
  EndId end;
  SwitchGroupId group;
  BytesPerSecond rate;
  Seconds latency;
};

struct ModelledGroup {
  std::string name;  ///< "spine-01", "spine-01 and 7 more"
  int tier = 0;
};

struct UsedNetwork {
  Indexed<SwitchGroupId, ModelledGroup> groups;
  std::vector<PortOfEnd> ports;  ///< by end
  std::vector<GroupLink> links;  ///< by the tier of the lower end, then as the graph lists its cables
  Indexed<EndId, std::string> names;
  bool in_tiers = true;  ///< every link leads from one tier to the next
};

/// Hosts and adapters must be there.
[[nodiscard]] UsedNetwork used_network(const FabricSpec& spec, const GivenNetwork& keys, const EndCount& ends);

/// For each end the number of the network that it belongs to, in the order of first ends: no cable leads from one such
/// network to another. Ends without a switch have networks of their own.
[[nodiscard]] Indexed<EndId, int> separate_networks(const UsedNetwork& network);

}  // namespace lockstep::topologies
