#include "sim/studies/goodput/renewal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace lockstep::goodput {
namespace {

/// Shares of the time in which failures strike.
struct ActiveShares {
  double up = 1, useful = 0, stalled = 0, beside_writing = 0;
};

/// Steps 1 to 3 of the derivation; q is the probability that a recovery is not interrupted.
ActiveShares between_failures(const RunModel& model, double rate, double q) {
  const double interval = model.interval.value();
  const double cycle = interval + model.stall.value();
  const double written = model.until_durable.value(), slower = 1 - model.speed_while_writing;
  if (rate == 0)
    return {1, (interval - slower * written) / cycle, model.stall.value() / cycle, slower * written / cycle};
  // Of the intervals that an up time saves, all but the first have a checkpoint written beside them.
  const double saved = interval - slower * written * std::exp(-rate * cycle);
  const double useful = rate * q * saved * std::exp(-rate * written) / std::expm1(rate * cycle);
  const double stalled =
      q * std::exp(-rate * interval) * std::expm1(-rate * model.stall.value()) / std::expm1(-rate * cycle);
  return {q, useful, stalled, -slower * q * std::expm1(-rate * written) / std::expm1(rate * cycle)};
}

/// Where the useful share, which rises and then falls, is largest between two intervals, by golden sections of their
/// logarithm.
Seconds best_by_trying(const RunModel& model, Seconds from, Seconds to) {
  constexpr double golden = 0.6180339887498949;
  double low = std::log(from.value()), high = std::log(to.value());
  const auto useful = [&](double logarithm) { return expected_shares(model, Seconds(std::exp(logarithm))).useful; };
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = useful(left), at_right = useful(right);
  for (int i = 0; i < 100; ++i) {
    if (at_left >= at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = useful(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = useful(right);
    }
  }
  return std::max(from, Seconds(std::exp((low + high) / 2)));
}

/// Of a Poisson-distributed number with mean `load` to be `number`.
double poisson(std::int64_t number, double load) {
  const auto k = static_cast<double>(number);
  return std::exp(k * std::log(load) - load - std::lgamma(k + 1));
}

constexpr std::array all_shares{&CauseShares::lost_work, &CauseShares::recovery,      &CauseShares::waiting,
                                &CauseShares::slower,    &CauseShares::interruptions, &CauseShares::losses};
constexpr std::array all_times{&TimeShares::useful, &TimeShares::checkpoints, &TimeShares::fewer_chips,
                               &TimeShares::beside_writing};

}  // namespace

CauseShares TimeShares::all_causes() const {
  CauseShares sum;
  for (const auto& cause : causes) {
    for (const auto share : all_shares) sum.*share += cause.*share;
  }
  return sum;
}

void TimeShares::add(const TimeShares& other) {
  for (const auto time : all_times) this->*time += other.*time;
  causes.resize(other.causes.size());
  for (std::size_t i = 0; i < causes.size(); ++i) {
    for (const auto share : all_shares) causes[i].*share += other.causes[i].*share;
  }
}

void TimeShares::scale(double by) {
  for (const auto time : all_times) this->*time *= by;
  for (auto& cause : causes) {
    for (const auto share : all_shares) cause.*share *= by;
  }
}

std::vector<double> slowed_by_cause(const RunModel& model) {
  std::vector<std::size_t> slowest_first;
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    if (!model.causes[i].stops) slowest_first.push_back(i);
  }
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [&](std::size_t a, std::size_t b) { return model.causes[a].speed < model.causes[b].speed; });
  std::vector<double> slowed(model.causes.size(), 0);
  double none_slower = 1;  // probability that no part of the causes before is broken
  for (const auto i : slowest_first) {
    const double none = std::exp(-model.causes[i].rate * model.causes[i].repair.value());
    slowed[i] = none_slower * (1 - none) * (1 - model.causes[i].speed);
    none_slower *= none;
  }
  return slowed;
}

double missing_speed(const RunModel& model) {
  const double load = model.hosts_in_repair();
  if (!model.elastic || load == 0) return 0;
  if (model.speeds.empty()) return std::min(1.0, model.share_of_host * shortage(model.spares, load).missing);
  const auto [least, most] = usual_numbers(load);
  const auto fewest = std::max(model.spares + 1, least);
  if (fewest == least && model.speed_without(fewest - model.spares) == 0) return 1;
  double missing = 0;
  for (auto broken = fewest; broken <= most; ++broken)
    missing += poisson(broken, load) * (1 - model.speed_without(broken - model.spares));
  return std::min(1.0, missing);
}

std::pair<std::int64_t, std::int64_t> usual_numbers(double load) {
  constexpr double most = 1e15;
  const double spread = 20 * std::sqrt(load) + 50;
  return {static_cast<std::int64_t>(std::clamp(load - spread, 0.0, most)),
          static_cast<std::int64_t>(std::clamp(load + spread, 0.0, most))};
}

