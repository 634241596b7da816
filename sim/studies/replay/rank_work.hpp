#pragma once
/// What one rank of a recorded job does, freed from its dates: operations, how long each takes, and what it waits for.
/// A dated trace tells when things happened, not why. The reasons are found in this order: a kernel follows the one
/// before it on its stream; it follows its launch; it follows what the trace or the rules of PyTorch's process groups
/// say; and if it still began later, what ended on another stream just before is taken to be the reason. What remains
/// stays as a pause before the kernel.
#include <string>
#include <vector>

#include "workloads/traces/recorded_job.hpp"

namespace lockstep::replay {

using WorkId = std::int32_t;  ///< position in RankWork::operations

struct WorkOperation {
  enum class Kind { host, kernel, collective };
  Kind kind = Kind::kernel;
  workloads::RecordedEventId event = -1;  ///< none for what the host does between launches
  std::int64_t order = 0;                 ///< of operations that could be next the least is the first
  Seconds pause{0};                       ///< between what it waits for and its start
  Seconds recorded_pause{0};              ///< the same, whatever a replay makes of it
  Seconds duration{0};
  Seconds waited_for_launch{0}, waited_for_streams{0};  ///< while its stream stood still, as recorded
  bool computes = false;  ///< a kernel, whose time depends on the chip's clock; not a copy
  SmallList<workloads::RecordedStreamId> streams;
  std::int32_t priority = 0;
  SmallList<WorkId> after;  ///< earlier operations
};

/// Why device streams stood still, summed over the kernels of a rank.
struct Gaps {
  Seconds launch{0};         ///< the host had not launched the next kernel yet
  Seconds streams{0};        ///< another stream had to end something first
  Seconds unexplained{0};    ///< kept as pauses
  std::int64_t guessed = 0;  ///< dependences that were taken from dates alone
};

struct RankWork {
  Indexed<workloads::RecordedStreamId, std::string> streams;  ///< those of the rank, and the host's
  Indexed<WorkId, WorkOperation> operations;                  ///< in a topological order
  /// As recorded: from the first marked step's begin, or the first launch; of a graph without dates both 0.
  Seconds begin{0}, end{0};
  Gaps gaps;
};

/// Of a dated rank with marked steps only what was launched in them. `dated`: as RecordedJob says.
[[nodiscard]] RankWork work_of(const workloads::RecordedRank& rank, bool dated);

}  // namespace lockstep::replay
