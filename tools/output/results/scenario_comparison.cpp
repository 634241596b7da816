#include "tools/output/results/scenario_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "sim/step_draws.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/memory_verdict.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

double seconds_of(const ComparedScenario& scenario, const std::string& what) {
  const auto found = std::find_if(scenario.parts.begin(), scenario.parts.end(),
                                  [&](const StepPart& part) { return part.what == what; });
  return found == scenario.parts.end() ? 0 : found->seconds;
}

/// Every name that any scenario has, in order of first appearance.
template <typename List, typename Name>
std::vector<std::string> all_names(const std::vector<ComparedScenario>& scenarios, List list, Name name) {
  std::vector<std::string> names;
  for (const auto& scenario : scenarios) {
    for (const auto& item : list(scenario)) {
      if (std::find(names.begin(), names.end(), name(item)) == names.end()) names.push_back(name(item));
    }
  }
  return names;
}

std::vector<std::string> input_names(const std::vector<ComparedScenario>& scenarios) {
  return all_names(
      scenarios, [](const auto& s) { return s.inputs; }, [](const auto& input) { return input.first; });
}

std::vector<std::string> part_names(const std::vector<ComparedScenario>& scenarios) {
  auto names = all_names(
      scenarios, [](const auto& s) { return s.parts; }, [](const auto& part) { return part.what; });
  std::stable_partition(names.begin(), names.end(), [](const std::string& what) { return what != "idle (bubble)"; });
  return names;
}

std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + format(Seconds(std::abs(seconds))); }

/// The largest contributors, until nine tenths are told.
std::string largest(const std::vector<StepPart>& parts) {
  double all = 0, told = 0;
  for (const auto& part : parts) all += std::abs(part.seconds);
  std::string list;
  for (const auto& part : parts) {
    if (told >= 0.9 * all || std::abs(part.seconds) < 1e-12) break;
    list += (list.empty() ? ": " : ", ") + signed_time(part.seconds) + " " + part.what;
    told += std::abs(part.seconds);
  }
  return list + "\n";
}

StepDraws draws_of(const std::vector<double>& seconds) {
  std::vector<Seconds> times;
  for (const double time : seconds) times.emplace_back(time);
  return StepDraws(std::move(times));
}

/// How much longer each draw takes than the same draw of the first scenario, in seconds.
std::vector<double> longer_than_first(const ComparedScenario& first, const ComparedScenario& other) {
  std::vector<double> longer;
  for (std::size_t draw = 0; draw < other.drawn_steps_s.size(); ++draw)
    longer.push_back(other.drawn_steps_s[draw] - first.drawn_steps_s[draw]);
  return longer;
}

double share_slower(const std::vector<double>& longer) {
  const auto slower = std::count_if(longer.begin(), longer.end(), [](double seconds) { return seconds > 0; });
  return static_cast<double>(slower) / static_cast<double>(longer.size());
}

double chip_seconds_per_token(const ComparedScenario& scenario) { return 1 / scenario.tokens_per_s_per_chip; }

}  // namespace

std::string value_of(const ScenarioInputs& inputs, const std::string& what) {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == what; });
  return found == inputs.end() ? "-" : found->second;
}

ComparedScenario read_compared(std::string name, ScenarioInputs inputs, std::string result_json) {
  const auto json = Json::parse(result_json);
  ComparedScenario scenario;
  scenario.name = std::move(name);
  scenario.inputs = std::move(inputs);
  scenario.step_s = json["step_time_s"];
  if (const auto band = json.find("step_time_band"); band != json.end() && !band->is_null())
    scenario.band_s = {(*band)["low_s"], (*band)["high_s"]};
  if (const auto draws = json.find("routing_draws"); draws != json.end() && !draws->is_null())
    scenario.routing_draws_s = {(*draws)["best_step_time_s"], (*draws)["worst_step_time_s"]};
  if (const auto drawn = json.find("step_distribution"); drawn != json.end() && !drawn->is_null())
    scenario.drawn_steps_s = (*drawn)["step_times_s"].get<std::vector<double>>();
  scenario.tokens_per_step = json["tokens_per_step"];
  scenario.tokens_per_s = json["tokens_per_s"];
  scenario.tokens_per_s_per_chip = json["tokens_per_s_per_chip"];
  if (!json["mfu"].is_null()) scenario.mfu = json["mfu"].get<double>();
  scenario.bubble_of_step = json["pipeline"]["bubble_fraction_step"];
  scenario.bubble_of_span = json["pipeline"]["bubble_fraction_span"];
  scenario.peak_bytes = json["memory"]["peak_bytes"];
  scenario.capacity_bytes = json["memory"]["capacity_bytes"];
  if (!json["memory"]["verdict"].is_null())
    scenario.fit = studies::fit_of(Bytes(scenario.peak_bytes), Bytes(scenario.capacity_bytes));
  scenario.parts.push_back({"computing", "", json["breakdown"]["compute_s"]});
  for (const auto& use : json["comm"]) {
    const std::string axis = use["axis"];
    scenario.parts.push_back({"exposed " + axis + (use["kind"].is_null() ? "" : " " + use["kind"].get<std::string>()),
                              axis, use["exposed_s"]});
  }
  if (const auto local = json.find("local_updates"); local != json.end() && !local->is_null())
    scenario.parts.push_back({"outer reductions", (*local)["axis"],
                              (*local)["exposed_s"].get<double>() + (*local)["slower_s"].get<double>()});
  scenario.parts.push_back({"idle (bubble)", "", json["breakdown"]["bubble_s"]});
  scenario.result = std::move(result_json);
  return scenario;
}

