// The pipeline of a step: schedule, stages and about how long each takes, with every problem placed in the scenario
// file.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/collectives/stage_pairs.hpp"
#include "sim/preparation/preparing_private.hpp"
#include "sim/preparation/stage_times_private.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep::preparation {
namespace {

/// The scenario's key for what a ScheduleError is about.
std::string key_of(const std::string& about) {
  static const std::map<std::string, std::string> keys = {
      {"stages", "parallel.pipeline"},    {"microbatches", "batch.microbatches"},
      {"chunks", "pipeline.chunks"},      {"group", "pipeline.group"},
      {"slices", "pipeline.slices"},      {"memory-limit", "pipeline.memory_limit"},
      {"placement", "pipeline.placement"}};
  const auto found = keys.find(about);
  return found != keys.end() ? found->second : "pipeline.schedule";
}

/// The result of `make`; its errors are reported at the scenario's key.
template <class Make>
auto located(const scenario::Scenario& scenario, Make make) {
  try {
    return make();
  } catch (const workloads::ScheduleError& error) {
    refuse(scenario, key_of(error.about()), error.what_is_wrong(), error.expected());
  }
}

using KindsInOrder = Indexed<workloads::BlockId, workloads::KindId>;
using FirstBlocks = Indexed<workloads::VirtualStageId, workloads::BlockId>;

double latency_between_stages(const Machine& machine, const workloads::ShardedLayers& layers) {
  const auto& pairs = machine.collectives->stage_pairs(0, 1);
  Bytes largest(0);
  for (const auto& layer : layers) largest = std::max(largest, layer.input_bytes);
  return pairs.routes.time(0, static_cast<double>(largest.value())).value();
}

workloads::PipelineOrder read_order(const scenario::Scenario& scenario, std::int32_t ranks) {
  const auto& spec = scenario.pipeline;
  std::ifstream file(spec.file, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  auto imported = import_pytorch_csv(text.str(), *spec.placement);
  Problems problems;
  for (const auto& problem : imported.problems) {
    problems.add({{spec.file.string(), problem.row + 1, problem.column + 1},
                  problem.cell.empty() ? "" : "cell '" + problem.cell + "'",
                  problem.what,
                  problem.expected});
  }
  problems.throw_if_any();
  const auto& shape = imported.order.shape;
  if (shape.ranks != ranks) {
    refuse(scenario, "pipeline.schedule",
           "the file has " + std::to_string(shape.ranks) + " ranks, the pipeline axis " + std::to_string(ranks),
           "as many lines as ranks on the pipeline axis");
  }
  if (shape.microbatches != scenario.batch.microbatches) {
    refuse(scenario, "batch.microbatches",
           "the file has " + std::to_string(shape.microbatches) + " microbatches, the batch " +
               std::to_string(scenario.batch.microbatches),
           std::to_string(shape.microbatches) + ", as in the file");
  }
  return std::move(imported.order);
}

std::vector<bool> are_layers(const ShardedModel& model) {
  std::vector<bool> is_layer;
  for (const int kind : model.order) is_layer.push_back(model.layers[kind].is_layer);
  return is_layer;
}

/// The kind of each layer of the model where each chunk of it recomputes its first so many: these are of the kinds that
/// do so, which stand in the second half of the model's.
KindsInOrder kinds_of(const scenario::Scenario& scenario, const ShardedModel& model, const FirstBlocks& first_block) {
  auto kinds = model.order;
  const auto& wanted = scenario.training.recompute_layers;
  if (!wanted) return kinds;
  const auto chunks = static_cast<std::size_t>(first_block.count()) - 1;
  if (wanted->size() > 1 && wanted->size() != chunks)
    refuse(scenario, "training.recompute.layers",
           std::to_string(wanted->size()) + " numbers for " + std::to_string(chunks) + " stages of the model",
           "one for all, or one for each");
  const auto keeping = model.layers.count() / 2;
  for (workloads::VirtualStageId stage = 0; stage + 1 < first_block.count(); ++stage) {
    auto left = wanted->size() == 1 ? wanted->front() : (*wanted)[position_of(stage)];
    for (int block = first_block[stage]; block < first_block[stage + 1] && left > 0; ++block) {
      if (!model.layers[model.order[block]].is_layer) continue;
      kinds[block] += keeping;
      --left;
    }
  }
  return kinds;
}

/// Chunks of a rank that the scenario's layout has.
std::int32_t chunks_of_layout(const scenario::Scenario& scenario, std::int32_t ranks) {
  const auto& spec = scenario.pipeline;
  const auto stages = spec.layout.count();
  if (stages % ranks != 0)
    refuse(scenario, "pipeline.layout",
           "the layout has " + std::to_string(stages) + " stages for " + std::to_string(ranks) + " ranks",
           "a multiple of " + std::to_string(ranks) + " stages");
  const auto chunks = stages / ranks;
  if (spec.chunks && *spec.chunks != chunks)
    refuse(scenario, "pipeline.layout",
           "the layout has " + std::to_string(chunks) + " chunks a rank, pipeline.chunks says " +
               std::to_string(*spec.chunks),
           std::to_string(ranks * *spec.chunks) + " stages");
  return chunks;
}

/// The layout, if it has as many chunks as the order; a schedule has its own number.
workloads::LayerSplit split_of_layout(const scenario::Scenario& scenario, const ShardedModel& model,
                                      std::int32_t stages, std::int32_t ranks) {
  const auto& layout = scenario.pipeline.layout;
  if (layout.count() != stages)
    refuse(scenario, "pipeline.layout",
           "the layout has " + std::to_string(layout.size()) + " stages; schedule " + scenario.pipeline.schedule +
               " has " + std::to_string(stages / ranks) + " on each of " + std::to_string(ranks) + " ranks",
           std::to_string(stages) + " stages, or a schedule with chunks such as interleaved");
  return workloads::split_by_layout(are_layers(model), layout);
}

}  // namespace

workloads::StepPipeline place_pipeline(const scenario::Scenario& scenario, const Machine& machine,
                                       const ShardedModel& model) {
  const auto& spec = scenario.pipeline;
  const int ranks = machine.mesh->has_axis("pipeline") ? machine.mesh->axis("pipeline").size() : 1;
  if (ranks == 1 && !scenario.places.contains("pipeline")) {
    auto whole = workloads::single_stage(model.order.count(), scenario.batch.microbatches);
    whole.kinds = kinds_of(scenario, model, whole.first_block);
    return whole;
  }

  workloads::ScheduleRequest request;
  request.name = spec.schedule;
  request.ranks = ranks;
  request.microbatches = static_cast<std::int32_t>(scenario.batch.microbatches);
  request.chunks = spec.chunks;
  if (!spec.layout.empty() && spec.file.empty()) {
    const auto chunks = chunks_of_layout(scenario, ranks);
    if (workloads::find_schedule(spec.schedule)->takes_chunks()) request.chunks = chunks;
  }
  request.group = spec.group;
  request.slices = spec.slices;
  request.memory_limit = spec.memory_limit;
  const auto* schedule = workloads::find_schedule(spec.schedule);
  if (spec.file.empty() && spec.placement) request.placements = {*spec.placement};

  workloads::StepPipeline pipeline;
  if (!spec.file.empty()) {
    pipeline.order = read_order(scenario, ranks);
  } else {
    request = located(scenario, [&] { return completed(request); });
  }
  const auto chunks = spec.file.empty() ? *request.chunks : pipeline.order.shape.chunks;
  check_passes(scenario, std::int64_t{ranks} * chunks);
  auto shape = pipeline.order.shape;
  if (spec.file.empty())
    shape = {request.placements.empty() ? schedule->placement_for(chunks) : request.placements.front(), ranks, chunks,
             request.microbatches * spec.slices, spec.slices};
  const StageClock clock(scenario, machine, model.layers, shape);
  const auto layers = spec.layers_by_speed ? clock.layers_by_speed(model.order, are_layers(model)) : spec.layers;
  const auto split = spec.layout.empty() ? workloads::split_layers(are_layers(model), ranks * chunks, layers)
                                         : split_of_layout(scenario, model, ranks * chunks, ranks);
  if (!split.what.empty()) {
    refuse(scenario,
           !spec.layout.empty()                           ? "pipeline.layout"
           : !spec.layers.empty() || spec.layers_by_speed ? "pipeline.layers"
           : spec.chunks                                  ? "pipeline.chunks"
                                                          : "parallel.pipeline",
           split.what, split.expected);
  }
  pipeline.first_block = split.first_block;
  pipeline.kinds = kinds_of(scenario, model, pipeline.first_block);
  pipeline.kinds_of_slice = model.layers.count() / spec.slices;
  pipeline.times = clock.times(pipeline.kinds, pipeline.kinds_of_slice, pipeline.first_block);
  if (ranks > 1) pipeline.times.latency = latency_between_stages(machine, model.layers);
  if (!spec.file.empty()) return pipeline;

  request.times = pipeline.times;
  pipeline.order = located(scenario, [&] { return make_order(request); });
  const auto problems = verify_order(pipeline.order);
  if (!problems.empty()) throw InternalError("schedule " + spec.schedule + ": " + problems.front().what);
  return pipeline;
}

std::string layout_of(const Preparation& prepared) {
  return workloads::layout_text(workloads::layout_of(are_layers(prepared.model), prepared.pipeline.first_block));
}

}  // namespace lockstep::preparation
