#pragma once
/// The failures that a run's own rates give, beside those that the published rates of parts predict for its machine.
/// docs/howto/plan_a_run.md
#include <optional>
#include <vector>

#include "sim/studies/goodput/renewal.hpp"

namespace lockstep::goodput {

/// Unplanned failures a second that stop the run, of all parts of a kind together; none: no class, or no published
/// rate.
struct FailuresOfKind {
  scenario::Component of = scenario::Component::job;
  std::optional<double> own, published;
};

struct BesidePublished {
  std::vector<FailuresOfKind> kinds;  ///< those that either has
  double own = 0, published = 0;      ///< of all kinds
  TimeShares shares;                  ///< of the run with the published rates in place of its own
};

/// `model` is the run's, made of `facts`. Throws ConfigError as run_model does.
[[nodiscard]] BesidePublished beside_published(const scenario::Scenario& scenario, const RunModel& model,
                                               RunFacts facts);

}  // namespace lockstep::goodput
