#include <memory>

#include "sim/studies/rl/loop_study.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/rl_text.hpp"

namespace lockstep::commands {
namespace {

struct RlArguments {
  std::string loop, json;
  std::vector<std::string> set;
  std::optional<std::int32_t> nodes;
};

void run_rl(const RlArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  const auto spec = rl::load_loop(arguments.loop, parse_overrides(arguments.set));
  const auto progress = progress_line();
  std::string text, json;
  if (arguments.nodes) {
    const auto splits = study_splits(spec, *arguments.nodes, log, progress);
    text = output::splits_text(spec, splits);
    json = output::splits_json(spec, splits);
  } else {
    const auto loop = study_loop(spec, log, progress);
    text = output::rl_text(spec, loop);
    json = output::rl_json(spec, loop);
  }
  output::Answer answer;
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text);
}

}  // namespace

void add_rl(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("rl", "an iteration of post-training: generation, log-probabilities, training, refit");
  auto arguments = std::make_shared<RlArguments>();
  command.option("loop", arguments->loop, "file of the loop (YAML), which names the scenario of the policy's training")
      .required();
  command.option("--set", arguments->set, "change a key of the loop's file, such as rollouts.prompts=128").repeatable();
  command
      .option("--nodes", arguments->nodes,
              "share so many nodes out over the two pools in every way, instead of the split of the files")
      .between(2, 100'000);
  add_json_option(command, arguments->json);
  command.footer("Example:\n  lockstep rl grpo.yaml --nodes 16");
  command.callback([arguments, &log] { run_rl(*arguments, log); });
}

}  // namespace lockstep::commands
