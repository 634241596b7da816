#include "sim/studies/validation/validate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "sim/metrics/reserved_memory.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::validation {
namespace {

/// Seconds as they are, with a slower matrix unit, and with slower memory.
enum Variant : std::size_t { as_is, slower_compute, slower_memory, variants };
constexpr double slower = 0.95;

struct Prediction {
  double step_s[variants] = {};
  double peak_bytes = 0, compared_bytes = 0, capacity_bytes = 0;
  double exposed_share = 0;
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

/// Which of a step's peaks a run's measurement is compared with.
struct PeakWanted {
  bool reserved = false, of_last_stage = false;
  [[nodiscard]] std::string text() const { return std::string(reserved ? "r" : "") + (of_last_stage ? "l" : ""); }
};

/// One simulation of the list: scenarios of equal text are simulated once.
struct Job {
  const MeasuredRun* run = nullptr;
  std::vector<std::size_t> of;  ///< indices of the runs that it is for
  scenario::Scenario scenario;
  std::optional<scenario::Scenario> fewer;  ///< with one microbatch fewer
  Prediction prediction;
  std::vector<Problem> refused;
};

struct Simulated {
  double step_s = 0, peak_bytes = 0, compared_bytes = 0, capacity_bytes = 0, exposed_share = 0;
};

PeakWanted wanted_peak(const MeasuredRun& run) { return {run.peak_is_reserved, run.peak_of_last_stage}; }

Simulated simulated(scenario::Scenario scenario, PeakWanted wanted, Variant variant, const ValidateOptions& options,
                    preparation::KnownMachines& known, spdlog::logger& log) {
  if (options.adjust) options.adjust(scenario);
  if (auto& kernels = scenario.cluster.chip().kernels) {
    if (variant == slower_compute) kernels->sustained *= slower;
    if (variant == slower_memory) kernels->memory *= slower;
  }
  SimulateOptions simulating;
  simulating.engine = options.engine;
  simulating.detail = Detail::totals;
  const auto simulation = simulate(scenario, simulating, log, known);
  const auto& metrics = simulation.metrics;
  const auto& memory = wanted.of_last_stage ? metrics.stages.back().memory : metrics.memory;
  const auto compared = wanted.reserved ? metrics::reserved_memory(simulation.preparation.step, simulation.program,
                                                                   simulation.run.timeline, memory)
                                        : memory.peak;
  return {metrics.step_time.value(), static_cast<double>(metrics.memory.peak.value()),
          static_cast<double>(compared.value()), static_cast<double>(metrics.memory.capacity.value()),
          metrics.breakdown.exposed_comm / metrics.step_time};
}

std::string answer_of(const Simulated& prediction) {
  return {reinterpret_cast<const char*>(&prediction), sizeof prediction};
}

Simulated simulated_in(const std::string& text) {
  Simulated prediction;
  std::memcpy(&prediction, text.data(), std::min(text.size(), sizeof prediction));
  return prediction;
}

/// One process for each: the step, for a run of one microbatch the step with one fewer, and both on slower chips.
struct Task {
  Job* job;
  bool fewer;
  Variant variant;
};

/// The longest first, so that no process is left with a long one at the end.
std::vector<Task> tasks_of(std::vector<Job>& jobs, const ValidateOptions& options) {
  std::vector<Task> tasks;
  for (auto& job : jobs) {
    for (std::size_t variant = as_is; variant < (options.responses ? variants : slower_compute); ++variant) {
      tasks.push_back({&job, false, static_cast<Variant>(variant)});
      if (job.fewer) tasks.push_back({&job, true, static_cast<Variant>(variant)});
    }
  }
  const auto work = [](const Task& task) {
    const auto& scenario = task.job->scenario;
    return scenario.batch.microbatches * scenario.model.layers;
  };
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) { return work(a) > work(b); });
  return tasks;
}

void simulate_all(std::vector<Job>& jobs, const ValidateOptions& options, spdlog::logger& log) {
  const auto steps = tasks_of(jobs, options);
  std::size_t done = 0;
  preparation::KnownMachines known;  // by each child for itself
  const auto work = [&](std::size_t index) {
    const auto& [job, fewer, variant] = steps[index];
    return answer_of(
        simulated(fewer ? *job->fewer : job->scenario, wanted_peak(*job->run), variant, options, known, log));
  };
  const auto take = [&](std::size_t index, const studies::Answer& answer) {
    const auto& [job, fewer, variant] = steps[index];
    try {
      const auto made = simulated_in(answer.text());
      job->prediction.step_s[variant] += fewer ? -made.step_s : made.step_s;
      if (!fewer) {
        job->prediction.peak_bytes = made.peak_bytes;
        job->prediction.compared_bytes = made.compared_bytes;
        job->prediction.capacity_bytes = made.capacity_bytes;
        job->prediction.exposed_share = made.exposed_share;
      }
    } catch (const ConfigError& error) {
      job->refused = at_their_cells(*job->run, error.problems());
    } catch (const studies::OutOfResources& error) {
      throw studies::OutOfResources(job->run->table + " " + job->run->name + ": " + error.what());
    } catch (const InternalError& error) {
      throw InternalError(job->run->table + " " + job->run->name + ": " + error.what());
    }
    if (options.progress)
      options.progress("simulating " + job->run->table,
                       static_cast<double>(++done) / static_cast<double>(steps.size()));
  };
  engine::load(options.engine);
  studies::in_children(steps.size(), options.jobs, work, take);
}

