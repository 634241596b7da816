#pragma once
/// Looking at a file before it is opened: a pipe would wait for ever, a device never end.
#include <filesystem>
#include <string>

namespace lockstep {

/// "no such file", "is a directory", "is not a regular file", or another reason why it cannot be read; "" if there is
/// none.
[[nodiscard]] std::string why_unreadable(const std::filesystem::path& file);

/// Whether the program was asked to read this file: one that `why_unreadable` found nothing wrong with.
[[nodiscard]] bool is_input(const std::filesystem::path& file);
/// From now on the file may be replaced, as the catalog's own tables are by the command that makes them.
void forget_input(const std::filesystem::path& file);

}  // namespace lockstep
