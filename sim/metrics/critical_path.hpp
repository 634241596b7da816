#pragma once
/// The chain of operations that sets the step time. Definitions: docs/models/critical_path.md.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::metrics {

/// One operation of the chain; it started at the instant at which the one before it in the chain ended.
struct CriticalSpan {
  enum class Why {
    start,  ///< nothing: the step began
    input,  ///< it needs what the one before made
    order,  ///< the program puts it behind the one before on the compute stream
    stream  ///< it was ready, and the one before held its stream
  };
  std::int32_t op;    ///< of the program
  std::int64_t copy;  ///< of the period that repeats, if the operation is in it (timeline::Repetition)
  std::int32_t rank;  ///< lane on which the chain runs; it changes where a group waited for this member
  timeline::Interval span;
  Why why;  ///< it did not start earlier
};
[[nodiscard]] std::string_view name(CriticalSpan::Why why);

/// The purpose for which a part of the step time was spent.
struct CriticalPart {
  enum class Kind {
    compute,     ///< forward and backward
    transfer,    ///< a collective's bytes on links, as if alone
    latency,     ///< a collective's latencies, and time for which hosts hold chips for it
    contention,  ///< the time that a collective takes beyond its time alone: links shared with others, or degraded
    replayed,    ///< communication known only by its time
    offload,     ///< transfers to and from the host, and its update
    update       ///< the optimizer's computing
  };
  Kind kind;
  std::string what;  ///< "forward query projection"; of communication axes and kind, "fsdp all_gather"
  Seconds time{0};
  std::int64_t spans = 0;
};
[[nodiscard]] std::string_view name(CriticalPart::Kind kind);

struct CriticalPath {
  /// In order of time; from 0 to the makespan without a gap, but for the part that repeats, of which the last time is
  /// here. Those that take no time are included.
  std::vector<CriticalSpan> spans;
  /// The spans from `first` to `last` (one past) occur `times` more times before, each time `copies` copies of the
  /// period (timeline::Repetition) earlier.
  struct Repeated {
    std::size_t first = 0, last = 0;
    std::int64_t times = 0, copies = 0;
  } repeated;
  [[nodiscard]] std::int64_t length() const;        ///< spans, however often they come
  [[nodiscard]] std::int64_t rank_changes() const;  ///< from one span to the next
  std::vector<CriticalPart> parts;  ///< add up to the makespan; the longest first, equals by kind and name
};

/// Calls `visit` for every span of the path in order of time. `period`: how long the repeated part of the step is.
template <class Visit>
void for_each_span(const CriticalPath& path, Seconds period, Visit visit) {
  const auto& repeated = path.repeated;
  for (std::size_t i = 0; i < repeated.first; ++i) visit(path.spans[i]);
  for (auto earlier = repeated.times; earlier > 0; --earlier) {
    const auto shift = period * static_cast<double>(earlier * repeated.copies);
    for (auto i = repeated.first; i < repeated.last; ++i) {
      auto span = path.spans[i];
      span.copy -= earlier * repeated.copies;
      span.span = {span.span.start - shift, span.span.end - shift};
      visit(span);
    }
  }
  for (auto i = repeated.first; i < path.spans.size(); ++i) visit(path.spans[i]);
}

[[nodiscard]] CriticalPath critical_path_of(const workloads::StepGraph& step, const program::Program& program,
                                            const timeline::Timeline& timeline);

}  // namespace lockstep::metrics
