#pragma once
/// The page of `lockstep design experts`.
#include "tools/output/studies/placement_report.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// HTML: the step with these places, the tokens of every rank in the layer that gains most, and the fullest rank of
/// every layer.
[[nodiscard]] std::optional<std::string> experts_page(const scenario::Scenario& scenario,
                                                      const place_ranks::ExpertStudy& study, const Reproduction& again);

}  // namespace lockstep::report
