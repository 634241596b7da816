#include <algorithm>
#include <utility>

#include "topologies/torus/torus.hpp"

namespace lockstep::topologies {
namespace {

/// Sizes in ascending order, with an axis of one chip for each that is left out.
std::vector<int> sorted(std::vector<int> sizes, std::size_t axes) {
  sizes.resize(std::max(axes, sizes.size()), 1);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

bool consists_of(const std::vector<int>& shape, const std::vector<int>& cube) {
  const auto sizes = sorted(shape, cube.size()), block = sorted(cube, shape.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] % block[i] != 0) return false;
  }
  return !cube.empty();
}

std::string shapes_text(const SliceRules& rules) {
  std::string text;
  for (const auto& shape : rules.listed) text += (text.empty() ? "" : ", ") + by_axis(shape);
  if (rules.cube.empty()) return text;
  return "blocks of " + by_axis(rules.cube) + " chips" + (text.empty() ? "" : ", and " + text);
}

}  // namespace

std::string slice_note(const TorusSpec& spec) {
  const auto& rules = spec.chip.torus->slices;
  if (!rules || !spec.pod.empty()) return "";
  const std::size_t axes = spec.chip.torus->pod.size();
  std::int64_t chips = 1;
  for (const int size : spec.shape) chips *= size;
  const std::string slice =
      "a slice of " + by_axis(spec.shape) + " (" + std::to_string(chips) + (chips == 1 ? " chip)" : " chips)");
  if (rules->most_chips > 0 && chips > rules->most_chips)
    return slice + " cannot be scheduled: the largest job on " + spec.chip.name + " has " +
           std::to_string(rules->most_chips) + " chips";
  const bool listed = std::any_of(rules->listed.begin(), rules->listed.end(),
                                  [&](const auto& shape) { return sorted(shape, axes) == sorted(spec.shape, axes); });
  if (listed || consists_of(sorted(spec.shape, axes), rules->cube)) return "";
  return slice + " is none that users of " + spec.chip.name + " are offered: " + shapes_text(*rules);
}

}  // namespace lockstep::topologies
