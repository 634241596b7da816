#include "sim/timing/joined_steps.hpp"

#include <algorithm>
#include <set>

#include "sim/core/indexed.hpp"
#include "sim/cost/layer_time.hpp"
#include "workloads/step/bucketing.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::timing {
namespace {

bool on_compute_stream(const workloads::BlockStep& step) {
  return step.kind == workloads::BlockStep::Kind::compute && step.stream.empty();
}

/// One pass while it is rewritten.
class Joining {
 public:
  Joining(const std::vector<workloads::BlockStep>& steps, const cost::ComputeRates& rates)
      : steps_(steps), rates_(rates), ends_(steps.size(), false), place_(steps.size(), -1) {
    for (const auto& step : steps) {
      if (on_compute_stream(step)) continue;
      for (const int before : step.after) end_after(before);
    }
    end_after_weights();
  }

  /// An operation on another stream waits for this step, so no later step may be joined to it.
  void end_after(int step) {
    if (step != workloads::BlockStep::outside) ends_[step] = true;
  }

  Indexed<int, workloads::BlockStep> run(const workloads::StepOptions& options) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto& step = steps_[i];
      const bool computes = on_compute_stream(step);
      const bool alone = (options.expert_load.varies() && step.routed) ||
                         (options.sequence_load.varies() && step.attends);  // takes another time in each microbatch
      if (computes && open_ >= 0 && !alone && waits_for_nothing_new(step)) {
        join(step);
      } else {
        add(step, alone);
        open_ = computes && !alone ? static_cast<int>(made_.size()) - 1 : computes ? -1 : open_;
      }
      place_[i] = computes && open_ >= 0 ? open_ : static_cast<int>(made_.size()) - 1;
      if (ends_[i]) open_ = computes ? -1 : open_;
    }
    return std::move(made_);
  }

  [[nodiscard]] int place(int step) const { return step == workloads::BlockStep::outside ? step : place_[step]; }
  [[nodiscard]] std::vector<int> places(const std::vector<int>& steps) const {
    std::vector<int> result;
    for (const int step : steps) result = with(std::move(result), place(step));
    return result;
  }

 private:
  /// When the last of a block's products has read gathered weights, others are gathered into their room.
  void end_after_weights() {
    int last = workloads::BlockStep::outside;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto& after = steps_[i].after;
      if (std::any_of(after.begin(), after.end(), [&](int before) { return is_weight_gather(before); }))
        last = static_cast<int>(i);
    }
    end_after(last);
  }
  [[nodiscard]] bool is_weight_gather(int step) const {
    return step != workloads::BlockStep::outside && steps_[position_of(step)].gathers_weights();
  }

  /// Whether the compute stream has already waited for everything that the step waits for.
  [[nodiscard]] bool waits_for_nothing_new(const workloads::BlockStep& step) const {
    return std::all_of(step.after.begin(), step.after.end(), [&](int before) {
      return awaited_.contains(before) ||
             (before != workloads::BlockStep::outside && on_compute_stream(steps_[position_of(before)]));
    });
  }

  void add(const workloads::BlockStep& step, bool alone) {
    auto& added = made_.emplace_back(step);
    added.after = places(step.after);
    added.saved.clear();
    added.output = added.workspace = Bytes(0);
    if (!on_compute_stream(step)) return;
    if (!alone) added.given_time = time_of(step);
    awaited_.insert(step.after.begin(), step.after.end());
  }

  void join(const workloads::BlockStep& step) {
    auto& joined = made_[open_];
    *joined.given_time += time_of(step);
    for (const int before : step.after) {
      if (is_weight_gather(before)) joined.after = with(std::move(joined.after), place(before));
    }
  }

  static std::vector<int> with(std::vector<int> list, int one) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
    return list;
  }

  [[nodiscard]] Seconds time_of(const workloads::BlockStep& step) const { return operation_time(rates_, step); }

  const std::vector<workloads::BlockStep>& steps_;
  const cost::ComputeRates& rates_;
  Indexed<int, bool> ends_;
  Indexed<int, int> place_;  ///< where each step is now
  Indexed<int, workloads::BlockStep> made_;
  int open_ = -1;          ///< which of them may take in more
  std::set<int> awaited_;  ///< by the compute stream so far
};

/// A bucket of gradients waits for the last of them.
void end_after_gradients(const workloads::ShardedLayer& block, const workloads::StepOptions& options,
                         Joining& backward) {
  std::vector<std::pair<std::vector<workloads::DerivedCollective>, int>> last;  // by chain
  for (const auto& update : block.weights) {
    auto chain = update.each_microbatch;
    chain.insert(chain.end(), update.last_microbatch.begin(), update.last_microbatch.end());
    auto same = std::find_if(last.begin(), last.end(),
                             [&](const auto& one) { return workloads::chains_share_buckets(one.first, chain); });
    if (!options.gradient_buckets.ends_with_layer() || same == last.end())
      same = last.insert(last.end(), {chain, workloads::BlockStep::outside});
    for (const int step : update.gradient_steps) same->second = std::max(same->second, step);
  }
  for (const auto& [chain, step] : last) backward.end_after(step);
  for (const auto& tied : block.tied_gradients) backward.end_after(tied.step);
}

}  // namespace

workloads::ShardedLayer with_joined_steps(const workloads::ShardedLayer& block, const cost::ComputeRates& rates,
                                          const workloads::StepOptions& options) {
  if (!block.pair_turns.empty() || options.offload.activation_layers > 0) return block;
  auto made = block;
  Joining forward(block.forward, rates), backward(block.backward, rates);
  for (const int step : block.output_steps) forward.end_after(step);
  for (const int step : block.input_gradient_steps) backward.end_after(step);
  end_after_gradients(block, options, backward);
  made.forward = forward.run(options);
  made.backward = backward.run(options);
  made.output_steps = forward.places(block.output_steps);
  made.input_gradient_steps = backward.places(block.input_gradient_steps);
  for (auto& update : made.weights) update.gradient_steps = backward.places(update.gradient_steps);
  for (auto& tied : made.tied_gradients) tied.step = backward.place(tied.step);
  return made;
}

}  // namespace lockstep::timing
