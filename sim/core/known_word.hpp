#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The one of these names that a user's word is: itself, or, if no name is, the first that differs in the case of its
/// letters (a to z) alone, as `H100` does from `h100`. "" if none does.
[[nodiscard]] std::string known_word(std::string_view word, const std::vector<std::string>& names);

/// The names that hold the word's letters and digits one after the other, whatever other signs and case they have, at
/// most `most` of them: `llama3` is in `llama-3-70b`.
[[nodiscard]] std::vector<std::string> names_with(std::string_view word, const std::vector<std::string>& names,
                                                  std::size_t most);

}  // namespace lockstep
