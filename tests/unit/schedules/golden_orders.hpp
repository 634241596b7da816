#pragma once
/// Reads the golden pipeline orders under tests/data/pipeline: cells as they stand, nothing checked.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep {

/// A JSON file of the folder, "expected.json" or "index.json".
[[nodiscard]] nlohmann::json golden_json(const std::string& name);

/// Placement from index.json, the sizes from the cells.
[[nodiscard]] workloads::PipelineOrder golden_order(const std::string& name, workloads::StagePlacement placement);

/// File names of the folder itself (not of its subfolders) that begin with `prefix` and a capital letter and digits
/// ("_P4_M8..."), with the numbers that follow the capital letters.
using GoldenSizes = std::map<char, std::int32_t>;
[[nodiscard]] std::map<std::string, GoldenSizes> golden_files(const std::string& prefix);

[[nodiscard]] workloads::StagePlacement placement_named(const std::string& name);

}  // namespace lockstep
