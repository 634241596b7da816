#include <limits>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {
namespace {

constexpr double most_slowdown = 1e6;
constexpr double least_left = 1e-6;

program::Coordinates coordinates(const YamlView& view) {
  program::Coordinates result;
  for (const auto& item : view.items()) result.push_back(static_cast<int>(item.integer(0, 1'000'000)));
  return result;
}

/// A chip by its coordinates, any node of the cluster by its name.
std::string node_name(const YamlView& view) {
  return view.is_list() ? program::chip_name(coordinates(view)) : view.text();
}

double slowdown(const YamlView& view) {
  const auto value = view.require("slowdown", "how many times as long computing takes, such as 1.5");
  return value.exists() ? value.number(1e-3, most_slowdown) : 1;
}

double bandwidth(const YamlView& view) {
  const auto value = view.require("bandwidth", "the part of the link's bandwidth that is left, from 0 (down) to 1");
  if (!value.exists()) return 1;
  const double left = value.number(0, 1);
  if (left > 0 && left < least_left)
    value.problem('`' + value.text() + "` is too small", "0 for a link that is down, or a part of at least 1e-6");
  return left;
}

std::uint64_t seed(const YamlView& view) {
  const auto value = view.require("seed", "a whole number; the same seed draws the same");
  return value.exists() ? static_cast<std::uint64_t>(value.integer(0)) : 0;
}

program::Perturbation read_one(const YamlView& view) {
  if (const auto chip = view["chip"]; chip.exists()) return program::SlowChip{coordinates(chip), false, slowdown(view)};
  if (const auto host = view["host"]; host.exists()) return program::SlowChip{coordinates(host), true, slowdown(view)};
  if (const auto link = view["link"]; link.exists()) {
    const auto ends = link.items();
    if (ends.size() == 2) return program::DegradedLink{node_name(ends[0]), node_name(ends[1]), bandwidth(view)};
    link.problem("has " + std::to_string(ends.size()) + " ends",
                 "two neighbours, such as [[0, 0, 0], [1, 0, 0]] or [\"leaf(0)\", \"spine(0)\"]");
    return program::DegradedLink{{}, {}, bandwidth(view)};
  }
  if (const auto node = view["links_of"]; node.exists()) return program::DegradedNode{node_name(node), bandwidth(view)};
  if (const auto chips = view["random_chips"]; chips.exists())
    return program::RandomSlowChips{chips.integer(1, 1'000'000), seed(view), slowdown(view)};
  if (const auto links = view["random_links"]; links.exists())
    return program::RandomDegradedLinks{links.integer(1, 1'000'000), seed(view), bandwidth(view)};
  if (const auto jitter = view["jitter"]; jitter.exists()) {
    const auto distribution = view["distribution"];
    const bool uniform = !distribution.exists() || distribution.choice({"uniform", "exponential"}) == 0;
    return program::Jitter{
        uniform ? program::Jitter::Distribution::uniform : program::Jitter::Distribution::exponential,
        jitter.number(0, most_slowdown), seed(view)};
  }
  view.problem("is not a perturbation",
               "one of the keys chip, host, link, links_of, random_chips, random_links, jitter");
  return program::Jitter{};
}

}  // namespace

std::vector<program::Perturbation> read_perturbations(const YamlView& list) {
  std::vector<program::Perturbation> result;
  for (const auto& item : list.items()) {
    if (!item.expect_map("a perturbation such as {chip: [0, 0, 0], slowdown: 1.5}")) continue;
    result.push_back(read_one(item));
    item.refuse_unknown_keys();
  }
  return result;
}

}  // namespace lockstep::scenario
