#include "sim/studies/goodput/study.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "sim/studies/goodput/simulated_run.hpp"

namespace lockstep::goodput {
namespace {

constexpr double most_events = 2e9;

void add(TimeShares& sum, const TimeShares& one) {
  sum.useful += one.useful;
  sum.checkpoints += one.checkpoints;
  sum.fewer_chips += one.fewer_chips;
  sum.causes.resize(one.causes.size());
  for (std::size_t i = 0; i < one.causes.size(); ++i) {
    sum.causes[i].lost_work += one.causes[i].lost_work;
    sum.causes[i].recovery += one.causes[i].recovery;
    sum.causes[i].waiting += one.causes[i].waiting;
    sum.causes[i].interruptions += one.causes[i].interruptions;
  }
}

void scale(TimeShares& shares, double by) {
  for (auto* share : {&shares.useful, &shares.checkpoints, &shares.fewer_chips}) *share *= by;
  for (auto& cause : shares.causes) {
    for (auto* share : {&cause.lost_work, &cause.recovery, &cause.waiting, &cause.interruptions}) *share *= by;
  }
}

/// A percentile of sorted values, without interpolation.
double percentile(const std::vector<double>& sorted, double fraction) {
  return sorted[position_of(std::lround(fraction * static_cast<double>(sorted.size() - 1)))];
}

SimulatedRuns simulate_runs(const RunModel& model, std::int64_t runs, std::uint64_t seed, Seconds length) {
  SimulatedRuns result{runs, seed, length, {}, 0, 0, 0};
  std::vector<double> useful;
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto shares = simulate_run(model, length, seed + static_cast<std::uint64_t>(run));
    add(result.mean, shares);
    useful.push_back(shares.useful);
  }
  const auto number = static_cast<double>(runs);
  scale(result.mean, 1 / number);
  double squares = 0;
  for (const auto one : useful) squares += (one - result.mean.useful) * (one - result.mean.useful);
  result.half_width = 1.96 * std::sqrt(squares / (number - 1) / number);
  std::sort(useful.begin(), useful.end());
  result.low = percentile(useful, 0.05);
  result.high = percentile(useful, 0.95);
  return result;
}

}  // namespace

GoodputStudy study_goodput(RunModel model, std::int64_t runs, std::uint64_t seed, Seconds length) {
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
  study.simulated = simulate_runs(model, runs, seed, length);
  study.model = std::move(model);
  return study;
}

}  // namespace lockstep::goodput
