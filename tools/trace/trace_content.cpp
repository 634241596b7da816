#include "tools/trace/trace_content.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/metrics/link_loads.hpp"
#include "sim/program/lower.hpp"

namespace lockstep::trace {

TraceContent::TraceContent(const Simulation& simulation, const TraceOptions& options)
    : simulation_(simulation), ranks_(lockstep::trace::distinct_ranks(simulation)) {
  distinct_ = ranks_.size();
  const auto most = std::max(position_of(std::max(options.max_ranks, 1)), simulation.metrics.stages.size());
  ranks_.resize(std::min(distinct_, most));
}

TraceProcess TraceContent::process(std::size_t index) const {
  const auto& shown = ranks_[index];
  const auto& program = simulation_.program;
  TraceProcess process{shown.rank,
                       "rank " + std::to_string(shown.number),
                       shown.alike == 1 ? "1 rank" : std::to_string(shown.alike) + " ranks alike",
                       {},
                       index == 0 || pipelined()};
  if (pipelined()) process.name = "stage " + std::to_string(program.stage_of_rank[shown.rank]) + ", " + process.name;
  if (shown.alike > 1) process.name += " (x " + std::to_string(shown.alike) + ")";
  auto lanes = lanes_of(program, simulation_.run.timeline, shown.rank);
  for (const program::StreamId stream : lanes.ids()) {
    if (pipelined() && lanes[stream].empty()) continue;  // sends between other stages
    process.lanes.push_back({stream, program.streams[stream], std::move(lanes[stream])});
  }
  return process;
}

std::vector<std::pair<std::int64_t, metrics::MemoryPoint>> TraceContent::memory(std::int32_t rank) const {
  // Operations that take no time give one instant several points. The highest is shown, the last a nanosecond later.
  std::vector<std::pair<std::int64_t, metrics::MemoryPoint>> points;
  std::optional<metrics::MemoryPoint> last;  // of the instant of points.back(), if it is not the highest there
  const auto add_last = [&] {
    if (last) points.emplace_back(points.back().first + 1, *last);
    last.reset();
  };
  for (const auto& point :
       metrics::memory_curve(simulation_.preparation.step, simulation_.program, simulation_.run.timeline, rank)) {
    const auto time = nanoseconds(point.time);
    if (!points.empty() && points.back().first < time) add_last();
    if (points.empty() || points.back().first < time) {
      points.emplace_back(time, point);
    } else if (point.total() >= points.back().second.total()) {
      points.back().second = point;
      last.reset();
    } else {
      last = point;
    }
  }
  add_last();
  return points;
}

std::vector<TraceLink> TraceContent::links() const {
  constexpr std::size_t most = 8;
  constexpr int parts = 1000;
  std::vector<TraceLink> links;
  if (simulation_.run.phases.empty()) return links;
  const timeline::Interval step{Seconds(0), simulation_.run.timeline.makespan()};
  const auto& [program, phases, members, repetition] = std::tie(
      simulation_.program, simulation_.run.phases, simulation_.link_members, simulation_.run.timeline.repetition());
  const auto loads = metrics::link_loads(program, phases, members, step, repetition);
  auto over_time = metrics::link_use_over_time(program, phases, members, step, parts, repetition);
  for (std::size_t i = 0; i < std::min(loads.size(), most); ++i) {
    const auto& load = loads[i];
    links.push_back({simulation_.preparation.machine.cluster->link_name(load.link) +
                         (load.alike > 1 ? " (x " + std::to_string(load.alike) + ")" : ""),
                     std::move(over_time.at(load.link))});
  }
  return links;
}

void TraceArrows::connect(std::int32_t rank) {
  const auto& runs = whole_.runs();
  arriving_.assign(runs.size(), {});
  leaving_.assign(runs.size(), {});
  for (std::size_t after = 0; after < runs.size(); ++after) {
    if (!has_span(runs[after].op, rank)) continue;
    const auto& op = simulation_.program.ops[runs[after].op];
    for (const auto before : program::all_predecessors(simulation_.preparation.step, op)) {
      if (!has_span(before, rank)) continue;
      const auto number = whole_.number_before(runs[after], before);
      if (number < 0) continue;
      arriving_[after].push_back(++last_);
      leaving_[number].push_back(last_);
    }
  }
}

bool TraceArrows::has_span(std::int32_t op, std::int32_t rank) const {
  const auto& timeline = simulation_.run.timeline;
  if (!timeline.took_part(op, rank)) return false;
  const auto span = timeline.span(op, rank);
  return nanoseconds(span.start) < nanoseconds(span.end);
}

}  // namespace lockstep::trace
