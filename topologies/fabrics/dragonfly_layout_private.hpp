#pragma once
/// Routers in groups, all of a group joined to each other and every two groups by some cables: the kind `dragonfly`,
/// and networks of files that are built so.
#include <optional>
#include <string>
#include <vector>

#include "topologies/fabrics/used_network_private.hpp"

namespace lockstep::topologies {

using RouterId = std::int32_t;
using RouterGroupId = std::int32_t;

/// As achieved, one way. `from` lies in the group of the lower number or, of a group's cables, is its earlier router.
struct RouterCable {
  RouterId from, to;
  BytesPerSecond rate;
  Seconds latency;
};

struct DragonflyLayout {
  struct Router {
    std::string name;
    RouterGroupId group;
  };
  struct Port {
    RouterId router;
    BytesPerSecond rate;
    Seconds latency;
  };
  Indexed<RouterId, Router> routers;
  Indexed<RouterGroupId, std::string> groups;  ///< their names
  Indexed<EndId, Port> ports;                  ///< of each end one
  std::vector<RouterCable> local;              ///< one for any two routers of a group, group by group
  std::vector<RouterCable> global;             ///< at least one for any two groups, pair by pair
};

/// Adds the routers, the links of the ends, the local ones and the global ones, in this order. Sprayed, the global
/// links between two groups become one link, if some are joined by several, and lead from hub to hub.
[[nodiscard]] std::unique_ptr<const SwitchNetwork> build_dragonfly(const FabricSpec& spec, const NetworkEnds& ends,
                                                                   const DragonflyLayout& layout,
                                                                   Cluster::Graph& graph);

/// Finds groups of at least two routers in a network whose links are single cables. Nothing if it is built in another
/// way, an end has several ports, or two routers of a group are joined by several cables.
[[nodiscard]] std::optional<DragonflyLayout> as_dragonfly(const UsedNetwork& cables);

}  // namespace lockstep::topologies
