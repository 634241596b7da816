#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "sim/core/errors.hpp"
#include "sim/core/readable_file.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/interrupt.hpp"
#include "tools/commands/refuse.hpp"
#include "tools/commands/schedule_arguments.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/schedules/schedule_study.hpp"
#include "tools/report/schedule_report.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"
#include "workloads/pipeline/design/design.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::commands {
namespace {

constexpr std::uintmax_t most_csv_bytes = 256 << 20;
constexpr std::int32_t most_ranks_in_picture = 256;

/// Makes, verifies and times an order of ours.
output::ScheduleStudy study_schedule(const workloads::ScheduleRequest& request, const workloads::DesignEffort& effort) {
  std::optional<output::DesignStudy> designed;
  auto order = [&] {
    if (!workloads::find_schedule(request.name)->designs) return make_order(request);
    auto design = design_pipeline(request, effort);
    designed = output::study_design(request, design, effort);
    effort.tell("done", 1);
    return std::move(design.order);
  }();
  if (const auto problems = verify_order(order); !problems.empty()) {
    throw InternalError(request.name + " is not a sound order: " + problems[0].what + "; expected " +
                        problems[0].expected);
  }
  auto study = output::study_order(std::move(order), request.times, closed_form(request));
  study.design = std::move(designed);
  return study;
}

std::string read_csv(const std::string& file) {
  if (const auto why = why_unreadable(file); !why.empty()) refuse(file, why, "the CSV of a schedule");
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (size > most_csv_bytes) refuse(file, "the file is too large", "at most 256 MiB");
  if (size == 0) refuse(file, "the file is empty", "the CSV of a schedule");
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  if (!text) refuse(file, "the file cannot be read", "the CSV of a schedule");
  return std::move(text).str();
}

workloads::ImportedOrder import_order(const ScheduleArguments& arguments) {
  const auto placement = placement_named(arguments.placement);
  auto imported = import_pytorch_csv(read_csv(arguments.import), placement);
  Problems problems;
  Location where{arguments.import, 0, 0};
  const auto add = [&](std::int32_t row, std::int32_t column, const std::string& cell, const std::string& what,
                       const std::string& expected) {
    const bool more = row < 0 && what.starts_with("and ");  // how many more there are stands after the last one
    if (!more) where = {arguments.import, row + 1, row < 0 ? 0 : column + 1};
    problems.add({where, "", (cell.empty() ? "" : "cell '" + cell + "': ") + what, expected});
  };
  for (const auto& problem : imported.problems)
    add(problem.row, problem.column, problem.cell, problem.what, problem.expected);
  problems.throw_if_any();
  if (arguments.slices) imported.order.shape.slices = *arguments.slices;
  for (const auto& problem : verify_order(imported.order)) {
    const bool in_cell = problem.rank >= 0 && problem.index >= 0;
    const auto cell = in_cell ? imported.order.ranks[problem.rank][problem.index].to_string() : "";
    add(problem.rank, problem.index, cell, problem.what, problem.expected);
  }
  problems.throw_if_any();
  return imported;
}

/// Prints or writes what the options ask for.
void deliver(const ScheduleArguments& arguments, const std::string& typed, const output::ScheduleStudy& study) {
  const workloads::CsvExport dialect{arguments.communication, arguments.csv_dialect == "older"};
  const bool picture = !arguments.svg.empty() || !arguments.out.empty();
  if (picture && study.order.shape.ranks > most_ranks_in_picture) {
    refuse(arguments.svg.empty() ? "--out" : "--svg",
           std::to_string(study.order.shape.ranks) + " ranks are too many for a picture",
           "at most " + std::to_string(most_ranks_in_picture) + " ranks");
  }
  const auto csv = !arguments.csv.empty() || !arguments.out.empty() ? export_pytorch_csv(study.order, dialect) : "";
  const auto json = !arguments.json.empty() || !arguments.out.empty() ? schedule_json(study) : "";
  const auto svg = picture ? schedule_picture(study) : "";
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    const std::filesystem::path folder = arguments.out;
    output::NewFiles files(folder);
    files.write(folder / "schedule.csv", csv);
    files.write(folder / "schedule.json", json);
    files.write(folder / "schedule.svg", svg);
    left_out = report::write_report(files, folder, report::schedule_report(study, {typed, ""}));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.svg, svg);
  answer.write(arguments.csv, csv);
  answer.write(arguments.json, json);
  if (arguments.csv == "-") return output::print(csv);
  if (arguments.json == "-") return output::print(json);
  answer.print(schedule_text(study) + left_out);
}

