#include "workloads/pipeline/schedules/dualpipe_steps.hpp"

#include <cstddef>
#include <utility>

namespace lockstep::workloads {
namespace {

using enum PipelineWork;

class Steps {
 public:
  explicit Steps(const std::array<DualPipeStream, 2>& streams) : streams_(streams) {}

  void add_forward(std::size_t stream) { cells_.push_back({next_forward(stream), {}}); }
  void add_backward(std::size_t stream) { cells_.push_back({next_backward(stream, backward), {}}); }
  void add_input_gradient(std::size_t stream) {
    cells_.push_back({next_backward(stream, input_gradient), {}});
    const auto& action = cells_.back().first;
    weights_.push_back({weight_gradient, action.stage, action.microbatch});
  }
  /// The oldest of both streams.
  void add_weight_gradient() { cells_.push_back({weights_[weights_done_++], {}}); }
  void add_pair(std::size_t forward_stream, std::size_t backward_stream) {
    cells_.push_back({next_forward(forward_stream), next_backward(backward_stream, backward)});
  }
  [[nodiscard]] PipelineCells take() { return std::move(cells_); }

 private:
  PipelineAction next_forward(std::size_t stream) { return action(forward, stream, forwards_[stream]++); }
  PipelineAction next_backward(std::size_t stream, PipelineWork work) {
    return action(work, stream, backwards_[stream]++);
  }
  [[nodiscard]] PipelineAction action(PipelineWork work, std::size_t stream, std::int32_t index) const {
    return {work, streams_[stream].stage, streams_[stream].first_microbatch + index};
  }

  const std::array<DualPipeStream, 2>& streams_;
  std::array<std::int32_t, 2> forwards_{}, backwards_{};
  std::vector<PipelineAction> weights_;
  std::size_t weights_done_ = 0;
  PipelineCells cells_;
};

}  // namespace

PipelineCells dualpipe_cells(std::int32_t ranks, std::int32_t rank, std::int32_t microbatches,
                             const std::array<DualPipeStream, 2>& streams) {
  Steps steps(streams);
  const auto after = ranks - 1 - rank;  // ranks between this one and the middle
  for (std::int32_t i = 0; i < 2 * after; ++i) steps.add_forward(0);
  for (std::int32_t i = 0; i <= rank; ++i) {
    steps.add_forward(0);
    steps.add_forward(1);
  }
  for (std::int32_t i = 0; i < after; ++i) {
    steps.add_input_gradient(1);
    steps.add_weight_gradient();
    steps.add_forward(1);
  }
  for (std::int32_t i = 0; i <= microbatches - 2 * ranks + rank; ++i) {
    if (i == 0 && after == 0) {
      // In the middle the first pair would make the other ranks wait: its forward is wanted sooner.
      steps.add_forward(0);
      steps.add_backward(1);
    } else {
      steps.add_pair(0, 1);
    }
    steps.add_pair(1, 0);
  }
  for (std::int32_t i = 0; i < after; ++i) {
    steps.add_backward(1);
    steps.add_pair(1, 0);
  }
  // The last backwards come from both streams by turns; the second half of them leaves its weight gradients for the
  // drain.
  for (std::int32_t i = 0; i < 2 * (rank + 1); ++i) {
    const std::size_t stream = i % 2 == 0 ? 1 : 0;
    if (i <= rank)
      steps.add_backward(stream);
    else
      steps.add_input_gradient(stream);
  }
  for (std::int32_t i = 0; i < after; ++i) {
    steps.add_weight_gradient();
    steps.add_input_gradient(0);
  }
  for (std::int32_t i = 0; i <= rank; ++i) steps.add_weight_gradient();
  return steps.take();
}

}  // namespace lockstep::workloads
