#pragma once
/// Reading a collective algorithm from a file.
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/core/errors.hpp"

namespace lockstep::collectives {

/// A file of at most 64 MiB in MSCCL's XML (https://github.com/microsoft/msccl, src/include/msccl.h; written by
/// msccl-tools), or in Lockstep's YAML of steps (docs/howto/your_own_collective.md). The algorithm has been executed on
/// symbols: it ends, and every rank ends with every contribution exactly once. Throws ConfigError with all that is
/// wrong.
[[nodiscard]] ChunkSchedule read_collective(const std::filesystem::path& file);
/// The same for text in memory; `file` stands in the places of problems.
[[nodiscard]] ChunkSchedule read_collective_text(std::string_view text, const std::string& file);

}  // namespace lockstep::collectives
