#include "sim/studies/validation/expected_error.hpp"

#include <charconv>
#include <cmath>

namespace lockstep::validation {
namespace {

constexpr double of_precision = 3, of_experts = 6;

double distance(const StepTraits& a, const StepTraits& b) {
  const auto doublings = [](double x, double y) { return std::abs(std::log2(x / y)); };
  return (a.precision != b.precision ? of_precision : 0) + (a.experts != b.experts ? of_experts : 0) +
         doublings(static_cast<double>(a.chips), static_cast<double>(b.chips)) + doublings(a.parameters, b.parameters);
}

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4).ptr};
}

}  // namespace

std::vector<ValidatedFamily> validated_families(const std::vector<ValidatedRun>& runs) {
  std::vector<ValidatedFamily> families;
  std::vector<double> doublings;
  for (const auto& run : runs) {
    if (!run.counts() || run.traits.chip.empty()) continue;
    const auto name = run.run.table + ": " + run.run.family;
    std::size_t at = 0;
    while (at < families.size() && families[at].name != name) ++at;
    if (at == families.size()) {
      families.push_back({run.traits, name, 0, 0});
      doublings.push_back(0);
    }
    ++families[at].rows;
    families[at].mean_abs += std::abs(run.error());
    doublings[at] += std::log2(static_cast<double>(run.traits.chips));
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto rows = static_cast<double>(families[i].rows);
    families[i].mean_abs /= rows;
    families[i].traits.chips = std::llround(std::exp2(doublings[i] / rows));
  }
  return families;
}

std::string families_csv(const std::vector<ValidatedFamily>& families) {
  std::string text = "chip,precision,experts,chips,parameters,rows,mean_abs_pct,family\n";
  for (const auto& [traits, family, rows, mean_abs] : families) {
    text += traits.chip + "," + std::string(name(traits.precision)) + "," + (traits.experts ? "yes" : "no") + "," +
            std::to_string(traits.chips) + "," + number(traits.parameters) + "," + std::to_string(rows) + "," +
            number(100 * mean_abs) + ",\"" + family + "\"\n";
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
                     topologies::precision_named(row.text("precision")).value_or(topologies::Precision::bf16),
                     row.text("experts") == "yes", row.integer("chips"), row.number("parameters").value_or(1)};
    family.name = row.text("family");
    family.rows = static_cast<std::size_t>(row.integer("rows"));
    family.mean_abs = row.number("mean_abs_pct").value_or(0) / 100;
    families.push_back(std::move(family));
  }
  problems.throw_if_any();
  return families;
}

const ValidatedFamily* nearest_family(const std::vector<ValidatedFamily>& families, const StepTraits& traits) {
  const ValidatedFamily* nearest = nullptr;
  for (const auto& family : families) {
    if (family.traits.chip != traits.chip) continue;
    if (nearest == nullptr || distance(family.traits, traits) < distance(nearest->traits, traits)) nearest = &family;
  }
  return nearest;
}

std::optional<ValidatedFamily> expected_error(const scenario::Scenario& scenario) {
  const auto file = scenario::data_root() / "topologies/catalog/validated.csv";
  if (scenario.time_model != cost::TimeModel::calibrated || scenario.replay || !std::filesystem::exists(file) ||
      scenario.cluster.chips().count() > 1)
    return std::nullopt;
  const auto families = read_families(file);
  const auto* nearest = nearest_family(families, traits_of(scenario));
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

}  // namespace lockstep::validation
