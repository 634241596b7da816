#include "tools/report/timeline_data.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/collective_model.hpp"
#include "sim/metrics/blockers.hpp"
#include "tools/output/table.hpp"
#include "tools/trace/lanes.hpp"
#include "tools/trace/shown_ranks.hpp"

namespace lockstep {
namespace {

using Json = ReportData::Json;
using Numbers = std::vector<std::uint64_t>;

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// Texts by number, each once; 0 is "".
class Words {
 public:
  std::uint64_t number_of(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return found->second;
  }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  std::map<std::string, std::uint64_t> numbers_{{"", 0}};
  std::vector<std::string> list_{""};
};

std::string axes_of(const StepOp& vertex) {
  if (vertex.kind == StepOp::Kind::compute) return "";
  if (vertex.given_time) return vertex.stream;
  std::string text;
  for (const auto& axis : vertex.axes) text += (text.empty() ? "" : "+") + axis;
  return text;
}

class TimelineData {
 public:
  TimelineData(const Simulation& simulation, ReportData& data)
      : simulation_(simulation), data_(data), blockers_(simulation.program, simulation.run.timeline),
        collectives_(*simulation.preparation.cluster, *simulation.preparation.mesh) {}

  Json run(const std::string& name, std::size_t most_ranks) {
    auto ranks = distinct_ranks(simulation_);
    ranks.resize(std::min(ranks.size(), std::max(most_ranks, simulation_.metrics.stages.size())));
    Json groups = Json::array();
    for (const auto& rank : ranks) groups.push_back(group(rank));
    auto ops = operations();
    return {{"name", name}, {"end_ns", nanoseconds(simulation_.metrics.step_time)}, {"groups", std::move(groups)}, {"ops", std::move(ops)}, {"words", words_.list()}};
  }

 private:
  [[nodiscard]] bool pipelined() const { return simulation_.metrics.stages.size() > 1; }

  Json group(const ShownRank& shown) {
    std::string name = "rank " + std::to_string(shown.number), note = shown.alike > 1 ? "× " + with_separators(shown.alike) : "";
    if (pipelined()) {
      note = name + " " + note;
      name = "stage " + std::to_string(simulation_.program.stage_of_rank[static_cast<std::size_t>(shown.rank)]);
    }
    Json lanes = Json::array();
    const auto by_stream = lanes_of(simulation_.program, simulation_.run.timeline, shown.rank);
    for (std::size_t stream = 0; stream < by_stream.size(); ++stream) {
      if (by_stream[stream].empty()) continue;
      lanes.push_back(lane(simulation_.program.streams[stream], by_stream[stream], shown.rank));
    }
    return {{"name", name}, {"note", note}, {"lanes", std::move(lanes)}};
  }

  /// `because`: 0 it began with the step, 1 it needed because_op, 2 because_op held a lane; because_rank: 0 on this rank, else the rank + 1.
  Json lane(const std::string& name, const TraceLane& spans, std::int32_t rank) {
    Numbers gap, length, op, because, because_op, because_rank;
    std::int64_t time = 0, last = 0;
    for (const auto& span : spans) {
      gap.push_back(number(span.start_ns - time));
      length.push_back(number(span.end_ns - span.start_ns));
      op.push_back(without_sign(span.op - last));
      time = span.end_ns;
      last = span.op;
      const auto blocker = blockers_.of(span.op, rank);
      const bool known = blocker.op >= 0, elsewhere = known && blocker.rank != rank;
      because.push_back(!known ? 0 : blocker.why == Blocker::Why::stream ? 2 : 1);
      because_op.push_back(known ? without_sign(std::int64_t{span.op} - blocker.op) : 0);
      because_rank.push_back(elsewhere ? number(simulation_.ranks.representative[static_cast<std::size_t>(blocker.rank)] + 1) : 0);
    }
    const bool computes = !spans.empty() && op_of(spans.front().op).kind == ProgramOp::Kind::compute;
    return {{"name", name}, {"computes", computes}, {"gap", data_.whole(gap)}, {"length", data_.whole(length)}, {"op", data_.whole(op)},
            {"because", data_.whole(because)}, {"because_op", data_.whole(because_op)}, {"because_rank", data_.whole(because_rank)}};
  }

  Json operations() {
    const auto& step = simulation_.preparation.step;
    std::map<std::string, Numbers> columns;
    std::vector<double> flops;
    const auto add = [&](const char* column, std::uint64_t value) { columns[column].push_back(value); };
    std::int32_t id = 0;
    for (const auto& op : simulation_.program.ops) {
      const auto& vertex = step.op(op.vertex);
      const bool collective = vertex.kind == StepOp::Kind::collective;
      add("block", words_.number_of(step.block_names[static_cast<std::size_t>(vertex.block)]));
      add("name", words_.number_of(vertex.name));
      add("detail", words_.number_of(vertex.detail));
      add("kind", words_.number_of(!collective ? "compute" : vertex.given_time ? "measured" : std::string(lockstep::name(vertex.collective))));
      add("pass", words_.number_of(std::string(lockstep::name(vertex.pass))));
      add("axes", words_.number_of(axes_of(vertex)));
      add("reason", words_.number_of(vertex.reason));
      add("algorithm", words_.number_of(algorithm(op, vertex)));
      add("microbatch", number(vertex.microbatch));
      add("pair", number((vertex.half + 1) / 2));
      add("bytes", number(collective ? vertex.full_size.value() : vertex.traffic.value()));
      add("befores", op.predecessors.size());
      for (const auto before : op.predecessors) add("before", number(id - before));
      flops.push_back(vertex.flops.value());
      ++id;
    }
    columns["before"];  // there, even if nothing waits
    Json ops = {{"flops", data_.real(flops)}};
    for (const auto& [name, values] : columns) ops[name] = data_.whole(values);
    return ops;
  }

  std::string algorithm(const ProgramOp& op, const StepOp& vertex) {
    if (vertex.kind != StepOp::Kind::collective || vertex.given_time) return "";
    const auto [found, is_new] = algorithms_.try_emplace({op.communicator, vertex.collective, vertex.full_size});
    if (is_new) found->second = collectives_.algorithm(vertex.collective, vertex.axes, vertex.full_size);
    return found->second;
  }

  [[nodiscard]] const ProgramOp& op_of(std::int32_t id) const { return simulation_.program.ops[static_cast<std::size_t>(id)]; }

  const Simulation& simulation_;
  ReportData& data_;
  Blockers blockers_;
  CollectiveModel collectives_;
  std::map<std::tuple<std::int32_t, CollectiveKind, Bytes>, std::string> algorithms_;
  Words words_;
};

}  // namespace

Json timeline_data(const std::string& name, const Simulation& simulation, ReportData& data, std::size_t most_ranks) {
  return TimelineData(simulation, data).run(name, most_ranks);
}

}  // namespace lockstep
