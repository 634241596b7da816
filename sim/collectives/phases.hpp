#pragma once
/// How a collective runs: phases of flows over links, for all groups along some mesh axes at once.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/units.hpp"
#include "topologies/cluster/ids.hpp"

namespace lockstep::collectives {

using SlotId = std::int32_t;   ///< number of a byte count of a collective's phases
using GroupId = std::int32_t;  ///< position among the groups of a communicator

/// Bytes on a route, one way. Many flows share the phases of one collective: `slot` says which of the
/// phase's byte counts it carries.
struct Flow {
  SlotId slot;
  std::vector<topologies::LinkId> links;  ///< directed links it crosses, in order; a link may repeat
};

/// Ranks that act together, with the flows of one such group.
struct ProgramGroup {
  std::vector<topologies::RankId> members;
  std::vector<Flow> flows;
  /// The bytes of flows on links that no traffic can fill (folded programs only). They shape no rate, so engines leave
  /// them out; loads of links count them.
  std::vector<Flow> on_slack_links{};
};

/// All groups along one set of mesh axes: disjoint, together holding every rank that takes part.
/// Every group has the same slots.
struct Communicator {
  std::string name;  ///< "fsdp", "fsdp+tensor"
  std::int32_t slots = 0;
  Indexed<GroupId, ProgramGroup> groups;
};

/// A serial part of a collective: after `latency`, every flow of the group starts with its slot's
/// bytes (zero bytes: no flow); the phase ends with the last of them.
struct Phase {
  Seconds latency;
  Indexed<SlotId, double> slot_bytes;
};

}  // namespace lockstep::collectives
