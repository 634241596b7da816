#include "sim/studies/place_ranks/placement_use.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "sim/core/quantity_text.hpp"
#include "sim/program/fold.hpp"
#include "sim/studies/isolated.hpp"
#include "sim/studies/place_ranks/placement_bound.hpp"
#include "topologies/cluster/link_level.hpp"
#include "workloads/sharding/joined_axes.hpp"

namespace lockstep::place_ranks {
namespace {

constexpr double faster = 1.1;

bool is_between_switches(const topologies::Cluster& cluster, topologies::LinkId link) {
  return topologies::link_level(cluster, link) == "fabric";
}

/// The step and the times of its use, then a line for each axis with its name last.
std::string text_of(Seconds step, const OrderUse& use) {
  std::string text;
  for (const auto time : {step, use.busiest, use.compute, use.idle}) text += exact(time.value()) + " ";
  for (const auto& [name, axis] : use.axes)
    text += exact(axis.exposed.value()) + " " + exact(axis.between_switches) + " " + name + "\n";
  return text;
}

OrderUse use_in(const std::string& text) {
  std::istringstream lines(text);
  OrderUse use;
  std::string first, second, name;
  lines >> first;  // the step
  for (auto* time : {&use.busiest, &use.compute, &use.idle}) {
    lines >> first;
    *time = Seconds(std::stod(first));
  }
  while (lines >> first >> second && std::getline(lines.ignore(), name))
    use.axes[name] = {Seconds(std::stod(first)), std::stod(second)};
  return use;
}

std::string use_of(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  auto use = bytes_between_switches(scenario);
  SimulateOptions options;
  options.engine = engine;
  const auto metrics = simulate(scenario, options, log).metrics;
  use.compute = metrics.breakdown.compute;
  use.idle = metrics.breakdown.bubble;
  for (const auto& one : metrics.communication) use.axes[one.axis].exposed += one.exposed;
  return text_of(metrics.step_time, use);
}

std::string step_of(const scenario::Scenario& scenario, engine::EngineKind engine, spdlog::logger& log) {
  SimulateOptions options;
  options.engine = engine;
  options.detail = Detail::totals;
  return text_of(simulate(scenario, options, log).metrics.step_time, {});
}

/// "" where no link is between switches.
std::string with_faster_links(const scenario::Scenario& scenario, spdlog::logger& log) {
  const auto prepared = preparation::prepare_step(scenario);
  auto whole = preparation::lower_with_perturbations(scenario, prepared);
  bool any = false;
  for (const auto link : whole.links.ids()) {
    if (!is_between_switches(*prepared.machine.cluster, link)) continue;
    whole.links[link] = whole.links[link] * faster;
    any = true;
  }
  if (!any) return "";
  const auto run = engine::run(fold(std::move(whole)).program, {engine::EngineKind::max_min, {}, false}, log);
  return text_of(run.timeline.makespan(), {});
}

/// Those of links name links that a single switch lacks.
std::vector<program::Perturbation> of_chips(std::vector<program::Perturbation> perturbations) {
  std::erase_if(perturbations, [](const program::Perturbation& one) {
    return std::holds_alternative<program::DegradedLink>(one) || std::holds_alternative<program::DegradedNode>(one) ||
           std::holds_alternative<program::RandomDegradedLinks>(one) ||
           std::holds_alternative<program::FlakyLinks>(one);
  });
  return perturbations;
}

}  // namespace

OrderUse bytes_between_switches(const scenario::Scenario& scenario) {
  const auto prepared = preparation::prepare_step(scenario);
  const auto program = preparation::lower_with_perturbations(scenario, prepared);
  const auto& cluster = *prepared.machine.cluster;
  OrderUse use;
  // Bytes of each slot of each communicator, all its operations together, then over the links of its flows.
  std::map<std::pair<program::CommunicatorId, std::string>, std::vector<double>> bytes_of;
  for (const auto& op : program.ops) {
    if (op.kind != program::ProgramOp::Kind::collective) continue;
    const auto& communicator = program.communicators[op.communicator];
    const auto& vertex = prepared.step.op(op.vertex);  // named as metrics::communication_of names them
    const auto name = vertex->given_time ? vertex->stream : workloads::joined(vertex->axes);
    auto& bytes = bytes_of[{op.communicator, name}];
    bytes.resize(position_of(communicator.slots), 0);
    for (const auto& phase : op.phases) {
      for (const auto slot : phase.slot_bytes.ids()) bytes[position_of(slot)] += phase.slot_bytes[slot];
    }
  }
  std::vector<double> on_link(position_of(cluster.links()), 0);
  for (const auto& [key, bytes] : bytes_of) {
    auto& axis = use.axes[key.second];
    for (const auto& group : program.communicators[key.first].groups) {
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) {
          if (!is_between_switches(cluster, link)) continue;
          axis.between_switches += bytes[position_of(flow.slot)];
          on_link[position_of(link)] += bytes[position_of(flow.slot)];
        }
      }
    }
  }
  for (topologies::LinkId link = 0; link < cluster.links(); ++link)
    use.busiest = std::max(use.busiest, Seconds(on_link[position_of(link)] / program.links[link].value()));
  return use;
}

PlacementUse placement_use(const scenario::Scenario& given, const scenario::Scenario& best, engine::EngineKind engine,
                           int jobs, spdlog::logger& log) {
  auto without_limits = on_a_crossbar(best);
  without_limits.cluster.order = best.cluster.order;
  without_limits.perturbations = of_chips(best.perturbations);
  std::vector<std::string> answers(4);
  studies::in_children(
      answers.size(), jobs,
      [&](std::size_t i) {
        if (i == 0) return use_of(given, engine, log);
        if (i == 1) return use_of(best, engine, log);
        return i == 2 ? with_faster_links(best, log) : step_of(without_limits, engine, log);
      },
      [&](std::size_t i, const studies::Answer& answer) { answers[i] = answer.text(); });
  PlacementUse use{use_in(answers[0]), use_in(answers[1]), std::nullopt, Seconds(std::stod(answers[3]))};
  if (!answers[2].empty()) use.faster_links = Seconds(std::stod(answers[2]));
  return use;
}

}  // namespace lockstep::place_ranks
