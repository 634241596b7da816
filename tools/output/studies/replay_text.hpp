#pragma once
/// A replayed job as text and as JSON.
#include <string>

#include "sim/studies/replay/against.hpp"
#include "sim/studies/replay/replay.hpp"
#include "tools/output/elements/terminal.hpp"

namespace lockstep::output {

/// `cluster`: as the user named it; empty: collectives took what was recorded. `width` as Table::to_string.
[[nodiscard]] std::string replay_text(const workloads::RecordedJob& job, const replay::Replay& replay,
                                      const std::string& cluster, std::size_t width = text_width());
[[nodiscard]] std::string replay_json(const workloads::RecordedJob& job, const replay::Replay& replay,
                                      const std::string& cluster);

/// What had to be guessed of a trace and what it does not tell; "" where there is nothing.
[[nodiscard]] std::string trace_notes(const workloads::RecordedJob& job);

/// The collectives of a rank beside those of a scenario, with the notes of `job` where it is given.
[[nodiscard]] std::string against_text(const std::vector<replay::ComparedCollective>& rows, std::int32_t rank,
                                       const std::string& scenario, const workloads::RecordedJob* job = nullptr);
[[nodiscard]] std::string against_json(const std::vector<replay::ComparedCollective>& rows, std::int32_t rank,
                                       const std::string& scenario, const workloads::RecordedJob* job = nullptr);

}  // namespace lockstep::output
