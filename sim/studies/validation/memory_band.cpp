#include "sim/studies/validation/memory_band.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>

namespace lockstep::validation {
namespace {

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4).ptr};
}

std::string list_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + number(value);
  return text;
}

}  // namespace

std::vector<MemoryFamily> memory_families(const std::vector<ValidatedRun>& runs) {
  std::vector<MemoryFamily> families;
  std::set<std::tuple<std::string, double, double>> known;
  for (const auto& run : runs) {
    if (!(run.predicted_peak_bytes > 0)) continue;
    const bool measured = run.memory_counts();
    const bool full = run.counts() && run.predicted_peak_bytes > studies::nearly_full * run.capacity_bytes;
    if (!measured && !full) continue;
    const double ratio =
        measured ? *run.run.peak_bytes / run.compared_peak_bytes : run.capacity_bytes / run.predicted_peak_bytes;
    if (!known.emplace(run.run.table, run.predicted_peak_bytes, ratio).second) continue;
    auto at = std::find_if(families.begin(), families.end(), [&](const MemoryFamily& family) {
      return family.table == run.run.table && family.name == run.run.family;
    });
    if (at == families.end()) at = families.insert(at, {run.run.table, run.run.family, {}, {}});
    (measured ? at->peaks : at->ran).push_back(ratio);
  }
  for (auto& family : families) {
    std::sort(family.peaks.begin(), family.peaks.end());
    std::sort(family.ran.begin(), family.ran.end());
  }
  return families;
}

std::string memory_families_csv(const std::vector<MemoryFamily>& families) {
  std::string text = "table,family,measured_over_predicted,capacity_over_predicted\n";
  for (const auto& family : families)
    text += family.table + ",\"" + family.name + "\"," + list_text(family.peaks) + "," + list_text(family.ran) + "\n";
  return text;
}

bool ValidatedRun::refused() const {
  if (!(capacity_bytes > 0)) return false;
  const auto bytes = [](double value) { return Bytes(std::llround(value)); };
  return studies::fit_of(bytes(predicted_peak_bytes), bytes(capacity_bytes)) == studies::Fit::does_not_fit;
}

}  // namespace lockstep::validation
