#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/placement_report.hpp"

namespace lockstep::output {

using Json = nlohmann::ordered_json;

std::size_t layer_that_gains_most(const place_ranks::ExpertStudy& study) {
  std::size_t most = 0;
  for (std::size_t i = 1; i < study.layers.size(); ++i) {
    const auto gain = [&](std::size_t layer) { return study.layers[layer].given - study.layers[layer].placed; };
    if (gain(i) > gain(most)) most = i;
  }
  return most;
}

std::string layer_name(const place_ranks::ExpertStudy& study, std::size_t layer) {
  return study.layers.size() == 1 ? "all layers" : "layer " + std::to_string(layer);
}

DesignReasons experts_reasons(const place_ranks::ExpertStudy& study) {
  const auto most = layer_that_gains_most(study);
  const auto& layer = study.layers[most];
  DesignReasons reasons;
  reasons.answer =
      "With these places of experts a step takes " + format(study.placed) + ", " +
      (study.placed < study.given ? percent(1 - study.placed / study.given) + " less than" : "no less than") +
      " in the order of their numbers, " + format(study.given) + ".";
  reasons.why = {"All ranks wait for the fullest one: in " + layer_name(study, most) + " it has " +
                 fixed(layer.placed, 3) + " times the mean of the tokens instead of " + fixed(layer.given, 3) +
                 "; no places give it less than " + fixed(layer.bound, 3) + "."};
  reasons.what_if = {"If all experts of a layer had the same tokens, a step would take " +
                     beside(study.even, study.placed) +
                     (is_shorter(study.even, study.placed) ? ": that is what places cannot even out." : ".")};
  return reasons;
}

std::string experts_text(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study) {
  constexpr std::size_t shown = 8;
  std::string text =
      scenario.name + ": a step takes " + format(study.given) + " with experts in the order of their numbers, " +
      format(study.placed) + " with these places, " +
      (study.placed < study.given ? percent(1 - study.placed / study.given) + " shorter" : "no shorter") + "\n" +
      std::to_string(study.layers.front().order.size()) + " experts of a layer on " + std::to_string(study.ranks) +
      " ranks; all wait for the one with the most tokens\n\n";
  std::int64_t without = 0;
  for (const auto& loads : study.loads) without += std::count(loads.begin(), loads.end(), 0.0);
  if (without > 0)
    text += "Assumed: experts without a token, " + std::to_string(without) +
            " in all layers, stay without one (those that the file has no line for too).\n\n";
  std::vector<std::size_t> layers(study.layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = i;
  std::stable_sort(layers.begin(), layers.end(), [&](std::size_t a, std::size_t b) {
    return study.layers[a].given - study.layers[a].placed > study.layers[b].given - study.layers[b].placed;
  });
  Table table({"tokens of the fullest rank over the mean", "given", "placed", "least possible"});
  for (std::size_t i = 0; i < std::min(shown, layers.size()); ++i) {
    const auto& layer = study.layers[layers[i]];
    table.add({layer_name(study, layers[i]), fixed(layer.given, 3), fixed(layer.placed, 3), fixed(layer.bound, 3)});
  }
  text += table.to_string();
  if (layers.size() > shown) text += "and " + std::to_string(layers.size() - shown) + " layers that gain less\n";
  return text + "\n" + lines_of(experts_reasons(study));
}

std::string experts_json(const scenario::Scenario& scenario, const place_ranks::ExpertStudy& study) {
  Json layers = Json::array();
  for (const auto& layer : study.layers)
    layers.push_back({{"given_ratio", layer.given},
                      {"placed_ratio", layer.placed},
                      {"bound_ratio", layer.bound},
                      {"experts", layer.order}});
  const auto reasons = experts_reasons(study);
  return json_document(Json{{"scenario", scenario.name},
                            {"ranks", study.ranks},
                            {"given_step_s", study.given.value()},
                            {"placed_step_s", study.placed.value()},
                            {"even_step_s", study.even.value()},
                            {"answer", reasons.answer},
                            {"why", reasons.why},
                            {"what_if", reasons.what_if},
                            {"layers", layers}});
}

std::string experts_csv(const place_ranks::ExpertStudy& study) {
  const bool several = study.loads.size() > 1;
  std::string text = several ? "layer,expert,tokens\n" : "expert,tokens\n";
  for (std::size_t layer = 0; layer < study.loads.size(); ++layer) {
    for (std::size_t place = 0; place < study.loads[layer].size(); ++place)
      text += (several ? std::to_string(layer) + "," : "") + std::to_string(place) + "," +
              std::to_string(std::llround(study.loads[layer][place])) + "\n";
  }
  return text;
}

}  // namespace lockstep::output
