// Time and memory of one step's engine, three ways in a process of its own each:
//   step_speed SCENARIO folded|unfolded|bare [--set a.b=c ...]
// `bare` is what one would write by hand: the same platform, one public s4u::Comm per flow and one timer per
// rank and compute operation, operation after operation, without streams, dependencies or a timeline.
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <string>
#include <vector>

#include "sim/engine/runtime/phased_network.hpp"
#include "sim/engine/simgrid/flow_routes.hpp"
#include "sim/simulate.hpp"

namespace {

using namespace lockstep;
namespace s4u = simgrid::s4u;

std::int64_t compute(const program::Program& program, const program::ProgramOp& op) {
  const double now = s4u::Engine::get_clock();
  for (const double slowdown : program.slowdown_of_rank) {
    simgrid::kernel::timer::Timer::set(now + op.duration.value() * slowdown, [] {});
  }
  s4u::Engine::get_instance()->run();
  return program.ranks();
}

std::int64_t communicate(const program::Program& program, const engine::FlowRoutes& routes,
                         const engine::FirstFlows& first, const program::ProgramOp& op) {
  std::int64_t activities = 0;
  const auto& groups = program.communicators[static_cast<std::size_t>(op.communicator)].groups;
  for (const auto& phase : op.phases) {
    simgrid::kernel::timer::Timer::set(s4u::Engine::get_clock() + phase.latency.value(), [] {});
    s4u::Engine::get_instance()->run();
    std::vector<s4u::CommPtr> comms;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      auto number = first[static_cast<std::size_t>(op.communicator)][group];
      for (const auto& flow : groups[group].flows) {
        const auto [from, to] = routes.ends(number++);
        const auto bytes =
            static_cast<std::uint64_t>(std::llround(phase.slot_bytes[static_cast<std::size_t>(flow.slot)]));
        if (bytes > 0) comms.push_back(s4u::Comm::sendto_async(from, to, bytes));
      }
    }
    activities += static_cast<std::int64_t>(comms.size());
    s4u::Engine::get_instance()->run();
  }
  return activities;
}

std::int64_t run_bare(const program::Program& program) {
  std::size_t flows = 0;
  const auto first = engine::first_flows(program, flows);
  const engine::FlowRoutes routes(program, first);
  std::int64_t activities = 0;
  for (const auto& op : program.ops) {
    activities +=
        op.kind == program::ProgramOp::Kind::compute ? compute(program, op) : communicate(program, routes, first, op);
  }
  return activities;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: step_speed SCENARIO folded|unfolded|bare [--set a.b=c ...]\n");
    return 2;
  }
  std::vector<scenario::KeyOverride> overrides;
  for (int i = 4; i < argc; i += 2) {
    const std::string text = argv[i];
    overrides.push_back({text.substr(0, text.find('=')), text.substr(text.find('=') + 1)});
  }
  spdlog::logger log("bench", std::make_shared<spdlog::sinks::null_sink_mt>());
  try {
    using Clock = std::chrono::steady_clock;
    const std::string how = argv[2];
    const auto begun = Clock::now();
    const auto scenario = load_scenario(argv[1], overrides);
    const auto preparation = preparation::prepare_step(scenario);
    const auto whole = lower_with_perturbations(scenario, preparation);
    const auto lowered = Clock::now();
    const auto folded = how == "folded" ? fold(whole) : program::FoldedProgram{};
    const auto started = Clock::now();
    const auto activities =
        how == "bare" ? run_bare(whole)
                      : engine::run(how == "folded" ? folded.program : whole, {engine::EngineKind::simgrid, {}}, log)
                            .statistics.activities;
    const std::chrono::duration<double> before = lowered - begun, folding = started - lowered,
                                        engine = Clock::now() - started;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%d ranks, %zu ops, %d classes, %lld activities: before %.4f s, fold %.4f s, engine %.4f s, %ld MB\n",
                static_cast<int>(whole.ranks()), whole.ops.size(), static_cast<int>(folded.ranks.count()),
                static_cast<long long>(activities), before.count(), folding.count(), engine.count(),
                usage.ru_maxrss / 1024);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
