#include "sim/studies/replay/lanes.hpp"

#include <algorithm>
#include <optional>

namespace lockstep::replay {
namespace {

using workloads::RecordedStreamId;

class Lanes {
 public:
  Lanes(const RecordedLanes& recorded, const SimulatedLanes& simulated)
      : recorded_(recorded), simulated_(simulated), work_(recorded.work), streams_(work_.streams.size()) {
    for (const auto id : streams_.ids()) streams_[id].name = work_.streams[id];
  }

  void run(bool keep_spans, ReplayedRank& made) {
    Indexed<RecordedStreamId, std::vector<WorkId>> by_stream(work_.streams.size());
    for (const auto id : work_.operations.ids()) {
      made.simulated = std::max(made.simulated, span(id).end);
      for (const auto stream : work_.operations[id].streams) by_stream[stream].push_back(id);
      record(id);
    }
    for (const auto stream : by_stream.ids()) {
      auto& list = by_stream[stream];
      std::stable_sort(list.begin(), list.end(), [&](WorkId a, WorkId b) { return span(a).start < span(b).start; });
      Seconds free = recorded_.later;
      for (const auto id : list) {
        const auto gate = simulate(stream, id, free);
        free = std::max(free, span(id).end);
        if (keep_spans && work_.operations[id].event >= 0 && work_.operations[id].streams.front() == stream)
          made.spans.push_back(shown(id, stream, gate));
      }
      if (!list.empty()) streams_[stream].simulated_end = free;
    }
    std::optional<Seconds> first;
    for (const auto id : work_.operations.ids()) {
      if (work_.operations[id].event < 0) continue;
      const auto own = span(id);
      const auto start = own.start + std::min(work_.operations[id].pause, own.end - own.start);
      first = first ? std::min(*first, start) : start;
    }
    made.first = first.value_or(Seconds(0));
    for (auto& stream : streams_) {
      if (stream.simulated_end > Seconds(0)) made.streams.push_back(std::move(stream));
    }
  }

 private:
  [[nodiscard]] timeline::Interval span(WorkId id) const {
    return simulated_.timeline.span(simulated_.operations[id], simulated_.lane);
  }
  [[nodiscard]] bool is_collective(WorkId id) const {
    return work_.operations[id].kind == WorkOperation::Kind::collective;
  }

  void record(WorkId id) {
    const auto& operation = work_.operations[id];
    if (operation.event < 0) return;
    const auto& event = recorded_.rank.events[operation.event];
    for (const auto number : operation.streams) {
      auto& stream = streams_[number];
      stream.busy += event.duration;
      if (!recorded_.dated) continue;
      stream.recorded_end =
          std::max(stream.recorded_end, recorded_.later + *event.start + event.duration - work_.begin);
      auto& shares = stream.recorded;
      if (is_collective(id)) {
        shares.collectives += recorded_.least[id];
        shares.ranks += operation.duration - recorded_.least[id];
      } else {
        shares.kernels += operation.duration;
      }
      shares.launches += operation.waited_for_launch;
      shares.streams += operation.waited_for_streams;
      shares.unexplained += operation.recorded_pause;
    }
  }

  /// Adds an operation to a stream that was free from some time on; gives back what it waited for last.
  WorkId simulate(RecordedStreamId stream, WorkId id, Seconds free) {
    const auto& operation = work_.operations[id];
    const auto own = span(id);
    Seconds host(0), others(0), last(-1);
    WorkId gate = -1;
    for (const auto before : operation.after) {
      const auto end = span(before).end;
      auto& reason = work_.operations[before].kind == WorkOperation::Kind::host ? host : others;
      reason = std::max(reason, end);
      if (end <= last) continue;
      last = end;
      gate = before;
    }
    if (operation.event < 0) return gate;
    auto& shares = streams_[stream].simulated;
    const Seconds reason = std::max(host, others);
    if (reason > free) (host >= others ? shares.launches : shares.streams) += reason - free;
    // A kernel's span begins with its pause, a collective's when its last member is ready. The pause of a rank's first
    // operation holds how much later the rank began.
    const Seconds ready = std::max(free, reason);
    shares.ranks += std::max(Seconds(0), own.start - ready);
    const Seconds began = own.start + std::min(operation.pause, own.end - own.start);
    shares.unexplained += std::max(Seconds(0), began - std::max(own.start, ready));
    (is_collective(id) ? shares.collectives : shares.kernels) += std::max(Seconds(0), own.end - std::max(began, free));
    return gate;
  }

  [[nodiscard]] ReplayedSpan shown(WorkId id, RecordedStreamId stream, WorkId gate) const {
    const auto& operation = work_.operations[id];
    const auto& event = recorded_.rank.events[operation.event];
    ReplayedSpan made;
    made.operation = id;
    made.event = operation.event;
    made.stream = stream;
    made.collective = recorded_.collective[id];
    made.because = gate;
    made.after = operation.after;
    made.simulated = span(id);
    made.simulated.start += std::min(operation.pause, made.simulated.end - made.simulated.start);
    if (recorded_.dated) {
      const Seconds start = recorded_.later + *event.start - work_.begin;
      made.recorded = {std::max(Seconds(0), start), std::max(Seconds(0), start + event.duration)};
    }
    return made;
  }

  const RecordedLanes& recorded_;
  const SimulatedLanes& simulated_;
  const RankWork& work_;
  Indexed<RecordedStreamId, ReplayedStream> streams_;
};

}  // namespace

void fill_lanes(const RecordedLanes& recorded, const SimulatedLanes& simulated, bool keep_spans, ReplayedRank& made) {
  Lanes(recorded, simulated).run(keep_spans, made);
}

}  // namespace lockstep::replay
