#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

#include "sim/studies/validation/collective_machines_private.hpp"
#include "sim/studies/validation/published_private.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::validation {
namespace {

/// A node of the catalog with its scale-up network. It stands for rows whose columns chip and inter_net contain these
/// two words, unless an entry before it does.
struct NamedMachine {
  std::string_view chip, inter_net, node, scale_up;
};
constexpr std::array<NamedMachine, 18> machines{{{"p4de", "", "p4de-a100", "NVLink 3"},
                                                 {"p5en", "", "p5en-h200", "NVLink 4"},
                                                 {"EFA", "", "p5en-h200", "NVLink 4"},
                                                 {"p5", "", "p5-h100", "NVLink 4"},
                                                 {"A3 Mega", "", "a3-mega-h100", "NVLink 4"},
                                                 {"A3 High", "", "a3-high-h100", "NVLink 4"},
                                                 {"GCP A4", "", "a4-b200", "NVLink 5"},
                                                 {"GB200", "", "gb200-nvl72", "NVLink 5, rack"},
                                                 {"GB300", "", "gb300-nvl72", "NVLink 5, rack"},
                                                 {"B300", "", "dgx-b300", "NVLink 5"},
                                                 {"B200", "EFA", "p6-b200", "NVLink 5"},
                                                 {"B200", "", "dgx-b200", "NVLink 5"},
                                                 {"H100", "", "dgx-h100", "NVLink 4"},
                                                 {"H200", "p5en", "p5en-h200", "NVLink 4"},
                                                 {"H200", "", "dgx-h200", "NVLink 4"},
                                                 {"A100", "", "dgx-a100", "NVLink 3"},
                                                 {"MI300X", "", "mi300x", "xGMI"},
                                                 {"MI355X", "", "mi355x", "xGMI"}}};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_tpu(const MeasuredCollective& row) { return lower_case(row.chip).starts_with("tpu"); }

/// "tpu-v5e" of "TPU v5e", "tpu-v7x" of "TPU7x" and "TPU v6e-256"; "" if the catalog has no such TPU.
std::string tpu_of(const MeasuredCollective& row, const std::filesystem::path& catalog) {
  const auto words = lower_case(row.chip);
  for (const auto& name : topologies::chip_names(catalog)) {
    if (!name.starts_with("tpu-v")) continue;
    const auto generation = name.substr(std::string_view("tpu-v").size());
    const auto at = words.find(generation);
    if (at == std::string::npos || at == 0 || !(words[at - 1] == 'v' || words[at - 1] == 'u')) continue;
    const auto after = at + generation.size();
    if (after == words.size() || std::isalnum(static_cast<unsigned char>(words[after])) == 0) return name;
  }
  return "";
}

/// The numbers of "4x4x4" in a remark; none without such a word.
std::vector<int> shape_in(const std::string& text) {
  static const std::regex shape(R"(\b(\d{1,4}(?:x\d{1,4}){1,2})\b)");
  std::smatch match;
  if (!std::regex_search(text, match, shape)) return {};
  std::vector<int> sizes;
  std::istringstream in(match[1].str());
  for (std::string part; std::getline(in, part, 'x');) sizes.push_back(std::stoi(part));
  return sizes;
}

/// The slice of so many chips whose axes have the least sum, one that its vendor offers where there is one. Empty:
/// none.
std::vector<int> slice_of(const topologies::Chip& chip, int chips) {
  std::vector<int> best;
  std::pair<bool, int> cost;
  const auto consider = [&](std::vector<int> shape) {
    const topologies::TorusSpec spec{chip, shape, {}};
    if (!topologies::why_not_a_slice(spec).empty()) return;
    int sum = 0;
    for (const int size : shape) sum += size;
    const std::pair its{!topologies::slice_note(spec).empty(), sum};
    if (best.empty() || its < cost) {
      best = std::move(shape);
      cost = its;
    }
  };
  const bool is_flat = chip.torus->pod.size() == 2;
  for (int x = 1; x <= chips; ++x) {
    if (chips % x != 0) continue;
    if (is_flat) consider({x, chips / x});
    for (int y = 1; !is_flat && y <= chips / x; ++y) {
      if (chips / x % y == 0) consider({x, y, chips / x / y});
    }
  }
  return best;
}

void refuse(const MeasuredCollective& row, std::string_view column, std::string what, std::string expected,
            Problems& problems) {
  problems.add({column == "chip" ? row.chip_where : row.ranks_where, std::string(column),
                row.chip + " with " + std::to_string(row.ranks) + " ranks: " + std::move(what), std::move(expected)});
}

/// One axis of a slice where the row says so ("1 axis of 4x4x4"), else a whole slice.
std::optional<Place> tpu(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  const auto name = tpu_of(row, catalog);
  if (name.empty()) {
    refuse(row, "chip", "no TPU of the catalog has this name", "tpu-v4, tpu-v5e, tpu-v5p, tpu-v6e or tpu-v7x",
           problems);
    return std::nullopt;
  }
  const auto chip = topologies::load_chip(catalog, name, problems);
  auto shape = shape_in(row.text);
  Place place;
  place.network = "ICI of " + name;
  if (contains(row.text, "axis of")) {
    const auto at = std::find(shape.rbegin(), shape.rend(), row.ranks);
    if (at == shape.rend()) {
      refuse(row, "n_ranks", "no axis of the slice has so many chips", "the chips of one of its axes", problems);
      return std::nullopt;
    }
    place.ring = static_cast<int>(shape.rend() - at) - 1;
  } else if (shape.empty()) {
    shape = slice_of(chip, row.ranks);
  } else {
    std::int64_t chips = 1;
    for (const int size : shape) chips *= size;
    if (chips != row.ranks) {
      refuse(row, "n_ranks", "the slice has " + std::to_string(chips) + " chips", "as many ranks", problems);
      return std::nullopt;
    }
  }
  place.torus = topologies::TorusSpec{chip, shape, {}};
  const auto why = shape.empty() ? "no slice has so many chips" : topologies::why_not_a_slice(*place.torus);
  if (why.empty()) return place;
  refuse(row, "n_ranks", why, "the chips of a slice of " + name, problems);
  return std::nullopt;
}

/// The catalog's node of that name, else the first entry that fits.
std::optional<NamedMachine> machine_of(const MeasuredCollective& row, const std::filesystem::path& catalog) {
  const auto names = topologies::node_names(catalog);
  if (std::find(names.begin(), names.end(), row.chip) != names.end()) return NamedMachine{"", "", row.chip, row.chip};
  const auto* fits = std::find_if(machines.begin(), machines.end(), [&](const auto& named) {
    return contains(row.chip, named.chip) && contains(row.inter_net, named.inter_net);
  });
  return fits == machines.end() ? std::nullopt : std::optional(*fits);
}

/// The network between units: the node's usual one, unless the row says that they are joined by RoCE.
std::string fabric_of(const MeasuredCollective& row, const topologies::NodeSpec& node) {
  if (!contains(node.fabric, "infiniband") || !contains(row.inter_net, "RoCE")) return node.fabric;
  return contains(row.chip, "GB300") ? "oci-gb300-roce" : "roce-400g";
}

std::optional<Place> nodes(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  const auto named = machine_of(row, catalog);
  if (!named) {
    refuse(row, "chip", "no machine of this name has a node in the catalog", "a node such as dgx-h100", problems);
    return std::nullopt;
  }
  topologies::NodeSpec node = topologies::load_node(catalog, named->node, problems);
  const auto fabric = fabric_of(row, node);
  Place place;
  auto& spec = place.nodes;
  spec.units = node.chips >= chips_of_a_rack ? std::max(1, row.ranks / used_of_a_rack) : row.nodes;
  const int used = row.ranks / spec.units;
  if (used * spec.units != row.ranks || used > node.chips) {
    refuse(row, "n_ranks", "they do not fill the nodes evenly",
           "ranks in equal parts on nodes of up to " + std::to_string(node.chips), problems);
    return std::nullopt;
  }
  if (used < node.chips) node.chips = node.nics = used;
  const std::string text = row.chip + row.notes;
  if (contains(text, "NVLS off") || contains(text, "NVLS_ENABLE=0") || contains(text, "no SHARP"))
    node.in_network_reduction = false;
  // Google's plugin runs without LL128 unless its profile for LL128 is set.
  if (fabric == "gpudirect-tcpxo" && !contains(row.notes, "LL128 profile"))
    std::erase_if(node.protocols, [](const auto& protocol) { return protocol.name == "LL128"; });
  if (spec.units > 1) spec.fabric = topologies::load_fabric(catalog, fabric, problems);
  place.network = spec.units > 1 ? fabric : std::string(named->scale_up);
  if (spec.units > 1 && named->chip.empty())
    place.network += " of " + std::string(named->node);  // a fabric joins many nodes
  spec.unit = std::move(node);
  if (const auto why = topologies::why_not_a_cluster(spec); !why.empty()) {
    refuse(row, "n_ranks", why.front().what, why.front().expected, problems);
    return std::nullopt;
  }
  return place;
}

}  // namespace

std::optional<Place> place_of(const MeasuredCollective& row, const std::filesystem::path& catalog, Problems& problems) {
  return is_tpu(row) ? tpu(row, catalog, problems) : nodes(row, catalog, problems);
}

Machine built(const Place& place) {
  Machine machine{place.network, nullptr, nullptr, nullptr};
  machine.cluster = std::make_unique<topologies::Cluster>(place.torus ? topologies::build_torus(*place.torus)
                                                                      : build_cluster(place.nodes));
  topologies::MeshAxis group{"group", {}}, rest{"rest", {}};
  for (int i = 0; i < static_cast<int>(machine.cluster->axes().size()); ++i) {
    auto& axis = place.ring < 0 || i == place.ring ? group : rest;
    axis.factors.push_back({i, machine.cluster->axes()[static_cast<std::size_t>(i)].size, 1});
  }
  std::vector axes{group};
  if (!rest.factors.empty()) axes.insert(axes.begin(), rest);
  machine.group("group", std::move(axes));
  return machine;
}

MachineKey machine_key(const MeasuredCollective& row) {
  return MachineKey(row.chip, row.inter_net, row.notes, row.ranks, row.nodes, is_tpu(row) ? row.text : std::string());
}

}  // namespace lockstep::validation
