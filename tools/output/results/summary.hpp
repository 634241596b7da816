#pragma once
/// The first screen of `lockstep run`: what a planner came for.
#include <string>

#include "sim/simulate.hpp"

namespace lockstep::output {

/// One line that says what limits the step: the roofline's view (busy time of each mesh axis against compute), then
/// what of the communication could not hide.
[[nodiscard]] std::string bound_text(const metrics::Metrics& metrics);
/// Best, worst and median step under the seeds of a hashed network; empty where none was drawn.
[[nodiscard]] std::string routing_draws_line(const Simulation& simulation);
/// The step with other documents; empty where none are drawn.
[[nodiscard]] std::string document_draws_line(const Simulation& simulation);
[[nodiscard]] std::string summary(const scenario::Scenario& scenario, const Simulation& simulation);

/// Every span of the critical rank, in program order, for --dump=timeline.
[[nodiscard]] std::string timeline_text(const Simulation& simulation);

}  // namespace lockstep::output
