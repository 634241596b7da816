#include "sim/studies/goodput/beside_published.hpp"

namespace lockstep::goodput {
namespace {

/// Of the unplanned causes that stop the run.
std::optional<double> rate_of(const RunModel& model, scenario::Component of) {
  std::optional<double> rate;
  for (const auto& cause : model.causes) {
    if (cause.of == of && cause.stops && !cause.planned) rate = rate.value_or(0) + cause.rate;
  }
  return rate;
}

}  // namespace

BesidePublished beside_published(const scenario::Scenario& scenario, const RunModel& model, RunFacts facts) {
  auto with_published = scenario;
  with_published.reliability->classes = scenario::published_failures();
  facts.broken.clear();  // every published class stops the run
  const auto published = run_model(with_published, facts);
  BesidePublished beside;
  beside.shares = expected_shares(published);
  using enum scenario::Component;
  for (const auto of : {chip, host, nic, network_switch, link, optic, job}) {
    const FailuresOfKind kind{of, rate_of(model, of), rate_of(published, of)};
    if (!kind.own && !kind.published) continue;
    beside.own += kind.own.value_or(0);
    beside.published += kind.published.value_or(0);
    beside.kinds.push_back(kind);
  }
  return beside;
}

}  // namespace lockstep::goodput
