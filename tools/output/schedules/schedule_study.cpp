#include "tools/output/schedules/schedule_study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::output {
namespace {

std::size_t longest(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

std::string ScheduleStudy::title() const { return order.schedule.empty() ? "imported order" : order.schedule; }
std::size_t ScheduleStudy::worst_step() const { return longest(timing.bubble_step); }
std::size_t ScheduleStudy::worst_span() const { return longest(timing.bubble_span); }

double ScheduleStudy::step_fraction(std::size_t rank) const {
  return timing.makespan > 0 ? timing.bubble_step[rank] / timing.makespan : 0;
}

double ScheduleStudy::span_fraction(std::size_t rank) const {
  const double span = timing.busy[rank] + timing.bubble_span[rank];
  return span > 0 ? timing.bubble_span[rank] / span : 0;
}

double ScheduleStudy::peak_microbatches() const {
  const auto& chunks = held.until_weight_gradient;
  return static_cast<double>(*std::max_element(chunks.begin(), chunks.end())) / order.shape.chunks / order.shape.slices;
}

int ScheduleStudy::parameter_copies() const {
  return order.shape.placement == workloads::StagePlacement::bidirectional ? 2 : 1;
}

ScheduleStudy study_order(workloads::PipelineOrder order, workloads::PipelineTimes times,
                          std::optional<workloads::ClosedForm> form) {
  auto timing = time_order(order, times);
  // Rounding would print a bubble of zero as -1e-15.
  const double noise = 1e-12 * timing.makespan;
  for (auto* bubbles : {&timing.bubble_step, &timing.bubble_span}) {
    for (auto& bubble : *bubbles) bubble = std::abs(bubble) < noise ? 0 : bubble;
  }
  auto held = held_activations(order);
  return {std::move(order), std::move(times), std::move(timing), std::move(held), std::move(form), "", {}};
}

}  // namespace lockstep::output