std::vector<StepPart> contributors(const ComparedScenario& first, const ComparedScenario& other) {
  std::vector<StepPart> parts;
  for (const auto& what : part_names({first, other})) {
    parts.push_back({what, "", seconds_of(other, what) - seconds_of(first, what)});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const StepPart& a, const StepPart& b) { return std::abs(a.seconds) > std::abs(b.seconds); });
  return parts;
}

std::vector<std::string> changed_inputs(const std::vector<ComparedScenario>& scenarios) {
  auto names = input_names(scenarios);
  std::erase_if(names, [&](const std::string& what) {
    return std::all_of(scenarios.begin(), scenarios.end(), [&](const auto& s) {
      return value_of(s.inputs, what) == value_of(scenarios.front().inputs, what);
    });
  });
  return names;
}

std::string difference_text(const ComparedScenario& first, const ComparedScenario& other) {
  std::string text = other.name + ": " + fixed(other.step_s / first.step_s, 3) + " x the step time of " + first.name +
                     ", " + signed_time(other.step_s - first.step_s) + largest(contributors(first, other));
  const double cost = chip_seconds_per_token(first), other_cost = chip_seconds_per_token(other);
  if (std::abs(other_cost / cost - other.step_s / first.step_s) < 1e-9) return text;
  auto per_token = first, other_per_token = other;
  for (auto& part : per_token.parts) part.seconds *= cost / first.step_s;
  for (auto& part : other_per_token.parts) part.seconds *= other_cost / other.step_s;
  return text + "  a token takes " + fixed(other_cost / cost, 3) + " x the chip time, " +
         signed_time(other_cost - cost) + largest(contributors(per_token, other_per_token));
}

