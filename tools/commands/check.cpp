#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "sim/core/quantity_text.hpp"
#include "sim/roofline/study.hpp"
#include "tools/commands/commands.hpp"

namespace lockstep {
namespace {

/// One rank on the contention-free engine: enough for memory, and a lower bound of the step time.
std::string estimate(const Scenario& scenario) {
  const auto preparation = prepare(scenario);
  if (!scenario.perturbations.empty()) (void)lower_with_perturbations(scenario, preparation);  // a link may be missing for good
  spdlog::logger silent("check", std::make_shared<spdlog::sinks::null_sink_mt>());
  const auto one_rank = estimate_one_rank(scenario, preparation, silent);
  const auto& memory = one_rank.memory;
  return "ok; memory peak " + format(memory.peak) + " of " + format(memory.capacity) + (memory.fits ? ", fits" : ", does NOT fit") +
         " (weights + optimizer " + format(memory.weights + memory.optimizer) + "); step at least " + format(one_rank.step_time) +
         " without contention";
}

void check_scenarios(const std::vector<std::string>& files, const std::vector<std::string>& overrides) {
  Problems problems;
  for (const auto& file : files) {
    try {
      const auto text = estimate(load_scenario(file, parse_overrides(overrides)));
      std::printf("%s: %s\n", file.c_str(), text.c_str());
    } catch (const ConfigError& error) {
      for (const auto& problem : error.problems()) problems.add(problem);
    }
  }
  problems.throw_if_any();
}

}  // namespace

void add_check(CLI::App& app) {
  auto* command = app.add_subcommand("check", "validate scenarios and estimate their memory, without simulating the network");
  auto files = std::make_shared<std::vector<std::string>>();
  auto overrides = std::make_shared<std::vector<std::string>>();
  command->add_option("scenarios", *files, "scenario files (YAML)")->required();
  command->add_option("--set", *overrides, "replace a key of every scenario: a.b=c (may be repeated)")->allow_extra_args(false);
  command->footer("Example:\n  lockstep check scenarios/*.yaml");
  command->callback([files, overrides] { check_scenarios(*files, *overrides); });
}

}  // namespace lockstep
