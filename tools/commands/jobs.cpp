#include <algorithm>
#include <filesystem>
#include <memory>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/jobs/job_study.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/common_options.hpp"
#include "tools/commands/problems_once.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/files/file.hpp"
#include "tools/output/studies/jobs_text.hpp"
#include "tools/report/jobs_report.hpp"
#include "tools/report/page.hpp"

namespace lockstep::commands {
namespace {

struct JobsArguments {
  std::vector<std::string> scenarios, starts, hosts, free;
  std::string json, out;
  std::int32_t steps = 8, tries = 100, nodes = 0;
  std::uint64_t seed = 1;
};

constexpr std::size_t most_jobs = 16;

std::vector<jobs::Job> jobs_of(const JobsArguments& arguments) {
  Problems problems;
  const auto wrong = [&](const std::string& option, const std::string& what, const std::string& expected) {
    problems.add({{option, 0, 0}, "", what, expected});
  };
  if (arguments.scenarios.size() < 2 || arguments.scenarios.size() > most_jobs)
    wrong("scenarios", "there are " + std::to_string(arguments.scenarios.size()),
          "2 to " + std::to_string(most_jobs) + " scenarios, one for each job");
  if (!arguments.starts.empty() && arguments.starts.size() != arguments.scenarios.size())
    wrong("--start", "has " + std::to_string(arguments.starts.size()) + " times", "one for each scenario");
  std::vector<Seconds> starts;
  for (const auto& text : arguments.starts) {
    const auto start = parse_seconds(text);
    if (const auto* error = std::get_if<QuantityError>(&start)) {
      wrong("--start", "'" + text + "' " + error->what, error->expected);
    } else if (std::get<Seconds>(start) > Seconds(1e6)) {
      wrong("--start", "'" + text + "' is too late", "at most 1000000 s");
    } else {
      starts.push_back(std::get<Seconds>(start));
    }
  }
  problems.throw_if_any();
  std::vector<jobs::Job> result;
  ProblemsOnce of_files;
  for (std::size_t i = 0; i < arguments.scenarios.size(); ++i) {
    of_files.take([&] {
      result.push_back({scenario::load_scenario(arguments.scenarios[i]), starts.empty() ? Seconds(0) : starts[i]});
    });
  }
  of_files.throw_if_any();
  return result;
}

std::vector<jobs::HostShares> shares_of(const std::vector<std::string>& names) {
  if (names.empty()) return {jobs::HostShares::as_given};
  std::vector<jobs::HostShares> shares;
  for (const auto& text : names) {
    if (text == "given") {
      shares.push_back(jobs::HostShares::as_given);
    } else if (text == "packed") {
      shares.push_back(jobs::HostShares::packed);
    } else if (text == "interleaved") {
      shares.push_back(jobs::HostShares::interleaved);
    } else if (text == "best") {
      shares.push_back(jobs::HostShares::best);
    } else {
      throw ConfigError(
          {{{"--hosts", 0, 0}, "", "'" + text + "' is no choice of hosts", "given, packed, interleaved or best"}});
    }
  }
  return shares;
}

void run_jobs(const JobsArguments& arguments, spdlog::logger& log) {
  output::check_folder_place(arguments.out);
  if (arguments.json != "-") output::check_file_place(arguments.json);
  jobs::JobOptions options;
  options.shares = shares_of(arguments.hosts);
  options.steps = arguments.steps;
  options.free = arguments.free;
  options.nodes = arguments.nodes;
  options.tries = arguments.tries;
  options.seed = arguments.seed;
  if (!options.free.empty() && std::count(options.shares.begin(), options.shares.end(), jobs::HostShares::best) == 0)
    throw ConfigError(
        {{{"--free", 0, 0}, "", "only the best hosts are chosen among more than the jobs have", "--hosts best"}});
  options.progress = progress_line();
  const auto runs = study_jobs(jobs_of(arguments), options, log);
  const auto json = output::jobs_json(runs);
  output::Answer answer;
  std::string left_out;
  if (!arguments.out.empty()) {
    output::NewFiles files(arguments.out);
    files.write(std::filesystem::path(arguments.out) / "jobs.json", json);
    files.write(std::filesystem::path(arguments.out) / "jobs.svg", output::jobs_picture(runs));
    left_out = report::write_report(files, arguments.out, report::jobs_report(runs));
    answer.finish(files, arguments.out);
  }
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(output::jobs_text(runs) + left_out);
}

}  // namespace

void add_jobs(CommandLine& line, spdlog::logger& log) {
  auto command = line.command("jobs", "several jobs on one network at once, and how much they slow each other down");
  auto arguments = std::make_shared<JobsArguments>();
  command
      .option("scenarios", arguments->scenarios,
              "scenario files (YAML), one for each job, on one cluster.graph or fabric")
      .required();
  command
      .option("--start", arguments->starts,
              "when each job begins, in their order, such as 150ms (default: all at once)")
      .repeatable();
  command
      .option("--hosts", arguments->hosts,
              "which of the jobs' hosts each has: given, packed, interleaved or best (default: given)")
      .repeatable();
  command
      .option("--nodes", arguments->nodes,
              "nodes of a generated fabric, host0 and so on (default: as many as the jobs have together)")
      .between(1, 1000000);
  command
      .option("--free", arguments->free,
              "hosts of the network that --hosts best may give besides those of the jobs, such as gpu[09-16]")
      .repeatable();
  command.option("--tries", arguments->tries, "choices of hosts that --hosts best tries at most")
      .between(1, 100000)
      .shows_default();
  command.option("--seed", arguments->seed, "of the order in which --hosts best tries them").shows_default();
  command
      .option("--steps", arguments->steps,
              "steps of the job with the longest ones that are simulated while all jobs run")
      .between(1, 1000)
      .shows_default();
  command.option("--out", arguments->out, "folder for report.html, jobs.json and jobs.svg");
  add_json_option(command, arguments->json);
  command.footer(
      "Example (both files: docs/howto/share_a_network.md):\n  lockstep jobs dense.yaml experts.yaml --hosts given "
      "--hosts "
      "best");
  command.callback([arguments, &log] { run_jobs(*arguments, log); });
}

}  // namespace lockstep::commands
