#pragma once
/// Predicted against measured steps: every run simulated, errors by family. Error = predicted / measured - 1, of times.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/validation/measured_run.hpp"

namespace lockstep::validation {

/// The runs of one table and where they come from.
struct RunTable {
  std::string name;
  std::vector<MeasuredRun> runs;
  std::filesystem::path folder;  ///< from which the runs' files are seen
  bool published = false;  ///< what this version cannot simulate is skipped; in a user's own table it is a mistake
};

struct ValidateOptions {
  std::string model_of_time;  ///< put over that of every run, as a scenario writes it
  int jobs = 1;               ///< simulations at a time, each in a process
  engine::EngineKind engine = engine::EngineKind::automatic;
  std::function<void(std::string_view what, double fraction)> progress;  ///< may be empty
  std::function<void(scenario::Scenario&)> adjust{};  ///< changes every scenario before it is simulated; may be empty
  bool responses = false;                             ///< calibrated: simulate every step twice more, for `response`
};

/// How a step spreads its model, which decides what of the software a measured step shows: on a torus; with experts
/// over several chips; in a pipeline; with weights gathered before their use; with none of these.
enum class Method { replicas, fsdp, pipeline, experts, torus };
inline constexpr Method all_methods[] = {Method::replicas, Method::fsdp, Method::pipeline, Method::experts,
                                         Method::torus};
[[nodiscard]] std::string_view name(Method method);

/// The traits that decide how much the error of a validated step says about another step.
struct StepTraits {
  std::string chip, generation;
  topologies::Precision precision = topologies::Precision::bf16;
  Method method = Method::replicas;
  std::int64_t chips = 0;
  double parameters = 0;
  double network = 0;  ///< share of the step in which its critical rank waits for communication
};
/// `network` is that of the simulated step.
[[nodiscard]] StepTraits traits_of(const scenario::Scenario& scenario, double network);

/// d log(time) / d log of what kernels reach of the matrix rate and of memory.
struct Response {
  double compute = 0, memory = 0;
};

struct ValidatedRun {
  MeasuredRun run;
  StepTraits traits{};
  Response response{};
  double measured_s = 0, predicted_s = 0;  ///< 0: not measured, or skipped
  double predicted_peak_bytes = 0;         ///< of the chip that holds most; 0: skipped
  double compared_peak_bytes = 0;          ///< what the run's peak is compared with: this, or what it says it is
  double capacity_bytes = 0;               ///< of that chip; 0: skipped
  [[nodiscard]] bool counts() const { return measured_s > 0 && predicted_s > 0; }
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
  [[nodiscard]] bool memory_counts() const { return run.peak_bytes.has_value() && predicted_peak_bytes > 0; }
  /// Whether a step which was measured is said not to fit (memory_band.hpp).
  [[nodiscard]] bool refused() const;
  [[nodiscard]] double memory_error() const { return compared_peak_bytes / *run.peak_bytes - 1; }
};

/// Simulates all runs, equal scenarios once. Throws ConfigError for mistakes in users' tables, all of them at once.
[[nodiscard]] std::vector<ValidatedRun> validate(const std::vector<RunTable>& tables, const ValidateOptions& options,
                                                 spdlog::logger& log);

/// At most `most` of a table's timed runs, evenly spaced.
[[nodiscard]] RunTable sample_of(const RunTable& table, std::size_t most);

struct ErrorStatistics {
  std::size_t rows = 0;                                        ///< that count
  double mean_abs = 0, median_abs = 0, max_abs = 0, bias = 0;  ///< fractions; bias: mean with its sign
};
[[nodiscard]] ErrorStatistics statistics_of(std::vector<double> errors);

/// Rank correlation of two lists of equal length, ties at their mean rank; none below three pairs or without spread.
[[nodiscard]] std::optional<double> spearman(const std::vector<double>& a, const std::vector<double>& b);

struct Family {
  std::string table;
  std::string name;  ///< "" for the whole table
  std::size_t skipped = 0;
  std::size_t ran = 0, refused = 0;  ///< steps that were measured; of these, that are said not to fit
  ErrorStatistics time, memory;
  std::optional<double>
      spearman;  ///< within the family; of a whole table the mean over its families, weighted by their rows
};

/// Every table, then its families, in the order of the rows.
[[nodiscard]] std::vector<Family> families_of(const std::vector<ValidatedRun>& runs);

}  // namespace lockstep::validation
