#pragma once
/// Times beyond the seconds of a step.
#include <string>

#include "sim/core/units.hpp"

namespace lockstep {

/// "119.00 s", "2.8 h", "54.0 days", "3.5 years"; "never" for an infinite time.
[[nodiscard]] std::string format_long(Seconds time);
/// As a step's time up to two hours, "337.49 s", and as format_long beyond.
[[nodiscard]] std::string format_up_to_long(Seconds time);

}  // namespace lockstep
