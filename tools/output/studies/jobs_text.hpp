#pragma once
/// Several jobs on one network, as text and JSON.
#include <string>
#include <vector>

#include "sim/studies/jobs/job_study.hpp"

namespace lockstep::output {

[[nodiscard]] std::string jobs_text(const std::vector<jobs::SharedRun>& runs);
[[nodiscard]] std::string jobs_json(const std::vector<jobs::SharedRun>& runs);
/// The jobs' steps on each choice of hosts beside those alone, and the links that more than one uses, as SVG.
[[nodiscard]] std::string jobs_picture(const std::vector<jobs::SharedRun>& runs);
/// "7.0 %"; what is rounding alone has no sign.
[[nodiscard]] std::string slowdown_text(double slowdown);
/// "leaf1>spine1 and 3 alike"
[[nodiscard]] std::string name_of(const jobs::SharedLink& link);

}  // namespace lockstep::output
