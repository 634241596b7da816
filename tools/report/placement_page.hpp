#pragma once
/// The page of `lockstep design placement`.
#include "tools/output/studies/placement_report.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// HTML: the best order beside the given one, where its ranks stand, what a step waits for, and all orders that the
/// search began with.
[[nodiscard]] std::optional<std::string> placement_page(const scenario::Scenario& scenario,
                                                        const place_ranks::PlacedRanks& placed,
                                                        const Reproduction& again);

}  // namespace lockstep::report