double wait_for_repair(std::int64_t spares, double load) {
  double blocked = 1;  // Erlang's B of no servers
  for (std::int64_t servers = 1; servers <= spares; ++servers)
    blocked = load * blocked / (static_cast<double>(servers) + load * blocked);
  // With s + 1 servers the blocking probability is x/(1 + x) with this x.
  return load * blocked / static_cast<double>(spares + 1);
}

Shortage shortage(std::int64_t spares, double load) {
  if (load == 0) return {};
  double enough = 0, unused = 0;  // P(K < s), mean of (s - K)+
  const auto [least, most] = usual_numbers(load);
  if (spares > most) return {};
  for (auto k = least; k < spares; ++k) {
    const double probability = poisson(k, load);
    enough += probability;
    unused += static_cast<double>(spares - k) * probability;
  }
  return {std::max(0.0, load - static_cast<double>(spares) + unused), std::max(0.0, 1 - enough)};
}

TimeShares expected_shares(const RunModel& model) {
  const double rate = model.failure_rate();
  const auto scarce = model.elastic ? shortage(model.spares, model.hosts_in_repair()) : Shortage{};
  TimeShares shares;
  shares.causes.resize(model.causes.size());

  // The share that each cause's recoveries take of the time in which failures strike; the rest is q.
  double wall = 1;
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    const auto& cause = model.causes[i];
    auto& share = shares.causes[i];
    (cause.stops ? share.interruptions : share.losses) = cause.rate;
    if (!cause.stops) continue;
    if (cause.planned) {
      share.recovery = cause.rate * (cause.recovery + model.until_durable).value();
      wall += share.recovery;
      continue;
    }
    const double smaller = cause.spared && cause.repair > Seconds(0) ? scarce.probability : 0;
    const auto recovering = [&](Seconds time) {
      return rate == 0 ? 0 : -cause.rate / rate * std::expm1(-rate * time.value());
    };
    share.recovery = (1 - smaller) * recovering(cause.recovery) + smaller * recovering(cause.recovery + model.reshard);
    if (!cause.spared) share.waiting = cause.rate * cause.repair.value();
    if (cause.spared && cause.repair > Seconds(0) && !model.elastic) {
      const double load = model.hosts_in_repair();
      share.waiting = cause.rate * cause.repair.value() / load * wait_for_repair(model.spares, load);
    }
    wall += share.waiting;
  }
  double q = 1;
  for (std::size_t i = 0; i < model.causes.size(); ++i) q -= model.causes[i].planned ? 0 : shares.causes[i].recovery;

  const auto active = between_failures(model, rate, std::max(q, 0.0));
  const double trained = active.up - active.stalled;
  const double lost = std::max(0.0, trained - active.useful - active.beside_writing);
  const double fewer = missing_speed(model);
  const auto slowed = slowed_by_cause(model);
  const double left = (1 - fewer) * (1 - std::accumulate(slowed.begin(), slowed.end(), 0.0));
  shares.useful = active.useful * left / wall;
  shares.checkpoints = active.stalled / wall;
  shares.beside_writing = active.beside_writing * left / wall;
  shares.fewer_chips = trained * fewer / wall;
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    auto& share = shares.causes[i];
    const auto& cause = model.causes[i];
    if (!cause.planned && cause.stops && rate > 0) share.lost_work = lost * left * cause.rate / rate / wall;
    share.slower = trained * (1 - fewer) * slowed[i] / wall;
    share.recovery /= wall;
    share.waiting /= wall;
    share.interruptions /= wall;
    share.losses /= wall;
  }
  return shares;
}

TimeShares expected_shares(RunModel model, Seconds interval) {
  model.interval = interval;
  return expected_shares(model);
}

Seconds best_interval(const RunModel& model) {
  const double rate = model.failure_rate();
  const double stall = model.stall.value();
  // Without failures there is no best: a year, but no longer than from one planned stop to the next, since such a stop
  // waits for a checkpoint.
  if (rate == 0) {
    double planned = 0;
    for (const auto& cause : model.causes) planned += cause.planned ? cause.rate : 0;
    constexpr double year = 365 * 86400.0;
    return std::max(Seconds(1 / std::max(planned, 1 / year)), model.least_interval());
  }
  // d/dtau of tau/(e^(lambda (tau + C)) - 1) is 0 where (1 - x) e^(x + lambda C) = 1, x = lambda tau: falling from x =
  // 0 to 1.
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double x = (low + high) / 2;
    (std::log1p(-x) + x + rate * stall > 0 ? low : high) = x;
  }
  const auto best = std::max(Seconds(low / rate), model.least_interval());
  if (model.speed_while_writing == 1 || model.until_durable == Seconds(0)) return best;
  return best_by_trying(model, model.least_interval(), std::max(100 * best, 2 * model.least_interval()));
}

Seconds first_order_interval(const RunModel& model) {
  return Seconds(std::sqrt(2 * model.stall.value() / model.failure_rate()));
}

}  // namespace lockstep::goodput
