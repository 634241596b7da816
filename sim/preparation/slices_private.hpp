#pragma once
/// Slices of a microbatch's sequence that pass through the pipeline one by one.
#include <cstdint>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "workloads/layers/block.hpp"

namespace lockstep::preparation {

/// Throws the ConfigError of what slices cannot be had with.
void check_slices(const scenario::Scenario& scenario, const workloads::Parallel& parallel,
                  const workloads::BlockSequence& blocks);

/// Tokens of each slice, first to last: the scenario's sequence in equal lengths, or so that the model's forward FLOPs
/// of all slices are as equal as whole multiples of `multiple` tokens allow. Throws ConfigError if it cannot be cut so.
[[nodiscard]] std::vector<std::int64_t> lengths_of_slices(const scenario::Scenario& scenario, std::int64_t multiple);

}  // namespace lockstep::preparation
