#pragma once
/// A recorded job, run again: RecordedJob -> Program -> engine -> Timeline. Kernels keep their times. A collective
/// begins when the last of its members is ready, so that nothing of the waiting inside its kernels is kept, and takes
/// what the network makes of it; without a network, the least time that any of its members recorded, since the last one
/// to come waits for nobody.
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/engine/engine.hpp"
#include "sim/studies/replay/rank_work.hpp"
#include "topologies/cluster/cluster.hpp"
#include "workloads/traces/recorded_job.hpp"

namespace lockstep::replay {

struct ReplayOptions {
  const topologies::Cluster* cluster = nullptr;  ///< none: collectives take what was recorded
  collectives::CollectiveRules rules;
  std::int64_t data = 0;  ///< data-parallel ranks; 0: as recorded. Only of a trace of one rank that stands for all
  double clock = 1;       ///< kernels run so many times as fast
  /// Pauses before kernels that nothing explains are left out if they are longer.
  Seconds longest_pause{std::numeric_limits<double>::infinity()};
  bool keep_spans = false;  ///< of every operation of every rank, for pictures
};

/// Where the time of a stream went.
struct StreamShares {
  Seconds kernels{0}, collectives{0};
  Seconds launches{0};     ///< the host had not launched the next operation
  Seconds streams{0};      ///< another stream had to end something first
  Seconds ranks{0};        ///< another rank was not there yet, before or inside a collective
  Seconds unexplained{0};  ///< pauses
};

/// An operation on its first stream, since the first rank's begin.
struct ReplayedSpan {
  WorkId operation = 0;
  workloads::RecordedEventId event = 0;
  workloads::RecordedStreamId stream = 0;
  std::int32_t collective = -1;  ///< row of Replay::collectives
  timeline::Interval recorded{}, simulated{};
  WorkId because = -1;  ///< of those that it waited for the last to end; -1: none
  SmallList<WorkId> after{};
};

/// A pause that nothing explains.
struct LongPause {
  std::int32_t rank = 0;
  std::string stream, before;  ///< the kernel that began late
  Seconds at, length;          ///< its end, since the first rank's begin
};

struct ReplayedStream {
  std::string name;
  Seconds busy{0};                      ///< sum of what was recorded on it
  Seconds recorded_end, simulated_end;  ///< of its last operation, since the first rank's begin
  StreamShares recorded, simulated;     ///< of a graph without dates only the second
};

struct ReplayedRank {
  std::int32_t rank = 0;
  std::string file;
  Seconds later{0};                 ///< than the first rank it began; kept
  std::optional<Seconds> recorded;  ///< its end, since the first rank's begin; nothing for a graph without dates
  Seconds simulated{0};
  Seconds first{0};   ///< replayed begin of its first operation on the device
  Seconds waited{0};  ///< inside collectives, for others; thrown away
  Gaps gaps;
  std::vector<ReplayedStream> streams;
  std::vector<ReplayedSpan> spans;  ///< if asked for, by stream and simulated start
  workloads::RecordedCounts counts;
};

/// Collectives of one kind and size among groups of one size.
struct ReplayedCollective {
  std::string kind;  ///< "all_reduce"; "unknown" keeps its time
  std::int32_t members = 0;
  std::optional<Bytes> bytes;  ///< the larger buffer of one rank, as nccl-tests print it
  std::string group;           ///< description or name, if all have the same
  std::int64_t count = 0;
  Seconds recorded{0};   ///< least of the members, summed over all
  Seconds simulated{0};  ///< alone on the network, summed over all
  std::string algorithm;
};

struct Replay {
  std::int64_t steps = 1;  ///< that were marked
  std::optional<Seconds> recorded_step;
  Seconds step{0};
  std::int32_t world = 0;
  std::vector<ReplayedRank> ranks;
  std::vector<ReplayedCollective> collectives;
  std::int64_t free_collectives = 0;  ///< that take no time: the trace has none for them, and there is no network
  std::vector<LongPause> pauses;      ///< the longest ones, the longest first
  std::vector<std::string> notes;     ///< sentences: what was taken for granted in this replay
};

/// Throws ConfigError where the job cannot be replayed so, with the reason.
[[nodiscard]] Replay replay_job(const workloads::RecordedJob& job, const ReplayOptions& options, spdlog::logger& log);

}  // namespace lockstep::replay
