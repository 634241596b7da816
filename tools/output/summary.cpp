#include "tools/output/summary.hpp"

#include <algorithm>
#include <map>

#include "sim/core/quantity_text.hpp"
#include "tools/output/table.hpp"

namespace lockstep {
namespace {

std::string shape_text(const Cluster& cluster) {
  std::string text;
  for (const auto& axis : cluster.axes()) text += (text.empty() ? "" : "x") + std::to_string(axis.size);
  return text;
}

std::string mesh_text(const Mesh& mesh) {
  std::string text;
  for (const auto& axis : mesh.axes()) {
    std::string shapes;
    for (const auto& dimension : mesh.dimensions({axis.name})) shapes += (shapes.empty() ? "" : ", ") + dimension.label;
    text += "  " + axis.name + " " + std::to_string(axis.size()) + ": " + (shapes.empty() ? "one rank" : shapes) + "\n";
  }
  return text;
}

/// One line that says what limits the step: the roofline's view (busy time of each mesh axis against compute),
/// then what of the communication could not hide.
std::string bound(const Metrics& metrics) {
  const auto& parts = metrics.breakdown;
  std::map<std::string, Seconds> busy;  // by mesh axes
  const CommunicationUse* most_exposed = nullptr;
  for (const auto& use : metrics.communication) {
    busy[use.axis] += use.busy;
    if (most_exposed == nullptr || use.exposed > most_exposed->exposed) most_exposed = &use;
  }
  const auto busiest = std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text;
  if (parts.bubble > parts.compute && parts.bubble > parts.exposed_comm) {
    text = "bound by bubbles";
  } else if (busiest != busy.end() && busiest->second > parts.compute) {
    text = "communication-bound: axis " + busiest->first + " communicates for " + format(busiest->second) + ", compute takes " + format(parts.compute);
  } else {
    text = "compute-bound: no axis communicates for longer than the " + format(parts.compute) + " of compute";
  }
  const double exposed = parts.exposed_comm / metrics.step_time;
  if (exposed > 0.01) {
    text += "; " + percent(exposed) + " of the step is exposed communication, most of it " + most_exposed->axis + " " + std::string(name(most_exposed->kind));
  }
  return text;
}

std::string memory_text(const MemoryUse& memory) {
  std::string text = "memory of one chip: peak " + format(memory.peak) + " of " + format(memory.capacity) +
                     (memory.fits ? " (fits)\n" : "  DOES NOT FIT\n");
  text += "  weights " + format(memory.weights) + ", optimizer " + format(memory.optimizer) + " (together " +
          format(memory.weights + memory.optimizer) + "), gradients " + format(memory.gradients) + ", activations " +
          format(memory.activations) + ", gathered and in flight " + format(memory.other) + "\n";
  if (memory.weight_padding.value() > 0) {
    text += "  of the weights " + format(memory.weight_padding) + " are padding of shards that the mesh does not divide\n";
  }
  return text;
}

}  // namespace

std::string summary(const Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const auto& cluster = *simulation.preparation.cluster;
  const double chips = static_cast<double>(metrics.chips);
  std::string text = scenario.name + ": " + scenario.model.name + ", " + fixed(static_cast<double>(metrics.parameters) / 1e9, 2) +
                     "e9 parameters, on " + with_separators(chips) + " " + cluster.chip().name + " (" + shape_text(cluster) + "), " +
                     with_separators(static_cast<double>(metrics.tokens)) + " tokens a step, " + std::string(name(scenario.time_model)) + " rates\n";
  text += mesh_text(*simulation.preparation.mesh) + "\n";
  text += "step time " + format(metrics.step_time) + "   MFU " + percent(metrics.mfu()) + "   " +
          with_separators(metrics.tokens_per_second()) + " tokens/s   " +
          fixed(metrics.model_flops.value() / metrics.step_time.value() / chips / 1e12, 1) + " TFLOP/s a chip\n";
  text += bound(metrics) + "\n\n";

  const auto critical = static_cast<std::size_t>(metrics.critical_rank);
  const auto like_it = simulation.ranks.size[critical];
  Table parts({"rank " + std::to_string(simulation.rank) + (like_it > 1 ? " (and " + with_separators(like_it - 1) + " like it)" : "") + " spends", "time", "share"});
  auto part = [&](const char* title, Seconds time) { parts.add({title, format(time), percent(time / metrics.step_time)}); };
  part("computing", metrics.breakdown.compute);
  part("in exposed communication", metrics.breakdown.exposed_comm);
  part("idle (bubble)", metrics.breakdown.bubble);
  text += parts.to_string() + "\n";

  if (!metrics.communication.empty()) {
    Table uses({"communication", "count", "bytes (full)", "busy", "exposed"});
    for (const auto& use : metrics.communication) {
      uses.add({use.axis + " " + std::string(name(use.kind)), std::to_string(use.count), format(use.full_size), format(use.busy), format(use.exposed)});
    }
    text += uses.to_string() + "\n";
  }
  return text + memory_text(metrics.memory) + "simulated " + with_separators(chips) + " ranks as " + with_separators(simulation.ranks.count()) + (simulation.ranks.count() == 1 ? " class, " : " classes, ") +
         with_separators(simulation.links) + " links as " + with_separators(simulation.link_classes) + "\n";
}

}  // namespace lockstep
