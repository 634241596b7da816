#pragma once
/// What a run's model needs to know of its step, found by simulating the step on the machine as it is at times: without
/// a part that the job can go on without, with fewer hosts, beside a checkpoint that is written.
/// docs/models/goodput.md
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/goodput/run_model.hpp"

namespace lockstep::goodput {

struct FactsOptions {
  std::int64_t most_parts = 16;   ///< kinds of loss of one class that are simulated, the most used first
  std::int64_t most_missing = 2;  ///< hosts
  int jobs = 1;                   ///< simulations at a time
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
};

struct FoundFacts {
  RunFacts facts;
  std::vector<std::string> notes;  ///< what was not simulated, and what is taken in its place
};

/// `scenario.reliability` must be there; `step`: of the run's model, which may be another than the simulated one. Where
/// parts may be lost, the whole step is simulated once more on the engine of the others.
[[nodiscard]] FoundFacts run_facts(const scenario::Scenario& scenario, const preparation::PreparedStep& prepared,
                                   Seconds step, const FactsOptions& options, spdlog::logger& log);

}  // namespace lockstep::goodput
