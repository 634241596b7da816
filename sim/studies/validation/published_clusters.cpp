// Machines of published runs, by the names that tables give them.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// No published job has more; what is larger is a mistake in the table.
constexpr std::int64_t most_chips = 1'000'000;

/// A part of a chip's text, and that chip's usual node. The first that fits is used.
constexpr std::pair<std::string_view, GpuNode> machines[] = {{"gb300", {"gb300-nvl72", used_of_a_rack}},
                                                             {"gb200", {"gb200-nvl72", used_of_a_rack}},
                                                             {"b300", {"dgx-b300"}},
                                                             {"b200", {"dgx-b200"}},
                                                             {"h200", {"dgx-h200"}},
                                                             {"h100", {"dgx-h100"}},
                                                             {"h800", {"hgx-h800"}},
                                                             {"h20", {"hgx-h20"}},
                                                             {"a100", {"dgx-a100"}},
                                                             {"l40s", {"l40s-pcie"}},
                                                             {"mi355x", {"mi355x"}},
                                                             {"mi350x", {"mi350x"}},
                                                             {"mi325x", {"mi325x"}},
                                                             {"mi300x", {"mi300x"}}};

/// Parts of a TPU's text and its name in the catalog. The first that fits is used.
constexpr std::pair<std::string_view, std::string_view> tpus[] = {
    {"trillium", "tpu-v6e"}, {"ironwood", "tpu-v7x"}, {"v6e", "tpu-v6e"},    {"v7x", "tpu-v7x"}, {"tpu7x", "tpu-v7x"},
    {"v5p", "tpu-v5p"},      {"v5e", "tpu-v5e"},      {"v5lite", "tpu-v5e"}, {"v4", "tpu-v4"},   {"v3", "tpu-v3"}};

/// Sizes a <= b (<= c) with this product. An axis that is a multiple of 4 (in 3D) closes into a ring.
std::string slice_shape(std::int64_t chips, bool three) {
  std::array<std::int64_t, 3> best{1, 1, chips};
  const auto badness = [three](const std::array<std::int64_t, 3>& sizes) {
    const auto lines = three ? std::count_if(sizes.begin(), sizes.end(), [](auto size) { return size % 4 != 0; }) : 0;
    return std::pair{lines, sizes[2]};
  };
  for (std::int64_t a = 1; a * a <= chips && (three || a == 1); ++a) {
    if (chips % a != 0) continue;
    for (std::int64_t b = a; a * b * b <= chips; ++b) {
      if (chips / a % b != 0) continue;
      const std::array<std::int64_t, 3> sizes{a, b, chips / a / b};
      if (badness(sizes) < badness(best)) best = sizes;
    }
  }
  const auto rest = std::to_string(best[1]) + ", " + std::to_string(best[2]);
  return three ? "[" + std::to_string(best[0]) + ", " + rest + "]" : "[" + rest + "]";
}

}  // namespace

void set_cluster(MeasuredRun& run, const GpuNode& node, std::int64_t chips) {
  const auto of_a_node = std::min<std::int64_t>(chips, node.chips);
  if (chips > most_chips) return skip(run, std::to_string(chips) + " chips are more than a cluster has");
  if (chips % of_a_node != 0)
    return skip(run, std::to_string(chips) + " chips do not fill nodes of " + std::to_string(node.chips));
  std::string text = "{node: {like: " + std::string(node.like) + ", chips: " + std::to_string(of_a_node) +
                     std::string(node.more) + "}";
  if (chips > of_a_node)
    text += ", nodes: " + std::to_string(chips / of_a_node) +
            (node.fabric.empty() ? "" : ", fabric: " + std::string(node.fabric));
  run.set("cluster", text + "}");
}

void set_cluster(MeasuredRun& run, std::string_view chip, std::int64_t chips, const NodeUse& use) {
  const auto text = lower_case(chip);
  for (const auto& [word, usual] : machines) {
    if (text.find(word) == std::string::npos) continue;
    std::string more;
    if (use.launched_as_graph) more += ", chip: {like: " + std::string(word) + ", kernels: {host: 0 us}}";
    if (!use.tokens_once_a_node)
      more += ", algorithms: [ring, tree, direct all-to-all, shift, in-network, in-network tree]";
    auto node = usual;
    node.more = more;
    if (node.chips == used_of_a_rack && chips % used_of_a_rack != 0 && chips % chips_of_a_rack == 0)
      node.chips = chips_of_a_rack;
    return set_cluster(run, node, chips);
  }
  skip(run, "no machine with '" + std::string(chip) + "' in the catalog");
}

void set_tpus(MeasuredRun& run, std::string_view chip, std::int64_t chips_of_a_slice, std::int64_t slices) {
  const auto text = letters_and_digits(chip);
  const auto* known = std::find_if(std::begin(tpus), std::end(tpus),
                                   [&](const auto& each) { return text.find(each.first) != text.npos; });
  if (known == std::end(tpus)) return skip(run, "no TPU '" + std::string(chip) + "' in the catalog");
  if (chips_of_a_slice > most_chips || slices > most_chips)
    return skip(run, std::to_string(chips_of_a_slice) + " chips in each of " + std::to_string(slices) +
                         " slices are more than a cluster has");
  const auto name = known->second;
  const bool three = name == "tpu-v4" || name == "tpu-v5p" || name == "tpu-v7x";
  run.set("cluster", "{chip: " + std::string(name) + ", shape: " + slice_shape(chips_of_a_slice, three) +
                         (slices > 1 ? ", pods: " + std::to_string(slices) : "") + "}");
}

}  // namespace lockstep::validation
