// Ablations, and published machines taken as a user's: as text and as parts of docs/validation.md.
#include <algorithm>

#include "tools/output/elements/table.hpp"
#include "tools/output/studies/percent_column_private.hpp"
#include "tools/output/studies/validation_report.hpp"

namespace lockstep::output {
namespace {

/// Means over the machines, each counting once.
struct OwnStepsMean {
  double before = 0, after = 0, held_before = 0, held_after = 0, width_before = 0, width_after = 0;
};

OwnStepsMean mean_of(const std::vector<calibration::OwnSteps>& studied) {
  OwnStepsMean mean;
  const auto count = static_cast<double>(studied.size());
  for (const auto& row : studied) {
    mean.before += row.before.mean_abs / count;
    mean.after += row.after.mean_abs / count;
    mean.held_before += row.held_before / count;
    mean.held_after += row.held_after / count;
    mean.width_before += row.width_before / count;
    mean.width_after += row.width_after / count;
  }
  return mean;
}

}  // namespace

std::string ablation_text(const std::vector<validation::Ablated>& ablated) {
  Table table({"without", "table", "rows", "touched", "mean with", "mean without", "bias without"});
  for (const auto& row : ablated) {
    table.add({std::string(row.effect), row.table, std::to_string(row.rows), std::to_string(row.touched),
               percent(row.with.mean_abs), percent(row.without.mean_abs), signed_percent(row.without.bias)});
  }
  return table.to_string();
}

std::string own_steps_text(const std::vector<calibration::OwnSteps>& studied, int given) {
  if (studied.empty())
    return "no steps of one's own: no table has " +
           std::to_string(static_cast<std::size_t>(given) + calibration::least_others) +
           " timed steps on one chip with kernel times, of which " + std::to_string(given) + " are given and " +
           std::to_string(calibration::least_others) + " or more others predicted\n";
  Table table({"machine", "given", "others", "mean before", "after", "bias before", "after", "band holds", "after",
               "band width", "after"});
  for (const auto& row : studied) {
    table.add({row.machine, std::to_string(row.given), std::to_string(row.predicted), percent(row.before.mean_abs),
               percent(row.after.mean_abs), signed_percent(row.before.bias), signed_percent(row.after.bias),
               percent(row.held_before), percent(row.held_after), percent(row.width_before), percent(row.width_after)});
  }
  const auto mean = mean_of(studied);
  table.add({"mean", "", "", percent(mean.before), percent(mean.after), "", "", percent(mean.held_before),
             percent(mean.held_after), percent(mean.width_before), percent(mean.width_after)});
  return table.to_string();
}

std::string ablation_part(const std::vector<validation::Ablated>& ablated) {
  if (ablated.empty()) return "";
  std::string text =
      std::string(ablation_heading) +
      "\nMean errors in % of at most 6 rows of each table, simulated without contention: with "
      "everything, and without one effect of the model, whose other parameters keep their values (`lockstep validate "
      "--ablation`). Tables that are not named keep their error to 0.05 points.\n\n| without | parameters | table: "
      "with "
      "everything, without |\n|---|---|---|\n";
  for (const auto& effect : validation::model_effects()) {
    std::string cell;
    for (const auto& row : ablated) {
      const auto with = in_percent(row.with.mean_abs), without = in_percent(row.without.mean_abs);
      if (row.effect != effect.name || with == without) continue;
      cell += (cell.empty() ? "" : "; ") + row.table + " " + with + ", " + without;
    }
    text += "| " + std::string(effect.name) + " | " + std::string(effect.parameters) + " | " + cell + " |\n";
  }
  return text + "\n";
}

std::string own_steps_part(const std::vector<calibration::OwnSteps>& studied) {
  if (studied.empty()) return "";
  std::string text =
      std::string(own_steps_heading) +
      "\nEvery table and chip with enough rows, taken as a user's machine: three of its "
      "steps are given to `lockstep calibrate`, and at most 8 others are predicted before and after it, without "
      "contention (`lockstep validate --own-steps 3`). Priors and bands know nothing of the table. A band's width is "
      "its upper end over its lower end, less one.\n\n"
      "| machine | others | sustained x | host x | mean % | after | bias % | after | band holds % | after | band's "
      "width "
      "% | after |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& row : studied) {
    text += "| " + row.machine + " | " + std::to_string(row.predicted) + " | " + fixed(row.sustained, 2) + " | " +
            fixed(row.host, 2) + " | " + in_percent(row.before.mean_abs) + " | " + in_percent(row.after.mean_abs) +
            " | " + with_sign(row.before.bias) + " | " + with_sign(row.after.bias) + " | " +
            fixed(100 * row.held_before, 0) + " | " + fixed(100 * row.held_after, 0) + " | " +
            fixed(100 * row.width_before, 0) + " | " + fixed(100 * row.width_after, 0) + " |\n";
  }
  const auto mean = mean_of(studied);
  text += "| mean of machines | | | | " + in_percent(mean.before) + " | " + in_percent(mean.after) + " | | | " +
          fixed(100 * mean.held_before, 0) + " | " + fixed(100 * mean.held_after, 0) + " | " +
          fixed(100 * mean.width_before, 0) + " | " + fixed(100 * mean.width_after, 0) + " |\n";
  return text + "\n";
}

}  // namespace lockstep::output
