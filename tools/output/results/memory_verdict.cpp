#include "tools/output/results/memory_verdict.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

Bytes times(Bytes size, double factor) { return Bytes(std::llround(static_cast<double>(size.value()) * factor)); }

}  // namespace

validation::Fit fit_of(Bytes peak, Bytes capacity) {
  return validation::fit_of(peak, capacity, validation::memory_band());
}

std::string peak_band_text(Bytes peak) {
  const auto band = validation::memory_band();
  if (!band) return "";
  return fixed(100 * validation::memory_band_share, 0) + " % of measured peaks lay between " +
         format(times(peak, band->low)) + " and " + format(times(peak, band->high)) + " where this was predicted";
}

std::string memory_verdict(Bytes peak, Bytes capacity) {
  const auto fit = fit_of(peak, capacity);
  if (fit == validation::Fit::fits) return "(fits, " + format(capacity - peak) + " to spare)";
  return unfit_words(peak, capacity) + (fit == validation::Fit::may_not_fit
                                            ? ": " + peak_band_text(peak)
                                            : ", " + format(peak - capacity) + " too much");
}

std::string unfit_words(Bytes peak, Bytes capacity) {
  switch (fit_of(peak, capacity)) {
    case validation::Fit::fits: return "";
    case validation::Fit::may_not_fit: return "MAY NOT FIT";
    case validation::Fit::does_not_fit: return "DOES NOT FIT";
  }
  return "";
}

nlohmann::ordered_json peak_band_json(Bytes peak) {
  const auto band = validation::memory_band();
  if (!band) return {};
  return {{"share", validation::memory_band_share},
          {"low_bytes", times(peak, band->low).value()},
          {"high_bytes", times(peak, band->high).value()},
          {"least_bytes", times(peak, band->least).value()},
          {"rows", band->rows},
          {"sources", band->sources}};
}

}  // namespace lockstep::output
