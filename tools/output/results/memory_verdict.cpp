#include "tools/output/results/memory_verdict.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

Bytes times(Bytes size, double factor) { return Bytes(std::llround(static_cast<double>(size.value()) * factor)); }

}  // namespace

std::string peak_band_text(Bytes peak) {
  const auto band = studies::memory_band();
  if (!band) return "";
  return fixed(100 * studies::memory_band_share, 0) + " % of measured peaks lay between " +
         format(times(peak, band->low)) + " and " + format(times(peak, band->high)) + " where this was predicted";
}

std::string memory_verdict(Bytes peak, Bytes capacity) {
  const auto fit = studies::fit_of(peak, capacity);
  if (fit == studies::Fit::fits) return "(fits, " + format(capacity - peak) + " to spare)";
  return unfit_words(fit) + (fit == studies::Fit::may_not_fit ? ": " + peak_band_text(peak)
                                                              : ", " + format(peak - capacity) + " too much");
}

std::string fit_words(studies::Fit fit) {
  return fit == studies::Fit::fits ? std::string(name(fit)) : unfit_words(fit);
}

std::string unfit_words(studies::Fit fit) {
  switch (fit) {
    case studies::Fit::fits: return "";
    case studies::Fit::may_not_fit: return "MAY NOT FIT";
    case studies::Fit::does_not_fit: return "DOES NOT FIT";
  }
  return "";
}

std::string peak_text(Bytes peak, Bytes capacity) {
  const auto words = unfit_words(studies::fit_of(peak, capacity));
  return format(peak) + (words.empty() ? "" : ", " + words);
}

nlohmann::ordered_json fit_json(std::optional<studies::Fit> fit) {
  if (!fit) return {{"fits", nullptr}, {"verdict", nullptr}};
  return {{"fits", *fit != studies::Fit::does_not_fit}, {"verdict", name(*fit)}};
}

nlohmann::ordered_json peak_band_json(Bytes peak) {
  const auto band = studies::memory_band();
  if (!band) return {};
  return {{"share", studies::memory_band_share},
          {"low_bytes", times(peak, band->low).value()},
          {"high_bytes", times(peak, band->high).value()},
          {"least_bytes", times(peak, band->least).value()},
          {"rows", band->rows},
          {"sources", band->sources}};
}

}  // namespace lockstep::output
