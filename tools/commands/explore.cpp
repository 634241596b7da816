#include <malloc.h>

#include <filesystem>
#include <memory>

#include "sim/core/errors.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/given_scenario.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/explore/explorer.hpp"
#include "tools/explore/server.hpp"
#include "tools/output/files/file.hpp"
#include "tools/report/page.hpp"

namespace lockstep::commands {
namespace {

struct ExploreArguments : ScenarioArguments {
  int port = 0;
};

/// Each answer takes as much memory as the one before. Giving it back in between would cost more than the answer.
void keep_memory_between_answers() {
  constexpr int mapped_apart_from = 32 << 20, given_back_from = 1 << 30;  // bytes; the first is glibc's largest
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, mapped_apart_from);
  ::mallopt(M_TRIM_THRESHOLD, given_back_from);
}

void explore(const ExploreArguments& arguments, spdlog::logger& log) {
  GivenScenario given(arguments);
  const auto plan_line = split_by_fastest_plan(given, log);
  const auto scenario = given.load();  // whose mistakes are told here
  const auto page = report::explorer_html();
  if (!page)
    throw ConfigError({{{"explore", 0, 0},
                        "",
                        "this program was built without Node.js, so it has no page",
                        "a program from a package, or one that is built where Node.js is installed"}});
  Problems problems;
  auto root = given.document(problems);
  move_files(root, scenario, given, "");
  problems.throw_if_any();
  keep_memory_between_answers();
  explore::Explorer explorer({scenario.name, lines_of(root), "/", given.arguments()}, log);
  const explore::Site site{*page, explore::new_token(), [&](const std::string& question) {
                             const auto request = explore::Json::parse(question, nullptr, false);
                             return explorer.answer(request).dump(-1, ' ', false,
                                                                  explore::Json::error_handler_t::replace);
                           }};
  explore::serve(site, arguments.port, [&](int port) {
    output::print(plan_line + "open http://127.0.0.1:" + std::to_string(port) + "/#token=" + site.token +
                  "\nonly this machine can reach it; Ctrl-C ends it\n");
  });
}

}  // namespace

void add_explore(CommandLine& line, spdlog::logger& log) {
  auto command =
      line.command("explore", "a page on this machine whose controls change a scenario while it is simulated");
  auto arguments = std::make_shared<ExploreArguments>();
  add_scenario(command, *arguments);
  command.option("--port", arguments->port, "of the loopback address; any free one if not given").between(1, 65535);
  command.footer(
      "Examples:\n"
      "  lockstep explore scenarios/llama3-70b-h100.yaml\n"
      "  lockstep explore llama-3-8b --cluster h100:2 --batch-tokens 1M --sequence-length 8192");
  command.callback([arguments, &log] { explore(*arguments, log); });
}

}  // namespace lockstep::commands
