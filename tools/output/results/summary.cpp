#include "tools/output/results/summary.hpp"

#include <algorithm>
#include <map>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/chip_kinds.hpp"
#include "tools/output/results/critical_path_text.hpp"
#include "tools/output/results/error_band_text.hpp"
#include "tools/output/results/expected_bubble.hpp"
#include "tools/output/results/local_updates_text.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/results/scenario_notes.hpp"
#include "tools/output/results/step_distribution_text.hpp"

namespace lockstep::output {
namespace {

std::string shape_text(const topologies::Cluster& cluster) {
  std::string text;
  for (const auto& axis : cluster.axes()) text += (text.empty() ? "" : "x") + std::to_string(axis.size);
  return text;
}

std::string mesh_text(const topologies::Mesh& mesh) {
  std::string text;
  for (const auto& axis : mesh.axes()) {
    std::string shapes;
    for (const auto& shape : mesh.shapes(axis.name)) shapes += (shapes.empty() ? "" : ", ") + shape;
    text += "  " + axis.name + " " + std::to_string(axis.size()) + ": " + (shapes.empty() ? "one rank" : shapes) + "\n";
  }
  return text;
}

std::string what_communicates(const metrics::CommunicationUse& use) {
  return use.axis + (use.kind ? " " + std::string(name(*use.kind)) : std::string());
}

/// The place of the peak, then its parts that are not zero. A replay knows no weights, so it cannot say what fits.
std::string memory_text(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& memory = simulation.metrics.memory;
  if (scenario.replay)
    return "memory of one chip: not known, since replayed operations have no weights; what stages send each other "
           "takes " +
           format(memory.peak) + "\n";
  const auto& step = simulation.preparation.step;
  const auto block_name = [&](std::int32_t block) { return step.block_names[block]; };
  std::string text =
      std::string("memory of one chip") +
      (simulation.metrics.stages.size() > 1 ? " of stage " + std::to_string(memory.stage) + ", the fullest" : "") +
      ": peak " + format(memory.peak) + " of " + format(memory.capacity) +
      (studies::fit_of(memory.peak, memory.capacity) == studies::Fit::fits ? " " : "  ") +
      memory_verdict(memory.peak, memory.capacity);
  if (memory.peak_op >= 0) {
    const auto& op = step.op(memory.peak_op);
    text += "\n  reached after " + format(memory.peak_at) + " in the " + std::string(name(op.pass)) + " of " +
            block_name(op.block) + ", microbatch " + std::to_string(memory.peak_microbatch) + ": " + op->name;
  }
  Table parts({"at the peak", "size", "share"});
  for (const auto kind : workloads::all_memory_kinds) {
    const auto size = memory.of(kind);
    if (size.value() == 0 || kind == workloads::MemoryKind::host) continue;
    parts.add({std::string(name(kind)), format(size), percent(size / memory.peak)});
  }
  text += "\n" + parts.to_string("  ");
  if (!memory.activations_by_block.empty()) {
    const auto& blocks = memory.activations_by_block;
    const auto most =
        std::max_element(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
    text += "  activations lie in " + std::to_string(blocks.size()) + (blocks.size() == 1 ? " block" : " blocks") +
            ", the most in " + block_name(most->block) + ": " + format(most->size) + " of " +
            std::to_string(most->microbatches) + (most->microbatches == 1 ? " microbatch\n" : " microbatches\n");
  }
  if (memory.host.value() > 0) text += "  besides " + format(memory.host) + " in the host's memory\n";
  if (memory.weight_padding.value() > 0) {
    text +=
        "  of the weights " + format(memory.weight_padding) + " are padding of shards that the mesh does not divide\n";
  }
  return text;
}

/// Stages of a pipeline: who holds what and why it waits. Long lists show both ends and the worst.
std::string pipeline_text(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const auto& pipeline = simulation.preparation.pipeline;
  const auto& shape = pipeline.order.shape;
  if (shape.ranks == 1) return "";
  std::string text = "pipeline " + schedule_text(scenario, pipeline.order) + ": " + std::to_string(shape.ranks) +
                     " stages" + (shape.chunks > 1 ? " of " + std::to_string(shape.chunks) + " chunks" : "") + ", " +
                     std::to_string(shape.whole_microbatches()) + " microbatches" +
                     (shape.slices > 1 ? " of " + std::to_string(shape.slices) + " slices" : "") +
                     "; bubble of the worst stage " + percent(metrics.bubble_fraction_step()) + " of the step, " +
                     percent(metrics.bubble_fraction_span()) + " within its own span\n";
  if (const auto expected = expected_bubble(scenario, simulation)) {
    const auto& form = expected->form;
    double worst = 0;
    for (const auto& stage : metrics.stages) {
      worst = std::max(
          worst,
          (form.of == workloads::ClosedForm::Of::step ? stage.idle.step_bubble() : stage.idle.span_bubble()).value());
    }
    text += "  closed form " + form.expression + " = " + format(Seconds(form.value)) +
            (form.of == workloads::ClosedForm::Of::span ? " within the span" : "") + ", simulated " +
            format(Seconds(worst)) + "; F " + format(Seconds(expected->times.forward)) + ", I " +
            format(Seconds(expected->times.input_gradient)) + ", W " +
            format(Seconds(expected->times.weight_gradient)) +
            (form.applies ? "" : " (exact only where " + form.conditions + ")") + "\n";
  }
  Table table(
      {"stage", "blocks", "computing", "fill", "drain", "dependency", "imbalance", "transfer", "collective", "memory"});
  const auto count = metrics.stages.size();
  constexpr std::size_t ends = 8;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > 2 * ends + 2 && i >= ends && i + ends < count) {
      if (i == ends) table.add({"...", "", "", "", "", "", "", "", "", ""});
      continue;
    }
    const auto& stage = metrics.stages[i];
    int blocks = 0;
    for (const auto virtual_stage : shape.virtual_stages_of(stage.stage)) blocks += pipeline.blocks_of(virtual_stage);
    table.add({std::to_string(stage.stage), std::to_string(blocks), format(stage.breakdown.compute),
               format(stage.idle.fill), format(stage.idle.drain), format(stage.idle.dependency),
               format(stage.idle.imbalance), format(stage.idle.transfer), format(stage.idle.collective),
               format(stage.memory.peak)});
  }
  return text + table.to_string() + "\n";
}

/// What the critical path spends its time on.
struct OnPath {
  std::string name;
  Seconds time{0};
  std::string largest = {};  ///< its longest part, where the name does not tell it
};

/// The one with most of the path first. Without a path, of steps that were not explained, the critical rank's own time.
std::vector<OnPath> resources_on_path(const metrics::Metrics& metrics) {
  using Kind = metrics::CriticalPart::Kind;
  OnPath compute{"compute"}, communication{"communication"}, host{"the host"};
  for (const auto& part : metrics.critical_path.parts) {  // the longest first
    const bool computes = part.kind == Kind::compute || part.kind == Kind::update;
    OnPath& resource = computes ? compute : part.kind == Kind::offload ? host : communication;
    if (!computes && resource.largest.empty()) resource.largest = part.what;
    resource.time += part.time;
  }
  if (metrics.critical_path.parts.empty()) {
    compute.time = metrics.breakdown.compute;
    communication.time = metrics.breakdown.exposed_comm;
  }
  std::vector<OnPath> all{compute, communication, host};
  std::stable_sort(all.begin(), all.end(), [](const OnPath& a, const OnPath& b) { return a.time > b.time; });
  return all;
}

}  // namespace

