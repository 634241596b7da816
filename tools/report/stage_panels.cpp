#include "tools/report/stage_panels.hpp"

#include <algorithm>
#include <array>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/expected_bubble.hpp"
#include "tools/report/panels.hpp"
#include "tools/trace/lanes.hpp"

namespace lockstep::report {
namespace {

using Json = ReportData::Json;

std::string row_name(const Simulation& simulation, const metrics::StageMetrics& stage) {
  if (simulation.metrics.stages.size() > 1) return "stage " + std::to_string(stage.stage);
  return "rank " + std::to_string(simulation.ranks.representative[stage.rank]);
}

std::vector<BarPiece> breakdown_pieces(const metrics::Breakdown& parts,
                                       const std::vector<metrics::CommunicationUse>& uses) {
  std::vector<BarPiece> pieces = {{"computing", parts.compute.value(), "computing"}};
  for (const auto& use : uses) {
    const auto what = "exposed " + use.axis;
    const auto known =
        std::find_if(pieces.begin(), pieces.end(), [&](const BarPiece& piece) { return piece.what == what; });
    if (known == pieces.end()) {
      pieces.push_back({what, use.exposed.value(), use.axis});
    } else {
      known->value += use.exposed.value();
    }
  }
  pieces.push_back({"idle", parts.bubble.value(), "idle"});
  return pieces;
}

/// The highest point of each of `bins` equal parts of the step, so that no peak is lost.
std::vector<metrics::MemoryPoint> highest_points(const std::vector<metrics::MemoryPoint>& curve, Seconds end,
                                                 int bins) {
  std::vector<metrics::MemoryPoint> points;
  int last = -1;
  for (const auto& point : curve) {
    const int bin = std::min(static_cast<int>(point.time / end * bins), bins - 1);
    if (bin != last || points.empty()) {
      points.push_back(point);
    } else if (point.total() > points.back().total()) {
      points.back() = point;
    }
    last = bin;
  }
  return points;
}

}  // namespace

Json breakdown_panel(const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  std::vector<BarRow> rows;
  for (const auto& stage : metrics.stages) {
    rows.push_back({row_name(simulation, stage), breakdown_pieces(stage.breakdown, stage.communication)});
  }
  return bars_panel("Where the step goes", "Exposed: communicating while computing nothing. Idle: neither.", "s", rows);
}

Json communication_panel(const Simulation& simulation) {
  std::vector<BarRow> rows;
  for (const auto& use : simulation.metrics.communication) {
    const auto name = use.axis + (use.kind ? " " + std::string(lockstep::workloads::name(*use.kind)) : "") + " × " +
                      output::with_separators(static_cast<double>(use.count));
    rows.push_back(
        {name, {{"exposed", use.exposed.value(), use.axis}, {"hidden", (use.busy - use.exposed).value(), "hidden"}}});
  }
  return bars_panel(
      "Communication of rank " + std::to_string(simulation.rank),
      "Busy time by mesh axis and kind; hidden: it computes meanwhile, or another collective started first.", "s",
      rows);
}

Json bubbles_panel(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  std::vector<BarRow> rows;
  for (const auto& stage : metrics.stages) {
    const auto& idle = stage.idle;
    rows.push_back({row_name(simulation, stage),
                    {{"fill", idle.fill.value(), "fill"},
                     {"drain", idle.drain.value(), "drain"},
                     {"dependency", idle.dependency.value(), "dependency"},
                     {"imbalance", idle.imbalance.value(), "imbalance"},
                     {"transfer", idle.transfer.value(), "transfer"},
                     {"collective", idle.collective.value(), "collective"}}});
  }
  std::string note =
      "Worst stage: " + output::percent(metrics.bubble_fraction_step()) + " of the step (fill to drain), " +
      output::percent(metrics.bubble_fraction_span()) +
      " of the step between its first and last pass; waiting for collectives of other axes is counted in neither.";
  if (const auto expected = output::expected_bubble(scenario, simulation)) {
    note += " Closed form: " + expected->form.expression + " = " + format(Seconds(expected->form.value)) +
            (expected->form.of == workloads::ClosedForm::Of::span ? " within the span" : "") +
            (expected->form.applies ? "." : " with mean times; exact only where " + expected->form.conditions + ".");
  }
  return bars_panel("Why stages do not compute", note, "s", rows);
}

Json memory_panel(const Simulation& simulation, ReportData& data) {
  constexpr std::size_t most = 16;
  constexpr int bins = 400;
  // Memory that is held throughout is at the bottom.
  constexpr std::array stacked{workloads::MemoryKind::overhead,    workloads::MemoryKind::weights,
                               workloads::MemoryKind::optimizer,   workloads::MemoryKind::gradients,
                               workloads::MemoryKind::activations, workloads::MemoryKind::gathered,
                               workloads::MemoryKind::buffers,     workloads::MemoryKind::workspace};
  const auto& metrics = simulation.metrics;
  Json rows = Json::array();
  const auto count = std::min(metrics.stages.size(), most);
  metrics::StepMemory memory(simulation.preparation.step, simulation.program, simulation.run.timeline);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& stage = metrics.stages[i];
    const auto points = highest_points(memory.curve(stage.rank), simulation.run.timeline.makespan(), bins);
    const auto column = [&](auto value_of) {
      std::vector<std::uint64_t> values;
      for (const auto& point : points) values.push_back(static_cast<std::uint64_t>(value_of(point)));
      return data.whole(values);
    };
    Json kinds;
    for (const auto kind : stacked)
      kinds[std::string(lockstep::workloads::name(kind))] =
          column([kind](const metrics::MemoryPoint& point) { return point.of(kind).value(); });
    rows.push_back({{"name", row_name(simulation, stage)},
                    {"peak", stage.memory.peak.value()},
                    {"time", column([](const metrics::MemoryPoint& point) { return trace::nanoseconds(point.time); })},
                    {"kinds", std::move(kinds)}});
  }
  return {{"panel", "strips"},
          {"title", "Memory of one chip over the step"},
          {"wide", true},
          {"note",
           "Gathered: weights for a pass; buffers: copies that collectives send from; workspace: of an operation while "
           "it runs." +
               std::string(count < metrics.stages.size() ? " The first " + std::to_string(count) + " stages." : "")},
          {"end_ns", trace::nanoseconds(simulation.run.timeline.makespan())},
          {"capacity", metrics.memory.capacity.value()},
          {"rows", std::move(rows)}};
}

