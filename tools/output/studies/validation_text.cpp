#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/collective_errors.hpp"
#include "tools/output/studies/validation_report.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shown_rows = 10;
constexpr std::size_t shown_lines = 5;

Json or_null(bool exists, double value) { return exists ? Json(value) : Json(); }

std::string reason_of(const validation::MeasuredRun& run) { return run.table + ": " + run.skipped_because; }

/// " (line 3)" or " (lines 3, 4, 5, 6, 7 and 20 more)": where the rows stand that are skipped for this reason; "" where
/// they have no place, or the reason says it: "t.csv:3:1: ...".
std::string lines_of(const std::vector<validation::ValidatedRun>& runs, const std::string& reason) {
  std::string shown;
  std::size_t count = 0;
  for (const auto& run : runs) {
    const auto line = run.run.where.line;
    if (run.run.skipped_because.empty() || line == 0 || reason_of(run.run) != reason) continue;
    if (reason.find(":" + std::to_string(line) + ":") != std::string::npos) continue;
    if (++count <= shown_lines) shown += (count == 1 ? "" : ", ") + std::to_string(line);
  }
  if (count == 0) return "";
  const auto more = count > shown_lines ? " and " + std::to_string(count - shown_lines) + " more" : "";
  return (count == 1 ? " (line " : " (lines ") + shown + more + ")";
}

}  // namespace

std::vector<const validation::ValidatedRun*> worst_first(const std::vector<validation::ValidatedRun>& runs) {
  std::vector<const validation::ValidatedRun*> rows;
  for (const auto& run : runs) {
    if (run.counts()) rows.push_back(&run);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return std::abs(a->error()) > std::abs(b->error()); });
  return rows;
}

std::vector<std::pair<std::string, std::size_t>> reasons_of(const std::vector<validation::ValidatedRun>& runs) {
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const auto& run : runs) {
    if (run.run.skipped_because.empty()) continue;
    const auto text = reason_of(run.run);
    const auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) { return reason.first == text; });
    if (known == reasons.end()) {
      reasons.emplace_back(text, 1);
    } else {
      ++known->second;
    }
  }
  return reasons;
}

std::string validation_text(const std::vector<validation::ValidatedRun>& runs, bool with_families) {
  Table table({"", "rows", "skipped", "mean", "median", "bias", "max", "Spearman"});
  Table memory({"memory", "ran", "said not to fit", "measured", "mean", "median", "bias", "max"});
  bool remembered = false;
  for (const auto& family : families_of(runs)) {
    if (!family.name.empty() && !with_families) continue;
    const auto name = family.name.empty() ? family.table : "  " + family.name;
    const auto& time = family.time;
    const auto of = [&](std::string text) { return time.rows > 0 ? text : "-"; };
    table.add({name, std::to_string(time.rows), std::to_string(family.skipped), of(percent(time.mean_abs)),
               of(percent(time.median_abs)), of(signed_percent(time.bias)), of(percent(time.max_abs)),
               family.spearman ? fixed(*family.spearman, 2) : "-"});
    const auto& held = family.memory;
    if (held.rows + family.ran == 0) continue;
    const auto in = [&](std::string text) { return held.rows > 0 ? text : "-"; };
    memory.add({name, std::to_string(family.ran), std::to_string(family.refused), std::to_string(held.rows),
                in(percent(held.mean_abs)), in(percent(held.median_abs)), in(signed_percent(held.bias)),
                in(percent(held.max_abs))});
    remembered = true;
  }
  std::string text = "error = predicted / measured - 1, of step times; Spearman within a model\n\n" + table.to_string();
  if (remembered) text += "\n" + memory.to_string();
  const auto worst = worst_first(runs);
  if (!worst.empty()) {
    Table rows({"worst rows", "predicted", "measured", "error"});
    for (std::size_t i = 0; i < std::min(shown_rows, worst.size()); ++i) {
      const auto& run = *worst[i];
      rows.add({run.run.table + " " + run.run.name + " (" + run.run.family + ")", format(Seconds(run.predicted_s)),
                format(Seconds(run.measured_s)), signed_percent(run.error())});
    }
    text += "\n" + rows.to_string();
  }
  const auto reasons = reasons_of(runs);
  if (!reasons.empty()) text += "\nskipped\n";
  for (const auto& [reason, count] : reasons)
    text += "  " + std::to_string(count) + " of " + reason + lines_of(runs, reason) + "\n";
  return text;
}

