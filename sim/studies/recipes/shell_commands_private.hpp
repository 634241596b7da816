#pragma once
/// The commands of a shell script that its conditions let run, as far as the script itself says.
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/studies/recipes/shell_values_private.hpp"

namespace lockstep::recipes {

/// Whether a test such as `[ "$A" = x ]` holds. A variable that the script does not set is empty; a test of files does
/// not hold.
[[nodiscard]] bool test_holds(const PlacedWords& command);

/// The words of commands, without assignments. Loops and functions are passed over; of a `case` whose word the script
/// does not say, the branch `*` counts.
[[nodiscard]] std::vector<PlacedWords> commands_of(ShellText& shell);

}  // namespace lockstep::recipes
