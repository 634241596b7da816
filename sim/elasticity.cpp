#include "sim/elasticity.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "sim/isolated.hpp"
#include "sim/simulate.hpp"
#include "topologies/link_level.hpp"

namespace lockstep {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// A parameter is made better by this factor. One-sided: at a kink, where another chain becomes the critical one, the
/// question is what an improvement brings, and that is the derivative on its side.
constexpr double better = 1.01;

struct Parameter {
  std::string name;
  bool is_rate;  ///< else less of it is better
  std::function<void(Program&)> improve;
};

bool is_replayed(const StepGraph& step, const ProgramOp& op) { return step.op(op.vertex)->given_time.has_value(); }

/// Interference and slow chips stay what they are.
void set_compute(Program& program, const StepGraph& step, const ComputeRates& before, const ComputeRates& rates) {
  for (auto& op : program.ops) {
    const auto& vertex = step.op(op.vertex);
    if (op.kind != ProgramOp::Kind::compute || vertex->given_time) continue;
    const auto kernel = kernel_of(*vertex.what);
    const auto was = compute_time(before, kernel);
    if (was > Seconds(0)) op.duration = op.duration * (compute_time(rates, kernel) / was);
  }
}

/// Latencies, and on its busiest link the bytes of every phase, of the slowest group: what the closed forms count.
Seconds time_alone(const Program& program, const ProgramOp& op) {
  Seconds slowest(0);
  std::map<std::int32_t, double> bytes;
  for (const auto& group : program.communicators[at(op.communicator)].groups) {
    Seconds time(0);
    for (const auto& phase : op.phases) {
      bytes.clear();
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) bytes[link] += phase.slot_bytes[at(flow.slot)];
      }
      double longest = 0;
      for (const auto& [link, carried] : bytes) longest = std::max(longest, carried / program.links[at(link)].value());
      time += phase.latency + Seconds(longest);
    }
    slowest = std::max(slowest, time);
  }
  return slowest;
}

/// After a change of links or latencies: closed forms follow what a collective takes alone.
void follow(Program& program, const Program& before) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    auto& op = program.ops[i];
    if (op.kind != ProgramOp::Kind::collective) continue;
    const auto was = time_alone(before, before.ops[i]);
    if (was > Seconds(0)) op.closed_form = op.closed_form * (time_alone(program, op) / was);
  }
}

std::vector<Parameter> parameters(const Scenario& scenario, const Preparation& preparation, const FoldedProgram& folded, EngineKind engine) {
  const auto& step = preparation.step;
  const auto& program = folded.program;
  const bool closed_forms = engine == EngineKind::reference;
  std::vector<Parameter> list;

  if (!scenario.replay) {
    const auto rates = rates_of(scenario);
    auto faster = rates;
    faster.flops = faster.flops * better;
    faster.in_16_bits = faster.in_16_bits * better;
    auto wider = rates;
    wider.memory = wider.memory * better;
    if (rates.kernels) {
      faster.kernels->products = rates.kernels->products * better;
      faster.kernels->in_16_bits = rates.kernels->in_16_bits * better;
      wider.kernels->memory = rates.kernels->memory * better;
    }
    list.push_back({"compute rate", true, [&step, rates, faster](Program& changed) { set_compute(changed, step, rates, faster); }});
    if (scenario.time_model != TimeModel::ideal) {
      list.push_back({"memory bandwidth", true, [&step, rates, wider](Program& changed) { set_compute(changed, step, rates, wider); }});
    }
  }

  std::map<std::string, std::vector<bool>> levels;  // links of each that anything crosses
  for (const auto& communicator : program.communicators) {
    for (const auto& group : communicator.groups) {
      for (const auto& flow : group.flows) {
        for (const auto link : flow.links) {
          auto& links = levels[std::string(link_level(*preparation.cluster, folded.link_members.representative[at(link)]))];
          links.resize(program.links.size(), false);
          links[at(link)] = true;
        }
      }
    }
  }
  for (const auto& [level, links] : levels) {
    list.push_back({level + " bandwidth", true, [&program, links = links, closed_forms](Program& changed) {
                      for (std::size_t link = 0; link < links.size(); ++link) {
                        if (links[link]) changed.links[link] = changed.links[link] * better;
                      }
                      if (closed_forms) follow(changed, program);
                    }});
  }
  const bool communicates = std::any_of(program.ops.begin(), program.ops.end(), [&](const ProgramOp& op) {
    return op.kind == ProgramOp::Kind::collective && !is_replayed(step, op);
  });
  if (communicates) {
    list.push_back({"latency", false, [&program, &step, closed_forms](Program& changed) {
                      std::map<const Phase*, SharedList<Phase>> faster;  // operations that share phases still do
                      for (auto& op : changed.ops) {
                        if (is_replayed(step, op) || op.phases.empty()) continue;
                        auto& phases = faster[op.phases.begin()];
                        if (phases.empty()) {
                          auto made = op.phases.items();
                          for (auto& phase : made) phase.latency = phase.latency / better;
                          phases = std::move(made);
                        }
                        op.phases = phases;
                      }
                      if (closed_forms) follow(changed, program);
                    }});
  }
  return list;
}

double makespan_of(const Program& program, EngineKind engine, spdlog::logger& log) { return run(program, {engine, {}, false}, log).timeline.makespan().value(); }

std::string bytes_of(double value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

}  // namespace

struct Elasticities::Running {
  Running(std::vector<Parameter> list, Child started) : parameters(std::move(list)), child(std::move(started)) {}
  std::vector<Parameter> parameters;
  Child child;
};

Elasticities::Elasticities(const Scenario& scenario, const Preparation& preparation, const FoldedProgram& folded, EngineKind engine, spdlog::logger& log) {
  auto list = parameters(scenario, preparation, folded, engine);
  Child child([&] {
    std::string makespans;
    std::deque<Child> running;  // as many at a time as there are processors
    for (const auto& parameter : list) {
      if (running.size() >= std::max(std::thread::hardware_concurrency(), 1U)) {
        makespans += running.front().answer();
        running.pop_front();
      }
      running.emplace_back([&] {
        auto program = folded.program;
        parameter.improve(program);
        return bytes_of(makespan_of(program, engine, log));
      });
    }
    for (auto& last : running) makespans += last.answer();
    return makespans;
  });
  running_ = std::make_unique<Running>(std::move(list), std::move(child));
}

Elasticities::~Elasticities() = default;

std::vector<Elasticity> Elasticities::of(Seconds step_time) {
  const auto makespans = running_->child.answer();
  std::vector<Elasticity> result;
  for (std::size_t i = 0; i < running_->parameters.size(); ++i) {
    double makespan = 0;
    std::memcpy(&makespan, makespans.data() + i * sizeof makespan, sizeof makespan);
    const auto& parameter = running_->parameters[i];
    const double change = std::log(makespan / step_time.value()) / std::log(better);
    result.push_back({parameter.name, parameter.is_rate ? change : -change, parameter.is_rate});
  }
  std::stable_sort(result.begin(), result.end(), [](const Elasticity& a, const Elasticity& b) { return a.gain() > b.gain(); });
  return result;
}

}  // namespace lockstep
