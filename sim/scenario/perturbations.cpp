#include <limits>
#include <optional>

#include "sim/scenario/scenario.hpp"

namespace lockstep::scenario {
namespace {

constexpr double most_slowdown = 1e6;
constexpr double least_left = 1e-6;
constexpr double most_deviation = 10;  ///< of a logarithm

program::Coordinates coordinates(const YamlView& view) {
  program::Coordinates result;
  for (const auto& item : view.items()) result.push_back(static_cast<int>(item.integer(0, 1'000'000)));
  return result;
}

/// A chip by its coordinates, any node of the cluster by its name.
std::string node_name(const YamlView& view) {
  return view.is_list() ? program::chip_name(coordinates(view)) : view.text();
}

/// A perturbation may make a chip faster than the others; what varies only slows down, on which `plan --draws` relies.
double slowdown(const YamlView& view, double least = 1e-3) {
  const auto value = view.require("slowdown", "how many times as long computing takes, such as 1.5");
  return value.exists() ? value.number(least, most_slowdown) : 1;
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

/// `mean`: the value of the key jitter, which is the upper end where it is drawn uniformly.
program::Jitter read_jitter(const YamlView& view, const YamlView& mean, std::uint64_t seed) {
  using Distribution = program::Jitter::Distribution;
  program::Jitter jitter{Distribution::uniform, mean.number(0, most_slowdown), seed};
  if (const auto word = view["distribution"]; word.exists())
    jitter.distribution = static_cast<Distribution>(word.choice({"uniform", "exponential", "lognormal", "pareto"}));
  if (jitter.distribution == Distribution::lognormal) {
    const auto shape = view.require("shape", "the standard deviation of the logarithm, such as 0.5");
    if (shape.exists()) jitter.shape = shape.number(0, most_deviation);
  }
  if (jitter.distribution == Distribution::pareto) {
    const auto shape = view.require("shape", "the exponent of the tail, above 1, such as 3");
    if (!shape.exists()) return jitter;
    jitter.shape = shape.number(0, most_slowdown);
    if (jitter.shape <= 1)
      shape.problem("a Pareto distribution of shape " + shape.text() + " has no finite mean", "a shape above 1");
  }
  return jitter;
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
  if (const auto jitter = view["jitter"]; jitter.exists()) return read_jitter(view, jitter, seed(view));
  view.problem("is not a perturbation",
               "one of the keys chip, host, link, links_of, random_chips, random_links, jitter");
  return program::Jitter{};
}

double share_of(const YamlView& view) { return view.number(0, 1); }

std::optional<program::Perturbation> read_variation(const YamlView& view) {
  const auto given = view["seed"];
  const auto seed = given.exists() ? static_cast<std::uint64_t>(given.integer(0, 1'000'000'000)) : 1;
  if (const auto jitter = view["jitter"]; jitter.exists()) return read_jitter(view, jitter, seed);
  if (const auto share = view["stragglers"]; share.exists())
    return program::Stragglers{share_of(share), seed, slowdown(view, 1)};
  if (const auto share = view["flaky_links"]; share.exists()) {
    program::FlakyLinks links{share_of(share), seed, bandwidth(view)};
    if (links.bandwidth == 0)
      view["bandwidth"].problem("a link that comes and goes is not down for a whole step",
                                "a part of at least 1e-6; perturbations take links down");
    return links;
  }
  view.problem("is not a variation", "one of the keys jitter, stragglers, flaky_links");
  return {};
}

}  // namespace

std::vector<program::Perturbation> read_variations(const YamlView& list) {
  std::vector<program::Perturbation> result;
  for (const auto& item : list.items()) {
    if (!item.expect_map("a variation such as {stragglers: 0.001, slowdown: 1.2}")) continue;
    const auto variation = read_variation(item);
    if (!variation) continue;
    result.push_back(*variation);
    item.refuse_unknown_keys();
  }
  return result;
}

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
