#pragma once
/// The page of a design, the same for all that are designed: what was found, why it is better, what would change it,
/// then pictures and tables.
#include <string>
#include <vector>

#include "tools/output/elements/design_reasons.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {

/// A page with its first panels: the answer over its figures, why, what if.
[[nodiscard]] ReportPage design_page(std::string title, std::string subtitle, const output::DesignReasons& reasons,
                                     const std::vector<Figure>& figures);

}  // namespace lockstep::report
