#pragma once
/// A network as its owner's file describes it: hosts with their adapters, switches, and the cables between them.
/// Readers of files make it (read_network.hpp); a cluster can be built on it (topologies/fabrics/graph_fabric.cpp).
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/units.hpp"

namespace lockstep::topologies {

using HostId = int;
using SwitchId = int;

struct NetworkHost {
  std::string name;                   ///< the administrator's: "gpu-017"
  std::vector<std::string> adapters;  ///< names in the order of the host's NICs: "mlx5_0"; at least one
};

struct NetworkSwitch {
  std::string name;  ///< unique in a graph, unlike the descriptions of switches in some files
};

struct AdapterEnd {
  HostId host = 0;
  int adapter = 0;
};

struct SwitchEnd {
  SwitchId network_switch = 0;
};

using CableEnd = std::variant<AdapterEnd, SwitchEnd>;

/// Parallel cables between the same two ends, each carrying its rate both ways at once.
struct Cable {
  CableEnd from, to;
  int count = 1;
  std::optional<BytesPerSecond> rate;  ///< of one cable, one way; none: the file does not say
  std::optional<Seconds> latency;      ///< of the cable and the switch behind it; none: the file does not say
  std::string label;                   ///< what the file calls its speed: "4xNDR"; empty: nothing
};

struct NetworkGraph {
  std::string name;  ///< of the file or what it says of itself
  Indexed<HostId, NetworkHost> hosts;
  Indexed<SwitchId, NetworkSwitch> switches;
  std::vector<Cable> cables;
};

}  // namespace lockstep::topologies
