#include "tools/report/replay_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/report/panels.hpp"
#include "tools/report/timeline_writer.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr std::size_t most_ranks = 16;
constexpr std::int64_t most_spans = 2'000'000;

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

Json headline(const replay::Replay& replay, const std::string& network) {
  std::vector<Figure> figures{{"step", replay.step.value(), "s", network.empty() ? "its own machine" : network, ""}};
  if (replay.recorded_step) {
    figures.push_back({"recorded", replay.recorded_step->value(), "s", "", ""});
    figures.push_back({"difference", replay.step / *replay.recorded_step - 1, "share", "of the recorded step", ""});
  }
  figures.push_back({"ranks", static_cast<double>(replay.world), "count", "", ""});
  return figures_panel("A recorded job, replayed", replay.notes, figures);
}

class LaneWriting {
 public:
  LaneWriting(const workloads::RecordedJob& job, const replay::Replay& replay, ReportData& data)
      : job_(job), replay_(replay), writer_(data) {}

  Json run(const std::string& name) {
    Json groups = Json::array();
    std::int64_t spans = 0;
    Seconds end(0);
    for (std::size_t rank = 0; rank < replay_.ranks.size() && rank < most_ranks; ++rank) {
      const auto& made = replay_.ranks[rank];
      spans += std::ssize(made.spans);
      if (rank > 0 && spans > most_spans) break;
      end = std::max({end, made.simulated, made.recorded.value_or(Seconds(0))});
      groups.push_back(group(job_.ranks[rank], made));
    }
    return writer_.run(name, nanoseconds(end), 0, std::move(groups));
  }

 private:
  using Number = std::int64_t;  // of an operation of the page

  Json group(const workloads::RecordedRank& recorded, const replay::ReplayedRank& rank) {
    std::map<replay::WorkId, Number> numbers;
    for (const auto& span : rank.spans) numbers.emplace(span.operation, operations_++);
    for (const auto& span : rank.spans) add(recorded, span, numbers);
    Indexed<workloads::RecordedStreamId, std::vector<const replay::ReplayedSpan*>> streams(recorded.streams.size());
    for (const auto& span : rank.spans) streams[span.stream].push_back(&span);
    Json lanes = Json::array();
    for (const auto stream : streams.ids()) {
      if (streams[stream].empty()) continue;
      const bool computes = streams[stream].front()->collective < 0;
      const auto& name = recorded.streams[stream];  // of which a page shows the first letters
      if (rank.recorded) lanes.push_back(lane(name, computes, true, streams[stream], numbers));
      lanes.push_back(lane(rank.recorded ? "replayed" : name, computes, false, streams[stream], numbers));
    }
    return {{"name", "rank " + std::to_string(rank.rank)},
            {"note", rank.recorded ? "recorded above replayed" : ""},
            {"lanes", std::move(lanes)}};
  }

  void add(const workloads::RecordedRank& recorded, const replay::ReplayedSpan& span,
           const std::map<replay::WorkId, Number>& numbers) {
    const auto& event = recorded.events[span.event];
    TimelineWork work;
    work.name = job_.names[event.name];
    work.kind = "compute";
    work.pass = event.kind == workloads::RecordedEvent::Kind::copy ? "copy" : "kernel";
    if (span.collective >= 0) {
      const auto& row = replay_.collectives[position_of(span.collective)];
      work.kind = row.kind;
      work.axes = row.group.empty() ? "communication" : row.group;
      work.bytes = row.bytes.value_or(Bytes(0)).value();
      work.algorithm = row.algorithm;
    }
    work.detail = "recorded " + format(span.recorded.end - span.recorded.start) + ", replayed " +
                  format(span.simulated.end - span.simulated.start);
    TimelineOp op;
    for (const auto before : span.after) {
      if (const auto known = numbers.find(before); known != numbers.end()) op.before.push_back(known->second);
    }
    writer_.add(work, op);
  }

  Json lane(const std::string& name, bool computes, bool as_recorded, std::vector<const replay::ReplayedSpan*> list,
            const std::map<replay::WorkId, Number>& numbers) {
    const auto when = [&](const replay::ReplayedSpan* span) { return as_recorded ? span->recorded : span->simulated; };
    std::stable_sort(list.begin(), list.end(),
                     [&](const auto* a, const auto* b) { return when(a).start < when(b).start; });
    std::vector<TimelineSpan> spans;
    std::int64_t free = 0;
    for (const auto* span : list) {
      // Recorded kernels of a stream may overlap by some microseconds.
      const auto start = std::max(free, nanoseconds(when(span).start));
      const auto end = std::max(start, nanoseconds(when(span).end));
      free = end;
      auto& made = spans.emplace_back(TimelineSpan{start, end, numbers.at(span->operation)});
      const auto because = as_recorded ? numbers.end() : numbers.find(span->because);
      if (because == numbers.end()) continue;
      made.because = TimelineSpan::Because::needs;
      made.because_op = because->second;
    }
    return writer_.lane(name, computes, spans);
  }

  const workloads::RecordedJob& job_;
  const replay::Replay& replay_;
  TimelineWriter writer_;
  Number operations_ = 0;
};

Json shares(const replay::Replay& replay) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < replay.ranks.size() && i < most_ranks; ++i) {
    const auto& rank = replay.ranks[i];
    const auto add = [&](const std::string& stream, const std::string& what, const replay::StreamShares& part) {
      rows.push_back({"rank " + std::to_string(rank.rank) + ", " + stream, what, part.kernels.value(),
                      part.collectives.value(), part.launches.value(), part.streams.value(), part.ranks.value(),
                      part.unexplained.value()});
    };
    for (const auto& stream : rank.streams) {
      if (stream.name == "host") continue;
      if (rank.recorded) add(stream.name, "recorded", stream.recorded);
      add(stream.name, "replayed", stream.simulated);
    }
  }
  auto panel =
      table_panel("Where the streams' time goes",
                  "A stream that does nothing waits for the host to launch, for another stream, for another rank, "
                  "or without a reason that the trace tells.",
                  {{"stream", ""},
                   {"", ""},
                   {"kernels", "s"},
                   {"collectives", "s"},
                   {"waits for launches", "s"},
                   {"for streams", "s"},
                   {"for ranks", "s"},
                   {"unexplained", "s"}},
                  std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json collectives(const replay::Replay& replay) {
  Json rows = Json::array();
  for (const auto& row : replay.collectives)
    rows.push_back({row.kind, row.members, row.bytes ? Json(row.bytes->value()) : Json(), row.count,
                    row.recorded.value(), row.simulated.value(), row.algorithm, row.group});
  auto panel = table_panel("Collectives", "Times are sums over all of a row; replayed: alone on the network.",
                           {{"collective", ""},
                            {"ranks", "count"},
                            {"bytes", "B"},
                            {"times", "count"},
                            {"recorded", "s"},
                            {"replayed", "s"},
                            {"algorithm", ""},
                            {"group", ""}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> replay_report(const workloads::RecordedJob& job, const replay::Replay& replay,
                                         const std::string& network) {
  ReportPage page("Replay of a " + job.format + " trace", std::to_string(replay.ranks.size()) + " of " +
                                                              std::to_string(replay.world) + " ranks on " +
                                                              (network.empty() ? "their own machine" : network));
  page.add(headline(replay, network));
  page.add({{"panel", "timeline"},
            {"title", "Recorded and replayed"},
            {"runs", {LaneWriting(job, replay, page.data()).run("replay")}}});
  page.add(shares(replay));
  if (!replay.collectives.empty()) page.add(collectives(replay));
  return page.html();
}

}  // namespace lockstep::report
