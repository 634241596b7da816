#pragma once
/// The page of `lockstep validate`.
#include <vector>

#include "sim/studies/validation/measured_collectives.hpp"
#include "sim/studies/validation/validate.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// HTML: errors of tables and families, predicted against measured steps, the worst rows; then collectives.
[[nodiscard]] std::optional<std::string> validation_report(
    const std::vector<validation::ValidatedRun>& runs, const std::string& model_of_time,
    const std::vector<validation::ValidatedCollective>& collectives = {});

}  // namespace lockstep::report
