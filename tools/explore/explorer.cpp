#include "tools/explore/explorer.hpp"

#include <algorithm>
#include <chrono>

#include "sim/core/errors.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/simulate.hpp"
#include "tools/explore/controls.hpp"
#include "tools/output/results/result_json.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/report/explore_report.hpp"

namespace lockstep::explore {
namespace {

constexpr std::size_t kept_steps = 8;
constexpr std::int64_t most_operations = 2'000'000;  // a few seconds

Json problems_of(const ConfigError& error) {
  Json list = Json::array();
  for (const auto& problem : error.problems()) {
    list.push_back({{"key", problem.key},
                    {"line", problem.where.line},
                    {"column", problem.where.column},
                    {"what", problem.what},
                    {"expected", problem.expected}});
  }
  return {{"problems", list}};
}

Json one_problem(const std::string& what, const std::string& expected) {
  return {
      {"problems", Json::array({{{"key", ""}, {"line", 0}, {"column", 0}, {"what", what}, {"expected", expected}}})}};
}

Degrees degrees_of(const preparation::Preparation& preparation) {
  Degrees degrees;
  for (const auto& axis : preparation.machine.mesh->axes()) degrees[axis.name] = axis.size();
  return degrees;
}

std::string document_text(const YamlView& root) {
  std::string text;
  for (const auto& key : root.keys()) text += key + ": " + in_one_line(root[key]) + "\n";
  return text;
}

std::string command_text(const std::string& arguments, const std::vector<scenario::KeyOverride>& overrides) {
  std::string text = "lockstep run " + arguments;
  for (const auto& key : overrides) text += " --set '" + key.path + "=" + key.value + "'";
  return text;
}

/// The keys that a request may have, of the right types.
bool is_part(const Json& part) {
  return part.is_object() && (!part.contains("text") || part["text"].is_null() || part["text"].is_string()) &&
         (!part.contains("changes") || part["changes"].is_object());
}

}  // namespace

Explorer::Explorer(StartingPoint start, spdlog::logger& log) : start_(std::move(start)), log_(log) {}

std::shared_ptr<const Explorer::Step> Explorer::simulated(const Json& part, const std::string& name) {
  const bool own_text = part.contains("text") && part["text"].is_string();
  const auto text = own_text ? part["text"].get<std::string>() : start_.text;
  const auto changes = part.value("changes", Json::object());
  Problems problems;
  const auto read = [&](const std::vector<scenario::KeyOverride>& overrides) {
    auto root = YamlView::from_text(text, "scenario", problems);
    return scenario_of_document(root, overrides, start_.name, start_.folder, problems, parts_);
  };
  const auto root = YamlView::from_text(text, "scenario", problems);
  std::vector<scenario::KeyOverride> overrides;
  if (!changes.empty()) {
    const auto base = read({});
    overrides = overrides_of(changes, base, degrees_of(preparation::prepare(base, machines_)), root);
  }
  const auto scenario = read(overrides);
  auto changed = root;
  for (const auto& key : overrides) changed = changed.with_override(key.path, key.value);

  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;  // SimGrid runs once in a process
  options.record_phases = true;
  options.most_operations = most_operations;
  const auto simulation = simulate(scenario, options, log_, machines_);
  auto step = std::make_shared<Step>();
  step->compared = output::read_compared(name, output::inputs_of(scenario, simulation.preparation),
                                         result_json(scenario, simulation, output::WallTimes::hidden));
  step->timeline = report::packed_timeline(name, simulation);
  step->controls = controls_of(scenario, degrees_of(simulation.preparation), changed);
  step->text = document_text(changed);
  step->command = own_text ? "lockstep run -" : command_text(start_.arguments, overrides);
  step->alone = std::make_shared<const std::string>(report::explored_step(scenario, simulation));
  return step;
}

std::shared_ptr<const Explorer::Step> Explorer::step_of(const Json& part, const std::string& name) {
  const auto key = name + '\n' + part.dump();
  const auto known = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) { return step->key == key; });
  if (known != steps_.end()) return *known;
  auto step = std::make_shared<Step>(*simulated(part, name));
  step->key = key;
  steps_.push_front(step);
  if (steps_.size() > kept_steps) steps_.pop_back();
  return step;
}

Json Explorer::answer(const Json& request) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    if (!is_part(request) ||
        (request.contains("pinned") && !request["pinned"].is_null() && !is_part(request["pinned"])))
      return one_problem("this is no request of the page", "a map of text, changes and pinned");
    Json part{{"text", request.value("text", Json())}, {"changes", request.value("changes", Json::object())}};
    const bool pinned = request.contains("pinned") && request["pinned"].is_object();
    const auto step = step_of(part, pinned ? "now" : start_.name);
    Json answer{{"controls", step->controls}, {"text", step->text}, {"command", step->command}};
    answer["document"] = pinned ? [&] {
      const auto& given = request["pinned"];
      const auto before = step_of({{"text", given.value("text", Json())}, {"changes", given.value("changes", Json::object())}},
                                  "pinned");
      return report::explored_pair(before->compared, before->timeline, step->compared, step->timeline);
    }()
                                : *step->alone;
    answer["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
  } catch (const ConfigError& error) {
    return problems_of(error);
  } catch (const timing::TooManyOperations&) {
    return one_problem("the step has too many operations to watch", "lockstep run, which has no such limit");
  } catch (const nlohmann::json::exception& error) {
    return one_problem(error.what(), "a request of the page");
  } catch (const std::exception& error) {
    return {{"failure", std::string("internal error: ") + error.what()}};
  }
}

}  // namespace lockstep::explore
