#include "sim/studies/from_trace/scenario_keys.hpp"

#include <array>
#include <charconv>

#include "sim/core/errors.hpp"

namespace lockstep::from_trace {
namespace {

constexpr std::array<std::string_view, 8> order{"model",    "cluster", "mesh",     "parallel",
                                                "pipeline", "batch",   "training", "model_of_time"};

/// The map of a key of two levels, or the key.
std::string top_of(const std::string& key) { return key.substr(0, key.find('.')); }

}  // namespace

ScenarioKeys::ScenarioKeys(const std::vector<scenario::KeyOverride>& said) {
  for (const auto& [key, value] : said) {
    values_[key] = value;
    is_said_[key] = true;
  }
}

std::string ScenarioKeys::value(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

void ScenarioKeys::set(const std::string& key, const std::string& value) {
  if (!is_said_.contains(key)) values_[key] = value;
}

std::int64_t ScenarioKeys::number(const std::string& key, std::int64_t otherwise) const {
  const auto text = value(key);
  if (text.empty()) return otherwise;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 1'000'000'000)
    throw ConfigError({{{"--set", 0, 0}, key, "'" + text + "' is not a whole number", "1 to 1000000000"}});
  return number;
}

std::string ScenarioKeys::yaml(const std::string& comment) const {
  std::map<std::string, std::string> maps;
  for (const auto& [key, value] : values_) {
    const auto top = top_of(key);
    auto& text = maps[top];
    if (top == key)
      text = value;
    else
      text += (text.empty() ? "{" : ", ") + key.substr(top.size() + 1) + ": " + value;
  }
  for (auto& [top, text] : maps) {
    if (!values_.contains(top)) text += "}";
  }
  std::string yaml = comment + "format: 1\n";
  const auto line = [&](const std::string& top) {
    const auto& text = maps[top];
    yaml += top + ":" + (text.starts_with('\n') ? "" : " ") + text + "\n";
  };
  for (const auto top : order) {
    if (maps.contains(std::string(top))) line(std::string(top));
  }
  for (const auto& [top, text] : maps) {
    if (std::find(order.begin(), order.end(), top) == order.end()) line(top);
  }
  return yaml;
}

}  // namespace lockstep::from_trace
