// A scenario to begin with: the fastest plan of a model on a machine, with what else is often changed as comments.
#include <memory>

#include "sim/core/quantity_text.hpp"
#include "sim/core/yaml_text.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/fastest_plan.hpp"
#include "tools/commands/moved_files.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/results/memory_verdict.hpp"

namespace lockstep::commands {
namespace {

struct InitArguments : ScenarioArguments {
  std::string out;
  bool force = false;
};

/// What a key is for, and what is often written instead.
struct Remark {
  std::string key, before, after;
};

const std::vector<Remark> remarks{
    {"model", "A name of `lockstep list models`, or the path of a Hugging Face config.json, seen from this file.", ""},
    {"cluster",
     "NODE:NODES or CHIP:SHAPE (`lockstep list nodes`, `lockstep list chips`), or a block with a fabric of its own.",
     "cluster: {node: dgx-h100, nodes: 64, fabric: {like: infiniband-ndr-rail, oversubscription: 2}}"},
    {"mesh", "Where each axis of ranks lies on the machine, the innermost first.", ""},
    {"parallel", "Sizes of tensor, context, expert, fsdp, data and pipeline; ZeRO stage; sequence parallelism.", ""},
    {"pipeline", "The pipeline's schedule (`lockstep list schedules`) and its chunks.", ""},
    {"batch", "Sequences of one step over all ranks, tokens of a sequence, microbatches.", ""},
    {"training", "Precision, optimizer, recomputation.",
     "training: {precision: bf16, optimizer: adam, master_weights: true, recompute: selective}"},
};

/// `plan`: none where the command line has one.
std::string commented(const YamlView& root, const std::optional<FastestPlan>& plan) {
  std::string text = "# " + root["model"].text() + ": the " +
                     (plan ? "fastest plan that `lockstep plan` found" : "plan that was given") +
                     ". Each key: docs/scenario_reference.md.\n";
  if (plan)
    text += "# Memory of one chip: peak " + format(plan->peak) + " of " + format(plan->program_memory) + " " +
            output::memory_verdict(plan->peak, plan->program_memory) + ".\n";
  for (const auto& key : root.keys()) {
    for (const auto& remark : remarks) {
      if (remark.key != key) continue;
      text += "\n# " + remark.before + "\n";
      if (!remark.after.empty()) text += "# " + remark.after + "\n";
    }
    text += key + ": " + in_one_line(root[key]) + "\n";
  }
  return text +
         "\n# Compute takes what kernels reach; `ideal` takes the rates of the data sheet.\n# model_of_time: ideal\n"
         "\n# What may go wrong: slow chips and links.\n"
         "# perturbations: [{random_chips: 2, seed: 1, slowdown: 1.2}, {jitter: 0.02, seed: 1}]\n"
         "\n# What `lockstep plan` may choose.\n# search: {tensor: [1, 2, 4, 8], pipeline: [1, 2, 4], recompute: "
         "[none, selective]}\n";
}

/// What somebody wrote is not lost for a slip of the hand; /dev/null and the like hold nothing.
void check_nothing_is_there(const InitArguments& arguments) {
  std::error_code error;
  if (arguments.force || !std::filesystem::is_regular_file(arguments.out, error)) return;
  throw ConfigError(
      {{{"--out", 0, 0}, "", "'" + arguments.out + "' exists", "another name, or --force to replace it"}});
}

void run_init(const InitArguments& arguments, spdlog::logger& log) {
  check_nothing_is_there(arguments);
  output::check_file_place(arguments.out);
  GivenScenario given(arguments);
  if (given.is_file() || given.name() == "stdin") {
    throw ConfigError({{{"MODEL", 0, 0},
                        "",
                        "'" + arguments.scenario + "' is a scenario already",
                        "a config.json or a name of lockstep list models"}});
  }
  const auto plan = take_fastest_plan(given, log);
  Problems problems;
  auto root = given.document(problems);
  move_files(root, given.load(), given, arguments.out);
  const auto text = commented(root, plan);
  problems.throw_if_any();
  if (arguments.out.empty()) return output::print(text);
  output::Answer answer;
  answer.write(arguments.out, text);
  answer.print("");
}

}  // namespace

void add_init(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("init", "write a commented scenario of a model on a machine, split by the fastest plan");
  auto arguments = std::make_shared<InitArguments>();
  command.option("model", arguments->scenario, "a config.json or a name of lockstep list models").required();
  command.option("--set", arguments->overrides, "add a key to the scenario: a.b=c (may be repeated)").repeatable();
  add_model_options(command, *arguments);
  command.option("--out", arguments->out, "the file to write; stdout if none");
  command.flag("--force", arguments->force, "replace the file of --out if it exists").needs("--out");
  command.footer(
      "Example:\n  lockstep init llama-3-70b --cluster h100:8 --batch-tokens 1M --sequence-length 8192 --out "
      "mine.yaml");
  command.callback([arguments, &log] { run_init(*arguments, log); });
}

}  // namespace lockstep::commands
