#include "tests/property/simulated_step.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "sim/engine/runtime/readiness.hpp"
#include "sim/program/lower.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/engine/child_run.hpp"

namespace lockstep::test {
namespace {

program::Program lowered(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation) {
  auto program =
      lower(preparation.step, *preparation.machine.collectives, preparation::rates_of(scenario), scenario.lower);
  check(program);
  return program;
}

}  // namespace

std::filesystem::path scenario_file(const std::string& relative) {
  return std::filesystem::path(source_dir) / relative;
}

scenario::Scenario Case::load() const {
  return load_scenario(scenario_file("tests/data/scenarios/" + file), overrides);
}

std::string Case::to_string() const {
  std::string text = file;
  for (const auto& [path, value] : overrides) text += " --set '" + path + "=" + value + "'";
  return text;
}

timeline::Timeline timeline_of(const program::Program& program, engine::EngineKind engine) {
  if (engine == engine::EngineKind::reference) return run_reference(program).timeline;
  const auto spans = run_in_child(program, engine);
  const auto ops = static_cast<std::int32_t>(program.ops.size());
  timeline::Timeline timeline(std::make_shared<const timeline::RankSets>(engine::rank_sets_of(program)));
  for (std::int32_t op = 0; op < ops; ++op) {
    for (std::int32_t rank = 0; rank < program.ranks(); ++rank) {
      if (spans.start(op, rank) >= 0)
        timeline.record(op, rank, {Seconds(spans.start(op, rank)), Seconds(spans.end(op, rank))});
    }
  }
  return timeline;
}

double furthest_apart(const timeline::Timeline& whole, const timeline::Timeline& folded,
                      const program::RankClasses& ranks) {
  double worst = 0;
  const double scale = whole.makespan().value();
  for (std::int32_t op = 0; op < whole.ops(); ++op) {
    for (std::int32_t rank = 0; rank < whole.ranks(); ++rank) {
      const auto lane = ranks.class_of_rank[static_cast<std::size_t>(rank)];
      if (whole.took_part(op, rank) != folded.took_part(op, lane)) return INFINITY;
      if (!whole.took_part(op, rank)) continue;
      const auto a = whole.span(op, rank);
      const auto b = folded.span(op, lane);
      worst =
          std::max({worst, std::abs((a.start - b.start).value()) / scale, std::abs((a.end - b.end).value()) / scale});
    }
  }
  return worst;
}

SimulatedStep::SimulatedStep(scenario::Scenario of)
    : scenario(std::move(of)),
      preparation(preparation::prepare_step(scenario)),
      program(lowered(scenario, preparation)),
      simgrid(timeline_of(program, engine::EngineKind::simgrid)),
      reference(timeline_of(program, engine::EngineKind::reference)) {}

Seconds SimulatedStep::alone(const program::ProgramOp& op) const {
  const auto of_group = [&](const collectives::ProgramGroup& group) {
    Seconds total(0);
    for (const auto& phase : op.phases) {
      std::map<std::int32_t, double> bytes_of_link;
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) bytes_of_link[link] += phase.slot_bytes[static_cast<std::size_t>(flow.slot)];
      }
      double longest = 0;
      for (const auto& [link, bytes] : bytes_of_link) {
        longest = std::max(longest, bytes / program.links[static_cast<std::size_t>(link)].value());
      }
      total += phase.latency + Seconds(longest);
    }
    return total;
  };
  const auto& groups = program.communicators[static_cast<std::size_t>(op.communicator)].groups;
  Seconds least = of_group(groups.front());
  if (preparation.machine.cluster->fabric_spec() == nullptr) return least;  // groups on one torus are alike
  for (const auto& group : groups) least = std::min(least, of_group(group));
  return least;
}

Seconds SimulatedStep::critical_path() const {
  std::vector<Seconds> ends;
  Seconds last(0);
  for (const auto& op : program.ops) {
    Seconds start(0);
    for (const auto before : op.predecessors) start = std::max(start, ends[static_cast<std::size_t>(before)]);
    ends.push_back(start + (op.kind == program::ProgramOp::Kind::compute ? op.duration : alone(op)));
    last = std::max(last, ends.back());
  }
  return last;
}

Seconds SimulatedStep::busiest_stream() const {
  std::vector<std::vector<std::int32_t>> members(program.communicators.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const auto& group : program.communicators[i].groups)
      members[i].insert(members[i].end(), group.members.begin(), group.members.end());
  }
  std::map<std::int32_t, std::vector<std::int32_t>> of_stage;
  for (std::int32_t rank = 0; rank < program.ranks(); ++rank)
    of_stage[program.stage_of_rank[static_cast<std::size_t>(rank)]].push_back(rank);

  std::map<std::pair<std::int32_t, std::int32_t>, Seconds> taken;  // by rank and stream
  Seconds most(0);
  for (const auto& op : program.ops) {
    const bool computes = op.kind == program::ProgramOp::Kind::compute;
    const Seconds time = computes ? op.duration : alone(op);
    for (const auto rank : computes ? of_stage[op.stage] : members[static_cast<std::size_t>(op.communicator)]) {
      for (const auto stream : op.streams) most = std::max(most, taken[{rank, stream}] += time);
    }
  }
  return most;
}

Seconds SimulatedStep::same_order_without_contention() const {
  struct Instance {
    timeline::Interval span;
    std::int32_t op;
    std::vector<std::int32_t> members;
  };
  std::vector<Instance> instances;
  for (std::int32_t op = 0; op < simgrid.ops(); ++op) {
    const auto& program_op = program.ops[static_cast<std::size_t>(op)];
    if (program_op.kind == program::ProgramOp::Kind::compute) {
      for (std::int32_t rank = 0; rank < simgrid.ranks(); ++rank)
        instances.push_back({simgrid.span(op, rank), op, {rank}});
      continue;
    }
    for (const auto& group : program.communicators[static_cast<std::size_t>(program_op.communicator)].groups) {
      instances.push_back({simgrid.span(op, group.members.front()), op, group.members});
    }
  }
  // By start, and what takes no time before what begins at its end: the order of the streams, and topological.
  std::stable_sort(instances.begin(), instances.end(), [](const Instance& a, const Instance& b) {
    return std::tie(a.span.start, a.span.end) < std::tie(b.span.start, b.span.end);
  });
  std::map<std::pair<std::int32_t, std::int32_t>, Seconds> ended, stream_free;  // by rank and op, rank and stream
  Seconds last(0);
  for (const auto& [span, op, members] : instances) {
    const auto& program_op = program.ops[static_cast<std::size_t>(op)];
    Seconds end(0);
    for (const auto rank : members) {
      for (const auto before : program_op.predecessors) end = std::max(end, ended.at({rank, before}));
      for (const auto stream : program_op.streams) end = std::max(end, stream_free[{rank, stream}]);
    }
    end += program_op.kind == program::ProgramOp::Kind::compute ? program_op.duration : program_op.closed_form;
    for (const auto rank : members) {
      ended[{rank, op}] = end;
      for (const auto stream : program_op.streams) stream_free[{rank, stream}] = end;
    }
    last = std::max(last, end);
  }
  return last;
}

}  // namespace lockstep::test
