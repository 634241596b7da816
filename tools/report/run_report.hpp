#pragma once
/// The report of one simulated step.
#include <span>
#include <string>

#include "sim/simulate.hpp"
#include "sim/studies/sensitivity/faster_parts.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// The panels of a step.
[[nodiscard]] ReportPage step_page(const scenario::Scenario& scenario, const Simulation& simulation,
                                   std::span<const sensitivity::FasterPart> faster = {});

/// HTML; nothing where the program was built without the page. `faster`: what cables and switches twice as fast bring;
/// empty if not asked for.
[[nodiscard]] std::optional<std::string> run_report(const scenario::Scenario& scenario, const Simulation& simulation,
                                                    const Reproduction& reproduction,
                                                    std::span<const sensitivity::FasterPart> faster = {});

}  // namespace lockstep::report
