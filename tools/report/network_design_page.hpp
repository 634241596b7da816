#pragma once
/// The page of `lockstep design network`.
#include "tools/output/studies/network_design_report.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// HTML: the cheapest run beside the other networks, time over price, the front with its bill, and every network that
/// was simulated or ruled out with its bound.
[[nodiscard]] std::optional<std::string> network_design_page(const output::DesignedSpace& of,
                                                             const design_networks::NetworkDesign& design,
                                                             const Reproduction& again);

}  // namespace lockstep::report
