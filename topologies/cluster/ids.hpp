#pragma once
/// The numbers by which the parts of a cluster are known.
#include <cstdint>

namespace lockstep::topologies {

using DeviceId = std::int32_t;  ///< 0 .. devices-1, row-major over the physical axes (last axis fastest)
using NodeId = std::int32_t;    ///< devices come first, then hosts, then switches
using LinkId = std::int32_t;
using AxisId = int;               ///< position of a physical axis in Cluster::axes()
using ChipKindId = std::int32_t;  ///< kinds of chips of a cluster; nodes of several kinds have several
using RankId = std::int32_t;      ///< position in the mesh, row-major over the mesh axes (last fastest)

}  // namespace lockstep::topologies