std::string leave_one_out_text(const std::vector<validation::LeftOut>& tables) {
  Table table({"left out", "rows", "as it is", "fitted to all", "fitted to the others", "matrix x", "memory x"});
  for (const auto& left : tables) {
    table.add({left.chip + ": " + left.table, std::to_string(left.as_is.rows), percent(left.as_is.mean_abs),
               percent(left.fitted.mean_abs), percent(left.left_out.mean_abs), fixed(left.compute, 2),
               fixed(left.memory, 2)});
  }
  return table.to_string();
}

std::string validation_json(const std::vector<validation::ValidatedRun>& runs, const std::string& model_of_time,
                            const std::vector<validation::ValidatedCollective>& collectives) {
  Json families = Json::array();
  for (const auto& family : families_of(runs)) {
    const auto& time = family.time;
    const auto& memory = family.memory;
    const bool timed = time.rows > 0, held = memory.rows > 0;
    families.push_back({{"table", family.table},
                        {"family", family.name.empty() ? "all" : family.name},
                        {"rows", time.rows},
                        {"skipped", family.skipped},
                        {"mean_abs_pct", or_null(timed, 100 * time.mean_abs)},
                        {"median_abs_pct", or_null(timed, 100 * time.median_abs)},
                        {"max_abs_pct", or_null(timed, 100 * time.max_abs)},
                        {"bias_pct", or_null(timed, 100 * time.bias)},
                        {"spearman", or_null(family.spearman.has_value(), family.spearman.value_or(0))},
                        {"ran", family.ran},
                        {"said_not_to_fit", family.refused},
                        {"memory_rows", memory.rows},
                        {"memory_mean_abs_pct", or_null(held, 100 * memory.mean_abs)},
                        {"memory_bias_pct", or_null(held, 100 * memory.bias)}});
  }
  Json rows = Json::array();
  for (const auto& run : runs) {
    const auto& why = run.run.skipped_because;
    rows.push_back({{"table", run.run.table},
                    {"row", run.run.row},
                    {"line", run.run.where.line},
                    {"family", run.run.family},
                    {"chip", run.traits.chip},
                    {"precision", std::string(name(run.traits.precision))},
                    {"method", std::string(name(run.traits.method))},
                    {"chips", run.traits.chips},
                    {"parameters", run.traits.parameters},
                    {"exposed_share", or_null(run.counts(), run.traits.network)},
                    {"measured_s", or_null(run.measured_s > 0, run.measured_s)},
                    {"predicted_s", or_null(run.counts(), run.predicted_s)},
                    {"error_pct", or_null(run.counts(), run.counts() ? 100 * run.error() : 0)},
                    {"measured_peak_bytes", or_null(run.run.peak_bytes.has_value(), run.run.peak_bytes.value_or(0))},
                    {"predicted_peak_bytes", or_null(run.predicted_peak_bytes > 0, run.predicted_peak_bytes)},
                    {"compared_peak_bytes", or_null(run.memory_counts(), run.compared_peak_bytes)},
                    {"capacity_bytes", or_null(run.capacity_bytes > 0, run.capacity_bytes)},
                    {"skipped_because", why.empty() ? Json() : Json(why)}});
  }
  return json_document(Json{{"model_of_time", model_of_time},
                            {"families", families},
                            {"rows", rows},
                            {"collective_families", collective_errors_json(collectives)},
                            {"collectives", collectives_json(collectives)}});
}

}  // namespace lockstep::output
