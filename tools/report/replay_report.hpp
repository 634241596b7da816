#pragma once
/// The report of a replayed job: its lanes as recorded and as replayed on one axis, and where they differ.
#include <optional>
#include <string>

#include "sim/studies/replay/replay.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// `replay` must have kept its spans. `network`: as the user named it; empty: collectives took what was recorded.
[[nodiscard]] std::optional<std::string> replay_report(const workloads::RecordedJob& job, const replay::Replay& replay,
                                                       const std::string& network);

}  // namespace lockstep::report
