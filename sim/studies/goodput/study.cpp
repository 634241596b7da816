#include "sim/studies/goodput/study.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/errors.hpp"
#include "sim/core/long_time.hpp"
#include "sim/studies/goodput/simulated_run.hpp"

namespace lockstep::goodput {
namespace {

constexpr double most_events = 2e9;
constexpr std::int64_t most_spares = 1'000'000;  ///< as many as a scenario may have

/// A percentile of sorted values, without interpolation.
double percentile(const std::vector<double>& sorted, double fraction) {
  return sorted[position_of(std::lround(fraction * static_cast<double>(sorted.size() - 1)))];
}

SimulatedRuns simulate_runs(const RunModel& model, std::int64_t runs, std::uint64_t seed, Seconds length) {
  SimulatedRuns result{runs, seed, length, {}, 0, 0, 0};
  std::vector<double> useful;
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto shares = simulate_run(model, length, seed + static_cast<std::uint64_t>(run));
    result.mean.add(shares);
    useful.push_back(shares.useful);
  }
  const auto number = static_cast<double>(runs);
  result.mean.scale(1 / number);
  double squares = 0;
  for (const auto one : useful) squares += (one - result.mean.useful) * (one - result.mean.useful);
  result.half_width = 1.96 * std::sqrt(squares / (number - 1) / number);
  std::sort(useful.begin(), useful.end());
  result.low = percentile(useful, 0.05);
  result.high = percentile(useful, 0.95);
  return result;
}

/// The useful share and what each chip, those of spares included, has of it.
SpareChoice with_spares(RunModel model, const Machines& machines, std::int64_t spares) {
  model.spares = spares;
  const double useful = expected_shares(model).useful;
  const auto standing_by = static_cast<double>(spares * machines.host_chips);
  return {spares, useful,
          useful * static_cast<double>(machines.chips) / (static_cast<double>(machines.chips) + standing_by)};
}

/// The number of spares with the most useful time of a chip, which rises and then falls with the number. No spare
/// helps beyond the most hosts that are ever in repair; up to there every number is tried, or where they are many, a
/// few hundred and those around the best of them.
SpareChoice best_spares(const RunModel& model, const Machines& machines) {
  constexpr std::int64_t tried = 256;
  auto best = with_spares(model, machines, 0);
  std::int64_t low = 0, high = std::min(most_spares, usual_numbers(model.hosts_in_repair()).second);
  for (std::int64_t step = high; step > 1;) {
    step = std::max<std::int64_t>(1, (high - low) / tried);
    for (auto spares = low; spares <= high; spares += step) {
      const auto next = with_spares(model, machines, spares);
      if (next.of_a_chip > best.of_a_chip) best = next;
    }
    low = std::max<std::int64_t>(0, best.spares - step);
    high = std::min(most_spares, best.spares + step);
  }
  return best;
}

SpareStudy study_spares(RunModel model, const Machines& machines) {
  auto elastic = model;
  model.elastic = false;
  elastic.elastic = true;
  SpareStudy study{best_spares(model, machines), best_spares(elastic, machines), {}};
  std::set<std::int64_t> numbers{0, model.spares};
  for (const auto best : {study.best_waiting.spares, study.best_elastic.spares})
    numbers.insert({best / 2, std::max<std::int64_t>(0, best - 1), best, best + 1, 2 * best});
  for (const auto spares : numbers)
    study.rows.push_back({with_spares(model, machines, spares), with_spares(elastic, machines, spares)});
  return study;
}

/// The longest time for which a state of the run lasts: a repair, or the wait of a planned stop for a checkpoint.
Seconds longest_wait(const RunModel& model) {
  Seconds longest(0);
  for (const auto& cause : model.causes) longest = std::max(longest, cause.planned ? model.interval : cause.repair);
  return longest;
}

}  // namespace

GoodputStudy study_goodput(RunModel model, std::int64_t runs, std::uint64_t seed, Seconds length,
                           const Machines& machines) {
  if (expected_events(model, length) * static_cast<double>(runs) > most_events) {
    throw ConfigError({{{"--runs", 0, 0},
                        "",
                        std::to_string(runs) + " runs of this length have more than 2e9 events",
                        "fewer or shorter runs, or a longer interval between checkpoints"}});
  }
  GoodputStudy study;
  study.expected = expected_shares(model);
  const auto best = best_interval(model);
  study.best = {best, expected_shares(model, best).useful};
  study.first_order = first_order_interval(model);
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    const auto interval = factor * model.interval;
    if (interval >= model.least_interval()) study.around.push_back({interval, expected_shares(model, interval).useful});
  }
  if (machines.hosts > 0 && model.hosts_in_repair() > 0) study.spares = study_spares(model, machines);
  study.simulated = simulate_runs(model, runs, seed, length);
  if (const auto longest = longest_wait(model); longest > length / 10)
    study.notes.push_back("the formula is of a steady state; runs of " + format_long(length) +
                          ", which begin with nothing in repair, are not long against " + format_long(longest) +
                          " of repair or between checkpoints");
  study.model = std::move(model);
  return study;
}

}  // namespace lockstep::goodput
