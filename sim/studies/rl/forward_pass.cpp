#include "sim/studies/rl/forward_pass.hpp"

#include <algorithm>

#include "sim/engine/engine.hpp"
#include "sim/program/fold.hpp"

namespace lockstep::rl {
namespace {

/// Each rank's forwards in the order of the step.
workloads::PipelineOrder forwards_of(const workloads::PipelineOrder& order) {
  auto only = order;
  for (auto& rank : only.ranks) {
    workloads::PipelineCells forwards;
    for (const auto& cell : rank) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        if (action.work == workloads::PipelineWork::forward) forwards.push_back({action, {}});
      });
    }
    rank = std::move(forwards);
  }
  return only;
}

}  // namespace

Seconds forward_time(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                     spdlog::logger& log) {
  auto pipeline = prepared.pipeline;
  pipeline.order = forwards_of(prepared.pipeline.order);
  check_step_size(scenario, prepared, pipeline.order.shape.microbatches);
  auto options = step_options(scenario, prepared.model);
  options.memory = false;
  options.publish_ahead = false;
  const auto step = build_step(prepared.model.layers, pipeline.kinds, pipeline, options);
  const auto folded = program::fold(lower_with_perturbations(scenario, prepared, step));
  engine::EngineOptions engine;
  engine.kind = engine::EngineKind::max_min;
  const auto timeline = engine::run(folded.program, engine, log).timeline;
  Seconds end(0);  // what comes after the last cell belongs to an update
  for (workloads::OpId op = 0; op < step.first_update; ++op) {
    for (const auto rank : timeline.ranks_of(op)) end = std::max(end, timeline.span(op, rank).end);
  }
  return end;
}

}  // namespace lockstep::rl
