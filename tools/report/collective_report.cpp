#include "tools/report/collective_report.hpp"

#include <algorithm>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/link_load_text.hpp"
#include "tools/output/studies/designed_text.hpp"
#include "tools/report/design_page.hpp"
#include "tools/report/panels.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;
using studies::MeasuredCollective;

constexpr std::size_t most_links = 20;

std::optional<Seconds> bound_of(const TimedCollective& timed, const studies::CollectiveStudy& study, Bytes size) {
  if (!study.bound) return std::nullopt;
  return study.bound->time(collectives::full_size_of(timed.kind, size, timed.group));
}

double bus_bandwidth(const TimedCollective& timed, Bytes size, Seconds time) {
  return (size / time * collectives::bus_factor(timed.kind, timed.group)).value();
}

std::vector<Figure> figures_of(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  const auto& first = study.chosen.front();
  const auto& last = study.chosen.back();
  std::vector<Figure> figures = {
      {"bus bandwidth", bus_bandwidth(timed, last.size, last.time), "B/s", "of " + format(last.size), ""},
      {"longest time", last.time.value(), "s", "of " + format(last.size), ""},
      {"shortest time", first.time.value(), "s", "of " + format(first.size), ""}};
  if (const auto bound = bound_of(timed, study, last.size))
    figures.push_back({"of the bound", *bound / last.time, "share", "of " + format(last.size), ""});
  return figures;
}

Json headline(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  const auto& last = study.chosen.back();
  std::vector<std::string> remarks{"bottleneck of " + format(last.size) + ": " + bottleneck(timed.cluster, last)};
  if (study.bound) remarks.push_back("bound, whatever the algorithm: " + study.bound->links);
  return figures_panel(last.algorithm + " takes " + format(last.time) + " for " + format(last.size), remarks,
                       figures_of(timed, study));
}

/// "ring" of "ring (LL128)": an algorithm takes the protocol that is fastest at a size.
std::string without_protocol(const std::string& algorithm) {
  return algorithm.ends_with(')') ? algorithm.substr(0, algorithm.rfind(" (")) : algorithm;
}

/// A line for each algorithm, in the order of their first rows. Those that were chosen come first.
std::vector<ChartLine> lines_of(const studies::CollectiveStudy& study,
                                const std::function<double(const MeasuredCollective&)>& value) {
  std::vector<ChartLine> lines;
  const auto add = [&](const MeasuredCollective& row, bool chosen) {
    const auto name = without_protocol(row.algorithm);
    auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.name == name; });
    if (line == lines.end()) line = lines.insert(line, {name, {}, ChartLine::Mark::line_with_dots, {}});
    line->points.emplace_back(static_cast<double>(row.size.value()), value(row));
    line->notes.push_back(row.algorithm + (chosen ? ", taken at this size" : ""));
  };
  for (const auto& row : study.chosen) add(row, true);
  for (const auto& row : study.others) add(row, false);
  for (auto& line : lines) {  // by size, with their notes
    std::vector<std::pair<std::pair<double, double>, std::string>> points;
    for (std::size_t i = 0; i < line.points.size(); ++i) points.emplace_back(line.points[i], line.notes[i]);
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& a, const auto& b) { return a.first.first < b.first.first; });
    for (std::size_t i = 0; i < points.size(); ++i) std::tie(line.points[i], line.notes[i]) = points[i];
  }
  return lines;
}

Json time_chart(const TimedCollective& timed, const studies::CollectiveStudy& study, ReportData& data) {
  auto lines = lines_of(study, [](const auto& row) { return row.time.value(); });
  if (study.bound) {
    ChartLine bound{"bound, whatever the algorithm", {}, ChartLine::Mark::dashed, {}};
    for (const auto& row : study.chosen)
      bound.points.emplace_back(static_cast<double>(row.size.value()), bound_of(timed, study, row.size)->value());
    lines.push_back(std::move(bound));
  }
  return chart_panel({"Time", "", {"size", "B"}, {"time", "s"}, std::move(lines)}, data);
}

Json bandwidth_chart(const TimedCollective& timed, const studies::CollectiveStudy& study, ReportData& data) {
  auto lines = lines_of(study, [&](const auto& row) { return bus_bandwidth(timed, row.size, row.time); });
  return chart_panel({"Bus bandwidth",
                      "As nccl-tests define it: what each rank's link carries if the algorithm wastes nothing.",
                      {"size", "B"},
                      {"busbw", "B/s"},
                      std::move(lines)},
                     data);
}

