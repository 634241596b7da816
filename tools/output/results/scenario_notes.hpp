#pragma once
/// What a reader of a scenario's results should know about its machine, beside the results.
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::output {

/// Sentences without a full stop.
[[nodiscard]] std::vector<std::string> notes_of(const scenario::Scenario& scenario);
/// "note: ..." for each, in lines of their own.
[[nodiscard]] std::string note_lines(const scenario::Scenario& scenario);

}  // namespace lockstep::output
