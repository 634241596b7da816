#pragma once
/// Reading a file that a user gives, of bounded size.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/errors.hpp"

namespace lockstep::topologies {

/// The text of a file of at most 64 MiB, in UTF-8 and without control characters but escapes. `is_known` sees how it
/// begins, its first 64 KiB at most, and decides whether the rest is read; nothing for a file that is refused.
[[nodiscard]] std::optional<std::string> read_text(const std::filesystem::path& file,
                                                   const std::function<bool(std::string_view head)>& is_known,
                                                   Problems& problems);
/// The first 64 KiB of a text.
[[nodiscard]] std::string_view head_of(std::string_view text);
/// Whether a text is UTF-8 without control characters but escapes; a problem at the first that is not.
bool check_text(std::string_view text, const std::string& file, Problems& problems);

}  // namespace lockstep::topologies
