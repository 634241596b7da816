#pragma once
/// One function per subcommand adds it to the program; its callback does the work.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::commands {

class Command;
class CommandLine;

void add_run(CommandLine& line, spdlog::logger& log);
void add_check(CommandLine& line, spdlog::logger& log);
void add_schema(CommandLine& line);
void add_explore(CommandLine& line, spdlog::logger& log);
void add_collective(CommandLine& line, spdlog::logger& log);
void add_compare(CommandLine& line, spdlog::logger& log);
void add_cost(CommandLine& line, spdlog::logger& log);
void add_design(CommandLine& line, spdlog::logger& log);
void add_design_network(Command& design, spdlog::logger& log);
void add_design_experts(Command& design, spdlog::logger& log);
void add_design_placement(Command& design, spdlog::logger& log);
void add_faults(CommandLine& line, spdlog::logger& log);
void add_goodput(CommandLine& line, spdlog::logger& log);
void add_import(CommandLine& line);
void add_jobs(CommandLine& line, spdlog::logger& log);
void add_replay(CommandLine& line, spdlog::logger& log);
void add_rl(CommandLine& line, spdlog::logger& log);
void add_roofline(CommandLine& line, spdlog::logger& log);
void add_schedule(CommandLine& line);
void add_model(CommandLine& line);
void add_plan(CommandLine& line, spdlog::logger& log);
void add_sweep(CommandLine& line, spdlog::logger& log);
void add_merge(CommandLine& line);
void add_validate(CommandLine& line, spdlog::logger& log);
void add_calibrate(CommandLine& line, spdlog::logger& log);
void add_completion(CommandLine& line);
void add_init(CommandLine& line, spdlog::logger& log);
void add_list(CommandLine& line);
void add_manual(CommandLine& line, const std::string& version);

/// The schedules, a line each.
[[nodiscard]] std::string schedule_list_text();

/// "a.b=c" from --set, refused with a ConfigError if it has no '='.
[[nodiscard]] std::vector<scenario::KeyOverride> parse_overrides(const std::vector<std::string>& texts);

/// Draws a progress line on stderr, if that is a terminal and the work takes longer than a moment.
[[nodiscard]] std::function<void(std::string_view, double)> progress_line();

}  // namespace lockstep::commands
