#include <nlohmann/json.hpp>

#include "tools/output/elements/json_document.hpp"
#include "tools/output/schedules/schedule_study.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<workloads::ClosedForm>& form) {
  if (!form) return nullptr;
  Json json = {{"of", form->of == workloads::ClosedForm::Of::step ? "bubble_step" : "bubble_span"},
               {"expression", form->expression},
               {"value", form->value},
               {"applies", form->applies},
               {"conditions", form->conditions},
               {"broken_conditions", form->broken},
               {"symbols", form->symbols},
               {"note", form->note},
               {"latency_expression", form->latency_expression},
               {"latency_conditions", form->latency_conditions},
               {"latency_value", nullptr},
               {"activations_expression", form->activations_expression},
               {"activations_microbatches", nullptr}};
  if (form->latency_value) json["latency_value"] = *form->latency_value;
  if (form->activations) json["activations_microbatches"] = *form->activations;
  return json;
}

Json json_of(const workloads::PipelineTimes& times) {
  Json json = {{"stages", Json::array()}, {"latency", times.latency}, {"pair", nullptr}, {"slices", Json::array()}};
  for (const auto& stage : times.stages) {
    json["stages"].push_back({{"forward", stage.forward},
                              {"input_gradient", stage.input_gradient},
                              {"weight_gradient", stage.weight_gradient}});
  }
  if (times.pair) json["pair"] = *times.pair;
  for (const double share : times.slices) json["slices"].push_back(share);
  return json;
}

Json json_of(const DesignStudy& design) {
  Json json = {{"bounded_by", design.bounded_by},   {"memory_limit_microbatches", design.limits},
               {"published", Json::array()},        {"answer", design.reasons.answer},
               {"why", design.reasons.why},         {"what_if", design.reasons.what_if},
               {"with_more_memory", Json::array()}, {"with_less_work", nullptr},
               {"stopped", design.stopped}};
  if (const auto& less = design.less_work)
    json["with_less_work"] = {{"ranks", less->ranks}, {"makespan", less->makespan}, {"lower_bound", less->lower_bound}};
  for (const auto& rival : design.published)
    json["published"].push_back({{"schedule", rival.schedule}, {"makespan", rival.makespan}});
  for (const auto& more : design.more_memory) {
    Json rank = nullptr;
    if (more.rank >= 0) rank = more.rank;
    json["with_more_memory"].push_back({{"rank", rank},
                                        {"limit_microbatches", more.limit},
                                        {"makespan", more.makespan},
                                        {"lower_bound", more.lower_bound}});
  }
  return json;
}

/// Everything that does not grow with the number of cells.
Json summary_of(const ScheduleStudy& study) {
  const auto& shape = study.order.shape;
  const auto step = study.worst_step(), span = study.worst_span();
  Json json = {{"schedule", study.order.schedule},
               {"remark", study.remark},
               {"placement", name(shape.placement)},
               {"ranks", shape.ranks},
               {"chunks", shape.chunks},
               {"microbatches", shape.whole_microbatches()},
               {"slices", shape.slices},
               {"times", json_of(study.times)},
               {"latency", study.times.latency},
               {"makespan", study.timing.makespan},
               {"busy", study.timing.busy},
               {"bubble_step", study.timing.bubble_step},
               {"bubble_span", study.timing.bubble_span},
               {"bubble_step_fraction", Json::array()},
               {"bubble_span_fraction", Json::array()},
               {"worst",
                {{"bubble_step_rank", step},
                 {"bubble_step", study.timing.bubble_step[step]},
                 {"bubble_step_fraction", study.step_fraction(step)},
                 {"bubble_span_rank", span},
                 {"bubble_span", study.timing.bubble_span[span]},
                 {"bubble_span_fraction", study.span_fraction(span)}}},
               {"peak_activations", study.held.until_weight_gradient},
               {"peak_activations_until_input_gradient", study.held.until_input_gradient},
               {"peak_activations_microbatches", study.peak_microbatches()},
               {"parameter_copies", study.parameter_copies()},
               {"closed_form", json_of(study.form)}};
  json["lower_bound"] = nullptr;
  json["gap"] = nullptr;
  json["design"] = nullptr;
  if (study.design) {
    json["lower_bound"] = study.design->lower_bound;
    json["gap"] = study.design->gap;
    json["design"] = json_of(*study.design);
  }
  for (std::size_t rank = 0; rank < study.order.ranks.size(); ++rank) {
    json["bubble_step_fraction"].push_back(study.step_fraction(rank));
    json["bubble_span_fraction"].push_back(study.span_fraction(rank));
  }
  return json;
}

}  // namespace

std::string schedule_json(const ScheduleStudy& study) {
  auto json = summary_of(study);
  auto orders = Json::array(), spans = Json::array();
  for (std::size_t rank = 0; rank < study.order.ranks.size(); ++rank) {
    auto cells = Json::array(), times = Json::array();
    for (const auto& cell : study.order.ranks[rank]) cells.push_back(cell.to_string());
    for (const auto& span : study.timing.spans[rank]) times.push_back({span.start, span.end});
    orders.push_back(std::move(cells));
    spans.push_back(std::move(times));
  }
  json["orders"] = std::move(orders);
  json["spans"] = std::move(spans);
  return json_document(json, -1);
}

std::string comparison_json(std::span<const ComparedSchedule> schedules) {
  Json json = {{"schedules", Json::array()}};
  for (const auto& row : schedules) {
    if (row.study)
      json["schedules"].push_back(summary_of(*row.study));
    else
      json["schedules"].push_back({{"schedule", row.name}, {"refused", row.refused}});
  }
  return json_document(json);
}

}  // namespace lockstep::output