void compare(const ScheduleArguments& arguments, const workloads::DesignEffort& effort) {
  for (const auto& [option, value] : {std::pair{"--csv", arguments.csv},
                                      {"--svg", arguments.svg},
                                      {"--stage-scale", arguments.stage_scale},
                                      {"--slice-scale", arguments.slice_scale}}) {
    if (!value.empty()) refuse(option, "is for one schedule", "one NAME");
  }
  if (arguments.times.find('/') != std::string::npos)
    refuse("--times", "times of each stage are for one schedule", "one F,I,W, or one NAME");
  std::vector<output::ComparedSchedule> rows;
  for (const auto& word : arguments.names) {
    output::ComparedSchedule row{word, std::nullopt, ""};
    try {
      row.study = study_schedule(request_for(arguments, schedule_named(word), true), effort);
    } catch (const workloads::ScheduleError& error) {
      row.refused = error.what();
    }
    rows.push_back(std::move(row));
  }
  const auto json = arguments.json.empty() ? "" : comparison_json(rows);
  output::Answer answer;
  answer.write(arguments.json, json);
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "schedules.json", comparison_json(rows));
    left_out = report::write_report(files, arguments.out,
                                    report::schedules_report(rows, *arguments.stages, *arguments.microbatches));
    answer.finish(files, arguments.out);
  }
  if (arguments.json == "-") return output::print(json);
  answer.print(comparison_text(rows, times_for(arguments, 1), *arguments.stages, *arguments.microbatches) + left_out);
}

/// Throws ConfigError for a name that is none.
bool designs(const ScheduleArguments& arguments) {
  bool any = false;
  for (const auto& word : arguments.names) any |= schedule_named(word).designs;
  return any;
}

/// Options that contradict each other or are missing.
void check_options(const ScheduleArguments& arguments) {
  if (arguments.csv == "-" && arguments.json == "-")
    refuse("--csv", "stdout holds one thing, and --json - is there already", "a file for one of them");
  if (arguments.slices && (*arguments.slices < 1 || *arguments.slices > 1024))
    refuse("--slices", std::to_string(*arguments.slices) + " is out of range", "a number from 1 to 1024");
  if (arguments.import.empty()) {
    if (arguments.names.empty())
      refuse("NAME", "is missing", "a schedule (lockstep schedule --list), or --import FILE.csv");
    const bool any_designs = designs(arguments);
    if (!arguments.placement.empty() && !any_designs)
      refuse("--placement", "is for --import and design", "no placement: schedules have their own");
    if (arguments.limit && !any_designs) refuse("--limit", "is for design", "no limit: others search nothing");
    if (!arguments.stages) refuse("--stages", "is missing", "the number of ranks P");
    if (!arguments.microbatches) refuse("--microbatches", "is missing", "the number of microbatches M");
    return;
  }
  if (!arguments.names.empty())
    refuse("--import", "cannot be given with the schedule '" + arguments.names[0] + "'",
           "either NAME or --import FILE.csv");
  const std::pair<const char*, bool> generated[] = {
      {"--stages", arguments.stages.has_value()},          {"--microbatches", arguments.microbatches.has_value()},
      {"--chunks", arguments.chunks.has_value()},          {"--group", arguments.group.has_value()},
      {"--memory-limit", !arguments.memory_limit.empty()}, {"--limit", arguments.limit.has_value()}};
  for (const auto& [option, given] : generated) {
    if (given) refuse(option, "cannot be given with --import", "nothing: the file gives the order");
  }
}

/// `typed`: the whole command line.
void run_schedule(const ScheduleArguments& arguments, const std::string& typed) {
  if (arguments.list) return output::print(output::fitted(schedule_list_text()));
  check_options(arguments);
  output::check_folder_place(arguments.out);
  output::check_file_place(arguments.svg);
  if (arguments.csv != "-") output::check_file_place(arguments.csv);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  std::optional<FirstInterrupt> interrupt;  // of what has an answer at any time
  if (designs(arguments)) interrupt.emplace();
  using Clock = std::chrono::steady_clock;
  const std::function<bool()> stopped = [&, started = Clock::now()] {
    return (interrupt && FirstInterrupt::came()) ||
           (arguments.limit && std::chrono::duration<double>(Clock::now() - started).count() >= *arguments.limit);
  };
  const auto progress = progress_line();
  workloads::DesignEffort effort;
  effort.stopped = &stopped;
  if (progress) effort.progress = &progress;
  if (arguments.names.size() > 1) return compare(arguments, effort);
  std::string about = arguments.import;
  try {
    if (!arguments.import.empty()) {
      auto imported = import_order(arguments);
      auto times = times_for(arguments, imported.order.shape.virtual_stages());
      share_out(arguments, imported.order.shape.slices, times);
      auto study = output::study_order(std::move(imported.order), std::move(times), std::nullopt);
      if (imported.older_dialect) study.remark = "read as the older dialect: B input gradient, BW whole backward";
      return deliver(arguments, typed, study);
    }
    about = arguments.names[0];
    deliver(arguments, typed, study_schedule(request_for(arguments, schedule_named(about), false), effort));
  } catch (const workloads::ScheduleError& error) {
    refuse(error.about() == "schedule" ? "NAME" : "--" + error.about(), about + ": " + error.what_is_wrong(),
           error.expected());
  }
}

}  // namespace

