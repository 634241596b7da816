#pragma once
/// Runs with round numbers.
#include "sim/studies/goodput/renewal.hpp"

namespace lockstep::test {

inline goodput::Cause cause(double rate, double recovery = 0, double repair = 0) {
  goodput::Cause result;
  result.name = "cause";
  result.rate = rate;
  result.recovery = Seconds(recovery);
  result.repair = Seconds(repair);
  return result;
}

inline goodput::Cause spared(double rate, double recovery, double repair) {
  auto result = cause(rate, recovery, repair);
  result.spared = true;
  return result;
}

inline goodput::Cause planned(double rate, double recovery) {
  auto result = cause(rate, recovery);
  result.planned = true;
  return result;
}

/// Of which parts stay broken for a while, without which the run goes on.
inline goodput::Cause goes_on(double rate, double speed, double repair) {
  auto result = cause(rate, 0, repair);
  result.stops = false;
  result.speed = speed;
  return result;
}

inline goodput::RunModel run_of(std::vector<goodput::Cause> causes, double interval, double stall,
                                double until_durable = 0) {
  goodput::RunModel model;
  model.causes = std::move(causes);
  model.interval = Seconds(interval);
  model.stall = Seconds(stall);
  model.until_durable = Seconds(until_durable);
  return model;
}

inline double sum(const goodput::TimeShares& shares) {
  const auto all = shares.all_causes();
  return shares.useful + shares.checkpoints + shares.fewer_chips + shares.beside_writing + all.lost_work +
         all.recovery + all.waiting + all.slower;
}

}  // namespace lockstep::test
