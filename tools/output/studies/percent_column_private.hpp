#pragma once
/// Fractions in a column whose header says "%".
#include <string>

#include "tools/output/elements/table.hpp"

namespace lockstep::output {

[[nodiscard]] inline std::string in_percent(double fraction) { return fixed(100 * fraction, 1); }  ///< "61.2"
/// "+61.2"
[[nodiscard]] inline std::string with_sign(double fraction) { return (fraction < 0 ? "" : "+") + in_percent(fraction); }

}  // namespace lockstep::output
