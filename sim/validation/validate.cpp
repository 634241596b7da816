#include "sim/validation/validate.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "sim/isolated.hpp"

namespace lockstep {
namespace {

struct Prediction {
  double step_s = 0, peak_bytes = 0;
};

/// The same step with one microbatch fewer.
MeasuredRun one_microbatch_fewer(const MeasuredRun& run) {
  const auto count = std::stoll(run.value_of("batch.microbatches"));
  const auto sequences = std::stoll(run.value_of("batch.sequences"));
  auto fewer = run;
  fewer.set("batch.sequences", sequences / count * (count - 1));
  fewer.set("batch.microbatches", count - 1);
  return fewer;
}

/// One simulation of the list: scenarios of equal text are simulated once.
struct Job {
  const MeasuredRun* run = nullptr;
  const RunTable* table = nullptr;
  std::vector<std::size_t> of;  ///< indices of the runs that it is for
  std::optional<MeasuredRun> fewer;
  Prediction prediction;
  std::vector<Problem> refused;
};

Prediction simulated(const MeasuredRun& run, const RunTable& table, const ValidateOptions& options, spdlog::logger& log) {
  auto scenario = scenario_of(run, table.folder);
  if (options.adjust) options.adjust(scenario);
  const auto metrics = simulate(scenario, {options.engine, true, {}}, log).metrics;
  return {metrics.step_time.value(), static_cast<double>(metrics.memory.peak.value())};
}

std::string answer_of(const Prediction& prediction) { return {reinterpret_cast<const char*>(&prediction), sizeof prediction}; }

Prediction prediction_in(const std::string& text) {
  Prediction prediction;
  std::memcpy(&prediction, text.data(), std::min(text.size(), sizeof prediction));
  return prediction;
}

/// Two processes for a run of one microbatch: the step, and the step with one fewer.
void simulate_all(std::vector<Job>& jobs, const ValidateOptions& options, spdlog::logger& log) {
  std::vector<std::pair<Job*, bool>> steps;
  for (auto& job : jobs) {
    steps.emplace_back(&job, false);
    if (job.fewer) steps.emplace_back(&job, true);
  }
  std::size_t done = 0;
  const auto work = [&](std::size_t index) {
    const auto& [job, fewer] = steps[index];
    return answer_of(simulated(fewer ? *job->fewer : *job->run, *job->table, options, log));
  };
  const auto take = [&](std::size_t index, Child& child) {
    auto& [job, fewer] = steps[index];
    try {
      const auto made = prediction_in(child.answer());
      job->prediction.step_s += fewer ? -made.step_s : made.step_s;
      if (!fewer) job->prediction.peak_bytes = made.peak_bytes;
    } catch (const ConfigError& error) {
      job->refused = at_their_cells(*job->run, error.problems());
    } catch (const InternalError& error) {
      throw InternalError(job->run->table + " " + job->run->name + ": " + error.what());
    }
    if (options.progress) options.progress("simulating " + job->run->table, static_cast<double>(++done) / static_cast<double>(steps.size()));
  };
  in_children(steps.size(), options.jobs, work, take);
}

std::string reason(const std::vector<Problem>& problems) {
  const auto& first = problems.front();
  return (first.key.empty() ? "" : first.key + ": ") + first.what;
}

}  // namespace

std::vector<ValidatedRun> validate(const std::vector<RunTable>& tables, const ValidateOptions& options, spdlog::logger& log) {
  std::vector<ValidatedRun> validated;
  std::vector<std::size_t> table_of;
  Problems mistakes;
  const auto refuse = [&](std::size_t index, const std::vector<Problem>& problems) {
    if (tables[table_of[index]].published) {
      validated[index].run.skipped_because = reason(problems);
    } else {
      for (const auto& problem : problems) mistakes.add(problem);
    }
  };
  for (std::size_t table = 0; table < tables.size(); ++table) {
    for (const auto& run : tables[table].runs) {
      validated.push_back({run});
      table_of.push_back(table);
      if (!options.model_of_time.empty()) validated.back().run.set("model_of_time", options.model_of_time, {"--model-of-time", 0, 0});
    }
  }
  std::vector<Job> jobs;
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by folder and text
  for (std::size_t i = 0; i < validated.size(); ++i) {
    auto& entry = validated[i];
    if (!entry.run.skipped_because.empty()) continue;
    const auto& table = tables[table_of[i]];
    try {
      const auto scenario = scenario_of(entry.run, table.folder);
      if (entry.run.time) entry.measured_s = measured_time(*entry.run.time, scenario).value();
      const bool marginal = entry.run.time_of == MeasuredRun::TimeOf::microbatch;
      if (marginal && scenario.batch.microbatches < 2) throw ConfigError({{entry.run.where, "time_of", "there is only one microbatch", "two or more, to see what one more costs"}});
      const auto key = std::pair{table.folder.string(), scenario_text(entry.run) + (marginal ? "one more" : "")};
      const auto [at, is_new] = known.emplace(key, jobs.size());
      if (is_new) jobs.push_back({&entry.run, &table, {}, marginal ? std::optional(one_microbatch_fewer(entry.run)) : std::nullopt, {}, {}});
      jobs[at->second].of.push_back(i);
    } catch (const ConfigError& error) {
      refuse(i, error.problems());
    }
  }
  mistakes.throw_if_any();
  simulate_all(jobs, options, log);
  for (const auto& job : jobs) {
    for (const auto index : job.of) {
      auto& entry = validated[index];
      if (!job.refused.empty()) {
        refuse(index, job.refused);
        continue;
      }
      entry.predicted_s = entry.run.time ? job.prediction.step_s : 0;
      if (entry.run.peak_bytes) entry.predicted_peak_bytes = job.prediction.peak_bytes;
    }
  }
  mistakes.throw_if_any();
  return validated;
}

}  // namespace lockstep
