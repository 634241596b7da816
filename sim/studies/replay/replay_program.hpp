#pragma once
/// The works of all ranks and their collectives as one Program.
#include <string>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/studies/replay/matched_collectives.hpp"
#include "sim/studies/replay/replay.hpp"

namespace lockstep::replay {

/// A collective as it was simulated.
struct SimulatedCollective {
  std::int32_t members = 0;
  std::optional<Bytes> buffer;
  Seconds alone{0};
  std::string algorithm;
};

struct ReplayProgram {
  program::Program program;
  /// By position in RecordedJob::ranks: which of the program's operations are this rank's.
  std::vector<Indexed<WorkId, program::ProgramOpId>> operations;
  std::vector<SimulatedCollective> collectives;  ///< as matched_collectives() lists them
  std::int32_t world = 0;                        ///< ranks of the replayed job
  std::vector<std::string> notes;
};

/// Throws ConfigError where the job cannot be replayed with these options.
[[nodiscard]] ReplayProgram replay_program(const workloads::RecordedJob& job, const std::vector<RankWork>& works,
                                           const std::vector<MatchedCollective>& collectives,
                                           const ReplayOptions& options);

}  // namespace lockstep::replay
