#pragma once
/// Times beyond the seconds of a step.
#include <string>

#include "sim/core/units.hpp"

namespace lockstep {

/// "119.00 s", "2.8 h", "54.0 days", "3.5 years"; "never" for an infinite time.
[[nodiscard]] std::string format_long(Seconds time);

}  // namespace lockstep
