#include "sim/studies/sweep/sweep.hpp"

#include <algorithm>

namespace lockstep::sweep {

std::int64_t Sweep::points() const {
  std::int64_t count = axes.empty() ? 0 : 1;
  for (const auto& axis : axes) {
    const auto choices = std::ssize(axis.choices);
    if (count > very_many / choices) return very_many;
    count *= choices;
  }
  return count;
}

std::vector<const SweptSetting*> Sweep::settings(std::int64_t point) const {
  std::vector<const std::vector<SweptSetting>*> chosen(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto choices = std::ssize(axes[i].choices);
    chosen[i] = &axes[i].choices[position_of(point % choices)];
    point /= choices;
  }
  std::vector<const SweptSetting*> settings;
  for (const auto* choice : chosen) {
    for (const auto& setting : *choice) settings.push_back(&setting);
  }
  return settings;
}

namespace {

/// A map before the keys inside it, whatever the order in the sweep file.
std::vector<const SweptSetting*> by_key(std::vector<const SweptSetting*> settings) {
  std::stable_sort(settings.begin(), settings.end(),
                   [](const SweptSetting* a, const SweptSetting* b) { return a->key < b->key; });
  return settings;
}

}  // namespace

Digest::Bytes16 Sweep::identity(std::int64_t point) const {
  auto digest = scenario_digest;
  for (const auto* setting : by_key(settings(point))) {
    digest.add(setting->key);
    digest.add(setting->value);
    digest.add(setting->digest);
  }
  return digest.bytes();
}

scenario::Scenario Sweep::scenario_at(std::int64_t point) const { return scenario_with(settings(point)); }

scenario::Scenario Sweep::scenario_with(std::vector<const SweptSetting*> settings) const {
  std::vector<scenario::KeyOverride> overrides;
  for (const auto* setting : by_key(settings)) overrides.push_back({setting->key, setting->value});
  const auto in_the_file = [&](Location& where) {
    for (const auto* setting : settings) {
      if (where.file == "--set " + setting->key) where = setting->where;
    }
  };
  *problems = {};
  try {
    auto made = scenario_of_document(scenario, overrides, name, folder, *problems, *last);
    for (auto& [key, where] : made.places) in_the_file(where);
    return made;
  } catch (const ConfigError& error) {
    auto found = error.problems();
    for (auto& problem : found) in_the_file(problem.where);
    throw ConfigError(std::move(found));
  }
}

}  // namespace lockstep::sweep
