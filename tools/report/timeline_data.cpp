#include "tools/report/timeline_data.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/collectives/collective_model.hpp"
#include "sim/metrics/blockers.hpp"
#include "sim/program/lower.hpp"
#include "sim/timing/whole_step.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/operation_words.hpp"
#include "tools/report/timeline_writer.hpp"
#include "tools/trace/lanes.hpp"
#include "tools/trace/shown_ranks.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

class TimelineData {
 public:
  TimelineData(const Simulation& simulation, ReportData& data)
      : simulation_(simulation),
        step_(simulation.preparation.step),
        data_(data),
        writer_(data),
        repetition_(simulation.run.timeline.repetition()),
        whole_(simulation.preparation.pipeline.order, simulation.preparation.step, simulation.run.timeline),
        blockers_(simulation.program, simulation.run.timeline),
        collectives_(*simulation.preparation.machine.collectives) {}

  Json run(const std::string& name, std::size_t most_ranks) {
    auto ranks = trace::distinct_ranks(simulation_);
    ranks.resize(std::min(ranks.size(), std::max(most_ranks, simulation_.metrics.stages.size())));
    for (const auto& run : whole_.runs()) add(run);
    Json groups = Json::array();
    for (const auto& rank : ranks) groups.push_back(group(rank));
    auto result = writer_.run(name, trace::nanoseconds(simulation_.run.timeline.makespan()),
                              repetition_.length().value() * 1e9, std::move(groups));
    result["critical"] = critical_path(ranks);
    return result;
  }

 private:
  void add(const timing::WholeStep::Run& run) {
    const auto& op = simulation_.program.ops[run.op];
    const auto& vertex = step_.op(op.vertex);
    auto& known = works_of_[vertex.what];
    const auto same = std::find_if(known.begin(), known.end(), [&](const Work& work) {
      return work.pass == vertex.pass && work.block == vertex.block && work.communicator == op.communicator;
    });
    const auto work = same != known.end() ? same->number : work_of(op, vertex);
    if (same == known.end()) known.push_back({vertex.pass, vertex.block, op.communicator, work});
    next_.microbatch = repetition_.microbatch(run.op, run.copy, vertex.microbatch);
    next_.pair = vertex.pair == 0 ? 0 : vertex.pair + repetition_.pairs * run.copy;
    next_.before.clear();
    for (const auto predecessor : program::all_predecessors(step_, op)) {
      const auto number = whole_.number_before(run, predecessor);
      if (number >= 0) next_.before.push_back(number);
    }
    writer_.add(work, next_);
  }

  std::size_t work_of(const program::ProgramOp& op, const workloads::StepOp& vertex) {
    const bool collective = vertex->kind == workloads::StepOp::Kind::collective;
    const auto kind = !collective          ? "compute"
                      : vertex->given_time ? "measured"
                                           : lockstep::workloads::name(vertex->collective);
    return writer_.share({step_.block_names[vertex.block], vertex->name, vertex->detail, std::string(kind),
                          std::string(lockstep::workloads::name(vertex.pass)), output::axes_text(vertex),
                          vertex->reason, algorithm(op, vertex),
                          (collective ? vertex->full_size : vertex->traffic).value(), vertex->flops.value()});
  }

  std::string algorithm(const program::ProgramOp& op, const workloads::StepOp& vertex) {
    if (vertex->kind != workloads::StepOp::Kind::collective || vertex->given_time) return "";
    const auto [found, is_new] = algorithms_.try_emplace({op.communicator, vertex->collective, vertex->full_size});
    if (is_new) found->second = collectives_.algorithm(vertex->collective, vertex->axes, vertex->full_size);
    return found->second;
  }

