#pragma once
/// The events of a Kineto trace as they stand in the file, before they are joined.
#include <string>
#include <unordered_map>
#include <vector>

#include "workloads/traces/job_writer_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {

/// What a collective's kernel, or an annotation of the host around its launch, says about it.
struct KinetoCollective {
  CollectiveWord word;
  std::optional<std::int64_t> buffer, source, destination;  ///< bytes; ranks
  std::int64_t in_elements = -1, out_elements = -1;
  std::string type, group_name, group_description;
  std::vector<std::int32_t> group_ranks;
  std::int64_t group_size = 0;
};

struct KinetoEvents {
  struct Device {
    std::int64_t start = 0, duration = 0;  ///< nanoseconds
    std::int64_t correlation = -1;
    std::int64_t device = 0, stream = 0;
    RecordedNameId name = 0;
    RecordedEvent::Kind kind = RecordedEvent::Kind::kernel;
    std::int32_t collective = -1;  ///< into `collectives`
    std::int64_t call = -1;        ///< into `operators`
  };
  struct Launch {
    std::int64_t start = 0, thread = 0;
  };
  struct Annotation {
    std::int64_t thread = 0, start = 0, end = 0;
    std::int32_t collective = -1;
  };
  struct Wait {
    std::int64_t start = 0, end = 0, correlation = -1;
  };
  /// One stream waits for what another had been given when an event was recorded.
  struct StreamWait {
    std::int64_t stream = -1, correlation = -1, other_stream = -1, recorded = -1;
  };
  struct Step {
    std::int64_t start = 0, end = 0;
    std::string name;
  };
  std::vector<Device> device;
  std::unordered_map<std::int64_t, Launch> launches;               ///< by correlation
  std::unordered_map<std::int64_t, RecordedOperatorId> operators;  ///< calls of those with shapes, by external id
  std::vector<Annotation> annotations;
  std::vector<KinetoCollective> collectives;
  std::vector<Wait> waits;
  std::vector<StreamWait> stream_waits;
  std::vector<Step> steps;
  std::vector<std::int64_t> unnamed_stream_waits;  ///< when they were called
};

/// Microseconds as JSON writes them, to nanoseconds; nothing for what is no time between the years 1875 and 2065.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(const JsonFields& event, std::string_view key);
/// What the arguments of an event say about its collective.
[[nodiscard]] KinetoCollective kineto_collective(const JsonFields& event, std::string_view name);
/// Joins what belongs together and writes it down.
void join_kineto(KinetoEvents& events, JobWriter& writer);

}  // namespace lockstep::workloads
