#include "tools/output/results/error_band_text.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {

std::string band_text(const validation::ErrorBand& band, Seconds step) {
  std::string text = fixed(100 * validation::band_share, 0) + " % of similar measured steps lay between " +
                     format(step * band.low) + " and " + format(step * band.high) + " (" + std::to_string(band.rows) +
                     " of " + std::to_string(band.sources) + (band.sources == 1 ? " source: " : " sources: ") +
                     band.pool + ")";
  for (const auto& why : band.widened) text += "; wider, " + why;
  return text;
}

nlohmann::ordered_json band_json(const std::optional<validation::ErrorBand>& band, Seconds step) {
  if (!band) return {};
  return {{"share", validation::band_share},
          {"low_s", (step * band->low).value()},
          {"high_s", (step * band->high).value()},
          {"pool", band->pool},
          {"rows", band->rows},
          {"sources", band->sources},
          {"wider_because", band->widened}};
}

nlohmann::ordered_json draws_json(const StepDraws& draws) {
  return {{"seeds", draws.count()},
          {"best_step_time_s", draws.best().value()},
          {"median_step_time_s", draws.median().value()},
          {"worst_step_time_s", draws.worst().value()}};
}

nlohmann::ordered_json document_draws_json(const StepDraws& draws) {
  return {{"steps", draws.count()},
          {"p5_step_time_s", draws.quantile(0.05).value()},
          {"median_step_time_s", draws.median().value()},
          {"p95_step_time_s", draws.quantile(0.95).value()}};
}

}  // namespace lockstep::output
