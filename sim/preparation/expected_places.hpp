#pragma once
/// Which places a cluster has, for a user who named one that it has not.
#include <string>

#include "sim/program/perturb.hpp"

namespace lockstep::preparation {

/// What a perturbation that program::why_not refuses could have named: "one of the 16 from spine(0) to spine(15)",
/// the neighbours of a node, or the largest count.
[[nodiscard]] std::string expected_places(const program::Perturbation& perturbation,
                                          const topologies::Cluster& cluster);

}  // namespace lockstep::preparation
