// The memory that a pass holds while one of its steps computes: everything made before that step for readers that come
// after it. A step is before another if both compute on the same stream in that order, or if the other waits for it.
#include "sim/studies/planning/summary_memory_private.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"
#include "sim/cost/layer_time.hpp"

namespace lockstep::planning {
namespace {

/// Bytes of the output of each step, by its place in its pass.
using StepBytes = Indexed<int, std::int64_t>;

class PassMemory {
 public:
  /// `saved`: bytes of the forward's outputs, for a backward; `stays`: of this pass's steps, whose output is read after
  /// it.
  PassMemory(const cost::ComputeRates& rates, const std::vector<workloads::BlockStep>& steps, const SomeSteps& chosen,
             const StepBytes& saved, const SomeSteps& stays, bool gathers_together, bool whole_gradients)
      : rates_(rates),
        steps_(steps),
        chosen_(chosen),
        saved_(saved),
        stays_(stays),
        gathers_together_(gathers_together),
        whole_gradients_(whole_gradients) {}

  std::int64_t most() {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (computes(i) && takes_time(steps_[i])) most = std::max(most, held_during(i));
    }
    return most;
  }

 private:
  [[nodiscard]] bool computes(std::size_t i) const {
    return chosen_[i] && steps_[i].kind == workloads::BlockStep::Kind::compute && steps_[i].stream.empty();
  }

  /// A buffer that is read and freed in the same instant takes no memory.
  [[nodiscard]] bool takes_time(const workloads::BlockStep& step) const {
    return operation_time(rates_, step) > Seconds(0);
  }

  [[nodiscard]] std::int64_t held_during(std::size_t now) {
    before_.assign(steps_.size(), false);
    after_.assign(steps_.size(), false);
    for (std::size_t i = now; i < steps_.size(); ++i) {
      if (!chosen_[i]) continue;
      after_[i] = i == now || computes(i) || std::any_of(steps_[i].after.begin(), steps_[i].after.end(), [&](int read) {
                    return read >= 0 && after_[read];
                  });
    }
    for (std::size_t i = now + 1; i-- > 0;) {
      if (!chosen_[i]) continue;
      before_[i] = before_[i] || i == now || computes(i);
      if (!before_[i]) continue;
      for (const int read : steps_[i].after) {
        if (read >= 0) begin(position_of(read));
      }
    }
    SomeSteps read_later(steps_.size(), false), saved_read(saved_.size(), false);
    for (std::size_t i = now; i < steps_.size(); ++i) {
      if (!after_[i]) continue;
      for (const int read : steps_[i].after) {
        if (read >= 0) read_later[read] = true;
      }
    }
    // Buffers of the forward that later passes read stay too.
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (chosen_[i] && !after_[i]) continue;
      for (const int read : steps_[i].saved) {
        if (read >= 0) saved_read[read] = true;
      }
    }
    std::int64_t bytes = steps_[now].workspace.value();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const bool left_out = !whole_gradients_ && steps_[i].output_kind == workloads::MemoryKind::gradients;
      if (chosen_[i] && before_[i] && !left_out && (i == now || read_later[i] || stays_[i]))
        bytes += steps_[i].output.value();
    }
    for (std::size_t i = 0; i < saved_.size(); ++i) bytes += saved_read[i] ? saved_[i] : 0;
    return bytes;
  }

  /// A gather brings all weights of its bucket.
  void begin(std::size_t i) {
    if (!chosen_[i]) return;
    before_[i] = true;
    if (!steps_[i].gathers_weights() || !gathers_together_) return;
    for (std::size_t other = 0; other < steps_.size(); ++other) {
      if (chosen_[other] && steps_[other].gathers_weights() && share_a_bucket(steps_[other], steps_[i]))
        before_[other] = true;
    }
  }

  const cost::ComputeRates& rates_;
  const std::vector<workloads::BlockStep>& steps_;
  const SomeSteps& chosen_;
  const StepBytes& saved_;
  const SomeSteps& stays_;
  bool gathers_together_, whole_gradients_;
  SomeSteps before_, after_;
};

}  // namespace

void summary_memory(const workloads::ShardedLayer& block, const SummarizedSteps& steps,
                    const workloads::StepOptions& options, const cost::ComputeRates& rates, BlockPasses& passes) {
  const auto of_input = steps_of_input_gradient(block);
  StepBytes saved(block.forward.size(), 0), none;
  SomeSteps stays(block.forward.size(), false), stays_for_weights(block.backward.size(), false),
      for_weights(block.forward.size(), false);
  for (std::size_t i = 0; i < block.backward.size(); ++i) {
    for (const int read : block.backward[i].saved) {
      if (read == workloads::BlockStep::outside) {
        passes.keeps_input = true;
        continue;
      }
      const auto& of = block.forward[position_of(read)];
      stays[read] = true;
      if (of.output_kind == workloads::MemoryKind::activations) saved[read] = of.output.value();
      if (!of_input[i]) for_weights[read] = true;
    }
    for (const int read : block.backward[i].after) {
      if (read >= 0 && of_input[read] && !of_input[i] &&
          block.backward[position_of(read)].output_kind == workloads::MemoryKind::activations)
        stays_for_weights[read] = true;
    }
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    passes.kept += saved[i];
    if (for_weights[i]) passes.kept_for_weights += saved[i];
  }
  for (std::size_t i = 0; i < block.backward.size(); ++i)
    passes.between += stays_for_weights[i] ? block.backward[i].output.value() : 0;
  passes.keeps_output = std::any_of(block.output_steps.begin(), block.output_steps.end(),
                                    [&](int step) { return step >= 0 && stays[step]; });

  const bool together = options.weight_buckets.merges();
  const SomeSteps nothing(block.backward.size(), false);
  passes.forward_most =
      PassMemory(rates, block.forward, steps.forward, none, stays, together, steps.whole_gradients).most();
  passes.backward_most =
      PassMemory(rates, block.backward, steps.backward, saved, nothing, together, steps.whole_gradients).most();
  passes.input_gradient_most =
      PassMemory(rates, block.backward, steps.input_gradient, saved, stays_for_weights, together, steps.whole_gradients)
          .most();
}

}  // namespace lockstep::planning
