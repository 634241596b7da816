#include "sim/metrics/local_updates.hpp"

#include <algorithm>

#include "sim/metrics/metrics.hpp"

namespace lockstep::metrics {

Seconds LocalUpdates::period() const {
  auto time = inner_step * static_cast<double>(inner_steps);
  for (const auto& one : reductions) time += one.extra() * static_cast<double>(one.fragments);
  return time;
}

Seconds LocalUpdates::of_step(Seconds OuterReduction::*part) const {
  Seconds sum(0);
  for (const auto& one : reductions) sum += one.*part * static_cast<double>(one.fragments);
  return sum / static_cast<double>(inner_steps);
}

double LocalUpdates::sent_by_chip_of_period() const {
  double sum = 0;
  for (const auto& one : reductions) sum += one.sent_by_chip * static_cast<double>(one.fragments);
  return sum;
}

BytesPerSecond LocalUpdates::mean_rate_of_site() const {
  return BytesPerSecond(sent_by_chip_of_period() * static_cast<double>(chips_of_site) / period().value());
}

BytesPerSecond LocalUpdates::rate_of_site(const OuterReduction& reduction) const {
  if (!(reduction.reduction > Seconds(0))) return BytesPerSecond(0);
  return BytesPerSecond(reduction.sent_by_chip * static_cast<double>(chips_of_site) / reduction.reduction.value());
}

BytesPerSecond LocalUpdates::peak_rate_of_site() const {
  BytesPerSecond peak(0);
  for (const auto& one : reductions) peak = std::max(peak, rate_of_site(one));
  return peak;
}

void add_local_updates(Breakdown& breakdown, const LocalUpdates& updates) {
  breakdown.compute += updates.of_step(&OuterReduction::optimizer);
  breakdown.exposed_comm += updates.of_step(&OuterReduction::exposed) + updates.of_step(&OuterReduction::slower);
}

void add_local_updates(Metrics& metrics, LocalUpdates updates) {
  const auto exposed = updates.of_step(&OuterReduction::exposed);
  const auto slower = updates.of_step(&OuterReduction::slower);
  const auto optimizer = updates.of_step(&OuterReduction::optimizer);
  metrics.step_time += exposed + slower + optimizer;
  add_local_updates(metrics.breakdown, updates);
  for (auto& stage : metrics.stages) {
    add_local_updates(stage.breakdown, updates);
    stage.idle.collective += exposed + slower;
  }
  auto& parts = metrics.critical_path.parts;
  const auto add_part = [&](CriticalPart::Kind kind, const char* what, Seconds time) {
    if (!parts.empty() && time > Seconds(0)) parts.push_back({kind, what, time, 0});
  };
  add_part(CriticalPart::Kind::transfer, "outer reduction", exposed);
  add_part(CriticalPart::Kind::contention, "inner steps beside outer reductions", slower);
  add_part(CriticalPart::Kind::update, "outer optimizer", optimizer);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const CriticalPart& a, const CriticalPart& b) { return a.time > b.time; });
  metrics.local_updates = std::move(updates);
}

}  // namespace lockstep::metrics
