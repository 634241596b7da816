#pragma once
/// How a step uses the network in two orders of a machine's units, and how long it takes on other networks.
#include <map>
#include <optional>
#include <string>

#include "sim/simulate.hpp"

namespace lockstep::place_ranks {

/// How a step uses the network in one order.
struct OrderUse {
  struct Axis {
    Seconds exposed{0};          ///< the critical rank only communicates along it
    double between_switches{0};  ///< bytes that its collectives put on links between switches, each link counted
  };
  std::map<std::string, Axis> axes;  ///< by mesh axes of the collectives: "fsdp", "fsdp+tensor"
  Seconds compute{0}, idle{0};       ///< of the critical rank: what is neither is exposed communication
  Seconds busiest{0};                ///< what the busiest link between switches needs for the bytes of a step
};

struct PlacementUse {
  OrderUse given, best;
  std::optional<Seconds> faster_links;  ///< the best order, links between switches a tenth faster; none without such
  Seconds without_limits{0};  ///< the best order on one switch without limits and latencies; slow chips stay slow
};

/// `given`, `best`: the scenario in both orders. Four simulations, in processes of their own. The bytes are counted
/// flow by flow, which takes long where collectives have thousands of groups.
[[nodiscard]] PlacementUse placement_use(const scenario::Scenario& given, const scenario::Scenario& best,
                                         engine::EngineKind engine, int jobs, spdlog::logger& log);

/// Bytes on links between switches, and the busiest of these links; no simulation, exposed times are left 0.
[[nodiscard]] OrderUse bytes_between_switches(const scenario::Scenario& scenario);

}  // namespace lockstep::place_ranks
