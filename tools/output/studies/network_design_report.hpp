#pragma once
/// The networks of a space that are worth their price: text, JSON and the picture of time over price.
#include <string>

#include "sim/studies/design_networks/network_design.hpp"
#include "tools/output/elements/design_reasons.hpp"

namespace lockstep::output {

/// What a design is of.
struct DesignedSpace {
  const design_networks::NetworkSpace& space;
  const design_networks::DesignAim& aim;
  double within = 0;
};

/// Compares the network whose run costs least with the dearest one and with its neighbours on the front. `what_if`:
/// what 10 % more money buys from each network of the front on, and at which prices another run is the cheapest.
[[nodiscard]] DesignReasons network_design_reasons(const DesignedSpace& of,
                                                   const design_networks::NetworkDesign& design);
/// "12,345" or "3.21".
[[nodiscard]] std::string money_text(double amount);

[[nodiscard]] std::string network_design_text(const DesignedSpace& of, const design_networks::NetworkDesign& design);
[[nodiscard]] std::string network_design_json(const DesignedSpace& of, const design_networks::NetworkDesign& design);
/// The time of a run over what is compared of the price: the front with its numbers, what else was simulated, and the
/// bounds of what was pruned; SVG.
[[nodiscard]] std::string network_design_picture(const DesignedSpace& of, const design_networks::NetworkDesign& design);

}  // namespace lockstep::output