/// Links that read the same share a row.
Json links_panel(const TimedCollective& timed, const MeasuredCollective& row) {
  struct Links {
    std::string read;
    const metrics::LinkLoad* load;
    std::int64_t alike;
  };
  std::vector<Links> different;
  for (const auto& load : row.loads) {
    const auto read = output::link_kind_name(timed.cluster.link(load.link).kind) + format(load.bandwidth) +
                      format(Bytes(static_cast<std::int64_t>(load.bytes))) + output::percent(load.busy) +
                      output::percent(load.used) + output::percent(load.peak);
    const auto known =
        std::find_if(different.begin(), different.end(), [&](const auto& links) { return links.read == read; });
    if (known != different.end()) {
      known->alike += load.alike;
    } else if (different.size() < most_links) {
      different.push_back({read, &load, load.alike});
    }
  }
  Json rows = Json::array();
  for (const auto& [read, load, alike] : different)
    rows.push_back({timed.cluster.link_name(load->link), alike,
                    output::link_kind_name(timed.cluster.link(load->link).kind), load->bandwidth.value(), load->bytes,
                    load->busy, load->used, load->peak});
  auto panel = table_panel("Busiest links", "Over the " + format(row.size) + " of " + row.algorithm + ".",
                           {{"link", ""},
                            {"alike", "count"},
                            {"kind", ""},
                            {"bandwidth", "B/s"},
                            {"carries", "B"},
                            {"busy", "share"},
                            {"used", "share"},
                            {"peak", "share"}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

Json sizes_panel(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  Json rows = Json::array();
  for (const auto& row : study.chosen) {
    const auto bound = bound_of(timed, study, row.size);
    rows.push_back({static_cast<double>(row.size.value()), row.time.value(), bound ? Json(bound->value()) : Json(),
                    (row.size / row.time).value(), bus_bandwidth(timed, row.size, row.time), row.algorithm,
                    bottleneck(timed.cluster, row)});
  }
  auto panel = table_panel("Sizes", "",
                           {{"size", "B"},
                            {"time", "s"},
                            {"bound", "s"},
                            {"algbw", "B/s"},
                            {"busbw", "B/s"},
                            {"algorithm", ""},
                            {"bottleneck link", ""}},
                           std::move(rows));
  panel["wide"] = true;
  return panel;
}

/// The figures of a designed collective at the largest size.
std::vector<Figure> design_figures(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  const auto& own = study.chosen.back();
  const auto of_size = "of " + format(own.size);
  std::vector<Figure> figures = {{"time", own.time.value(), "s", of_size, ""}};
  if (const auto bound = bound_of(timed, study, own.size)) {
    figures.push_back({"bound", bound->value(), "s", "whatever the algorithm", ""});
    figures.push_back({"over the bound", own.time / *bound - 1, "share", "", ""});
  }
  if (const auto* other = output::best_other(study))
    figures.push_back({"best built-in", other->time.value(), "s", other->algorithm, ""});
  figures.push_back({"bus bandwidth", bus_bandwidth(timed, own.size, own.time), "B/s", of_size, ""});
  return figures;
}

/// What every algorithm takes for the largest size, beside the bound.
Json algorithms_panel(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  Json rows = Json::array();
  const auto size = study.chosen.back().size;
  const auto bound = bound_of(timed, study, size);
  for (const auto* list : {&study.chosen, &study.others}) {
    for (const auto& row : *list) {
      if (row.size != size) continue;
      std::int64_t links = 0;
      for (const auto& load : row.loads) links += load.alike;
      rows.push_back({row.algorithm, row.time.value(), bound ? Json(row.time / *bound - 1) : Json(), links,
                      bottleneck(timed.cluster, row)});
    }
  }
  auto panel = table_panel(
      "Beside every algorithm that can serve",
      "Of " + format(size) + "." + (study.bound ? " The bound is that of " + study.bound->links + "." : ""),
      {{"algorithm", ""}, {"time", "s"}, {"over the bound", "share"}, {"links used", "count"}, {"bottleneck link", ""}},
      std::move(rows));
  panel["wide"] = true;
  return panel;
}

/// With its first panels.
ReportPage page_of(const TimedCollective& timed, const studies::CollectiveStudy& study) {
  const std::string subtitle =
      "groups of " + output::with_separators(timed.group) +
      (timed.groups > 1 ? ", all " + output::with_separators(static_cast<double>(timed.groups)) + " at once" : "");
  const auto title = std::string(name(timed.kind)) + " on " + timed.cluster_name;
  if (study.designed) {
    const output::DesignedOn on{timed.cluster, timed.kind, timed.group};
    auto page = design_page("Designed " + title, subtitle, designed_reasons(on, study), design_figures(timed, study));
    page.add(picture_panel("Busy links", "", designed_picture(on, study)));
    page.add(algorithms_panel(timed, study));
    return page;
  }
  ReportPage page(title, subtitle);
  page.add(headline(timed, study));
  return page;
}

}  // namespace

std::optional<std::string> collective_report(const TimedCollective& timed, const studies::CollectiveStudy& study,
                                             const Reproduction& again) {
  auto page = page_of(timed, study);
  if (!study.designed || study.chosen.size() > 1) {  // one size is in the table beside every algorithm
    page.add(time_chart(timed, study, page.data()));
    page.add(bandwidth_chart(timed, study, page.data()));
  }
  page.add(links_panel(timed, study.chosen.back()));
  page.add(sizes_panel(timed, study));
  page.add(again_panel(again));
  return page.html();
}

}  // namespace lockstep::report
