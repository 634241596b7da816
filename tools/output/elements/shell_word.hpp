#pragma once
/// Commands that a user can paste into a shell.
#include <string>

namespace lockstep::output {

/// A text as one word of a POSIX shell: as it is where the shell leaves it alone, otherwise in single quotes.
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace lockstep::output