std::string comparison_text(const std::vector<ComparedScenario>& scenarios, std::size_t width) {
  const auto& first = scenarios.front();
  std::vector<std::string> header = {""};
  for (const auto& scenario : scenarios) header.push_back(scenario.name);
  Table table(header);
  table.fold(0, 23);  // two scenarios in 80 columns
  const auto row = [&](const std::string& title, const auto& cell) {
    std::vector<std::string> cells = {title};
    for (const auto& scenario : scenarios) cells.push_back(cell(scenario));
    table.add(std::move(cells));
  };
  for (const auto& what : changed_inputs(scenarios)) row(what, [&](const auto& s) { return value_of(s.inputs, what); });
  table.add({""});
  row("step time", [](const auto& s) { return format(Seconds(s.step_s)); });
  row("  to the first", [&](const auto& s) { return fixed(s.step_s / first.step_s, 3) + " x"; });
  if (std::any_of(scenarios.begin(), scenarios.end(), [](const auto& s) { return s.band_s.has_value(); })) {
    row("  80 % measured from", [](const auto& s) { return s.band_s ? format(Seconds(s.band_s->first)) : "-"; });
    row("  to", [](const auto& s) { return s.band_s ? format(Seconds(s.band_s->second)) : "-"; });
  }
  if (std::any_of(scenarios.begin(), scenarios.end(), [](const auto& s) { return s.routing_draws_s.has_value(); })) {
    row("  best under seeds",
        [](const auto& s) { return s.routing_draws_s ? format(Seconds(s.routing_draws_s->first)) : "-"; });
    row("  worst under seeds",
        [](const auto& s) { return s.routing_draws_s ? format(Seconds(s.routing_draws_s->second)) : "-"; });
  }
  if (!first.drawn_steps_s.empty()) {
    const auto drawn = [&](const std::string& title, double q) {
      row(title, [&](const auto& s) { return format(draws_of(s.drawn_steps_s).quantile(q)); });
    };
    table.add({""});
    drawn("median of " + std::to_string(first.drawn_steps_s.size()) + " draws", 0.5);
    drawn("  5th percentile", 0.05);
    drawn("  95th percentile", 0.95);
    row("  mean", [](const auto& s) { return format(draws_of(s.drawn_steps_s).mean()); });
    const auto difference = [&](const std::string& title, double q) {
      row(title, [&](const auto& s) { return signed_time(draws_of(longer_than_first(first, s)).quantile(q).value()); });
    };
    difference("same draw, to the first", 0.5);
    difference("  from, 5th percentile", 0.05);
    difference("  to, 95th percentile", 0.95);
    row("  slower than the first",
        [&](const auto& s) { return percent(share_slower(longer_than_first(first, s))) + " of draws"; });
    table.add({""});
  }
  row("tokens/s", [](const auto& s) { return with_separators(s.tokens_per_s); });
  row("tokens/s a chip", [](const auto& s) { return with_separators(s.tokens_per_s_per_chip); });
  row("  to the first",
      [&](const auto& s) { return fixed(s.tokens_per_s_per_chip / first.tokens_per_s_per_chip, 3) + " x"; });
  row("MFU", [](const auto& s) { return s.mfu ? percent(*s.mfu) : "-"; });
  table.add({""});
  for (const auto& what : part_names(scenarios)) {
    const bool ever = std::any_of(scenarios.begin(), scenarios.end(),
                                  [&](const auto& s) { return seconds_of(s, what) > 5e-4 * s.step_s; });
    if (ever)
      row(what, [&](const auto& s) {
        return format(Seconds(seconds_of(s, what))) + " (" + percent(seconds_of(s, what) / s.step_s) + ")";
      });
  }
  if (std::any_of(scenarios.begin(), scenarios.end(), [](const auto& s) { return s.bubble_of_step > 0; })) {
    row("pipeline bubble, of the step", [](const auto& s) { return percent(s.bubble_of_step); });
    row("  of a stage's own span", [](const auto& s) { return percent(s.bubble_of_span); });
  }
  row("memory peak",
      [](const auto& s) { return format(Bytes(s.peak_bytes)) + " of " + format(Bytes(s.capacity_bytes)); });
  row("  verdict", [](const auto& s) { return s.fit ? fit_words(*s.fit) : "-"; });
  auto text = table.to_string("", width) + "\n";
  if (changed_inputs(scenarios).empty()) text = "no input differs\n" + text;
  for (std::size_t i = 1; i < scenarios.size(); ++i) text += difference_text(first, scenarios[i]);
  return text;
}

std::string comparison_json(const std::vector<ComparedScenario>& scenarios) {
  Json json = {{"scenarios", Json::array()}, {"changed", Json::object()}};
  const auto& first = scenarios.front();
  for (const auto& what : changed_inputs(scenarios)) {
    for (const auto& scenario : scenarios) json["changed"][what].push_back(value_of(scenario.inputs, what));
  }
  for (const auto& scenario : scenarios) {
    Json differences = Json::array();
    for (const auto& part : contributors(first, scenario))
      differences.push_back({{"part", part.what}, {"seconds", part.seconds}});
    Json inputs = Json::object();
    for (const auto& [what, value] : scenario.inputs) inputs[what] = value;
    Json drawn;
    if (!scenario.drawn_steps_s.empty()) {
      const auto longer = longer_than_first(first, scenario);
      const auto sorted = draws_of(longer);
      drawn = {{"draws", longer.size()},
               {"p5_longer_s", sorted.quantile(0.05).value()},
               {"median_longer_s", sorted.median().value()},
               {"mean_longer_s", sorted.mean().value()},
               {"p95_longer_s", sorted.quantile(0.95).value()},
               {"slower_share", share_slower(longer)}};
    }
    json["scenarios"].push_back(
        {{"name", scenario.name},
         {"same_draws", drawn},
         {"step_time_ratio", scenario.step_s / first.step_s},
         {"tokens_per_s_per_chip_ratio", scenario.tokens_per_s_per_chip / first.tokens_per_s_per_chip},
         {"difference", differences},
         {"inputs", inputs},
         {"result", Json::parse(scenario.result)}});
  }
  return json_document(json);
}

}  // namespace lockstep::output
