#pragma once
/// Goodput of a scenario: the expected shares of its time, many simulated runs beside them, and intervals between
/// checkpoints compared.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/goodput/beside_published.hpp"

namespace lockstep::goodput {

/// Runs of equal length, seeds `seed`, `seed` + 1, ...
struct SimulatedRuns {
  std::int64_t runs = 0;
  std::uint64_t seed = 1;
  Seconds length{0};  ///< of each
  TimeShares mean;
  double half_width = 0;     ///< of the 95 % confidence interval of the mean useful share
  double low = 0, high = 0;  ///< 5th and 95th percentile of the runs' useful shares
};

struct IntervalChoice {
  Seconds interval;
  double useful;
};

/// What a run stands on.
struct Machines {
  std::int64_t chips = 0, hosts = 0, host_chips = 1;
};

struct SpareChoice {
  std::int64_t spares = 0;
  double useful = 0;
  double of_a_chip = 0;  ///< useful time of the run's chips over the time of all chips, those of spares included
};

/// Numbers of spare hosts, for a run that waits for a repair where no spare is left, and for one that goes on with
/// fewer chips.
struct SpareStudy {
  SpareChoice best_waiting, best_elastic;  ///< most useful time of a chip
  struct Row {
    SpareChoice waiting, elastic;
  };
  std::vector<Row> rows;  ///< none, numbers about the best ones, the scenario's own
};

struct GoodputStudy {
  RunModel model;
  TimeShares expected;
  IntervalChoice best;                 ///< largest useful share
  Seconds first_order{0};              ///< sqrt(2 C M)
  std::vector<IntervalChoice> around;  ///< a quarter of the model's interval to four times, as far as possible
  std::optional<SpareStudy> spares;    ///< none: no spare helps
  SimulatedRuns simulated;
  std::optional<BesidePublished> published;  ///< where asked for
  std::vector<std::string> notes;            ///< on the states of the machine (run_facts.hpp)
};

/// Throws ConfigError, placed at `--runs`, for more than about a minute of events. At least two runs.
[[nodiscard]] GoodputStudy study_goodput(RunModel model, std::int64_t runs, std::uint64_t seed, Seconds length,
                                         const Machines& machines = {});

}  // namespace lockstep::goodput
