#pragma once
/// A simulated step as Chakra's execution traces: one graph for each rank, which ASTRA-sim and others read, and the
/// ranks of their process groups beside it. Field numbers are those of Chakra's et_def.proto, 0.0.4.
#include <filesystem>
#include <string>

#include "sim/preparation/preparation.hpp"
#include "tools/output/files/new_file.hpp"

namespace lockstep::trace {

/// Writes NAME.RANK.et for every rank, and groups.json, into `folder`. A rank's number is its position on the cluster.
/// Returns a sentence on what of the step the graphs do not hold; "" if nothing is missing. Throws ConfigError for
/// steps that are too long for it, or that have what Chakra has no node for.
[[nodiscard]] std::string write_chakra_trace(output::NewFiles& files, const std::filesystem::path& folder,
                                             const std::string& name, const scenario::Scenario& scenario,
                                             const preparation::PreparedStep& preparation);

}  // namespace lockstep::trace
