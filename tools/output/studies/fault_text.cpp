#include "tools/output/studies/fault_text.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {

std::string fault_text(const scenario::Scenario& scenario, const faults::FaultStudy& study) {
  std::string text = scenario.name + ": a step takes " + format(study.whole) + "\n";
  if (study.losses.empty()) return text + "no network joins its chips: nothing to lose\n";
  Table table({"without", "alike", "step", "effect"});
  table.fold(34, 28);
  table.align_left(3);
  for (const auto& loss : study.losses) {
    const bool parts = !loss.partition.empty();
    table.add({loss.name, std::to_string(loss.alike), parts ? "none" : format(loss.step),
               parts ? "parts the job: " + loss.partition : percent(loss.step / study.whole - 1) + " longer"});
  }
  text += table.to_string();
  if (study.left_out > 0)
    text += std::to_string(study.left_out) + " more kinds of loss were not simulated: --most sets how many are\n";
  return text;
}

std::string fault_json(const scenario::Scenario& scenario, const faults::FaultStudy& study) {
  using Json = nlohmann::ordered_json;
  Json json = {{"scenario", scenario.name},
               {"step_time_s", study.whole.value()},
               {"losses", Json::array()},
               {"not_simulated", study.left_out}};
  for (const auto& loss : study.losses) {
    const bool parts = !loss.partition.empty();
    json["losses"].push_back({{"part", loss.name},
                              {"kind", loss.is_switch ? "switch" : "cable"},
                              {"alike", loss.alike},
                              {"step_time_s", parts ? Json() : Json(loss.step.value())},
                              {"partition", parts ? Json(loss.partition) : Json()}});
  }
  return json_document(json);
}

}  // namespace lockstep::output
