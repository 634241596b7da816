#pragma once
/// Lockstep's YAML of a collective algorithm: steps of transfers between ranks.
#include <string>
#include <string_view>

#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {

/// Reads the steps, runs them on symbols and checks their promise; what is wrong is a problem.
///
/// All transfers of a step read what their senders had before it. A transfer waits for those of earlier steps that
/// wrote what it reads, and for those that read or wrote what it writes; and for the one before it from the same sender
/// to the same receiver. It does not wait for the rest of an earlier step.
[[nodiscard]] ChunkSchedule read_step_list(std::string_view text, const std::string& file, Problems& problems);

}  // namespace lockstep::collectives