std::string bound_text(const metrics::Metrics& metrics) {
  const auto on_path = resources_on_path(metrics);
  const auto& most = on_path.front();
  std::string text = most.name + " sets the step: " + percent(most.time / metrics.step_time) + " of its critical path" +
                     (most.largest.empty() ? "" : ", most of it " + most.largest);
  const auto& parts = metrics.breakdown;
  if (const double exposed = parts.exposed_comm / metrics.step_time; exposed > 0.01) {
    const auto most_exposed = std::max_element(metrics.communication.begin(), metrics.communication.end(),
                                               [](const auto& a, const auto& b) { return a.exposed < b.exposed; });
    text += "; " + percent(exposed) + " of the step is exposed communication" +
            (most_exposed == metrics.communication.end() ? "" : ", most of it " + what_communicates(*most_exposed));
  }
  if (const double bubble = parts.bubble / metrics.step_time; bubble > 0.01)
    text += "; " + percent(bubble) + " is bubble";
  return text;
}

std::string routing_draws_line(const Simulation& simulation) {
  const auto& draws = simulation.routing_draws;
  if (!draws) return "";
  const auto count = std::to_string(draws->count());
  if (draws->count() == 1) return "ECMP: one seed of its hash was simulated; the step is too large to draw more";
  if (draws->worst() <= draws->best() * (1 + 1e-8)) return "ECMP: the same under " + count + " seeds of its hash";
  return "ECMP: " + format(draws->best()) + " to " + format(draws->worst()) + " under " + count +
         " seeds of its hash, median " + format(draws->median());
}

