#pragma once
/// A folder of YAML files, one for each entry of a catalog.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep::topologies {

/// The names of its files without `.yaml`, sorted.
[[nodiscard]] std::vector<std::string> catalog_entries(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path catalog_file(const std::filesystem::path& folder, std::string_view name);
/// The entry that a user's word names, whatever the case of its letters; the word itself if there is none.
[[nodiscard]] std::string catalog_entry(const std::filesystem::path& folder, std::string_view word);
/// Whether there is such a file; if not, adds a problem that lists the existing ones. `what`: "chip".
[[nodiscard]] bool is_catalog_entry(const std::filesystem::path& folder, std::string_view what, std::string_view name,
                                    Problems& problems);

}  // namespace lockstep::topologies