  Json group(const trace::ShownRank& shown) {
    std::string name = "rank " + std::to_string(shown.number),
                note = shown.alike > 1 ? "× " + output::with_separators(shown.alike) : "";
    if (simulation_.metrics.stages.size() > 1) {
      note = name + " " + note;
      name = "stage " + std::to_string(simulation_.program.stage_of_rank[shown.rank]);
    }
    Json lanes = Json::array();
    const auto by_stream = trace::lanes_of(simulation_.program, simulation_.run.timeline, shown.rank);
    for (std::size_t stream = 0; stream < by_stream.size(); ++stream) {
      if (by_stream[stream].empty()) continue;
      const bool computes =
          simulation_.program.ops[by_stream[stream].front().op].kind == program::ProgramOp::Kind::compute;
      lanes.push_back(
          writer_.lane(simulation_.program.streams[stream], computes, spans_of(by_stream[stream], shown.rank)));
    }
    return {{"name", name}, {"note", note}, {"lanes", std::move(lanes)}};
  }

  std::vector<TimelineSpan> spans_of(const trace::TraceLane& lane, std::int32_t rank) {
    std::vector<TimelineSpan> spans;
    for (const auto& span : lane) {
      const auto blocker = blockers_.of(span.op, rank);
      const auto first = simulation_.run.timeline.span(span.op, rank, 0);
      spans.push_back(
          {trace::nanoseconds(first.start), trace::nanoseconds(first.end), whole_.number({span.op, span.copy})});
      spans.back().copy = span.copy;
      const auto because = blocker.op < 0 ? -1 : whole_.number_before({span.op, span.copy}, blocker.op);
      if (because < 0) continue;
      spans.back().because =
          blocker.why == metrics::Blocker::Why::stream ? TimelineSpan::Because::lane : TimelineSpan::Because::needs;
      spans.back().because_op = because;
      if (blocker.rank != rank) spans.back().because_rank = simulation_.ranks.representative[blocker.rank];
    }
    return spans;
  }

  /// Spans of the critical path by the group that shows them and their operation, without those that take no time.
  Json critical_path(const std::vector<trace::ShownRank>& shown) {
    const auto& timeline = simulation_.run.timeline;
    std::vector<std::uint64_t> group, op;
    const auto show = [&](const metrics::CriticalSpan& critical) {
      if (trace::nanoseconds(critical.span.end) <= trace::nanoseconds(critical.span.start)) return;
      const auto here = [&](const trace::ShownRank& rank) { return rank.rank == critical.rank; };
      const auto alike = [&](const trace::ShownRank& rank) {
        return timeline.took_part(critical.op, rank.rank) &&
               timeline.span(critical.op, rank.rank, critical.copy) == critical.span;
      };
      auto found = std::find_if(shown.begin(), shown.end(), here);
      if (found == shown.end()) found = std::find_if(shown.begin(), shown.end(), alike);
      if (found == shown.end()) return;
      group.push_back(static_cast<std::uint64_t>(found - shown.begin()));
      op.push_back(static_cast<std::uint64_t>(whole_.number({critical.op, critical.copy})));
    };
    for_each_span(simulation_.metrics.critical_path, repetition_.length(), show);
    return {{"group", data_.repeating(group)}, {"op", data_.growing(op)}};
  }

  const Simulation& simulation_;
  const workloads::StepGraph& step_;
  ReportData& data_;
  TimelineWriter writer_;
  const timeline::Repetition& repetition_;
  timing::WholeStep whole_;
  metrics::Blockers blockers_;
  collectives::CollectiveModel& collectives_;
  struct Work {
    workloads::StepPass pass;
    std::int32_t block, communicator;
    std::size_t number;  ///< of the writer
  };
  std::unordered_map<const workloads::StepWork*, std::vector<Work>> works_of_;  ///< only looked up
  TimelineOp next_;
  std::map<std::tuple<std::int32_t, workloads::CollectiveKind, Bytes>, std::string> algorithms_;
};

}  // namespace

std::string packed_timeline(const std::string& name, const Simulation& simulation, std::size_t most_ranks) {
  ReportData data;
  const auto timeline = TimelineData(simulation, data).run(name, most_ranks);
  return data.packed(timeline);
}

}  // namespace lockstep::report