std::string document_draws_line(const Simulation& simulation) {
  const auto& draws = simulation.document_draws;
  if (!draws) return "";
  const auto count = std::to_string(draws->count());
  if (draws->count() == 1) return "documents: one step's were drawn; the step is too large to draw more";
  return "documents: median " + format(draws->median()) + ", 5th percentile " + format(draws->quantile(0.05)) +
         ", 95th " + format(draws->quantile(0.95)) + " of " + count + " steps, each with documents of its own";
}

std::string summary(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& metrics = simulation.metrics;
  const auto& cluster = *simulation.preparation.machine.cluster;
  const double chips = static_cast<double>(metrics.chips);
  const bool known = !scenario.replay;  // parameters and FLOPs
  std::string text = scenario.name + ": " + model_text(scenario) + ", " +
                     (known ? fixed(static_cast<double>(metrics.parameters) / 1e9, 2) + "e9 parameters, " : "") +
                     "on " + chips_text(scenario) + " (" + shape_text(cluster) + "), " +
                     with_separators(static_cast<double>(metrics.tokens)) + " tokens a step, " +
                     std::string(name(scenario.time_model)) + " rates\n";
  text += note_lines(scenario) + mesh_text(*simulation.preparation.machine.mesh) + "\n";
  text += std::string(metrics.local_updates ? "mean step time " : "step time ") + format(metrics.step_time) +
          "   MFU " + (known ? percent(metrics.mfu()) : "-") + "   " + with_separators(metrics.tokens_per_second()) +
          " tokens/s   " +
          (known ? fixed(metrics.model_flops.value() / metrics.step_time.value() / chips / 1e12, 1) : "-") +
          " TFLOP/s a chip\n";
  if (const auto band = validation::error_band(scenario, simulation))
    text += band_text(*band, metrics.step_time) + "\n";
  if (const auto draws = routing_draws_line(simulation); !draws.empty()) text += draws + "\n";
  if (const auto draws = document_draws_line(simulation); !draws.empty()) text += draws + "\n";
  if (const auto kinds = chip_kinds_line(chip_kinds_of(simulation)); !kinds.empty()) text += kinds + "\n";
  if (simulation.distribution) text += "\n" + distribution_text(*simulation.distribution) + "\n";
  text += bound_text(metrics) + "\n" + critical_path_line(metrics.critical_path, metrics.step_time) + "\n";
  if (const auto help = what_would_help(simulation.elasticity); !help.empty()) text += help + "\n";
  text += "\n";

  const auto critical = metrics.critical_rank;
  const auto like_it = simulation.ranks.size[critical];
  Table parts({"rank " + std::to_string(simulation.rank) +
                   (like_it > 1 ? " (and " + with_separators(like_it - 1) + " like it)" : "") + " spends",
               "time", "share"});
  auto part = [&](const char* title, Seconds time) {
    parts.add({title, format(time), percent(time / metrics.step_time)});
  };
  part("computing", metrics.breakdown.compute);
  part("in exposed communication", metrics.breakdown.exposed_comm);
  const bool pipelined = metrics.stages.size() > 1;
  if (pipelined || metrics.breakdown.bubble > Seconds(0))
    part(pipelined ? "idle (bubble)" : "idle", metrics.breakdown.bubble);
  text += parts.to_string() + "\n";

  if (!metrics.communication.empty()) {
    Table uses({"communication", "count", "bytes (full)", "busy", "exposed"});
    for (const auto& use : metrics.communication) {
      uses.add({what_communicates(use), std::to_string(use.count), format(use.full_size), format(use.busy),
                format(use.exposed)});
    }
    text += uses.to_string() + "\n";
  }
  text += pipeline_text(scenario, simulation);
  if (metrics.local_updates) text += local_updates_text(*scenario.step.local_updates, *metrics.local_updates) + "\n";
  return text + memory_text(scenario, simulation) + "simulated " + with_separators(chips) + " ranks as " +
         with_separators(simulation.ranks.count()) + (simulation.ranks.count() == 1 ? " class, " : " classes, ") +
         with_separators(simulation.links) + " links as " + with_separators(simulation.link_classes) + ", by " +
         std::string(name(simulation.run.kind)) + "\n";
}

}  // namespace lockstep::output
