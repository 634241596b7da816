#pragma once
/// The places of the actions of an order, by stage and microbatch; private to the code that checks orders.
#include <cstdint>
#include <vector>

#include "workloads/pipeline/pipeline_order.hpp"

namespace lockstep::workloads {

/// The three things that happen to a microbatch on a stage. A whole backward does both gradients.
enum class PipelineStep : std::uint8_t { forward, input_gradient, weight_gradient };

template <class Visit>
void for_each_step(PipelineWork work, Visit visit) {
  if (work == PipelineWork::forward) visit(PipelineStep::forward);
  if (work == PipelineWork::backward || work == PipelineWork::input_gradient) visit(PipelineStep::input_gradient);
  if (work == PipelineWork::backward || work == PipelineWork::weight_gradient) visit(PipelineStep::weight_gradient);
}

/// Index of the cell that does each step, on the rank that PipelineShape::rank_of names.
class ActionPlaces {
 public:
  static constexpr CellId absent = -1;
  static constexpr CellId on_wrong_rank = -2;

  explicit ActionPlaces(const PipelineShape& shape)
      : places_(shape.virtual_stages(), shape.microbatches, Places::filled(absent)) {}

  [[nodiscard]] CellId& of(PipelineStep step, VirtualStageId stage, MicrobatchId microbatch) {
    return places_(stage, microbatch)[step];
  }
  [[nodiscard]] CellId of(PipelineStep step, VirtualStageId stage, MicrobatchId microbatch) const {
    return places_(stage, microbatch)[step];
  }

 private:
  using Places = IndexedArray<PipelineStep, CellId, 3>;
  Grid<VirtualStageId, MicrobatchId, Places> places_;
};

/// A step that an action waits for.
struct PipelineNeed {
  PipelineStep step;
  VirtualStageId stage;
  MicrobatchId microbatch;
};

/// Visits the actions that an action waits for, those on its own stage first (the rule of pipeline_timing.hpp). A slice
/// attends to the keys and values of the slices before it, and gets the gradients of its own from those after it.
template <class Visit>
void for_each_need(const PipelineAction& action, const PipelineShape& shape, Visit visit) {
  const auto need_of = [&](PipelineStep step, MicrobatchId microbatch) {
    visit(PipelineNeed{step, action.stage, microbatch});
  };
  const auto need = [&](PipelineStep step, VirtualStageId stage) {
    visit(PipelineNeed{step, stage, action.microbatch});
  };
  if (action.work == PipelineWork::forward) {
    if (shape.slice_of(action.microbatch) > 0) need_of(PipelineStep::forward, action.microbatch - 1);
    if (action.stage > 0) need(PipelineStep::forward, action.stage - 1);
  } else if (action.work == PipelineWork::weight_gradient) {
    need(PipelineStep::input_gradient, action.stage);
  } else {
    need(PipelineStep::forward, action.stage);
    if (shape.slice_of(action.microbatch) + 1 < shape.slices)
      need_of(PipelineStep::input_gradient, action.microbatch + 1);
    if (action.stage + 1 < shape.virtual_stages()) need(PipelineStep::input_gradient, action.stage + 1);
  }
}

}  // namespace lockstep::workloads
