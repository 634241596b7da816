#include "tools/output/studies/from_trace_text.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/replay_text.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

std::string error_text(Seconds simulated, Seconds recorded) {
  if (!(recorded > Seconds(0))) return "not recorded";
  return signed_percent(simulated / recorded - 1);
}

/// What the recorded time means for the work of the scenario: FLOP/s of products and attention, bytes/s of others.
std::string rate_text(const from_trace::ClassResidual& row) {
  if (!(row.recorded > Seconds(0))) return "";
  return row.kind == from_trace::KernelClass::others ? format(row.traffic / row.recorded)
                                                     : format(row.flops / row.recorded);
}

}  // namespace

std::string from_trace_text(const from_trace::FromTrace& made, const std::string& file) {
  std::string text = "Scenario of the job of rank " + std::to_string(made.rank) + "'s trace: " + file + "\n";
  for (const auto& reason : made.reasons) text += "  " + reason + "\n";
  text += "step  recorded " + format(made.recorded_step) + ", simulated " + format(made.simulated_step) + " (" +
          error_text(made.simulated_step, made.recorded_step) + ")\n\n";
  Table table({"kernels in a step", "recorded", "catalog", "scenario", "residual", "rates of", "recorded rate"});
  table.fold(12, 0);
  for (const auto& row : made.classes) {
    table.add({std::string(from_trace::name(row.kind)), format(row.recorded), format(row.unfitted), format(row.fitted),
               error_text(row.fitted, row.recorded), row.measured ? "trace" : "catalog", rate_text(row)});
  }
  return text + table.to_string() + "\n" + against_text(made.collectives, made.rank, file);
}

std::string from_trace_json(const from_trace::FromTrace& made, const std::string& file) {
  Json json = {{"scenario", file},
               {"rank", made.rank},
               {"recorded", {{"step_time_s", made.recorded_step.value()}}},
               {"step_time_s", made.simulated_step.value()},
               {"fitted", made.is_fitted},
               {"kernels", Json::array()},
               {"notes", made.reasons},
               {"yaml", made.yaml}};
  for (const auto& row : made.classes) {
    const bool known = row.recorded > Seconds(0);
    json["kernels"].push_back({{"class", from_trace::name(row.kind)},
                               {"recorded_s", row.recorded.value()},
                               {"unfitted_s", row.unfitted.value()},
                               {"fitted_s", row.fitted.value()},
                               {"residual", known ? Json(row.fitted / row.recorded - 1) : Json()},
                               {"rates_of", row.measured ? "trace" : "catalog"},
                               {"flops", row.flops.value()},
                               {"traffic_bytes", row.traffic.value()}});
  }
  json["collectives"] = Json::parse(against_json(made.collectives, made.rank, file))["collectives"];
  return json_document(json);
}

}  // namespace lockstep::output
