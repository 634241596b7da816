#include "tools/output/results/expected_bubble.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::output {

std::optional<ExpectedBubble> expected_bubble(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& pipeline = simulation.preparation.pipeline;
  const auto& shape = pipeline.order.shape;
  if (shape.ranks == 1 || workloads::find_schedule(pipeline.order.schedule) == nullptr ||
      !scenario.pipeline.file.empty())
    return std::nullopt;
  workloads::StageTimes mean{0, 0, 0};
  const auto& stages = pipeline.times.stages;
  for (const auto& stage : stages) {
    const auto share = 1.0 / static_cast<double>(stages.size());
    mean.forward += stage.forward * share;
    mean.input_gradient += stage.input_gradient * share;
    mean.weight_gradient += stage.weight_gradient * share;
  }
  workloads::ScheduleRequest request;
  request.name = pipeline.order.schedule;
  request.ranks = shape.ranks;
  request.microbatches = shape.whole_microbatches();
  request.slices = shape.slices;
  request.times.slices = pipeline.times.slices;
  request.chunks = shape.chunks;
  request.group = scenario.pipeline.group;
  request.memory_limit = scenario.pipeline.memory_limit;
  request.times.stages = {mean};
  auto form = closed_form(request);
  if (!form) return std::nullopt;
  const bool even = std::all_of(stages.begin(), stages.end(), [&](const workloads::StageTimes& stage) {
    const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); };
    return near(stage.forward, mean.forward) && near(stage.input_gradient, mean.input_gradient) &&
           near(stage.weight_gradient, mean.weight_gradient);
  });
  if (!even) {
    form->applies = false;
    form->conditions += std::string(form->conditions.empty() ? "" : ", ") + "all stages are alike";
  }
  return ExpectedBubble{std::move(*form), mean};
}

}  // namespace lockstep::output
