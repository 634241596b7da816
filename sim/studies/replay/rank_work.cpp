#include "sim/studies/replay/rank_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace lockstep::replay {
namespace {

using workloads::RecordedEvent;
using workloads::RecordedEventId;
using workloads::RecordedStreamId;

constexpr Seconds rounding(1e-9);      ///< of dates
constexpr Seconds tolerance(0.5e-6);   ///< clocks of the host and the device agree to this
constexpr Seconds notice(25e-6);       ///< what ends on another stream this long before a start may be its reason
constexpr Seconds worth_a_look(1e-6);  ///< shorter pauses are left alone

class DatedRank {
 public:
  explicit DatedRank(const workloads::RecordedRank& rank) : rank_(rank) {}

  RankWork run() {
    work_.streams = rank_.streams;
    host_ = work_.streams.next_id();
    work_.streams.push_back("host");
    choose();
    order_launches();
    by_end_ = kept_;
    std::sort(by_end_.begin(), by_end_.end(),
              [&](RecordedEventId a, RecordedEventId b) { return std::pair(end(a), a) < std::pair(end(b), b); });
    last_of_stream_.assign(rank_.streams.size(), -1);
    work_of_event_.assign(rank_.events.size(), -1);
    launch_.assign(rank_.events.size(), {-1, Seconds(0)});
    joins_.assign(rank_.events.size(), {});
    // The device's and the host's operations in the order of their dates, which is topological.
    std::size_t point = 0;
    for (const auto id : kept_) {
      for (; point < points_.size() && points_[point].when <= start(id) + rounding; ++point) add_host(points_[point]);
      add_device(id);
    }
    for (; point < points_.size(); ++point) add_host(points_[point]);
    return std::move(work_);
  }

 private:
  /// A date of the host: it launched an event, or a call returned in which it had waited.
  struct HostPoint {
    Seconds when;
    RecordedEventId launched = -1;
    std::optional<Seconds> waited_from{};
  };

  [[nodiscard]] Seconds start(RecordedEventId id) const { return *rank_.events[id].start; }
  [[nodiscard]] Seconds end(RecordedEventId id) const { return start(id) + rank_.events[id].duration; }

  /// The events of the steps that were marked, or all; and the time that they took.
  void choose() {
    const auto when = [&](RecordedEventId id) { return rank_.events[id].launched.value_or(start(id)); };
    Seconds from(-1), to(std::numeric_limits<double>::infinity());
    if (!rank_.steps.empty()) {
      from = rank_.steps.front().start;
      to = rank_.steps.front().end;
      for (const auto& step : rank_.steps) to = std::max(to, step.end);
    }
    for (const auto id : rank_.events.ids()) {
      if (when(id) >= from && when(id) < to) kept_.push_back(id);
    }
    if (kept_.empty()) {  // marks beside the events
      for (const auto id : rank_.events.ids()) kept_.push_back(id);
      from = Seconds(-1);
    }
    work_.begin = from;
    for (const auto id : kept_) {
      if (from < Seconds(0) && (work_.begin < Seconds(0) || when(id) < work_.begin)) work_.begin = when(id);
      work_.end = std::max(work_.end, end(id));
      launches_ = launches_ || rank_.events[id].launched.has_value();
    }
    // A marked step ends with the host's work.
    if (from >= Seconds(0) && launches_) {
      last_mark_ = to;
      work_.end = std::max(work_.end, to);
    }
  }

  /// Dates of the host are taken later by the shortest time from a launch to its kernel, so that they are the dates at
  /// which the device could begin.
  void order_launches() {
    Seconds shortest(std::numeric_limits<double>::infinity());
    for (const auto id : kept_) {
      if (const auto launched = rank_.events[id].launched) shortest = std::min(shortest, start(id) - *launched);
    }
    const Seconds way = std::isfinite(shortest.value()) ? shortest : Seconds(0);
    for (const auto id : kept_) {
      if (const auto launched = rank_.events[id].launched) points_.push_back({*launched + way, id});
    }
    for (const auto& wait : rank_.waits) {
      if (launches_ && wait.start >= work_.begin && wait.end <= work_.end + notice)
        points_.push_back({wait.end + way, -1, wait.start});
    }
    if (last_mark_) points_.push_back({*last_mark_});
    std::stable_sort(points_.begin(), points_.end(),
                     [](const HostPoint& a, const HostPoint& b) { return a.when < b.when; });
    called_from_.assign(rank_.events.size(), -1);
    RecordedEventId last_kernel = -1;
    for (const auto& point : points_) {
      if (point.launched < 0) continue;
      const auto kind = rank_.events[point.launched].kind;
      if (kind == RecordedEvent::Kind::collective) called_from_[point.launched] = last_kernel;
      if (kind == RecordedEvent::Kind::kernel) last_kernel = point.launched;
    }
    // A stream on which one collective began before that kernel ended does not wait for its caller.
    calls_wait_.assign(rank_.streams.size(), true);
    for (const auto id : kept_) {
      const auto caller = called_from_[id];
      if (caller >= 0 && start(id) < end(caller) - tolerance) calls_wait_[rank_.events[id].stream] = false;
    }
  }

