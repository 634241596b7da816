#pragma once
#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {

/// A scenario of a document that is already parsed; `problems` is the document's sink and empty. Files that it names
/// are seen from `folder`. Throws ConfigError.
[[nodiscard]] Scenario scenario_of_document(const YamlView& root, const std::vector<KeyOverride>& overrides,
                                            const std::string& name, const std::filesystem::path& folder,
                                            Problems& problems);

}  // namespace lockstep::scenario
