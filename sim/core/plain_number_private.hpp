#pragma once
/// Numbers as this project reads them: JSON's grammar, so no `+`, no leading zeros, no bare dot, no hex.
#include <cstddef>
#include <optional>
#include <string_view>

namespace lockstep {

/// How many characters at the start of `text` form a number; 0 if none do.
[[nodiscard]] std::size_t plain_number_length(std::string_view text);
/// The value of a text that is a plain number as a whole; nothing if a double cannot hold it.
[[nodiscard]] std::optional<double> plain_number_value(std::string_view number);
/// Whether YAML 1.1 would read `text` as octal (010), or it starts like that.
[[nodiscard]] bool has_leading_zero(std::string_view text);

}  // namespace lockstep
