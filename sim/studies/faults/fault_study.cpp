#include "sim/studies/faults/fault_study.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "sim/studies/faults/losses.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::faults {

scenario::Scenario placed_as(scenario::Scenario scenario, const preparation::Preparation& preparation) {
  for (auto& request : scenario.mesh) {
    const auto& axis = preparation.machine.mesh->axis(request.name);
    request.size = axis.size();
    if (!request.place) request.place = place_text(*preparation.machine.cluster, axis);
  }
  return scenario;
}

namespace {

constexpr char timed = 't', parted = 'p';

/// What a child answers about a step: `timed` and its seconds, or `parted` and the reason why there is none.
std::string outcome(const scenario::Scenario& scenario, spdlog::logger& log) {
  if (const auto problems = why_not_a_cluster(scenario.cluster); !problems.empty())
    return parted + problems.front().what;
  try {
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    const double seconds = simulate(scenario, options, log).metrics.step_time.value();
    std::string text(1 + sizeof seconds, timed);
    std::memcpy(text.data() + 1, &seconds, sizeof seconds);
    return text;
  } catch (const ConfigError& error) {
    return parted + error.problems().front().what;
  }
}

LostStep read_outcome(const std::string& text) {
  if (text.front() == parted) return {Seconds(0), text.substr(1)};
  double seconds = 0;
  std::memcpy(&seconds, text.data() + 1, sizeof seconds);
  return {Seconds(seconds), ""};
}

/// Cables whose loss comes to the same, to the last bit, are one row; so are all that part the job.
std::vector<Loss> with_equal_cables_once(std::vector<Loss> losses) {
  std::map<std::pair<bool, Seconds>, std::size_t> rows;
  std::vector<Loss> result;
  for (auto& loss : losses) {
    if (!loss.is_switch) {
      const auto [row, is_new] = rows.try_emplace({loss.partition.empty(), loss.step}, result.size());
      if (!is_new) {
        result[row->second].alike += loss.alike;
        continue;
      }
    }
    result.push_back(std::move(loss));
  }
  return result;
}

}  // namespace

std::vector<LostStep> steps_without(const std::vector<scenario::Scenario>& scenarios, const FaultOptions& options,
                                    spdlog::logger& log) {
  std::vector<LostStep> steps(scenarios.size());
  std::size_t done = 0;
  const auto tell = [&] {
    if (options.progress) options.progress("losses", static_cast<double>(done) / static_cast<double>(scenarios.size()));
  };
  tell();
  studies::in_children(
      scenarios.size(), options.jobs, [&](std::size_t i) { return outcome(scenarios[i], log); },
      [&](std::size_t i, const studies::Answer& answer) {
        steps[i] = read_outcome(answer.text());
        ++done;
        tell();
      });
  return steps;
}

FaultStudy study_faults(const scenario::Scenario& scenario, const FaultOptions& options, spdlog::logger& log) {
  const auto tell = [&](std::string_view stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  preparation::refuse_local_updates(scenario, "losses are looked for among the links of one step");
  SimulateOptions with_phases;
  with_phases.engine = engine::EngineKind::max_min;
  with_phases.record_phases = true;
  with_phases.progress = options.progress;
  const auto whole = simulate(scenario, with_phases, log);
  auto losses = possible_losses(scenario, whole);
  FaultStudy study{whole.metrics.step_time, {}, std::max<std::int64_t>(0, std::ssize(losses) - options.most)};
  losses.resize(losses.size() - position_of(study.left_out));
  const auto placed = placed_as(scenario, whole.preparation);
  std::vector<scenario::Scenario> without;
  for (const auto& loss : losses) loss.take(without.emplace_back(placed));
  const auto steps = steps_without(without, options, log);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    study.losses.push_back({losses[i].name, losses[i].is_switch, losses[i].alike, steps[i].step, steps[i].partition});
  }
  std::stable_sort(study.losses.begin(), study.losses.end(), [](const Loss& a, const Loss& b) {
    if (a.partition.empty() != b.partition.empty()) return b.partition.empty();
    return a.step > b.step;
  });
  study.losses = with_equal_cables_once(std::move(study.losses));
  tell("done", 1);
  return study;
}

}  // namespace lockstep::faults
