#include "sim/studies/planning/plan_summary.hpp"

#include "sim/core/errors.hpp"
#include "sim/cost/layer_time.hpp"
#include "sim/studies/planning/plan_space.hpp"
#include "sim/studies/planning/summary_memory_private.hpp"
#include "workloads/sharded_layers/muon_groups.hpp"
#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::planning {
namespace {

/// The place of a collective among those of a summary.
std::int32_t listed(const PlanCollective& wanted, std::vector<PlanCollective>& collectives) {
  const auto found = std::find(collectives.begin(), collectives.end(), wanted);
  const auto place = static_cast<std::int32_t>(found - collectives.begin());
  if (found == collectives.end()) collectives.push_back(wanted);
  return place;
}

/// False for sums over copies of weights, which run in groups of neighbours along an axis: the planner has no costs for
/// such groups, so the bounds leave these sums out.
bool along_whole_axes(const workloads::AxisNames& names) {
  return std::all_of(names.begin(), names.end(),
                     [](const auto& name) { return topologies::axis_part(name).size == 0; });
}

/// The places of a layer's buckets among the collectives of a summary.
std::vector<std::int32_t> listed(const cost::LayerBuckets& buckets, std::vector<PlanCollective>& collectives) {
  std::vector<std::int32_t> places;
  for (const auto& bucket : buckets.all())
    places.push_back(listed(PlanCollective{bucket.kind, axis_bits(bucket.axes), bucket.full_size, {}}, collectives));
  return places;
}

class PassesSummarizer {
 public:
  PassesSummarizer(const scenario::Scenario& scenario, WeightGathers gathers)
      : step_(scenario.step), rates_(preparation::rates_of(scenario)), gathers_(gathers) {}

  void add(const workloads::ShardedLayer& block) {
    BlockPasses made;
    const auto of_input = steps_of_input_gradient(block);
    std::vector<bool> of_weights = of_input;
    of_weights.flip();
    const SummarizedSteps steps{counted(block.forward, SomeSteps(block.forward.size(), true)),
                                counted(block.backward, SomeSteps(block.backward.size(), true)),
                                counted(block.backward, of_input), gathers_ == WeightGathers::counted};
    made.forward = pass(block.forward, steps.forward, block.output_steps);
    made.backward = pass(block.backward, steps.backward, block.input_gradient_steps);
    made.input_gradient = pass(block.backward, steps.input_gradient, block.input_gradient_steps);
    made.weight_gradient =
        pass(block.backward, counted(block.backward, SomeSteps(of_weights.begin(), of_weights.end())), {});
    if (step_.offload.activation_layers == 0) summary_memory(block, steps, step_, rates_, made);
    made.input = block.input_bytes.value();
    made.sent = step_.scatter_sends ? made.input / block.input_copies : made.input;
    summary.kinds.push_back(std::move(made));
  }

  PassesSummary summary;

 private:
  [[nodiscard]] SomeSteps counted(const std::vector<workloads::BlockStep>& steps, SomeSteps chosen) const {
    if (gathers_ == WeightGathers::counted) return chosen;
    for (std::size_t i = 0; i < steps.size(); ++i) chosen[i] = chosen[i] && !steps[i].gathers_weights();
    return chosen;
  }

