#include "tools/report/cluster_panels.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/metrics/link_loads.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/link_load_text.hpp"
#include "tools/report/panels.hpp"
#include "tools/trace/lanes.hpp"
#include "tools/trace/shown_ranks.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

constexpr std::size_t most_links = 12;
constexpr int bins = 240;
constexpr double worth_showing = 0.01;  // of the bandwidth

}  // namespace

std::optional<Json> network_panel(const Simulation& simulation, ReportData& data) {
  const auto& cluster = *simulation.preparation.machine.cluster;
  const timeline::Interval step{Seconds(0), simulation.run.timeline.makespan()};
  const auto loads = metrics::link_loads(simulation.program, simulation.run.phases, simulation.link_members, step,
                                         simulation.run.timeline.repetition());
  if (loads.empty() || loads.front().used < worth_showing) return std::nullopt;
  const auto over_time = metrics::link_use_over_time(simulation.program, simulation.run.phases, simulation.link_members,
                                                     step, bins, simulation.run.timeline.repetition());
  struct Row {
    const metrics::LinkLoad* load;
    std::int64_t alike;
    const std::vector<double>* used;
  };
  std::vector<Row> rows;  // rails and directions are classes of their own, but look the same
  for (const auto& load : loads) {
    const auto& used = over_time.at(load.link);
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.load->bandwidth == load.bandwidth && *row.used == used;
    });
    if (known != rows.end()) {
      known->alike += load.alike;
    } else if (rows.size() < most_links) {
      rows.push_back({&load, load.alike, &used});
    }
  }
  Json list = Json::array();
  for (const auto& row : rows) {
    const auto& load = *row.load;
    list.push_back({{"name", cluster.link_name(load.link)},
                    {"alike", row.alike},
                    {"kind", output::link_kind_name(cluster.link(load.link).kind)},
                    {"bandwidth", load.bandwidth.value()},
                    {"bytes", load.bytes},
                    {"busy", load.busy},
                    {"used", load.used},
                    {"peak", load.peak},
                    {"over_time", data.real(*row.used)}});
  }
  const auto& first = *rows.front().load;
  return Json{
      {"panel", "network"},
      {"title", "Links"},
      {"wide", true},
      {"end_ns", trace::nanoseconds(simulation.run.timeline.makespan())},
      {"rows", std::move(list)},
      {"note", "Most used: " + cluster.link_name(first.link) +
                   (rows.front().alike > 1
                        ? " and " + output::with_separators(static_cast<double>(rows.front().alike - 1)) + " like it"
                        : "") +
                   ", " + output::percent(first.used) + " of what it could carry in the step, busy " +
                   output::percent(first.busy) + " of the time. Colour: share of the bandwidth in use."}};
}

Json classes_panel(const Simulation& simulation) {
  Json rows = Json::array();
  const auto shown = trace::distinct_ranks(simulation);
  constexpr std::size_t most = 100;
  for (const auto& rank : shown) {
    if (rows.size() == most) break;
    rows.push_back({simulation.program.stage_of_rank[rank.rank], rank.number, rank.alike});
  }
  const auto listed = rows.size();
  const auto chips = output::with_separators(static_cast<double>(simulation.metrics.chips));
  return table_panel(
      "Who stands behind each lane",
      chips + " ranks were simulated as " + output::with_separators(simulation.ranks.count()) +
          (simulation.ranks.count() == 1 ? " class, " : " classes, ") + output::with_separators(simulation.links) +
          " links as " + output::with_separators(simulation.link_classes) +
          "; this loses nothing (docs/models/folding.md). " +
          (shown.size() > listed ? "The first " + std::to_string(listed) + " of " +
                                       output::with_separators(static_cast<double>(shown.size())) + " different lanes."
                                 : "Ranks with equal lanes are shown once."),
      {{"stage", "count"}, {"lowest rank", "count"}, {"ranks", "count"}}, std::move(rows));
}

}  // namespace lockstep::report
