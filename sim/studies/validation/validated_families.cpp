// Families of validated steps and their CSV, topologies/catalog/validated.csv.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "sim/studies/validation/error_band.hpp"

namespace lockstep::validation {
namespace {

constexpr std::size_t most_residuals =
    19;  ///< of a family; more are given as percentiles, so that the file stays short

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4).ptr};
}

/// Ascending; many by the middles of as many equal shares.
std::vector<double> few_of(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  if (residuals.size() <= most_residuals) return residuals;
  std::vector<double> few;
  for (std::size_t i = 0; i < most_residuals; ++i)
    few.push_back(residuals[(2 * i + 1) * residuals.size() / (2 * most_residuals)]);
  return few;
}

Method method_named(const std::string& text) {
  for (const auto method : all_methods) {
    if (text == name(method)) return method;
  }
  return Method::replicas;
}

}  // namespace

std::vector<ValidatedFamily> validated_families(const std::vector<ValidatedRun>& runs) {
  std::vector<ValidatedFamily> families;
  for (const auto& run : runs) {
    if (!run.counts() || run.traits.chip.empty()) continue;
    const auto same = [&](const ValidatedFamily& family) {
      return family.table == run.run.table && family.name == run.run.family &&
             family.traits.method == run.traits.method;
    };
    auto at = std::find_if(families.begin(), families.end(), same);
    if (at == families.end()) {
      at = families.insert(at, {run.traits, run.run.table, run.run.family, 0, {}});
      at->traits.network = 0;
    }
    ++at->rows;
    at->residuals.push_back(run.measured_s / run.predicted_s);
    at->traits.network += run.traits.network;
    at->traits.chips = std::max(at->traits.chips, run.traits.chips);
  }
  for (auto& family : families) {
    family.residuals = few_of(std::move(family.residuals));
    family.traits.network /= static_cast<double>(family.rows);
  }
  return families;
}

std::string families_csv(const std::vector<ValidatedFamily>& families) {
  std::string text =
      "chip,generation,precision,method,chips,parameters,exposed_share,rows,table,family,measured_over_predicted\n";
  for (const auto& family : families) {
    const auto& traits = family.traits;
    std::string residuals;
    for (const double residual : family.residuals) residuals += (residuals.empty() ? "" : " ") + number(residual);
    text += traits.chip + "," + traits.generation + "," + std::string(name(traits.precision)) + "," +
            std::string(name(traits.method)) + "," + std::to_string(traits.chips) + "," + number(traits.parameters) +
            "," + (traits.network > 0 ? number(traits.network) : "") + "," + std::to_string(family.rows) + "," +
            family.table + ",\"" + family.name + "\"," + residuals + "\n";
  }
  return text;
}

std::vector<ValidatedFamily> read_families(const std::filesystem::path& file) {
  Problems problems;
  const CsvTable table(file, problems);
  std::vector<ValidatedFamily> families;
  for (const auto& row : table.rows()) {
    ValidatedFamily family;
    family.traits = {row.text("chip"),
                     row.text("generation"),
                     topologies::precision_named(row.text("precision")).value_or(topologies::Precision::bf16),
                     method_named(row.text("method")),
                     row.integer("chips"),
                     row.number("parameters").value_or(1),
                     row.number("exposed_share").value_or(0)};
    family.table = row.text("table");
    family.name = row.text("family");
    family.rows = static_cast<std::size_t>(row.integer("rows"));
    std::istringstream residuals(row.text("measured_over_predicted"));
    for (double residual = 0; residuals >> residual;) family.residuals.push_back(residual);
    if (family.residuals.empty() ||
        !std::all_of(family.residuals.begin(), family.residuals.end(), [](double residual) { return residual > 0; })) {
      problems.add({row.where("measured_over_predicted"), "measured_over_predicted",
                    "`" + row.text("measured_over_predicted") + "` are no ratios",
                    "numbers above 0, such as 0.97 1.04"});
    } else {
      families.push_back(std::move(family));
    }
  }
  problems.throw_if_any();
  return families;
}

}  // namespace lockstep::validation
