#pragma once
/// One function per subcommand adds it to the program; its callback does the work.
#include <functional>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace CLI {
class App;
}
namespace spdlog {
class logger;
}

namespace lockstep {

void add_run(CLI::App& app, spdlog::logger& log);
void add_check(CLI::App& app);
void add_collective(CLI::App& app, spdlog::logger& log);
void add_compare(CLI::App& app, spdlog::logger& log);
void add_goodput(CLI::App& app, spdlog::logger& log);
void add_roofline(CLI::App& app, spdlog::logger& log);
void add_schedule(CLI::App& app);
void add_model(CLI::App& app);
void add_plan(CLI::App& app, spdlog::logger& log);
void add_sweep(CLI::App& app, spdlog::logger& log);
void add_merge(CLI::App& app);
void add_validate(CLI::App& app, spdlog::logger& log);
void add_calibrate(CLI::App& app, spdlog::logger& log);

/// "a.b=c" from --set, refused with a ConfigError if it has no '='.
[[nodiscard]] std::vector<KeyOverride> parse_overrides(const std::vector<std::string>& texts);

/// Draws a progress line on stderr, if that is a terminal and the work takes longer than a moment.
[[nodiscard]] std::function<void(std::string_view, double)> progress_line();

}  // namespace lockstep