  void add_host(const HostPoint& point) {
    WorkOperation made;
    made.kind = WorkOperation::Kind::host;
    made.streams = {host_};
    Seconds free = last_host_ >= 0 ? host_time_ : work_.begin;
    if (last_host_ >= 0) made.after.push_back(last_host_);
    if (point.waited_from) {
      // The call returned after the last event of each stream from before it, if that ended while it waited.
      for (const auto id : last_of_stream_) {
        if (id < 0 || end(id) <= *point.waited_from || end(id) > point.when + tolerance) continue;
        made.after.push_back(work_of_event_[id]);
        free = std::max(free, std::min(end(id), point.when));
      }
    }
    made.duration = std::max(Seconds(0), point.when - free);
    host_time_ = std::max(host_time_, point.when);
    last_host_ = add(std::move(made));
    if (point.launched >= 0) launch_[point.launched] = {last_host_, point.when};
    take_stream_waits(point);
  }

  /// A call that let a stream wait for another: if the next launch is a kernel of the rank's own, it waits for the
  /// collective that was launched last, if that had ended when the kernel began, otherwise for the last that had.
  void take_stream_waits(const HostPoint& point) {
    if (point.launched < 0) return;
    const auto called = *rank_.events[point.launched].launched;
    std::size_t waits = 0;
    for (; next_stream_wait_ < rank_.stream_waits.size() && rank_.stream_waits[next_stream_wait_] <= called;
         ++next_stream_wait_)
      ++waits;
    if (rank_.events[point.launched].kind == RecordedEvent::Kind::collective)
      launched_collectives_.push_back(point.launched);
    else
      joins_[point.launched] = {std::min(waits, launched_collectives_.size()), launched_collectives_.size()};
  }

  void add_device(RecordedEventId id) {
    const auto& event = rank_.events[id];
    WorkOperation made;
    made.event = id;
    made.kind =
        event.kind == RecordedEvent::Kind::collective ? WorkOperation::Kind::collective : WorkOperation::Kind::kernel;
    made.computes = event.kind == RecordedEvent::Kind::kernel;
    made.streams.push_back(event.stream);
    const auto before = last_of_stream_[event.stream];
    Seconds stream_free = before >= 0 ? end(before) : work_.begin;
    // Kernels of one stream overlap by some microseconds in real traces: then this one counts from the other's end.
    const Seconds began = std::max(start(id), std::min(stream_free, end(id)));
    if (before >= 0) made.after.push_back(work_of_event_[before]);
    Seconds launched = work_.begin;
    if (const auto [launch, date] = launch_[id]; launch >= 0) {
      made.after.push_back(launch);
      launched = std::min(date, began);
    }
    Seconds others = work_.begin;
    const auto wait_for = [&](RecordedEventId earlier) {
      if (work_of_event_[earlier] < 0 || end(earlier) > began + tolerance) return;
      const auto operation = work_of_event_[earlier];
      if (std::find(made.after.begin(), made.after.end(), operation) == made.after.end())
        made.after.push_back(operation);
      others = std::max(others, std::min(end(earlier), began));
    };
    for (const auto earlier : event.after) wait_for(earlier);
    if (made.kind == WorkOperation::Kind::collective) {
      // PyTorch's communication waits for the stream that calls it.
      if (called_from_[id] >= 0 && calls_wait_[event.stream]) wait_for(called_from_[id]);
    } else if (joins_[id].waits > 0) {
      const auto known = others;
      for (std::size_t i = joins_[id].launched - joins_[id].waits; i < joins_[id].launched; ++i)
        wait_for(launched_collectives_[i]);
      const auto joined = others == known ? last_collective_before(began) : std::nullopt;
      if (joined) wait_for(*joined);
    }
    const Seconds bound = std::max({stream_free, launched, others});
    if (began - bound > worth_a_look) {
      if (const auto reason = ended_just_before(began, event.stream, bound)) {
        wait_for(*reason);
        ++work_.gaps.guessed;
      }
    }
    account(stream_free, launched, others, began, made);
    made.pause = std::max(Seconds(0), began - std::max({stream_free, launched, others}));
    made.duration = std::max(Seconds(0), end(id) - began);
    last_of_stream_[event.stream] = id;
    if (made.kind == WorkOperation::Kind::collective) collectives_.push_back(id);
    work_of_event_[id] = add(std::move(made));
  }

