#include "sim/studies/memory_fit.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "sim/core/csv_table.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep::studies {
namespace {

std::vector<double> list_in(const CsvRow& row, const char* column, Problems& problems) {
  std::istringstream text(row.text(column));
  std::vector<double> values;
  for (double value = 0; text >> value;) values.push_back(value);
  if (!text.eof() || std::any_of(values.begin(), values.end(), [](double value) { return !(value > 0); }))
    problems.add({row.where(column), column, "`" + row.text(column) + "` are no ratios",
                  "numbers above 0, such as 0.97 1.04, or nothing"});
  return values;
}

/// log(measured / predicted) of all peaks, and with `ran` the upper ones of steps that ran.
std::vector<WeightedResidual> residuals_of(const std::vector<MemoryFamily>& families, std::string_view without,
                                           bool ran) {
  std::map<std::string_view, double> of_source;
  const auto for_each = [&](auto visit) {
    for (const auto& family : families) {
      if (family.table == without) continue;
      for (const double peak : family.peaks) visit(family, peak);
      if (!ran) continue;
      for (const double most : family.ran) visit(family, std::min(1.0, most));
    }
  };
  for_each([&](const MemoryFamily& family, double) { of_source[family.table] += 1; });
  std::vector<WeightedResidual> made;
  for_each([&](const MemoryFamily& family, double residual) {
    made.push_back({std::log(residual), 1 / std::sqrt(of_source[family.table])});
  });
  return made;
}

std::size_t sources_of(const std::vector<MemoryFamily>& families, std::string_view without) {
  std::set<std::string_view> sources;
  for (const auto& family : families) {
    if (family.table != without && !family.peaks.empty()) sources.insert(family.table);
  }
  return sources.size();
}

/// None without measured peaks.
std::optional<ResidualInterval> interval_of(const std::vector<MemoryFamily>& families, std::string_view without,
                                            double doubt) {
  const auto residuals = residuals_of(families, without, false);
  if (residuals.empty()) return {};
  return interval_of(residuals).widened(doubt, sources_of(families, without));
}

/// By table, the share of its peaks in the interval made without it.
std::map<std::string, double> left_out_coverage(const std::vector<MemoryFamily>& families, double doubt) {
  std::map<std::string, double> held, rows;
  for (const auto& family : families) {
    const auto interval = interval_of(families, family.table, doubt);
    for (const double peak : family.peaks) {
      held[family.table] += interval && interval->holds(std::log(peak)) ? 1 : 0;
      rows[family.table] += 1;
    }
  }
  for (auto& [table, share] : held) share /= rows[table];
  return held;
}

/// 0 of a single source.
double doubt_of(const std::vector<MemoryFamily>& families) {
  if (sources_of(families, "") < 2) return 0;
  return least_doubt([&](double doubt) {
    const auto held = left_out_coverage(families, doubt);
    double sum = 0;
    for (const auto& [table, share] : held) sum += share;
    return sum / static_cast<double>(held.size());
  });
}

}  // namespace

std::vector<MemoryFamily> read_memory_families(const std::filesystem::path& file) {
  Problems problems;
  const CsvTable table(file, problems);
  std::vector<MemoryFamily> families;
  for (const auto& row : table.rows()) {
    families.push_back({row.text("table"), row.text("family"), list_in(row, "measured_over_predicted", problems),
                        list_in(row, "capacity_over_predicted", problems)});
  }
  problems.throw_if_any();
  return families;
}

MemoryBands::MemoryBands(std::vector<MemoryFamily> families)
    : families_(std::move(families)), doubt_(doubt_of(families_)) {}

std::optional<MemoryBand> MemoryBands::band(std::string_view without) const {
  const auto interval = interval_of(families_, without, doubt_);
  if (!interval) return {};
  MemoryBand band{std::exp(interval->low), std::exp(interval->high), 1, 0, 0};
  band.least = std::min(band.low, std::exp(percentile(residuals_of(families_, without, true), refused_by_mistake)));
  for (const auto& family : families_) {
    if (family.table != without) band.rows += family.peaks.size();
  }
  band.sources = sources_of(families_, without);
  return band;
}

std::map<std::string, double> MemoryBands::coverage_of_tables() const { return left_out_coverage(families_, doubt_); }

std::string_view name(Fit fit) {
  switch (fit) {
    case Fit::fits: return "fits";
    case Fit::may_not_fit: return "may not fit";
    case Fit::does_not_fit: return "does not fit";
  }
  return "";
}

Fit fit_of(Bytes peak, Bytes capacity, const std::optional<MemoryBand>& band) {
  const double filled = peak / capacity;
  if (!band) return filled <= 1 ? Fit::fits : Fit::does_not_fit;
  if (filled * band->least > 1) return Fit::does_not_fit;
  return filled > 1 || filled * band->high > 1 ? Fit::may_not_fit : Fit::fits;
}

std::optional<MemoryBand> memory_band() {
  static std::mutex one_at_a_time;
  static std::map<std::filesystem::path, std::optional<MemoryBand>> known;  // by folder of data: asked for every step
  const auto file = scenario::data_root() / "topologies/catalog/validated_memory.csv";
  const std::scoped_lock lock(one_at_a_time);
  const auto found = known.find(file);
  if (found != known.end()) return found->second;
  std::optional<MemoryBand> band;
  if (std::filesystem::exists(file)) band = MemoryBands(read_memory_families(file)).band();
  return known.emplace(file, band).first->second;
}

Fit fit_of(Bytes peak, Bytes capacity) { return fit_of(peak, capacity, memory_band()); }

}  // namespace lockstep::studies