std::string schedule_list_text() {
  output::Table table({"schedule", "placement", "V", "backward", "pairs", "what it is"});
  table.align_left(5);
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    table.add({std::string(schedule.name), std::string(name(schedule.placement)), std::to_string(schedule.usual_chunks),
               schedule.splits_backward ? "split" : "whole", schedule.overlaps ? "yes" : "no",
               std::string(schedule.summary)});
  }
  return table.to_string();
}

void add_schedule(CommandLine& line) {
  auto command = line.command("schedule", "make, verify, time and draw a pipeline schedule by itself");
  auto arguments = std::make_shared<ScheduleArguments>();
  auto& a = *arguments;
  command.option("name", a.names, "schedule (see --list); several are compared at equal devices and work");
  command.flag("--list", a.list, "list the schedules");
  command.option("--stages", a.stages, "P: ranks of the pipeline");
  command.option("--microbatches", a.microbatches, "M");
  command.option("--chunks", a.chunks, "V: virtual stages per rank and direction (default: the schedule's own)");
  command.option(
      "--group", a.group,
      "interleaved: microbatches in a row on one chunk (default: P if it divides M, else M in M/P equal rounds)");
  command.option("--slices", a.slices,
                 "seq1f1b, seq1f1b-interleaved, slimpipe, --import: slices of a microbatch's sequence (--import: "
                 "none if not given)");
  command.option(
      "--memory-limit", a.memory_limit,
      "zb-auto, zb-v-auto, design: most microbatches whose activations a rank holds, L or one per rank L,L,...");
  command
      .option("--times", a.times,
              "F,I,W of one microbatch on one chunk, or F,I,W/F,I,W/... of each virtual stage (comparing: on a rank's "
              "whole share)")
      .shows_default();
  command.option("--stage-scale", a.stage_scale,
                 "factor of each virtual stage's times, such as 1,1,1,1.3 for a last stage with the head");
  command.option("--slice-scale", a.slice_scale,
                 "how the time of a microbatch is shared among its slices, such as 1,1.5,2,2.5 (default: equally)");
  command
      .option("--limit", a.limit,
              "design: seconds after which the search stops, with the best order so far; Ctrl-C too")
      .between(0.001, 1e7);
  command.option("--latency", a.latency, "c: time on every edge between two ranks").shows_default();
  command.option("--pair", a.pair, "time of an overlapped forward-backward pair (default: F + I + W)");
  command.option("--import", a.import, "read an order from a CSV of torch.distributed.pipelining");
  command.option("--placement", a.placement,
                 "how an imported order places its virtual stages on ranks: linear, loop, v, wave, bidirectional; of "
                 "design those that it may use, such as v,loop");
  command.option("--csv", a.csv, "write the order as CSV to a file, or to stdout with -");
  command
      .option("--csv-dialect", a.csv_dialect,
              "current (I, W, B) or older (B for the input gradient, BW for the whole backward)")
      .one_of({"current", "older"})
      .shows_default();
  command.flag("--communication", a.communication, "add SEND, RECV and parameter cells to the CSV");
  command.option("--json", a.json, "write everything as JSON to a file, or to stdout with -");
  command.option(
      "--out", a.out,
      "folder for report.html, schedule.csv, schedule.json and schedule.svg; of several schedules for report.html and "
      "schedules.json");
  command.option("--svg", a.svg, "write the picture to a file");
  command.footer(
      "Examples:\n  lockstep schedule 1f1b --stages 4 --microbatches 8\n"
      "  lockstep schedule dualpipe --stages 8 --microbatches 20 --pair 2.5 --out out/dualpipe\n"
      "  lockstep schedule 1f1b zb-h1 dualpipe-v --stages 8 --microbatches 16\n"
      "  lockstep schedule design --stages 4 --microbatches 12 --stage-scale 1,1,1,1.3 --memory-limit 3\n"
      "  lockstep schedule --import order.csv --placement v --times 1,1.2,0.8 --latency 0.1");
  command.callback([arguments, typed = command.typed()] { run_schedule(*arguments, *typed); });
}

}  // namespace lockstep::commands
