#pragma once
/// A scenario that was made from a trace: how its values were found, and what remains between the two.
#include <string>

#include "sim/studies/from_trace/from_trace.hpp"

namespace lockstep::output {

/// `file`: where the scenario was written.
[[nodiscard]] std::string from_trace_text(const from_trace::FromTrace& made, const std::string& file);
[[nodiscard]] std::string from_trace_json(const from_trace::FromTrace& made, const std::string& file);

}  // namespace lockstep::output
