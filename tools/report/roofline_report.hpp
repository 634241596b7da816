#pragma once
/// The report of a roofline study.
#include "sim/studies/roofline/network_study.hpp"
#include "sim/studies/roofline/study.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

[[nodiscard]] std::optional<std::string> roofline_report(const scenario::Scenario& scenario,
                                                         const roofline::RooflineStudy& study);
[[nodiscard]] std::optional<std::string> roofline_report(const scenario::Scenario& scenario,
                                                         const roofline::NetworkRoofline& study);

}  // namespace lockstep::report
