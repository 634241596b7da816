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

/// Visits the actions that an action waits for, those on its own stage first (the rule of pipeline_timing.hpp).
template <class Visit>
void for_each_need(const PipelineAction& action, std::int32_t stages, Visit visit) {
  const auto need = [&](PipelineStep step, std::int32_t stage) { visit(PipelineNeed{step, stage, action.microbatch}); };
  if (action.work == PipelineWork::forward) {
    if (action.stage > 0) need(PipelineStep::forward, action.stage - 1);
  } else if (action.work == PipelineWork::weight_gradient) {
    need(PipelineStep::input_gradient, action.stage);
  } else {
    need(PipelineStep::forward, action.stage);
    if (action.stage + 1 < stages) need(PipelineStep::input_gradient, action.stage + 1);
  }
}

}  // namespace lockstep::workloads
