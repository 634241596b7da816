#pragma once
/// What a real job did: ranks, their streams, and the kernels, copies and collectives on them, as a trace tells it. A
/// value without opinions; what had to be guessed and what the trace does not tell is written beside it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/small_list.hpp"
#include "sim/core/units.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::workloads {

inline constexpr std::int64_t most_recorded_ranks = 1 << 20;  ///< of a job

using RecordedNameId = std::int32_t;      ///< into RecordedJob::names
using RecordedGroupId = std::int32_t;     ///< into RecordedJob::groups
using RecordedOperatorId = std::int32_t;  ///< into RecordedJob::operators
using RecordedStreamId = std::int32_t;    ///< of one rank
using RecordedEventId = std::int32_t;     ///< of one rank, in the order in which its events began or were listed

/// Ranks that communicate with each other.
struct RecordedGroup {
  std::string name, description;    ///< of the process group; empty where the trace names none
  std::vector<std::int32_t> ranks;  ///< in the group's order; empty where the trace does not list them
  std::int32_t size = 0;            ///< how many ranks; 0 where the trace does not tell
};

/// One rank's part in a collective or in a transfer between two ranks.
struct RecordedCollective {
  enum class Role { all, sends, receives };
  std::optional<CollectiveKind> kind;  ///< nothing: the trace does not tell, or it is a kind that is not simulated
  Role role = Role::all;               ///< of a point_to_point
  std::int32_t peer = -1;              ///< of a point_to_point: the other rank
  std::optional<Bytes> buffer;         ///< the larger of the bytes that this rank sends and receives, as nccl-tests
                                       ///< print sizes
  bool buffer_is_shard = false;        ///< `buffer` is one rank's part of the larger one: all members make it up
  std::optional<Bytes> full_size;      ///< the group's whole array where the trace says it exactly
  TokenCopies copies{};                ///< of an all_to_all to experts, where the trace says it
  bool exchange = false;               ///< an all_reduce of two ranks that send each other the whole array
  RecordedGroupId group = 0;
  std::int64_t sequence = -1;  ///< position among the collectives of its group on this rank
};

/// What the framework was asked to compute, for which it launched kernels: a product, attention, or the choice of the
/// largest of some numbers.
struct RecordedOperator {
  std::string name;      ///< "aten::mm"
  std::string dims;      ///< of its inputs, as the trace writes them: "[[4096, 1024], [1024, 4096]]"
  std::string type;      ///< of its first tensor's elements: "c10::BFloat16"
  std::string values{};  ///< of its arguments that are no tensors, where they are wanted: ["", "8", "-1"]
};

struct RecordedEvent {
  enum class Kind { kernel, copy, collective, host };
  Kind kind = Kind::kernel;
  RecordedNameId name = 0;
  std::int64_t number = -1;  ///< that the trace gives it, by which its ranks may be in one order
  RecordedStreamId stream = 0;
  SmallList<RecordedStreamId> more_streams;  ///< that it occupies besides
  std::optional<Seconds> start;              ///< since the first stamp of its rank; nothing in a graph without dates
  Seconds duration{0};
  std::optional<Seconds> launched;    ///< when the host began the call that launched it
  std::int32_t collective = -1;       ///< into RecordedRank::collectives
  std::int32_t priority = 0;          ///< lower goes first on a stream; equal where the trace does not tell
  RecordedOperatorId called_by = -1;  ///< the operator that launched it, where the trace has its shapes
  std::int64_t call = -1;             ///< equal for the kernels of one call of it
  /// Earlier events of the rank that the trace says it waited for, besides the order of its stream.
  SmallList<RecordedEventId> after;
};

/// A call in which the host waited for its device.
struct RecordedWait {
  Seconds start, end;
};

/// A training step as the profiler marked it.
struct RecordedStep {
  Seconds start, end;
  std::string name;
};

struct RecordedRank {
  std::int32_t rank = 0;
  bool is_numbered = true;  ///< the trace or its file's name tells the number; otherwise it is the place in the list
  std::string file;
  Indexed<RecordedStreamId, std::string> streams;
  bool streams_in_order = true;  ///< what one stream does comes one after the other, in the order of events
  Indexed<RecordedEventId, RecordedEvent> events;
  Indexed<std::int32_t, RecordedCollective> collectives;
  std::vector<RecordedWait> waits;    ///< by start
  std::vector<Seconds> stream_waits;  ///< calls that let a stream wait for another, without saying which; ascending
  std::vector<RecordedStep> steps;    ///< by start
  /// Events that begin well before the one before them on their stream ends, and by how much at most.
  std::int64_t overlaps = 0;
  Seconds longest_overlap{0};
};

struct RecordedJob {
  std::string format;      ///< "Kineto"
  std::int32_t world = 0;  ///< ranks of the job; 0 where the trace does not tell
  bool dated = true;       ///< events have starts; otherwise only durations and what they wait for
  bool kernels = true;     ///< the trace has the device's work, not only what was communicated
  Indexed<RecordedNameId, std::string> names;
  Indexed<RecordedGroupId, RecordedGroup> groups;
  Indexed<RecordedOperatorId, RecordedOperator> operators;
  std::vector<RecordedRank> ranks;   ///< by rank
  std::vector<std::string> guessed;  ///< sentences, each once
  std::vector<std::string> missing;
};

/// Throws ConfigError where a rank communicates in a group that lists its ranks without it.
void check_members(const RecordedJob& job);

/// How much a job recorded, over all its ranks.
struct RecordedCounts {
  std::int64_t kernels = 0, copies = 0, collectives = 0, host = 0, dependences = 0;
  Bytes communicated{0};  ///< sum of the collectives' buffers that are known
  Seconds kernel_time{0}, collective_time{0};
};
[[nodiscard]] RecordedCounts counts(const RecordedRank& rank);

}  // namespace lockstep::workloads
