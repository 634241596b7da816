#pragma once
/// A replayed job as text and as JSON.
#include <string>

#include "sim/studies/replay/replay.hpp"

namespace lockstep::output {

/// `cluster`: as the user named it; empty: collectives took what was recorded.
[[nodiscard]] std::string replay_text(const workloads::RecordedJob& job, const replay::Replay& replay,
                                      const std::string& cluster);
[[nodiscard]] std::string replay_json(const workloads::RecordedJob& job, const replay::Replay& replay,
                                      const std::string& cluster);

}  // namespace lockstep::output