  void account(Seconds stream_free, Seconds launched, Seconds others, Seconds began, WorkOperation& made) {
    if (began <= stream_free) return;
    auto& gaps = work_.gaps;
    const Seconds reason = std::max(launched, others);
    if (reason > stream_free) {
      (launched >= others ? made.waited_for_launch : made.waited_for_streams) = reason - stream_free;
      (launched >= others ? gaps.launch : gaps.streams) += reason - stream_free;
    }
    gaps.unexplained += began - std::max(reason, stream_free);
  }

  [[nodiscard]] std::optional<RecordedEventId> last_collective_before(Seconds date) const {
    for (auto id = collectives_.rbegin(); id != collectives_.rend(); ++id) {
      if (end(*id) <= date + tolerance) return *id;
    }
    return std::nullopt;
  }

  /// What ended last on another stream, at most `notice` before a start and after all known reasons for it.
  [[nodiscard]] std::optional<RecordedEventId> ended_just_before(Seconds began, RecordedStreamId stream,
                                                                 Seconds bound) const {
    auto after = std::upper_bound(by_end_.begin(), by_end_.end(), began + tolerance,
                                  [&](Seconds date, RecordedEventId id) { return date < end(id); });
    while (after != by_end_.begin()) {
      const auto id = *--after;
      if (end(id) <= bound || end(id) < began - notice) return std::nullopt;
      if (rank_.events[id].stream != stream && work_of_event_[id] >= 0) return id;
    }
    return std::nullopt;
  }

  WorkId add(WorkOperation made) {
    const auto id = work_.operations.next_id();
    made.order = id;
    std::sort(made.after.begin(), made.after.end());
    made.after.erase(std::unique(made.after.begin(), made.after.end()), made.after.end());
    work_.operations.push_back(std::move(made));
    return id;
  }

  const workloads::RecordedRank& rank_;
  RankWork work_;
  RecordedStreamId host_ = 0;
  std::vector<RecordedEventId> kept_, by_end_, collectives_;
  Indexed<RecordedEventId, RecordedEventId> called_from_;  // of a collective: the kernel that was launched before it
  Indexed<RecordedStreamId, bool> calls_wait_;             // collectives of the stream wait for that kernel
  /// Calls before the launch of a kernel that let its stream wait, and the collectives that were launched by then. Each
  /// call is taken to be for one of the last of these.
  struct Joins {
    std::size_t waits = 0, launched = 0;
  };
  Indexed<RecordedEventId, Joins> joins_;
  std::vector<RecordedEventId> launched_collectives_;
  Indexed<RecordedEventId, std::pair<WorkId, Seconds>> launch_;  // its operation, and when it let the kernel begin
  std::vector<HostPoint> points_;
  std::optional<Seconds> last_mark_;
  bool launches_ = false;  // the trace has any
  std::size_t next_stream_wait_ = 0;
  Indexed<RecordedStreamId, RecordedEventId> last_of_stream_;
  Indexed<RecordedEventId, WorkId> work_of_event_;
  WorkId last_host_ = -1;
  Seconds host_time_{0};
};

/// A graph says itself what waits for what.
RankWork work_of_graph(const workloads::RecordedRank& rank) {
  RankWork work;
  work.streams = rank.streams;
  Indexed<RecordedStreamId, WorkId> last_of_stream(rank.streams.size(), -1);
  for (const auto id : rank.events.ids()) {
    const auto& event = rank.events[id];
    WorkOperation made;
    made.event = id;
    made.order = event.number >= 0 ? event.number : id;
    made.kind = event.kind == RecordedEvent::Kind::collective ? WorkOperation::Kind::collective
                : event.kind == RecordedEvent::Kind::host     ? WorkOperation::Kind::host
                                                              : WorkOperation::Kind::kernel;
    made.computes = event.kind == RecordedEvent::Kind::kernel;
    made.duration = event.duration;
    made.priority = event.priority;
    made.streams.push_back(event.stream);
    for (const auto stream : event.more_streams) made.streams.push_back(stream);
    for (const auto before : event.after) made.after.push_back(before);
    if (rank.streams_in_order) {
      for (const auto stream : made.streams) {
        if (const auto last = std::exchange(last_of_stream[stream], id); last >= 0) made.after.push_back(last);
      }
    }
    std::sort(made.after.begin(), made.after.end());
    made.after.erase(std::unique(made.after.begin(), made.after.end()), made.after.end());
    work.operations.push_back(std::move(made));
  }
  return work;
}

}  // namespace

RankWork work_of(const workloads::RecordedRank& rank, bool dated) {
  return dated ? DatedRank(rank).run() : work_of_graph(rank);
}

}  // namespace lockstep::replay
