#pragma once
/// The causes of interruptions of a run and the cost of an interruption, as the scenario gives them. Reference:
/// docs/scenario_reference.md.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/units.hpp"

namespace lockstep::scenario {

/// The part that a class of interruptions affects; `optic`: a transceiver, two of which are at a cable; `job`: the run
/// as a whole, of which there is one.
enum class Component { chip, host, nic, network_switch, link, optic, job };
inline constexpr IndexedArray<Component, std::string_view, 7> component_names{"chip", "host",  "nic", "switch",
                                                                              "link", "optic", "job"};

/// One row of a table of interruptions.
struct InterruptionClass {
  std::string name;
  Component of = Component::job;
  std::optional<std::int64_t> tier;                   ///< 1 beside the hosts, 0 of cables of a torus; none: all
  std::optional<std::int64_t> count;                  ///< none: as many as the cluster has
  Seconds mtbf{0};                                    ///< mean time between failures of one component; 0: as observed
  double observed = 0;                                ///< this many
  Seconds over{0};                                    ///< in this time
  std::optional<std::int64_t> among;                  ///< among so many components; none: `count`
  std::optional<Seconds> detection, restart, repair;  ///< none: those of all classes
  bool planned = false;                               ///< waits for a checkpoint: nothing is lost, nothing to detect
  bool stops = true;                                  ///< false: the job goes on without it where it can
  double bandwidth = 0;                               ///< then: the share of its bandwidth that a broken NIC has left
  double slowdown = 1;                                ///< then: how many times as long a broken chip or host computes
  bool published = false;                             ///< a row of the catalog: nothing where there is no such part
};

struct CheckpointSpec {
  std::optional<Seconds> interval;  ///< of training between two; none: the best
  std::optional<Bytes> size;        ///< none: weights and optimizer state
  BytesPerSecond write{0};          ///< of the whole run; 0: as much as its hosts write
  BytesPerSecond read{0};           ///< likewise
  BytesPerSecond host{0};           ///< that one host writes or reads; 0: as much as there is
  bool over_nics = false;           ///< on the way that collectives between hosts take; else on links of its own
  bool asynchronous = false;        ///< training goes on while it is written
  Seconds stall{0};  ///< asynchronous: training stands still for this long, while it is copied to the hosts
};

struct ReliabilitySpec {
  std::vector<InterruptionClass> classes;
  Seconds detection{0};     ///< until an interruption is noticed
  Seconds restart{0};       ///< of the job, without reading the checkpoint
  Seconds reshard{0};       ///< on top of it, when the run goes on with fewer chips
  Seconds repair{0};        ///< until a failed chip, host or NIC is back
  std::int64_t spares = 0;  ///< hosts that stand by
  bool elastic = false;     ///< without a spare the run goes on with fewer data-parallel replicas instead of waiting
  CheckpointSpec checkpoint;
};

/// The classes of topologies/catalog/failures.yaml, which has their sources.
[[nodiscard]] const std::vector<InterruptionClass>& published_failures();

}  // namespace lockstep::scenario
