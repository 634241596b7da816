#pragma once
/// A pipeline order with everything that the schedule command says about it: as text, JSON and a picture.
#include <optional>
#include <span>
#include <string>

#include "tools/output/schedules/design_study.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/pipeline/schedules/closed_form.hpp"

namespace lockstep::output {

struct ScheduleStudy {
  workloads::PipelineOrder order;
  workloads::PipelineTimes times;
  workloads::PipelineTiming timing;
  workloads::HeldActivations held;  ///< in chunks
  std::optional<workloads::ClosedForm> form;
  std::string remark;                      ///< on how an imported file was read, "" if there is nothing to say
  std::optional<DesignStudy> design = {};  ///< of a designed order

  [[nodiscard]] std::string title() const;       ///< "1f1b", or "imported order"
  [[nodiscard]] std::size_t worst_step() const;  ///< rank with the longest bubble of the step
  [[nodiscard]] std::size_t worst_span() const;
  [[nodiscard]] double step_fraction(std::size_t rank) const;  ///< of the makespan
  [[nodiscard]] double span_fraction(std::size_t rank) const;  ///< of the rank's own span
  /// Most activations any rank holds until the weight gradient, in microbatches through all its chunks.
  [[nodiscard]] double peak_microbatches() const;
  [[nodiscard]] int parameter_copies() const;  ///< a bidirectional rank holds two stages
};

/// Times the order; throws ScheduleError if it never ends.
[[nodiscard]] ScheduleStudy study_order(workloads::PipelineOrder order, workloads::PipelineTimes times,
                                        std::optional<workloads::ClosedForm> form);

/// One line of a comparison: a study, or why there is none.
struct ComparedSchedule {
  std::string name;
  std::optional<ScheduleStudy> study;
  std::string refused;
};

[[nodiscard]] std::string schedule_text(const ScheduleStudy& study);
[[nodiscard]] std::string schedule_json(const ScheduleStudy& study);
[[nodiscard]] std::string comparison_text(std::span<const ComparedSchedule> schedules,
                                          const workloads::PipelineTimes& rank_times, std::int32_t ranks,
                                          std::int32_t microbatches);
[[nodiscard]] std::string comparison_json(std::span<const ComparedSchedule> schedules);

/// SVG: a row per rank with its cells over time and the activations that it holds. `until`: where its axis of time ends
/// at least, so that pictures of several have the same.
[[nodiscard]] std::string schedule_picture(const ScheduleStudy& study, double until = 0);

}  // namespace lockstep::output
