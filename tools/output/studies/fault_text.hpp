#pragma once
/// The losses of a fault study as text and JSON.
#include <string>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/faults/fault_study.hpp"

namespace lockstep::output {

[[nodiscard]] std::string fault_text(const scenario::Scenario& scenario, const faults::FaultStudy& study);
[[nodiscard]] std::string fault_json(const scenario::Scenario& scenario, const faults::FaultStudy& study);

}  // namespace lockstep::output