  PassSummary pass(const std::vector<workloads::BlockStep>& steps, const SomeSteps& chosen,
                   const std::vector<int>& output) {
    PassSummary made;
    cost::LayerBuckets gathers({workloads::Bucketing::Unit::layer});
    std::vector<std::int32_t> place(steps.size(), -2);
    const auto known = [&](int step) { return step == workloads::BlockStep::outside ? -1 : place[position_of(step)]; };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      if (!chosen[i]) continue;
      if (step.gathers_weights()) {
        gathers.add(step.collective, step.axes, step.full_size);
        continue;
      }
      PassSummary::Step summarized;
      for (const int before : step.after) {
        if (known(before) >= -1) summarized.after.push_back(known(before));
        // A step waits only for its own array if arrays are gathered one by one; the bound leaves this wait out.
        if (before >= 0 && gathers_ == WeightGathers::counted && steps[position_of(before)].gathers_weights() &&
            step_.weight_buckets.merges())
          summarized.weights = true;
      }
      if (step.kind == workloads::BlockStep::Kind::compute || step.given_time) {
        summarized.beside = !step.stream.empty();
        summarized.compute = operation_time(rates_, step).value();
        if (!summarized.beside) made.compute += summarized.compute;
      } else {
        summarized.collective =
            listed({step.collective, axis_bits(step.axes), step.full_size, step.copies}, summary.collectives);
      }
      place[i] = static_cast<std::int32_t>(made.steps.size());
      made.steps.push_back(std::move(summarized));
    }
    for (const int step : output) {
      if (known(step) >= -1) made.output.push_back(known(step));
    }
    tell_when(made);
    made.gathers = listed(gathers, summary.collectives);
    return made;
  }

  const workloads::StepOptions& step_;
  cost::ComputeRates rates_;
  WeightGathers gathers_;
};

}  // namespace

std::uint32_t axis_bits(const workloads::AxisNames& names) {
  std::uint32_t bits = 0;
  for (const auto& name : names) {
    const auto found = std::find(plan_axes.begin(), plan_axes.end(), name == "fsdp" ? "data" : name);
    if (found == plan_axes.end()) throw InternalError("planning: a collective along axis " + name);
    bits |= 1U << (found - plan_axes.begin());
  }
  return bits;
}

PassesSummary summarize_passes(const scenario::Scenario& scenario, const preparation::ShardedModel& model,
                               WeightGathers gathers) {
  PassesSummarizer summarizer(scenario, gathers);
  for (const auto& block : model.layers) summarizer.add(block);
  return std::move(summarizer.summary);
}

StateSummary summarize_state(const scenario::Scenario& scenario, const preparation::ShardedModel& model) {
  const auto& step = scenario.step;
  const auto rates = preparation::rates_of(scenario);
  // Buckets by size reach over blocks: left out. Arrays one by one cost no less than a block's together.
  const bool by_block = !step.gradient_buckets.reaches_over_layers();
  StateSummary summary;
  for (const auto& block : model.layers) {
    BlockState made;
    const auto together = [&](std::vector<workloads::DerivedCollective> workloads::WeightUpdate::*chain) {
      cost::LayerBuckets all({workloads::Bucketing::Unit::layer});
      for (const auto& update : block.weights) {
        for (const auto& one : update.*chain) {
          if (along_whole_axes(one.axes)) all.add(one.kind, one.axes, one.full_size);
        }
      }
      return listed(all, summary.collectives);
    };
    Bytes traffic(0);
    std::vector<const workloads::WeightUpdate*> weights;
    for (const auto& update : block.weights) {
      weights.push_back(&update);
      const auto state = state_of(step.optimizer, update);
      made.held += update.stored.value() + (step.offload.optimizer ? 0 : state.value());
      made.gradients += (step.gradient_element * update.gradient_elements).value();
      traffic += update_traffic(step.optimizer, step.gradient_element, update);
    }
    if (by_block) {
      made.each_microbatch = together(&workloads::WeightUpdate::each_microbatch);
      made.last_microbatch = together(&workloads::WeightUpdate::last_microbatch);
    }
    made.publish = together(&workloads::WeightUpdate::publish);
    if (!step.offload.optimizer && !block.weights.empty())
      made.update = compute_time(rates, {workloads::ComputeWork::memory, Flops(0), traffic, {}}).value();
    for (const auto& group : muon_groups(step.optimizer, weights)) {
      const auto& work = group.work;
      made.update +=
          compute_time(rates, {workloads::ComputeWork::head_product, work.flops, work.traffic, group.shape}).value();
    }
    summary.kinds.push_back(std::move(made));
  }
  return summary;
}

}  // namespace lockstep::planning
