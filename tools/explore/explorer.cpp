#include "tools/explore/explorer.hpp"

#include <algorithm>
#include <chrono>

#include "sim/core/errors.hpp"
#include "sim/core/yaml_text.hpp"
#include "sim/studies/isolated.hpp"
#include "sim/studies/planning/plan_search.hpp"
#include "tools/output/elements/shell_word.hpp"

namespace lockstep::explore {
namespace {

constexpr std::size_t kept_steps = 8;
constexpr std::int64_t most_shown = 5'000'000;  // operations, as on other pages
constexpr double most_seconds = 20, search_seconds = 10;

struct TakesTooLong {};

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
  for (const auto& key : overrides) text += " --set " + output::shell_word(key.path + "=" + key.value);
  return text;
}

/// The keys that a request may have, of the right types; changes are texts and numbers, so that nothing is deep.
bool is_part(const Json& part) {
  if (!part.is_object() || (part.contains("text") && !part["text"].is_null() && !part["text"].is_string()))
    return false;
  if (!part.contains("changes")) return true;
  const auto& changes = part["changes"];
  return changes.is_object() && changes.size() < 100 &&
         std::all_of(changes.begin(), changes.end(),
                     [](const Json& one) { return one.is_string() || one.is_number(); });
}

Json part_of(const Json& request) {
  return {{"text", request.value("text", Json())}, {"changes", request.value("changes", Json::object())}};
}

}  // namespace

Explorer::Explorer(StartingPoint start, spdlog::logger& log) : start_(std::move(start)), log_(log) {}

Explorer::Step Explorer::simulated(const Json& part) {
  const bool own_text = part["text"].is_string();
  const auto text = text_of(part);
  const auto& changes = part["changes"];
  Problems problems;
  const auto root = YamlView::from_text(text, "scenario", problems);
  std::vector<scenario::KeyOverride> overrides;
  if (!changes.empty()) {
    const auto& base = base_of(text);
    overrides = overrides_of(changes, base.scenario, base.degrees, root);
  }
  auto scenario = read(text, overrides);
  auto changed = root;
  for (const auto& key : overrides) changed = changed.with_override(key.path, key.value);

  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;  // SimGrid runs once in a process
  options.record_phases = true;
  const auto begin = std::chrono::steady_clock::now();
  options.progress = [begin](std::string_view, double) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > most_seconds)
      throw TakesTooLong();
  };
  auto simulation = simulate(scenario, options, log_, machines_);
  if (simulation.run.timeline.whole_ops() > most_shown)
    throw ConfigError(
        {{{"", 0, 0}, "", "the step has too many operations to show", "lockstep run, which has no such limit"}});
  auto controls = controls_of(scenario, degrees_of(simulation.preparation), changed);
  return {"",
          std::move(scenario),
          std::move(simulation),
          std::move(controls),
          document_text(changed),
          own_text ? "lockstep run -" : command_text(start_.arguments, overrides),
          {}};
}

scenario::Scenario Explorer::read(const std::string& text, const std::vector<scenario::KeyOverride>& overrides) {
  Problems problems;
  auto root = YamlView::from_text(text, "scenario", problems);
  return scenario_of_document(root, overrides, start_.name, start_.folder, problems, parts_);
}

const Explorer::Base& Explorer::base_of(const std::string& text) {
  if (!base_ || base_->text != text) {
    auto scenario = read(text, {});
    auto degrees = degrees_of(preparation::prepare(scenario, machines_));
    base_ = Base{text, std::move(scenario), std::move(degrees)};
  }
  return *base_;
}

std::shared_ptr<Explorer::Step> Explorer::step_of(const Json& part) {
  auto key = part.dump();
  const auto known = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) { return step->key == key; });
  if (known != steps_.end()) {
    std::rotate(steps_.begin(), known, known + 1);  // the pinned step is asked for again and again, so it stays
    return steps_.front();
  }
  auto step = std::make_shared<Step>(simulated(part));
  step->key = std::move(key);
  steps_.push_front(step);
  if (steps_.size() > kept_steps) steps_.pop_back();
  return step;
}

Json Explorer::fastest_plan(const std::string& text) {
  const auto found = Json::parse(studies::in_child([&] {  // which gives its memory back
    Problems problems;
    scenario::LastParts none;
    const auto root = YamlView::from_text(text, "scenario", problems);
    const auto scenario = scenario_of_document(root, {}, start_.name, start_.folder, problems, none);
    const planning::PlanSpace space(scenario);
    planning::SearchOptions options;
    options.top = 1;
    options.limit_s = search_seconds;
    options.engine = engine::EngineKind::max_min;
    const auto result = search_plans(space, options, log_);
    Json keys = Json::array();
    if (!result.best.empty()) {
      const auto& best = result.best.front().choice;
      for (const auto& key : space.keys(space.node_of(best), best)) keys.push_back({key.path, key.value});
    }
    return keys.dump();
  }));
  if (found.empty())
    return one_problem("no plan was found that keeps within the memory",
                       "more chips, fewer tokens in a step, or a longer search by lockstep plan");
  Problems problems;
  auto root = YamlView::from_text(text, "scenario", problems);
  for (const auto& key : found) root = root.with_override(key[0].get<std::string>(), key[1].get<std::string>());
  return {{"plan", document_text(root)}};
}

std::string Explorer::text_of(const Json& part) const {
  return part["text"].is_string() ? part["text"].get<std::string>() : start_.text;
}

std::string Explorer::document_of(const Step& step, const Json& pinned) {
  if (!pinned.is_object()) return report::explored_step({step.scenario, step.simulation});
  const auto before = step_of(part_of(pinned));
  if (!before->pinned) before->pinned = report::beside_another("pinned", {before->scenario, before->simulation});
  return report::explored_pair(*before->pinned, report::beside_another("now", {step.scenario, step.simulation}));
}

Json Explorer::answer(const Json& request) {
  const auto begin = std::chrono::steady_clock::now();
  if (!is_part(request) || (request.contains("pinned") && !request["pinned"].is_null() && !is_part(request["pinned"])))
    return one_problem("this is no request of the page", "a map of text, changes and pinned");
  const auto part = part_of(request);
  const auto with_text = [&](Json answer) {
    answer["text"] = text_of(part);
    return answer;
  };
  try {
    const auto step = step_of(part);
    if (request.value("plan", Json()) == true) return fastest_plan(step->text);
    Json answer{{"controls", step->controls}, {"text", step->text}, {"command", step->command}};
    answer["document"] = document_of(*step, request.value("pinned", Json()));
    answer["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
  } catch (const ConfigError& error) {
    return with_text(problems_of(error));
  } catch (const TakesTooLong&) {
    return with_text(one_problem("the step takes more than 20 s to simulate", "lockstep run, which has no such limit"));
  } catch (const nlohmann::json::exception& error) {
    return with_text(one_problem(error.what(), "a request of the page"));
  } catch (const std::exception& error) {
    return {{"failure", std::string("internal error: ") + error.what()}};
  }
}

}  // namespace lockstep::explore
