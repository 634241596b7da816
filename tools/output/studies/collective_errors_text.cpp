// Errors of measured collectives as text, JSON and a part of docs/validation.md.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/collective_errors.hpp"
#include "tools/output/studies/percent_column_private.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shown_rows = 8;

std::string bytes_text(double bytes) {
  constexpr std::pair<double, const char*> units[] = {{0x1p30, " GiB"}, {0x1p20, " MiB"}, {0, " KiB"}};
  const auto* unit =
      std::find_if(std::begin(units), std::end(units), [&](const auto& each) { return bytes >= each.first; });
  const double count = bytes / std::max(unit->first, 1024.0);
  return fixed(count, count < 10 && count != std::floor(count) ? 1 : 0) + unit->second;
}

std::string row_text(const validation::ValidatedCollective& collective) {
  const auto& row = collective.row;
  return row.chip + ", " + row.text.substr(0, row.text.find(' ')) + " of " + bytes_text(row.bytes) + " on " +
         std::to_string(row.ranks);
}

std::string microseconds(double seconds) { return fixed(seconds * 1e6, 0); }

std::string messages(bool is_long) { return is_long ? "from 64 MiB" : "shorter"; }

}  // namespace

std::string collective_errors_text(const std::vector<validation::ValidatedCollective>& collectives) {
  if (collectives.empty()) return "";
  Table table({"collectives", "messages", "rows", "median", "90th", "bias", "target"});
  table.align_left(1);
  for (const auto& of : errors_of(collectives)) {
    table.add({of.table + ": " + of.network, messages(of.is_long), std::to_string(of.rows), percent(of.median_abs),
               percent(of.p90_abs), signed_percent(of.bias), of.meets() ? "met" : "missed"});
  }
  Table rows({"worst collectives", "predicted", "measured", "error", "chosen"});
  rows.align_left(4);
  const auto worst = worst_first(collectives);
  for (std::size_t i = 0; i < std::min(shown_rows, worst.size()); ++i) {
    const auto& one = *worst[i];
    rows.add({row_text(one), format(Seconds(one.predicted_s)), format(Seconds(one.row.seconds)),
              signed_percent(one.error()), one.choice});
  }
  return table.to_string() + "\n" + rows.to_string();
}

std::string collective_errors_part(const std::vector<validation::ValidatedCollective>& collectives) {
  if (collectives.empty()) return "";
  std::string text =
      "### Collectives by network\n\nThe targets are a median of at most " +
      fixed(100 * validation::long_median_target, 0) + " % and a 90th percentile of at most " +
      fixed(100 * validation::long_p90_target, 0) + " % from 64 MiB, and a median of at most " +
      fixed(100 * validation::short_median_target, 0) +
      " % of shorter messages. The bias is the median with its sign.\n\n| table | network | messages | rows | median % "
      "| 90th % | bias % | worst row | met |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& of : errors_of(collectives)) {
    const auto& worst = *of.worst;
    text += "| " + of.table + " | " + of.network + " | " + messages(of.is_long) + " | " + std::to_string(of.rows) +
            " | " + in_percent(of.median_abs) + " | " + in_percent(of.p90_abs) + " | " + with_sign(of.bias) + " | " +
            row_text(worst) + ": " + microseconds(worst.predicted_s) + " us, measured " +
            microseconds(worst.row.seconds) + " | " + (of.meets() ? "yes" : "**no**") + " |\n";
  }
  return text + "\n";
}

Json collective_errors_json(const std::vector<validation::ValidatedCollective>& collectives) {
  Json made = Json::array();
  for (const auto& of : errors_of(collectives)) {
    made.push_back({{"table", of.table},
                    {"network", of.network},
                    {"messages", of.is_long ? "long" : "short"},
                    {"rows", of.rows},
                    {"median_abs_pct", 100 * of.median_abs},
                    {"p90_abs_pct", 100 * of.p90_abs},
                    {"bias_pct", 100 * of.bias},
                    {"meets_target", of.meets()}});
  }
  return made;
}

Json collectives_json(const std::vector<validation::ValidatedCollective>& collectives) {
  Json made = Json::array();
  for (const auto& one : collectives) {
    const auto& row = one.row;
    made.push_back({{"table", row.table},
                    {"line", row.where.line},
                    {"kind", std::string(name(row.kind))},
                    {"machine", row.chip},
                    {"network", one.network},
                    {"ranks", row.ranks},
                    {"bytes", row.bytes},
                    {"algorithm", one.choice},
                    {"measured_s", row.seconds},
                    {"predicted_s", one.predicted_s},
                    {"error_pct", 100 * one.error()}});
  }
  return made;
}

}  // namespace lockstep::output
