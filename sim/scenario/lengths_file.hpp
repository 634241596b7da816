#pragma once
/// Histograms of lengths in tokens, of documents or responses.
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "sim/core/yaml_view.hpp"

namespace lockstep::scenario {

/// The histogram in the CSV file that a value names, seen from `folder`: `tokens`, and `count` or `share`. Tokens and
/// share of all, ascending; empty after a problem.
[[nodiscard]] std::vector<std::pair<std::int64_t, double>> lengths_file(const YamlView& view,
                                                                        const std::filesystem::path& folder,
                                                                        Problems& problems);

}  // namespace lockstep::scenario
