// The lockstep program. Exit 0: done; tools/output/exit_code.hpp has the others.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>

#include "sim/core/errors.hpp"
#include "sim/core/visible_text.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/exit_code.hpp"
#include "tools/output/new_file.hpp"

namespace {

/// CLI11 calls a mistyped command a missing one.
void refuse_unknown_command(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) return;
  std::vector<std::string> names;
  std::string list;
  for (const auto* command : app.get_subcommands({})) {
    if (command->get_name() == word) return;
    names.push_back(command->get_name());
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto hint = lockstep::did_you_mean(word, names);
  throw lockstep::ConfigError({{{"lockstep", 0, 0},
                                "",
                                "'" + std::string(word) + "' is not a command",
                                hint.empty() ? "one of " + list : "a command; " + hint}});
}

/// An empty value is most often a variable of the shell that is not set; NaN passes CLI11's ranges.
void refuse_empty_values(CLI::App& app) {
  for (auto* command : app.get_subcommands({})) {
    for (auto* option : command->get_options()) {
      if (option->get_positional() || option->get_expected_max() == 0) continue;
      const bool number = option->get_type_name().starts_with("FLOAT");
      option->check([number](const std::string& value) -> std::string {
        if (value.empty()) return "the value is empty";
        return number && std::isnan(std::strtod(value.c_str(), nullptr)) ? "'" + value + "' is not a number" : "";
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::survive_file_size_limit();
  spdlog::logger log("lockstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log.set_level(spdlog::level::warn);

  CLI::App app("Lockstep simulates one training step of a sharded Transformer on a cluster.", "lockstep");
  app.set_version_flag("--version", std::string("lockstep " LOCKSTEP_VERSION));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  lockstep run scenarios/llama3-70b-v5p.yaml --out out/llama3-70b\n"
      "  lockstep collective all_gather --cluster tpu-v5p:4x4x4 --group x --bytes 1MiB..1GiB\n"
      "Each command has its own --help.");
  app.add_flag_callback(
      "-v,--verbose", [&] { log.set_level(spdlog::level::debug); }, "log what happens inside to stderr");
  lockstep::add_run(app, log);
  lockstep::add_check(app);
  lockstep::add_collective(app, log);
  lockstep::add_compare(app, log);
  lockstep::add_goodput(app, log);
  lockstep::add_roofline(app, log);
  lockstep::add_schedule(app);
  lockstep::add_model(app);
  lockstep::add_plan(app, log);
  lockstep::add_sweep(app, log);
  lockstep::add_merge(app);
  lockstep::add_validate(app, log);
  lockstep::add_calibrate(app, log);
  refuse_empty_values(app);
  try {
    if (argc > 1) refuse_unknown_command(app, argv[1]);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err) == 0 ? 0 : 2;
    lockstep::tell(err.str());
    std::fputs(lockstep::visible(out.str(), lockstep::LineFeeds::kept).c_str(), stdout);
    return code;
  } catch (...) {
    return lockstep::exit_code_of_error("lockstep");
  }
}
