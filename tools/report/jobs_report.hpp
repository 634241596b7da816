#pragma once
/// The page of several jobs on one network.
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/jobs/job_study.hpp"

namespace lockstep::report {

/// Nothing if the program was built without the page.
[[nodiscard]] std::optional<std::string> jobs_report(const std::vector<jobs::SharedRun>& runs);

}  // namespace lockstep::report
