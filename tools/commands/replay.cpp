#include "sim/studies/replay/replay.hpp"

#include <filesystem>
#include <memory>
#include <optional>

#include "tools/commands/collective_arguments.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/replay_text.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::commands {
namespace {

struct ReplayArguments {
  std::vector<std::string> traces;
  std::string cluster, groups, json, out, against;
  std::optional<std::int32_t> data;
  double clock = 1;
};

/// Folders stand for the traces in them, by name.
std::vector<std::filesystem::path> files_of(const std::vector<std::string>& words) {
  std::vector<std::filesystem::path> files;
  for (const auto& word : words) {
    std::error_code error;
    if (!std::filesystem::is_directory(word, error)) {
      files.emplace_back(word);
      continue;
    }
    std::vector<std::filesystem::path> inside;
    for (const auto& entry : std::filesystem::directory_iterator(word, error)) {
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with(".") &&
          entry.path().filename() != "groups.json")
        inside.push_back(entry.path());
    }
    if (inside.empty()) throw ConfigError({{{word, 0, 0}, "", "the folder has no traces", "one file for each rank"}});
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

/// The file given, or groups.json beside the traces of a folder.
std::string groups_of(const ReplayArguments& arguments) {
  if (!arguments.groups.empty()) return arguments.groups;
  const auto beside = std::filesystem::path(arguments.traces.front()) / "groups.json";
  std::error_code error;
  return std::filesystem::is_regular_file(beside, error) ? beside.string() : "";
}

void give(const ReplayArguments& arguments, const std::string& text, const std::string& json) {
  if (!arguments.json.empty() && arguments.json != "-") output::write_file(arguments.json, json);
  if (!arguments.out.empty()) output::write_file(arguments.out, text);
  output::print(arguments.json == "-" ? json : text);
}

void replay_traces(const ReplayArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_file_place(arguments.out);
  const auto progress = progress_line();
  auto job = workloads::read_traces(files_of(arguments.traces), [&](double share) {
    if (progress) progress("reading", share);
  });
  if (const auto groups = groups_of(arguments); !groups.empty()) workloads::read_trace_groups(groups, job);
  if (!arguments.against.empty()) {
    const auto preparation = preparation::prepare_step(scenario::load_scenario(arguments.against));
    const auto& rank = job.ranks.front();
    const auto rows = replay::compared_collectives(job, rank, preparation);
    if (progress) progress("done", 1);
    return give(arguments, output::against_text(rows, rank.rank, arguments.against),
                output::against_json(rows, rank.rank, arguments.against));
  }
  replay::ReplayOptions options;
  options.data = arguments.data.value_or(0);
  options.clock = arguments.clock;
  std::optional<CollectiveMachine> machine;
  if (!arguments.cluster.empty()) {
    machine.emplace(machine_named(arguments.cluster));
    if (!machine->perturbations.empty())
      refuse_option("--cluster", "its scenario has perturbations, which a replay does not take", "a scenario without");
    options.cluster = &machine->cluster;
    options.rules = machine->rules;
  }
  const auto replay = replay_job(job, options, log);
  if (progress) progress("done", 1);
  give(arguments, output::replay_text(job, replay, arguments.cluster),
       output::replay_json(job, replay, arguments.cluster));
}

}  // namespace

void add_replay(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("replay", "run a recorded job again, on its own machine or on another network");
  auto arguments = std::make_shared<ReplayArguments>();
  command
      .option("traces", arguments->traces,
              "traces of one job, one file for each rank, or their folder: Kineto (torch.profiler), Chakra, PyTorch "
              "execution traces, flight recorder, NCCL inspector; plain or .gz")
      .required();
  command.option("--cluster", arguments->cluster,
                 "the network for its collectives: NODE:NODES such as dgx-h100:4, or a scenario file; without it they "
                 "take what was recorded");
  command.option("--data", arguments->data, "another number of data-parallel ranks (of a trace of one rank)")
      .between(1, workloads::most_recorded_ranks);
  command.option("--clock", arguments->clock, "kernels run so many times as fast").between(0.01, 100.0);
  command.option("--groups", arguments->groups,
                 "JSON file with the ranks of groups that the traces only name: {\"0\": [0, 1]}; of a folder its "
                 "groups.json");
  command.option("--against", arguments->against,
                 "scenario file: list the first rank's collectives beside those that the scenario derives, instead of "
                 "a replay");
  command.option("--json", arguments->json, "write the result as JSON to a file, or to stdout with -");
  command.option("--out", arguments->out, "also write the text to a file");
  command.footer(
      "Examples:\n  lockstep replay rank0.json.gz rank1.json.gz\n"
      "  lockstep replay traces --cluster dgx-h100:4 --json -\n"
      "  lockstep replay rank0.json.gz --cluster dgx-h100:16 --data 128");
  command.callback([arguments, &log] { replay_traces(*arguments, log); });
}

}  // namespace lockstep::commands
