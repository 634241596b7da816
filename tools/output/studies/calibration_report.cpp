#include "tools/output/studies/calibration_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/calibration/yaml_number.hpp"
#include "sim/studies/validation/validate.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shown_rows = 10;

struct Group {
  std::string name;
  validation::ErrorStatistics errors;
};

std::vector<Group> groups_of(const std::vector<CalibrationRow>& rows) {
  std::vector<std::pair<std::string, std::vector<double>>> by_name;
  for (const auto& row : rows) {
    auto known =
        std::find_if(by_name.begin(), by_name.end(), [&](const auto& group) { return group.first == row.group; });
    if (known == by_name.end()) known = by_name.insert(by_name.end(), {row.group, {}});
    known->second.push_back(row.error());
  }
  std::vector<Group> groups;
  for (const auto& [name, errors] : by_name) groups.push_back({name, validation::statistics_of(errors)});
  return groups;
}

/// A remark that a reader should know before using a fitted parameter.
std::string remark(const calibration::FittedParameter& parameter) {
  if (parameter.kept()) return "kept: " + parameter.kept_because;
  return parameter.at_limit ? "at its limit" : "";
}

}  // namespace

namespace {

std::string part_text(const CalibrationPart& part) {
  std::string text = part.title + "\nroot mean square of log(predicted / measured): " + percent(part.fit.before) +
                     " before, " + percent(part.fit.after) + " after\n\n";
  Table parameters({"parameter", "before", "after", "error grows by", ""});
  for (const auto& parameter : part.fit.parameters) {
    parameters.add({parameter.name, calibration::yaml_number(parameter.before),
                    calibration::yaml_number(parameter.after), parameter.kept() ? "-" : percent(parameter.determined),
                    remark(parameter)});
  }
  text += parameters.to_string() + "error grows by: of all rows, when the parameter alone moves by a tenth\n\n";
  Table groups({"residuals", "rows", "mean", "median", "bias", "max"});
  for (const auto& group : groups_of(part.rows)) {
    groups.add({group.name, std::to_string(group.errors.rows), percent(group.errors.mean_abs),
                percent(group.errors.median_abs), signed_percent(group.errors.bias), percent(group.errors.max_abs)});
  }
  text += groups.to_string() + "\n";
  auto worst = part.rows;
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    return std::abs(std::log1p(a.error())) > std::abs(std::log1p(b.error()));
  });
  Table rows({"worst rows", "predicted", "measured", "error"});
  for (std::size_t i = 0; i < std::min(shown_rows, worst.size()); ++i) {
    rows.add({worst[i].name, format(Seconds(worst[i].predicted_s)), format(Seconds(worst[i].measured_s)),
              signed_percent(worst[i].error())});
  }
  return text + rows.to_string() + "\n";
}

/// Over all rows of all parts; `of` is a part's own.
double together(const std::vector<CalibrationPart>& parts, double calibration::Fit::*of) {
  double sum = 0, rows = 0;
  for (const auto& part : parts) {
    const auto count = static_cast<double>(part.rows.size());
    sum += count * (part.fit.*of) * (part.fit.*of);
    rows += count;
  }
  return rows > 0 ? std::sqrt(sum / rows) : 0;
}

}  // namespace

std::string calibration_text(const CalibrationReport& report) {
  std::string text;
  for (const auto& part : report.parts) text += part_text(part);
  for (const auto& warning : report.warnings) text += "warning: " + warning + "\n";
  return text + (report.warnings.empty() ? "" : "\n") + report.yaml;
}

std::string calibration_json(const CalibrationReport& report) {
  std::string title;
  for (const auto& part : report.parts) title += (title.empty() ? "" : "; ") + part.title;
  Json json = {{"title", title},
               {"rms_before", together(report.parts, &calibration::Fit::before)},
               {"rms_after", together(report.parts, &calibration::Fit::after)},
               {"parameters", Json::array()},
               {"groups", Json::array()},
               {"rows", Json::array()}};
  for (const auto& part : report.parts) {
    for (const auto& parameter : part.fit.parameters) {
      json["parameters"].push_back({{"name", parameter.name},
                                    {"before", parameter.before},
                                    {"after", parameter.after},
                                    {"error_grows_by", parameter.determined},
                                    {"kept", parameter.kept()},
                                    {"kept_because", parameter.kept() ? Json(parameter.kept_because) : Json()},
                                    {"at_limit", parameter.at_limit}});
    }
    for (const auto& group : groups_of(part.rows)) {
      json["groups"].push_back({{"name", group.name},
                                {"rows", group.errors.rows},
                                {"mean_abs_pct", 100 * group.errors.mean_abs},
                                {"median_abs_pct", 100 * group.errors.median_abs},
                                {"bias_pct", 100 * group.errors.bias},
                                {"max_abs_pct", 100 * group.errors.max_abs}});
    }
    for (const auto& row : part.rows) {
      json["rows"].push_back({{"name", row.name},
                              {"measured_s", row.measured_s},
                              {"predicted_s", row.predicted_s},
                              {"error_pct", 100 * row.error()}});
    }
  }
  json["warnings"] = report.warnings;
  json["yaml"] = report.yaml;
  return json_document(json);
}

}  // namespace lockstep::output
