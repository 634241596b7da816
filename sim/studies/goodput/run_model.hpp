#pragma once
/// A run that is interrupted: rates and times, as the formula and the simulation of goodput need them.
/// Definitions: docs/models/goodput.md.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::goodput {

/// A class of interruptions.
struct Cause {
  std::string name;
  scenario::Component of = scenario::Component::job;
  std::int64_t count = 1;
  double rate = 0;      ///< interruptions a second, of all components together
  Seconds recovery{0};  ///< detection, restart and reading of the checkpoint; of a planned stop the last two
  Seconds repair{0};    ///< 0: nothing is waited for
  bool spared = false;  ///< a spare host takes the place of what failed
  bool planned = false;

  [[nodiscard]] Seconds mtbf() const { return Seconds(static_cast<double>(count) / rate); }
};

struct RunModel {
  std::vector<Cause> causes;
  Seconds interval{0};       ///< of training between two checkpoints
  Seconds stall{0};          ///< training stands still for every checkpoint
  Seconds until_durable{0};  ///< and after that until it can be restored
  Seconds reshard{0};        ///< added to a recovery with fewer chips
  std::int64_t spares = 0;
  bool elastic = false;
  double share_of_host = 0;  ///< elastic: what one missing host takes of the run's speed
  Bytes checkpoint{0};
  Seconds write{0}, read{0};
  Seconds step{0};  ///< no interval is shorter

  /// Unplanned interruptions a second while the run is up or recovering.
  [[nodiscard]] double failure_rate() const;
  /// On average, of hosts that spares replace, if none were ever waited for.
  [[nodiscard]] double hosts_in_repair() const;
  [[nodiscard]] Seconds least_interval() const;  ///< one step; asynchronous checkpoints are written one after another
};

/// Facts about a run that follow from its step.
struct RunFacts {
  std::int64_t parameters = 0;     ///< 0: not known
  std::int64_t replica_chips = 1;  ///< without which the batch is smaller and nothing else changes
  Seconds step{0};
};

/// `scenario.reliability` must be there. The interval is the scenario's, or the best. Throws ConfigError for rates of
/// parts that the cluster does not have, an interval below the least one, and a run that does not get on.
[[nodiscard]] RunModel run_model(const scenario::Scenario& scenario, const RunFacts& facts);

}  // namespace lockstep::goodput
