#pragma once
/// A document named `f.yaml` and the problems met while reading it.
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/errors.hpp"
#include "sim/core/yaml_view.hpp"

namespace lockstep {

struct Reading {
  explicit Reading(std::string_view text) : root(YamlView::from_text(text, "f.yaml", problems)) {}

  /// The problems as a user would see them: ordered, each once.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> lines;
    try {
      problems.throw_if_any();
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) lines.push_back(problem.to_string());
    }
    return lines;
  }

  /// The only problem; a text that names the number of problems if there is not exactly one.
  [[nodiscard]] std::string message() const {
    const std::vector<std::string> lines = messages();
    return lines.size() == 1 ? lines.front() : std::to_string(lines.size()) + " problems";
  }

  Problems problems;
  YamlView root;
};

}  // namespace lockstep
