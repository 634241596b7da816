#include "tools/report/jobs_report.hpp"

#include <algorithm>

#include "tools/output/elements/table.hpp"
#include "tools/output/studies/jobs_text.hpp"
#include "tools/report/page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr std::size_t links_shown = 200;

Json headline(const std::vector<jobs::SharedRun>& runs) {
  const jobs::SharedJob* worst = nullptr;
  const jobs::SharedRun* where = nullptr;
  for (const auto& run : runs) {
    for (const auto& job : run.jobs) {
      if (worst == nullptr || job.slowdown() > worst->slowdown()) worst = &job, where = &run;
    }
  }
  std::vector<Figure> figures;
  for (const auto& job : where->jobs)
    figures.push_back({job.name, job.mean().value(), "s", output::percent(job.slowdown()) + " longer than alone",
                       job.slowdown() > 0.02 ? "bad" : "good"});
  return figures_panel("Most slowed down: " + worst->name + ", by " + output::percent(worst->slowdown()) + ", hosts " +
                           std::string(name(where->shares)),
                       {}, figures);
}

Json steps(const std::vector<jobs::SharedRun>& runs) {
  std::vector<BarRow> rows;
  for (const auto& run : runs) {
    for (const auto& job : run.jobs) {
      const auto longer = std::max(job.mean() - job.alone, Seconds(0));
      rows.push_back(
          {job.name + ", " + std::string(name(run.shares)),
           {{"alone", (job.mean() - longer).value(), "compute"}, {"slowed down by others", longer.value(), "bubble"}}});
    }
  }
  return bars_panel("Mean steps", "While all jobs run; alone on the same hosts, and what the other jobs add.", "s",
                    rows);
}

Json steps_over_time(const jobs::SharedRun& run, ReportData& data) {
  Chart chart{"Steps one after another, hosts " + std::string(name(run.shares)),
              "Those that begin and end while all jobs run. Steps of different jobs fall on each other anew each time.",
              {"step", "", ChartAxis::Scale::linear},
              {"time", "s", ChartAxis::Scale::from_zero},
              {}};
  for (const auto& job : run.jobs) {
    ChartLine line{job.name, {}, ChartLine::Mark::line_with_dots};
    for (std::size_t i = 0; i < job.steps.size(); ++i)
      line.points.emplace_back(static_cast<double>(i + 1), job.steps[i].value());
    chart.lines.push_back(std::move(line));
  }
  return chart_panel(chart, data);
}

Json links(const jobs::SharedRun& run) {
  std::vector<TableColumn> columns{{"link", ""}, {"rate", "B/s"}, {"used", "share"}};
  for (const auto& job : run.jobs) columns.push_back({"by " + job.name, "share"});
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(links_shown, run.links.size()); ++i) {
    const auto& link = run.links[i];
    Json row{output::name_of(link), link.bandwidth.value(), link.used()};
    for (const double used : link.used_by_job) row.push_back(used);
    rows.push_back(std::move(row));
  }
  auto panel =
      table_panel("Links of several jobs, hosts " + std::string(name(run.shares)),
                  "Shares of the bytes that a link could have carried while all jobs ran, the most used first.",
                  columns, std::move(rows));
  panel["wide"] = true;
  return panel;
}

}  // namespace

std::optional<std::string> jobs_report(const std::vector<jobs::SharedRun>& runs) {
  std::string names;
  for (const auto& job : runs.front().jobs) names += (names.empty() ? "" : ", ") + job.name;
  ReportPage page("Jobs on one network", names);
  page.add(headline(runs));
  page.add(steps(runs));
  for (const auto& run : runs) {
    page.add(steps_over_time(run, page.data()));
    if (!run.links.empty()) page.add(links(run));
  }
  return page.html();
}

}  // namespace lockstep::report
