#pragma once
/// The report of a roofline study.
#include "sim/studies/roofline/study.hpp"
#include "tools/report/page.hpp"

namespace lockstep {

[[nodiscard]] std::optional<std::string> roofline_report(const Scenario& scenario, const RooflineStudy& study);

}  // namespace lockstep