Json critical_path_panel(const Simulation& simulation) {
  constexpr std::size_t most = 12;
  const auto& path = simulation.metrics.critical_path;
  std::vector<BarRow> rows;
  Seconds rest(0);
  for (const auto& part : path.parts) {
    if (part.time <= Seconds(0)) continue;
    const auto kind = std::string(lockstep::metrics::name(part.kind));
    if (rows.size() < most) {
      rows.push_back({kind + ": " + part.what + " × " + output::with_separators(static_cast<double>(part.spans)),
                      {{kind, part.time.value(), kind}}});
    } else {
      rest += part.time;
    }
  }
  if (rest > Seconds(0)) rows.push_back({"all others", {{"others", rest.value(), "idle"}}});
  auto panel = bars_panel("Critical path",
                          "The chain of operations that sets the step time; each started when the one before it ended.",
                          "s", rows);
  panel["wide"] = true;  // its names are long
  return panel;
}

Json sensitivity_panel(const Simulation& simulation) {
  std::vector<BarRow> rows;
  for (const auto& one : simulation.elasticity) {
    rows.push_back(
        {(one.is_rate ? "more " : "less ") + one.parameter, {{"shorter", std::max(one.gain(), 0.0), "computing"}}});
  }
  return bars_panel("What would help",
                    "Percent by which the step gets shorter for a percent of improvement, by simulating it again.", "%",
                    rows);
}

}  // namespace lockstep::report
