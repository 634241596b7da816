#pragma once
/// Looking at a file before it is opened: a pipe would wait for ever, a device never end.
#include <filesystem>
#include <string>

namespace lockstep {

/// "no such file", "is a directory", "is not a regular file", or another reason why it cannot be read; "" if there is
/// none.
[[nodiscard]] std::string why_unreadable(const std::filesystem::path& file);

}  // namespace lockstep
