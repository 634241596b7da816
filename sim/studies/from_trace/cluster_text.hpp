#pragma once
/// The cluster of a recorded job as a scenario writes it.
#include <cstdint>
#include <string>

#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::from_trace {

/// The value of the key `cluster`: `shorthand`, such as "dgx-h100:4", or a block of the same, with the part of a node
/// that a smaller job takes, and with the chip's `kernels` (YAML of that key; empty: the catalog's). Throws ConfigError
/// where the cluster does not have `ranks` chips.
[[nodiscard]] std::string cluster_text(const std::string& shorthand, const topologies::ClusterSpec& spec,
                                       std::int64_t ranks, const std::string& kernels);

}  // namespace lockstep::from_trace
