#pragma once
/// The operations of the whole step where a part of it repeats, numbered as if none had been left out, each as the
/// simulated operation that stands for it.
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/timeline/timeline.hpp"
#include "workloads/pipeline/pipeline_order.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::timing {

class WholeStep {
 public:
  struct Run {
    std::int32_t op;    ///< simulated
    std::int64_t copy;  ///< as timeline::Repetition counts
  };
  /// `order` is that of the whole step; `step` and `timeline` are simulated. All must outlive this.
  WholeStep(const workloads::PipelineOrder& order, const workloads::StepGraph& step,
            const timeline::Timeline& timeline);

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }  ///< by number
  [[nodiscard]] std::int64_t number(const Run& run) const;
  /// The number of an operation that `run` waits for, which for the simulated operation is `before`; -1 if it cannot be
  /// told for which microbatch.
  [[nodiscard]] std::int64_t number_before(const Run& run, std::int32_t before) const;

 private:
  /// A cell of the whole order: where its operations are in the whole and in the simulated step.
  struct Cell {
    std::int64_t number = 0;
    workloads::OpId first = 0, last = 0;
  };
  [[nodiscard]] const workloads::CellOps& simulated_cell(workloads::OpId op) const;

  const workloads::PipelineOrder& order_;
  const workloads::StepGraph& step_;
  const timeline::Repetition& repetition_;
  std::vector<Run> runs_;
  Indexed<workloads::StageId, Indexed<workloads::CellId, Cell>> cells_;            ///< as order.ranks
  using Action = std::tuple<workloads::PipelineWork, std::int32_t, std::int32_t>;  ///< work, stage, microbatch
  std::map<Action, workloads::CellPlace> places_;                                  ///< in the whole order
};

}  // namespace lockstep::timing
