#pragma once
/// A simulated step as GOAL, the text that LogGOPSim and ATLAHS simulate packet by packet: for each rank its
/// computations, sends and receives, and what each of them waits for.
#include <filesystem>
#include <string>

#include "sim/preparation/preparation.hpp"
#include "tools/output/files/new_file.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::trace {

/// Writes the step of all ranks to `file`. A rank's number is its position on the cluster, a `calc` has nanoseconds,
/// and its `cpu` is its stream. Operations of a stream follow each other as they do in a run in which collectives do
/// not disturb each other. Returns sentences on what of the step GOAL does not hold; "" if nothing is missing. Throws
/// ConfigError for steps of more than 20 million operations and messages.
[[nodiscard]] std::string write_goal(output::NewFiles& files, const std::filesystem::path& file,
                                     const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                                     spdlog::logger& log);

}  // namespace lockstep::trace
