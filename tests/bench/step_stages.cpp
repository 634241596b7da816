// Where the time of one simulation goes, stage by stage, in one process: step_stages SCENARIO [max-min]
// With max-min, as a search does it: joined steps, links shared in this process, no metrics.
#include <spdlog/logger.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "sim/simulate.hpp"
#include "sim/timing/joined_steps.hpp"

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

class Stages {
 public:
  void ended(const char* stage) {
    const auto now = Clock::now();
    std::printf("%-10s %8.2f ms\n", stage, std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = Clock::now();
  }

 private:
  Clock::time_point last_ = Clock::now();
};

void simulate_in_stages(const scenario::Scenario& scenario, bool as_in_a_search) {
  spdlog::logger silent("bench");
  Stages stages;
  (void)preparation::sharded_model(scenario);
  stages.ended("derive");
  auto preparation = preparation::prepare_step(scenario);
  stages.ended("prepare");
  if (as_in_a_search) {
    auto options = step_options(scenario, preparation.model);
    options.memory = false;
    workloads::ShardedLayers joined;
    for (const auto& block : preparation.model.layers)
      joined.push_back(timing::with_joined_steps(block, preparation::rates_of(scenario), options));
    preparation.step = {};
    stages.ended("join");
    preparation.step = build_step(joined, preparation.pipeline.kinds, preparation.pipeline, options);
    stages.ended("build");
  }
  auto whole = lower_with_perturbations(scenario, preparation);
  stages.ended("lower");
  const auto folded = fold(std::move(whole));
  stages.ended("fold");
  const auto result = engine::run(
      folded.program, {as_in_a_search ? engine::EngineKind::max_min : engine::EngineKind::simgrid, {}, false}, silent);
  stages.ended("engine");
  if (!as_in_a_search) {
    (void)measure(scenario, preparation, folded.program, result.timeline);
    stages.ended("measure");
  }
  std::printf("%d operations, %lld activities, step %.12f s\n", preparation.step.size(),
              static_cast<long long>(result.statistics.activities), result.timeline.makespan().value());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: step_stages SCENARIO [max-min]\n");
    return 2;
  }
  try {
    simulate_in_stages(scenario::load_scenario(argv[1]), argc > 2 && std::string_view(argv[2]) == "max-min");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
