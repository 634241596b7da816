#pragma once
#include "sim/scenario/scenario.hpp"
#include "topologies/cluster/cluster.hpp"

namespace lockstep::preparation {

/// Takes the loads of `cluster.background` off the links that they name. Throws ConfigError for names that the cluster
/// does not have and for links that would be full.
void share_links(const scenario::Scenario& scenario, topologies::Cluster& cluster);

}  // namespace lockstep::preparation
