#pragma once
/// A model as the block that a scenario or the catalog would have for it.
#include <optional>
#include <string>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {

/// YAML that read_model makes the same model of; none if its layers follow a rule that blocks cannot say.
[[nodiscard]] std::optional<std::string> block_of(const Model& model);

}  // namespace lockstep::workloads
