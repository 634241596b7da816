#include "sim/studies/replay/replay.hpp"
#include "sim/studies/from_trace/from_trace.hpp"
#include "sim/studies/replay/against.hpp"

#include <filesystem>
#include <memory>
#include <optional>

#include "sim/core/quantity_text.hpp"
#include "tools/commands/collective_arguments.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/files/new_file.hpp"
#include "tools/output/studies/from_trace_text.hpp"
#include "tools/output/studies/replay_text.hpp"
#include "tools/report/replay_report.hpp"
#include "workloads/traces/named_collectives.hpp"
#include "workloads/traces/read_traces.hpp"
#include "workloads/traces/trace_folder.hpp"

namespace lockstep::commands {
namespace {

struct ReplayArguments {
  std::vector<std::string> traces;
  std::string cluster, groups, collectives, longest_pause, json, out, against, scenario;
  std::vector<std::string> said;
  std::optional<std::int32_t> data;
  std::optional<std::int32_t> tensor, pipeline, context;  ///< refused with the reason
  std::optional<double> clock;
};

/// The file given, or groups.json beside the traces of a folder.
std::string groups_of(const ReplayArguments& arguments) {
  if (!arguments.groups.empty()) return arguments.groups;
  const auto beside = std::filesystem::path(arguments.traces.front()) / "groups.json";
  std::error_code error;
  return std::filesystem::is_regular_file(beside, error) ? beside.string() : "";
}

void give(const ReplayArguments& arguments, const std::string& text, const std::string& json,
          output::Answer answer = {}) {
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text);
}

/// What a trace cannot tell of other sizes.
void refuse_other_splits(const ReplayArguments& arguments) {
  const std::string expected = "--data, or --scenario and a plan of that scenario";
  if (arguments.tensor)
    refuse("--tensor", "every product would have another shape, whose time nobody recorded", expected);
  if (arguments.context)
    refuse("--context", "attention would see other pieces of a sequence, whose time nobody recorded", expected);
  if (arguments.pipeline)
    refuse("--pipeline", "ranks would hold other layers and pass in another order, which nobody recorded", expected);
}

/// Options that the rest of the command line leaves without effect.
void refuse_idle_options(const ReplayArguments& arguments) {
  refuse_other_splits(arguments);
  if (arguments.scenario.empty() && !arguments.said.empty())
    refuse("--set", "there is no scenario to write", "--scenario");
  if (!arguments.scenario.empty() && arguments.cluster.empty())
    refuse("--scenario", "the machine of the job is not known", "--cluster, such as dgx-h100:4");
  if (!arguments.against.empty() && !arguments.cluster.empty())
    refuse("--cluster", "the scenario of --against has its own", "no --cluster");
  const std::string instead = !arguments.scenario.empty()  ? "--scenario"
                              : !arguments.against.empty() ? "--against"
                                                           : "";
  if (instead.empty()) {
    if (arguments.data && arguments.cluster.empty())
      refuse("--data", "collectives of another size take what a network makes of them",
             "--cluster, such as dgx-h100:4");
    return;
  }
  const auto refuse_if = [&](bool given, const std::string& option, const std::string& what,
                             const std::string& expected) {
    if (given) refuse(option, what, expected);
  };
  const bool writes = instead == "--scenario";
  refuse_if(!arguments.out.empty(), "--out", "its page shows a replay", "neither --against nor --scenario");
  refuse_if(arguments.data.has_value(), "--data", instead + " takes the job as it was recorded",
            writes ? "--set parallel.data=" + std::to_string(arguments.data.value_or(1)) : "a scenario of that size");
  refuse_if(arguments.clock.has_value(), "--clock", instead + " takes the kernels as they were recorded",
            "a replay, without " + instead);
  refuse_if(!arguments.longest_pause.empty(), "--longest-pause", instead + " has no pauses",
            "a replay, without " + instead);
}

/// Options that this job leaves without effect.
void refuse_idle_options(const ReplayArguments& arguments, const workloads::RecordedJob& job) {
  if (arguments.clock && !job.kernels)
    refuse("--clock", "the trace (" + job.format + ") has no kernels", "a trace of the device's work");
  if (!arguments.longest_pause.empty() && !job.dated)
    refuse("--longest-pause", "the trace (" + job.format + ") has no dates, so no pauses", "Kineto");
}

void replay_traces(const ReplayArguments& arguments, spdlog::logger& log) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  output::check_folder_place(arguments.out);
  refuse_idle_options(arguments);
  output::check_file_place(arguments.scenario);
  const auto progress = progress_line();
  const auto named = workloads::trace_files(arguments.traces);
  auto job = workloads::read_traces(named.files, [&](double share) {
    if (progress) progress("reading", share);
  });
  job.guessed.insert(job.guessed.begin(), named.left_out.begin(), named.left_out.end());
  if (const auto groups = groups_of(arguments); !groups.empty()) workloads::read_trace_groups(groups, job);
  if (!arguments.collectives.empty()) workloads::name_collectives(arguments.collectives, job);
  refuse_idle_options(arguments, job);
  if (!arguments.against.empty()) {
    const auto preparation = preparation::prepare_step(scenario::load_scenario(arguments.against));
    const auto& rank = job.ranks.front();
    const auto rows = replay::compared_collectives(job, rank, preparation);
    if (progress) progress("done", 1);
    return give(arguments, output::against_text(rows, rank.rank, arguments.against, &job),
                output::against_json(rows, rank.rank, arguments.against, &job));
  }
  if (!arguments.scenario.empty()) {
    const from_trace::FromTraceOptions options{arguments.cluster, parse_overrides(arguments.said), arguments.scenario};
    const auto made = from_trace::scenario_of_trace(job, options, log);
    if (progress) progress("done", 1);
    output::Answer answer;
    answer.write(arguments.scenario, made.yaml);
    return give(arguments, output::from_trace_text(made, arguments.scenario),
                output::from_trace_json(made, arguments.scenario), answer);
  }
  replay::ReplayOptions options;
  options.data = arguments.data.value_or(0);
  options.clock = arguments.clock.value_or(1);
  options.keep_spans = !arguments.out.empty();
  if (!arguments.longest_pause.empty()) {
    const auto time = parse_seconds(arguments.longest_pause);
    if (const auto* error = std::get_if<QuantityError>(&time)) refuse("--longest-pause", error->what, error->expected);
    options.longest_pause = std::get<Seconds>(time);
  }
  std::optional<CollectiveMachine> machine;
  if (!arguments.cluster.empty()) {
    machine.emplace(machine_named(arguments.cluster));
    if (!machine->perturbations.empty())
      refuse("--cluster", "its scenario has perturbations, which a replay does not take", "a scenario without");
    options.cluster = &machine->cluster;
    options.rules = machine->rules;
  }
  const auto replay = replay_job(job, options, log);
  if (progress) progress("done", 1);
  auto text = output::replay_text(job, replay, arguments.cluster);
  const auto json = output::replay_json(job, replay, arguments.cluster);
  output::Answer answer;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    const std::filesystem::path folder = arguments.out;
    files.write(folder / "result.json", json);
    text += report::write_report(files, folder, report::replay_report(job, replay, arguments.cluster));
    answer.finish(files, arguments.out);
  }
  give(arguments, text, json, answer);
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
  command.option("--tensor", arguments->tensor, "refused: kernels of another shape were not recorded");
  command.option("--context", arguments->context, "refused: likewise");
  command.option("--pipeline", arguments->pipeline, "refused: ranks that hold other layers were not recorded");
  command.option("--clock", arguments->clock, "kernels run so many times as fast").between(0.01, 100.0);
  command.option("--groups", arguments->groups,
                 "JSON file with the ranks of groups that the traces only name: {\"0\": [0, 1]}; of a folder its "
                 "groups.json");
  command.option("--collectives", arguments->collectives,
                 "YAML file: which kernels of the job's own library are collectives, and what they carry");
  command.option("--longest-pause", arguments->longest_pause,
                 "leave out longer pauses before kernels that nothing in the trace explains, such as 100us");
  const auto against = command.option(
      "--against", arguments->against,
      "scenario file: list the first rank's collectives beside those that the scenario derives, instead of "
      "a replay");
  command
      .option("--scenario", arguments->scenario,
              "write a scenario of the job to this file, on the machine that --cluster names and with kernels as fast "
              "as recorded, and show the residual of every class of kernels, instead of a replay")
      .excludes(against);
  command
      .option("--set", arguments->said,
              "with --scenario: a key that the trace does not tell, such as "
              "model=llama-2-7b or batch.sequence_length=4096 (may be repeated)")
      .repeatable();
  add_json_option(command, arguments->json);
  command.option("--out", arguments->out,
                 "folder for report.html, with the lanes as recorded and as replayed, and result.json");
  command.footer(
      "Examples:\n  lockstep replay rank0.json.gz rank1.json.gz\n"
      "  lockstep replay traces --cluster dgx-h100:4 --json -\n"
      "  lockstep replay rank0.json.gz --cluster dgx-h100:16 --data 128\n"
      "  lockstep replay rank0.json.gz --cluster dgx-h100:4 --scenario job.yaml");
  command.callback([arguments, &log] { replay_traces(*arguments, log); });
}

}  // namespace lockstep::commands
