#pragma once
/// Answers to the explorer's page: a scenario with changes becomes the panels of its simulated step.
#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/preparation/known_machines.hpp"
#include "sim/scenario/scenario_of_document.hpp"
#include "sim/simulate.hpp"
#include "tools/explore/controls.hpp"
#include "tools/report/explore_report.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::explore {

using Json = nlohmann::ordered_json;

/// The scenario that the page begins with.
struct StartingPoint {
  std::string name;              ///< of the scenario: its file's stem
  std::string text;              ///< YAML, with the keys of --set
  std::filesystem::path folder;  ///< from which the files are seen that it names
  std::string arguments;         ///< of `lockstep run`, which give the same scenario
};

/// For one thread at a time. Simulations share machines and parts of scenarios that are the same.
class Explorer {
 public:
  Explorer(StartingPoint start, spdlog::logger& log);

  /// `request`: {"text": a scenario's YAML or null for the starting point, "changes": {control: value}, "pinned":
  /// {"text", "changes"} or null}. The answer: {"document": the panels as the page of reports packs them, "controls",
  /// "text": the changed scenario, "command", "wall_s"}, or {"problems": [{"key", "line", "column", "what",
  /// "expected"}], "text"}, or {"failure": text}. With "plan": true the answer is {"plan": text}, the fastest split
  /// found. Never throws for what a request holds.
  [[nodiscard]] Json answer(const Json& request);

 private:
  /// A step that has been simulated.
  struct Step {
    std::string key;  ///< the request's part
    scenario::Scenario scenario;
    Simulation simulation;
    Json controls;
    std::string text, command;
    std::optional<report::StepBesideAnother> pinned;  ///< once it was shown as the pinned one
  };

  /// A text without changes, which says what changes mean.
  struct Base {
    std::string text;
    scenario::Scenario scenario;
    Degrees degrees;
  };

  /// A scenario's text split as the fastest plan does that a short search finds: {"plan": text}, or problems.
  [[nodiscard]] Json fastest_plan(const std::string& text);
  [[nodiscard]] std::string text_of(const Json& part) const;
  [[nodiscard]] scenario::Scenario read(const std::string& text, const std::vector<scenario::KeyOverride>& overrides);
  [[nodiscard]] const Base& base_of(const std::string& text);
  [[nodiscard]] std::shared_ptr<Step> step_of(const Json& part);
  [[nodiscard]] std::string document_of(const Step& step, const Json& pinned);
  [[nodiscard]] Step simulated(const Json& part);

  StartingPoint start_;
  spdlog::logger& log_;
  preparation::KnownMachines machines_;
  scenario::LastParts parts_;
  std::optional<Base> base_;                 ///< the one used last
  std::deque<std::shared_ptr<Step>> steps_;  ///< those asked for last
};

}  // namespace lockstep::explore
