#include "tools/output/studies/jobs_text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "topologies/graph/host_list.hpp"

namespace lockstep::output {
namespace {

constexpr std::size_t links_shown = 5;

std::string heading(const jobs::SharedRun& run) { return "hosts " + std::string(name(run.shares)); }

std::string table_of_jobs(const jobs::SharedRun& run) {
  Table table({"job", "hosts", "chips", "step alone", "step together", "longest", "slower by", "steps"});
  for (const auto& job : run.jobs) {
    table.add({job.name, std::to_string(job.hosts), with_separators(static_cast<double>(job.chips)), format(job.alone),
               format(job.mean()), format(*std::max_element(job.steps.begin(), job.steps.end())),
               slowdown_text(job.slowdown()), std::to_string(job.steps.size())});
  }
  return table.to_string();
}

std::string table_of_links(const jobs::SharedRun& run) {
  if (run.links.empty()) return "no link between switches carries more than one job\n";
  std::vector<std::string> header{"link of several jobs", "rate", "used"};
  for (const auto& job : run.jobs) header.push_back("by " + job.name);
  Table table(header);
  table.fold(40, 24);
  for (std::size_t i = 0; i < std::min(links_shown, run.links.size()); ++i) {
    const auto& link = run.links[i];
    std::vector<std::string> row{name_of(link), format(link.bandwidth), percent(link.used())};
    for (const double used : link.used_by_job) row.push_back(percent(used));
    table.add(row);
  }
  auto text = table.to_string();
  if (run.links.size() > links_shown)
    text += "and " + std::to_string(run.links.size() - links_shown) + " more kinds of links, used less\n";
  return text;
}

std::string search_text(const jobs::SharedRun& run) {
  if (!run.search) return "";
  const auto& search = *run.search;
  Table table({"job", "on hosts", "alone on its best hosts", "slower by"});
  table.align_left(1);
  table.fold(40, 24);
  double worst = 0;
  for (std::size_t job = 0; job < run.jobs.size(); ++job) {
    worst = std::max(worst, run.beyond_best_alone(job));
    table.add({run.jobs[job].name, topologies::fold_names(run.jobs[job].host_names), format(search.alone[job]),
               slowdown_text(run.beyond_best_alone(job))});
  }
  std::string text = "\n" + table.to_string() + std::to_string(search.tried) + " choices of " +
                     std::to_string(search.hosts) + " hosts tried, seed " + std::to_string(search.seed);
  if (search.ruled_out > 0)
    text += "; " + std::to_string(search.ruled_out) + " of them ruled out by the step of one job alone";
  if (search.impossible > 0) text += "; on " + std::to_string(search.impossible) + " a job cannot run";
  if (worst <= 1e-9) return text + "\nno choice is better: no job is faster than alone on its best hosts\n";
  return text + "\na bound: no job is faster than alone on its best hosts, and the slowest takes " + percent(worst) +
         " longer here\n";
}

std::string table_of_choices(const std::vector<jobs::SharedRun>& runs) {
  std::vector<std::string> header{"hosts"};
  for (const auto& job : runs.front().jobs) header.push_back(job.name);
  Table table(header);
  for (const auto& run : runs) {
    std::vector<std::string> row{std::string(name(run.shares))};
    for (const auto& job : run.jobs) row.push_back(format(job.mean()) + ", " + slowdown_text(job.slowdown()));
    table.add(row);
  }
  const auto shortest = std::min_element(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
    return a.sum_of_relative_steps(runs.front()) < b.sum_of_relative_steps(runs.front());
  });
  return "mean step together, and how much longer than alone on the same hosts\n" + table.to_string() +
         "shortest steps, all jobs together: hosts " + std::string(name(shortest->shares)) + "\n";
}

nlohmann::ordered_json search_json(const jobs::SharedRun& run) {
  using Json = nlohmann::ordered_json;
  if (!run.search) return {};
  const auto& search = *run.search;
  Json alone = Json::array(), slowdowns = Json::array();
  for (std::size_t job = 0; job < run.jobs.size(); ++job) {
    alone.push_back(search.alone[job].value());
    slowdowns.push_back(run.beyond_best_alone(job));
  }
  return {{"hosts", search.hosts},           {"seed", search.seed},
          {"tried", search.tried},           {"ruled_out", search.ruled_out},
          {"impossible", search.impossible}, {"all_tried", search.all_tried},
          {"step_times_alone_s", alone},     {"slowdowns", slowdowns}};
}

}  // namespace

std::string slowdown_text(double slowdown) { return percent(std::abs(slowdown) < 5e-4 ? 0 : slowdown); }

std::string name_of(const jobs::SharedLink& link) {
  return link.name + (link.alike > 1 ? " and " + std::to_string(link.alike - 1) + " alike" : "");
}

std::string jobs_text(const std::vector<jobs::SharedRun>& runs) {
  std::string text;
  for (const auto& run : runs) {
    text += heading(run) + ", all jobs from " + format(run.from) + " to " + format(run.to) + "\n" + table_of_jobs(run) +
            "\n" + table_of_links(run) + search_text(run) + "\n";
  }
  if (runs.size() > 1) return text + table_of_choices(runs);
  text.pop_back();
  return text;
}

std::string jobs_json(const std::vector<jobs::SharedRun>& runs) {
  using Json = nlohmann::ordered_json;
  Json choices = Json::array();
  for (const auto& run : runs) {
    Json jobs = Json::array(), links = Json::array();
    for (const auto& job : run.jobs) {
      Json steps = Json::array();
      for (const auto step : job.steps) steps.push_back(step.value());
      jobs.push_back({{"scenario", job.name},
                      {"hosts", job.hosts},
                      {"host_names", job.host_names},
                      {"chips", job.chips},
                      {"step_time_alone_s", job.alone.value()},
                      {"step_time_s", job.mean().value()},
                      {"slowdown", job.slowdown()},
                      {"steps_s", steps}});
    }
    for (const auto& link : run.links) {
      links.push_back({{"link", link.name},
                       {"alike", link.alike},
                       {"bandwidth_bytes_per_s", link.bandwidth.value()},
                       {"used", link.used()},
                       {"used_by_job", link.used_by_job}});
    }
    choices.push_back({{"hosts", name(run.shares)},
                       {"from_s", run.from.value()},
                       {"to_s", run.to.value()},
                       {"jobs", jobs},
                       {"shared_links", links},
                       {"search", search_json(run)}});
  }
  return json_document(Json{{"runs", choices}});
}

}  // namespace lockstep::output
