#pragma once
/// The page of `lockstep goodput`.
#include "tools/output/studies/goodput_text.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// HTML: where the run's time goes, goodput over the interval between checkpoints, what interrupts.
[[nodiscard]] std::optional<std::string> goodput_report(const scenario::Scenario& scenario,
                                                        const goodput::GoodputStudy& study,
                                                        const output::GoodputAim& aim);

}  // namespace lockstep::report
