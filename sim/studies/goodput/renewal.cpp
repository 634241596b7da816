#include "sim/studies/goodput/renewal.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::goodput {
namespace {

/// Shares of the time in which failures strike.
struct ActiveShares {
  double up = 1, useful = 0, stalled = 0;
};

/// Steps 1 to 3 of the derivation; q is the probability that a recovery is not interrupted.
ActiveShares between_failures(const RunModel& model, double rate, double q) {
  const double interval = model.interval.value();
  const double cycle = interval + model.stall.value();
  if (rate == 0) return {1, interval / cycle, model.stall.value() / cycle};
  const double useful = rate * q * interval * std::exp(-rate * model.until_durable.value()) / std::expm1(rate * cycle);
  const double stalled =
      q * std::exp(-rate * interval) * std::expm1(-rate * model.stall.value()) / std::expm1(-rate * cycle);
  return {q, useful, stalled};
}

}  // namespace

CauseShares TimeShares::all_causes() const {
  CauseShares sum;
  for (const auto& cause : causes) {
    sum.lost_work += cause.lost_work;
    sum.recovery += cause.recovery;
    sum.waiting += cause.waiting;
    sum.interruptions += cause.interruptions;
  }
  return sum;
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
  for (std::int64_t k = 0; k < spares; ++k) {
    const auto number = static_cast<double>(k);
    const double probability = std::exp(number * std::log(load) - load - std::lgamma(number + 1));
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
    share.interruptions = cause.rate;
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
  const double slower = std::min(1.0, model.share_of_host * scarce.missing);
  const double lost = std::max(0.0, active.up - active.useful - active.stalled);
  shares.useful = active.useful * (1 - slower) / wall;
  shares.checkpoints = active.stalled / wall;
  shares.fewer_chips = (active.useful + lost) * slower / wall;
  for (std::size_t i = 0; i < model.causes.size(); ++i) {
    auto& share = shares.causes[i];
    if (!model.causes[i].planned && rate > 0)
      share.lost_work = lost * (1 - slower) * model.causes[i].rate / rate / wall;
    share.recovery /= wall;
    share.waiting /= wall;
    share.interruptions /= wall;
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
  // Without failures or without a cost there is no best; a year, or as often as can be.
  if (rate == 0) return std::max(Seconds(365 * 86400.0), model.least_interval());
  // d/dtau of tau/(e^(lambda (tau + C)) - 1) is 0 where (1 - x) e^(x + lambda C) = 1, x = lambda tau: falling from x =
  // 0 to 1.
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double x = (low + high) / 2;
    (std::log1p(-x) + x + rate * stall > 0 ? low : high) = x;
  }
  return std::max(Seconds(low / rate), model.least_interval());
}

Seconds first_order_interval(const RunModel& model) {
  return Seconds(std::sqrt(2 * model.stall.value() / model.failure_rate()));
}

}  // namespace lockstep::goodput
