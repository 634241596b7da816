#pragma once
/// The page of a fault study.
#include <optional>
#include <string>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/faults/fault_study.hpp"

namespace lockstep::report {

/// HTML; nothing where the program was built without the page.
[[nodiscard]] std::optional<std::string> fault_report(const scenario::Scenario& scenario,
                                                      const faults::FaultStudy& study);

}  // namespace lockstep::report
