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
  bool stops = true;  ///< false: the run goes on for the time of the repair, at `speed`
  double speed = 1;   ///< over that of the whole machine

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
  double share_of_host = 0;         ///< elastic: what one missing host takes of the run's speed; beyond `speeds`
  std::vector<double> speeds = {};  ///< elastic: with 1, 2, ... hosts missing, over that of all
  double speed_while_writing = 1;   ///< asynchronous: until a checkpoint can be restored
  Bytes checkpoint{0};
  Seconds write{0}, read{0};
  Seconds step{0};  ///< no interval is shorter

  /// Unplanned interruptions a second while the run is up or recovering.
  [[nodiscard]] double failure_rate() const;
  /// On average, of hosts that spares replace, if none were ever waited for.
  [[nodiscard]] double hosts_in_repair() const;
  [[nodiscard]] Seconds least_interval() const;  ///< one step; asynchronous checkpoints are written one after another
  [[nodiscard]] double speed_without(std::int64_t hosts) const;  ///< elastic
};

/// Parts of a class that does not stop the job, whose loss comes to the same.
struct BrokenParts {
  std::string name;        ///< the first's
  std::int64_t alike = 1;  ///< how many there are
  double speed = 1;        ///< without one of them, over that of the whole machine; 0: the job cannot go on
};

/// Facts about a run that follow from its step (run_facts.hpp).
struct RunFacts {
  std::int64_t parameters = 0;     ///< 0: not known
  std::int64_t replica_chips = 1;  ///< without which the batch is smaller and nothing else changes
  Seconds step{0};
  double share_of_writer = 0;       ///< of a checkpoint, the most that one host writes; 0: as much as the others
  Bytes host_reads{0};              ///< the most; 0: as it writes
  std::vector<double> speeds = {};  ///< as in RunModel; empty: as chips are missing
  std::vector<std::vector<BrokenParts>> broken = {};  ///< by class of the scenario; none or empty: the class is not
                                                      ///< simulated, and stops the job
  double speed_while_writing = 1;
  std::int64_t sites = 1;  ///< of local updates: each has weights and inner optimizer state of its own
};

/// Throws ConfigError for a scenario that does not say what interrupts it.
void check_has_reliability(const scenario::Scenario& scenario);
/// The chips of one data-parallel replica: the run can go on without them.
[[nodiscard]] std::int64_t replica_chips(const topologies::Mesh& mesh);
/// The chips that the run stands on and those of its spare hosts. `scenario.reliability` may be missing.
[[nodiscard]] std::int64_t paid_chips(const scenario::Scenario& scenario);
/// All NICs of one host of the scenario's cluster together; 0: it has none.
[[nodiscard]] BytesPerSecond nics_rate(const scenario::Scenario& scenario);
/// The rate at which one host reads a checkpoint, and writes one unless training goes on meanwhile; 0: as much as there
/// is. Of NICs that collectives use at the same time it takes half at most.
[[nodiscard]] BytesPerSecond host_rate(const scenario::Scenario& scenario, bool beside_training);

/// `scenario.reliability` must be there. The interval is the scenario's, or the best. Throws ConfigError for rates of
/// parts that the cluster does not have, an interval below the least one, and a run that does not get on.
[[nodiscard]] RunModel run_model(const scenario::Scenario& scenario, const RunFacts& facts);

}  // namespace lockstep::goodput
