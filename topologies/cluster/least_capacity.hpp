#pragma once
/// The memory into which a step has to fit on every chip of a cluster.
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// Of the kind of chip that has the least.
[[nodiscard]] Bytes least_capacity(const ClusterSpec& cluster);

}  // namespace lockstep::topologies
