#pragma once
/// The share of a run's time that brings training forward, in closed form, and the interval between checkpoints that
/// makes it largest. Derivation: docs/models/goodput.md.
#include <utility>
#include <vector>

#include "sim/studies/goodput/run_model.hpp"

namespace lockstep::goodput {

/// Shares of wall time that one cause takes.
struct CauseShares {
  double lost_work = 0;      ///< training that is done again
  double recovery = 0;       ///< detection, restart, reading
  double waiting = 0;        ///< for repair
  double interruptions = 0;  ///< a second
  double slower = 0;         ///< training that the run would have done at full speed, beside a part that is broken
  double losses = 0;         ///< a second, of parts without which the run goes on
};

/// Shares of wall time; together with the shares of the causes they add up to 1.
struct TimeShares {
  double useful = 0;                ///< goodput: training at full speed that is not done again
  double checkpoints = 0;           ///< training stands still for them
  double fewer_chips = 0;           ///< training that missing chips would have done
  std::vector<CauseShares> causes;  ///< as in the model
  double beside_writing = 0;        ///< training that goes slower while a checkpoint is written

  [[nodiscard]] CauseShares all_causes() const;
  void add(const TimeShares& other);  ///< of the same causes
  void scale(double by);
};

[[nodiscard]] TimeShares expected_shares(const RunModel& model);
/// The shares with `interval` in place of the model's interval between checkpoints.
[[nodiscard]] TimeShares expected_shares(RunModel model, Seconds interval);

/// The interval with the largest useful share, but no less than RunModel::least_interval.
[[nodiscard]] Seconds best_interval(const RunModel& model);
/// Its limit for failures that are rare beside checkpoints, sqrt(2 C M).
[[nodiscard]] Seconds first_order_interval(const RunModel& model);

/// The mean share of the run's speed that causes which do not stop it take, by cause: the run is as slow as without the
/// worst part that is broken, and of each cause's parts a Poisson-distributed number is.
[[nodiscard]] std::vector<double> slowed_by_cause(const RunModel& model);
/// The mean share of its speed that an elastic run lacks.
[[nodiscard]] double missing_speed(const RunModel& model);

/// Of a Poisson-distributed number with mean `load`, bounds that it passes with a probability far below rounding.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> usual_numbers(double load);
/// Mean wait for a host in repair, over the mean time between failures of hosts, when `load` hosts would be in repair
/// on average: E(s) = B/(1 - B) with Erlang's B of s + 1 servers.
[[nodiscard]] double wait_for_repair(std::int64_t spares, double load);
/// Hosts in repair beyond the spares, if the number in repair is Poisson-distributed: their mean, and the probability
/// that a failure finds no spare.
struct Shortage {
  double missing = 0;
  double probability = 0;
};
[[nodiscard]] Shortage shortage(std::int64_t spares, double load);

}  // namespace lockstep::goodput
