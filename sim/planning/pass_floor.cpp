#include "sim/planning/pass_floor.hpp"

#include <set>

#include "sim/core/errors.hpp"
#include "sim/planning/plan_space.hpp"
#include "workloads/optimizer.hpp"

namespace lockstep {
namespace {

bool is_gather(const BlockStep& step) { return step.kind == BlockStep::Kind::collective && step.role == CollectiveRole::weight; }

class Sketcher {
 public:
  Sketcher(const Scenario& scenario, const Preparation& derived) : scenario_(scenario), derived_(derived), rates_(rates_of(scenario)) {}

  PlanSketch run() {
    for (const auto& block : derived_.blocks) sketch_.kinds.push_back(block_sketch(block));
    sketch_.order = derived_.order;
    return std::move(sketch_);
  }

 private:
  BlockSketch block_sketch(const DerivedBlock& block) {
    BlockSketch made;
    auto of_input = steps_of_input_gradient(block);
    made.forward = pass(block.forward, std::vector<bool>(block.forward.size(), true), block.output_steps);
    made.backward = pass(block.backward, std::vector<bool>(block.backward.size(), true), block.input_gradient_steps);
    made.input_gradient = pass(block.backward, of_input, block.input_gradient_steps);
    of_input.flip();
    made.weight_gradient = pass(block.backward, of_input, {});
    const auto& step = scenario_.step;
    // Buckets by size reach over blocks: left out. Arrays one by one cost no less than a block's together.
    const bool by_block = step.gradient_buckets.unit != Bucketing::Unit::size;
    Bytes traffic(0);
    for (const auto& update : block.weights) {
      const auto state = state_of(step.optimizer, update);
      made.held += update.stored.value() + (step.offload.optimizer ? 0 : state.value());
      made.gradients += (step.gradient_element * update.gradient_elements).value();
      traffic += (step.gradient_element + Bytes(4)) * update.optimizer_elements + 2 * state;
    }
    if (by_block) {
      made.each_microbatch = together(block, &WeightUpdate::each_microbatch);
      made.last_microbatch = together(block, &WeightUpdate::last_microbatch);
    }
    made.publish = together(block, &WeightUpdate::publish);
    if (!step.offload.optimizer && !block.weights.empty()) made.update = compute_time(rates_, {ComputeWork::memory, Flops(0), traffic, {}}).value();
    if (step.offload.activation_layers == 0) keep(block, made);
    made.input = block.input_bytes.value();
    made.sent = step.scatter_sends ? made.input / block.input_copies : made.input;
    return made;
  }

  /// Collectives on one array after the other become one on all of them.
  std::vector<std::int32_t> together(const DerivedBlock& block, std::vector<DerivedCollective> WeightUpdate::*chain) {
    for (const auto& update : block.weights) {
      for (const auto& derived : update.*chain) merge({derived.kind, axis_bits(derived.axes), derived.full_size, {}});
    }
    return finish();
  }
  void merge(const PricedCollective& more) {
    const auto same = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.kind == more.kind && one.axes == more.axes; });
    if (same != open_.end()) {
      same->size += more.size;
    } else {
      open_.push_back(more);
    }
  }
  std::vector<std::int32_t> finish() {
    std::vector<std::int32_t> prices;
    for (const auto& collective : open_) prices.push_back(sketch_.price_of(collective));
    open_.clear();
    return prices;
  }

  PassSketch pass(const std::vector<BlockStep>& steps, const std::vector<bool>& chosen, const std::vector<int>& output) {
    PassSketch made;
    std::vector<std::int32_t> place(steps.size(), -2);
    const auto known = [&](int step) { return step == BlockStep::outside ? -1 : place[static_cast<std::size_t>(step)]; };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      if (!chosen[i]) continue;
      if (is_gather(step)) {
        merge({step.collective, axis_bits(step.axes), step.full_size, step.copies});
        continue;
      }
      PassSketch::Step sketched;
      for (const int before : step.after) {
        if (known(before) >= -1) sketched.after.push_back(known(before));
      }
      if (step.kind == BlockStep::Kind::compute) {
        sketched.beside = !step.stream.empty();
        sketched.compute = step.given_time ? step.given_time->value() : compute_time(rates_, kernel_of(step)).value();
        if (!sketched.beside) made.compute += sketched.compute;
      } else {
        sketched.collective = sketch_.price_of({step.collective, axis_bits(step.axes), step.full_size, step.copies});
      }
      place[i] = static_cast<std::int32_t>(made.steps.size());
      made.steps.push_back(std::move(sketched));
    }
    for (const int step : output) {
      if (known(step) >= -1) made.output.push_back(known(step));
    }
    made.gathers = finish();
    return made;
  }

  /// Outputs of the forward that the backward reads.
  static void keep(const DerivedBlock& block, BlockSketch& made) {
    std::set<int> saved;
    for (const auto& step : block.backward) saved.insert(step.saved.begin(), step.saved.end());
    for (const int step : saved) {
      if (step == BlockStep::outside) {
        made.keeps_input = true;
        continue;
      }
      const auto& of = block.forward[static_cast<std::size_t>(step)];
      if (of.output_kind == MemoryKind::activations) made.kept += of.output.value();
    }
    made.keeps_output = std::any_of(block.output_steps.begin(), block.output_steps.end(), [&](int step) { return saved.contains(step); });
  }

  const Scenario& scenario_;
  const Preparation& derived_;
  ComputeRates rates_;
  PlanSketch sketch_;
  std::vector<PricedCollective> open_;
};

}  // namespace

std::uint32_t axis_bits(const AxisNames& names) {
  std::uint32_t bits = 0;
  for (const auto& name : names) {
    const auto found = std::find(plan_axes.begin(), plan_axes.end(), name == "fsdp" ? "data" : name);
    if (found == plan_axes.end()) throw InternalError("planning: a collective along axis " + name);
    bits |= 1U << (found - plan_axes.begin());
  }
  return bits;
}

std::int32_t PlanSketch::price_of(const PricedCollective& wanted) {
  const auto found = std::find(collectives.begin(), collectives.end(), wanted);
  const auto place = static_cast<std::int32_t>(found - collectives.begin());
  if (found == collectives.end()) collectives.push_back(wanted);
  return place;
}

PlanSketch sketch_of(const Scenario& scenario, const Preparation& derived) { return Sketcher(scenario, derived).run(); }

PassPath path_of(const PassSketch& pass, std::span<const double> prices) {
  thread_local std::vector<Front> ends;  // of each step, from the free stream alone and from the input alone
  ends.assign(pass.steps.size(), {});
  Front stream{0, never};
  const auto from = [&](std::int32_t step) { return step < 0 ? Front{never, 0} : ends[static_cast<std::size_t>(step)]; };
  for (std::size_t i = 0; i < pass.steps.size(); ++i) {
    const auto& step = pass.steps[i];
    const bool on_stream = step.collective < 0 && !step.beside;
    Front start = on_stream ? stream : Front{never, never};
    for (const auto before : step.after) {
      const auto end = from(before);
      start = {std::max(start.free, end.free), std::max(start.data, end.data)};
    }
    const double time = step.collective < 0 ? step.compute : prices[static_cast<std::size_t>(step.collective)];
    ends[i] = {start.free + time, start.data + time};
    if (on_stream) stream = ends[i];
  }
  Front output{never, never};
  for (const auto step : pass.output) {
    const auto end = from(step);
    output = {std::max(output.free, end.free), std::max(output.data, end.data)};
  }
  return {stream.free, output.free, stream.data, output.data};
}

}  // namespace lockstep