Response response_of(const Prediction& prediction) {
  const auto to = [&](Variant variant) {
    return std::log(prediction.step_s[variant] / prediction.step_s[as_is]) / std::log(slower);
  };
  return {to(slower_compute), to(slower_memory)};
}

std::string reason(const std::vector<Problem>& problems) {
  const auto& first = problems.front();
  return (first.key.empty() ? "" : first.key + ": ") + first.what;
}

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::replicas: return "replicas";
    case Method::fsdp: return "fsdp";
    case Method::pipeline: return "pipeline";
    case Method::experts: return "experts";
    case Method::torus: return "torus";
  }
  return "";
}

StepTraits traits_of(const scenario::Scenario& scenario, double network) {
  const auto has = [&](std::string_view axis) {
    return std::any_of(scenario.mesh.begin(), scenario.mesh.end(),
                       [&](const auto& request) { return request.name == axis && request.size != 1; });
  };
  const auto method = scenario.cluster.torus() != nullptr          ? Method::torus
                      : scenario.model.experts.has_value()         ? Method::experts
                      : has("pipeline")                            ? Method::pipeline
                      : has("fsdp") || scenario.parallel.zero == 3 ? Method::fsdp
                                                                   : Method::replicas;
  const auto& chip = scenario.cluster.chip();
  return {chip.measured_as, chip.generation,  scenario.training.precision,
          method,           scenario.chips(), static_cast<double>(count_parameters(scenario.model).total()),
          network};
}

std::vector<ValidatedRun> validate(const std::vector<RunTable>& tables, const ValidateOptions& options,
                                   spdlog::logger& log) {
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
      if (!options.model_of_time.empty())
        validated.back().run.set("model_of_time", options.model_of_time, {"--model-of-time", 0, 0});
    }
  }
  std::vector<Job> jobs;
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by folder and text
  for (std::size_t i = 0; i < validated.size(); ++i) {
    auto& entry = validated[i];
    if (!entry.run.skipped_because.empty()) continue;
    const auto& table = tables[table_of[i]];
    if (options.progress && (i == 0 || table_of[i] != table_of[i - 1])) options.progress("reading " + table.name, 0);
    try {
      auto scenario = scenario_of(entry.run, table.folder);
      entry.traits = traits_of(scenario, 0);
      if (entry.run.time) entry.measured_s = measured_time(*entry.run.time, scenario).value();
      const bool marginal = entry.run.time_of == MeasuredRun::TimeOf::microbatch;
      if (marginal && scenario.batch.microbatches < 2)
        throw ConfigError(
            {{entry.run.where, "time_of", "there is only one microbatch", "two or more, to see what one more costs"}});
      const auto key = std::pair{table.folder.string(), scenario_text(entry.run) + (marginal ? "one more" : "") +
                                                            wanted_peak(entry.run).text()};
      const auto [at, is_new] = known.emplace(key, jobs.size());
      if (is_new)
        jobs.push_back(
            {&entry.run,
             {},
             std::move(scenario),
             marginal ? std::optional(scenario_of(one_microbatch_fewer(entry.run), table.folder)) : std::nullopt,
             {},
             {}});
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
      entry.traits.network = job.prediction.exposed_share;
      entry.predicted_s = entry.run.time ? job.prediction.step_s[as_is] : 0;
      if (options.responses) entry.response = response_of(job.prediction);
      // A microbatch more is a difference of two steps, and a layer alone no whole step: neither says what fits.
      if (entry.run.time_of == MeasuredRun::TimeOf::microbatch) continue;
      entry.predicted_peak_bytes = job.prediction.peak_bytes;
      entry.compared_peak_bytes = job.prediction.compared_bytes;
      entry.capacity_bytes = job.prediction.capacity_bytes;
    }
  }
  mistakes.throw_if_any();
  return validated;
}

RunTable sample_of(const RunTable& table, std::size_t most) {
  auto sample = table;
  sample.runs.clear();
  std::vector<const MeasuredRun*> timed;
  for (const auto& run : table.runs) {
    if (run.time && run.skipped_because.empty()) timed.push_back(&run);
  }
  const auto chosen = std::min(most, timed.size());
  for (std::size_t i = 0; i < chosen; ++i) sample.runs.push_back(*timed[i * timed.size() / chosen]);
  return sample;
}

}  // namespace lockstep::validation
