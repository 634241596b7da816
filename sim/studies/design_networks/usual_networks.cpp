#include "sim/studies/design_networks/usual_networks.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/core/quantity_text.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::design_networks {
namespace {

using topologies::ClusterSpec;
using topologies::NodeSpec;
using topologies::TorusSpec;

std::filesystem::path catalog() { return scenario::data_root() / "topologies/catalog"; }

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_of(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string rate(BytesPerSecond rate) { return exact(rate.value()) + " B/s"; }

std::string nics_of(const NodeSpec& node) {
  return "{count: " + std::to_string(node.nics) + ", rate: " + rate(node.nic) + ", pcie: " + rate(node.pcie) + "}";
}

std::string node_as_map(const NodeSpec& node) { return "{like: " + node.name + ", nics: " + nics_of(node) + "}"; }

bool is_known_node(const NodeSpec& node) { return is_in(topologies::node_names(catalog()), node.name); }
bool is_known_fabric(const std::string& name) { return is_in(topologies::fabric_names(catalog()), name); }

/// "tpu-v5p:4x4x8": of one pod or several.
std::string torus_as_map(const ClusterSpec& cluster, const TorusSpec& torus) {
  return "{chip: " + torus.chip.name + ", shape: " + list_of(torus.shape) + (torus.twisted ? ", twisted: true" : "") +
         (cluster.units > 1 ? ", pods: " + std::to_string(cluster.units) + ", dcn: {like: " + cluster.fabric.name + "}"
                            : "") +
         "}";
}

std::string nodes_as_map(const ClusterSpec& cluster, const NodeSpec& node) {
  return "{node: " + node_as_map(node) + ", nodes: " + std::to_string(cluster.units) +
         (is_known_fabric(cluster.fabric.name) ? ", fabric: {like: " + cluster.fabric.name + "}" : "") + "}";
}

/// Ordered sizes of so many axes that multiply to `chips`.
void for_each_shape(std::int64_t chips, std::size_t axes, std::vector<int>& sizes,
                    const std::function<void(const std::vector<int>&)>& visit) {
  if (sizes.size() + 1 == axes) {
    sizes.push_back(static_cast<int>(chips));
    visit(sizes);
    sizes.pop_back();
    return;
  }
  for (std::int64_t size = sizes.empty() ? 1 : sizes.back(); size * size <= chips; ++size) {
    if (chips % size != 0) continue;
    sizes.push_back(static_cast<int>(size));
    for_each_shape(chips / size, axes, sizes, visit);
    sizes.pop_back();
  }
}

std::string usual_shapes(const scenario::Scenario& scenario, const TorusSpec& own) {
  const bool sizes_are_known = std::all_of(scenario.mesh.begin(), scenario.mesh.end(),
                                           [](const topologies::AxisRequest& axis) { return axis.size > 0; });
  const bool is_placed = std::any_of(scenario.mesh.begin(), scenario.mesh.end(),
                                     [](const topologies::AxisRequest& axis) { return axis.place.has_value(); });
  const std::int64_t chips = std::accumulate(own.shape.begin(), own.shape.end(), std::int64_t{1}, std::multiplies<>());
  std::string text = "list:\n  - {cluster.shape: " + list_of(own.shape) +
                     ", cluster.twisted: " + (own.twisted ? "true" : "false") + "}\n";
  std::vector<int> sizes;
  for_each_shape(chips, own.shape.size(), sizes, [&](const std::vector<int>& shape) {
    for (const bool twisted : {false, true}) {
      auto torus = own;
      torus.shape = shape;
      torus.twisted = twisted;
      if (!topologies::why_not_a_slice(torus).empty()) continue;
      ClusterSpec alone;
      alone.unit = torus;
      if (!topologies::why_not_a_cluster(alone).empty()) continue;
      if (!is_placed && shape == own.shape && twisted == own.twisted) continue;  // it is placed anew as it is
      text += "  - {cluster.shape: " + list_of(shape) + ", cluster.twisted: " + (twisted ? "true" : "false") +
              (sizes_are_known ? ", mesh: {}" : "") + "}\n";
    }
  });
  return text;
}

std::string usual_fabrics(const NodeSpec& node) {
  std::string counts;
  for (const int part : {1, 2, 4}) {
    if (node.nics % part == 0) counts += (counts.empty() ? "" : ", ") + std::to_string(node.nics / part);
  }
  return "list:\n"
         "  - {cluster.fabric.kind: fat_tree}\n"
         "  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: joined}\n"
         "  - {cluster.fabric.kind: rail_optimised, cluster.fabric.rails: separate}\n"
         "grid:\n"
         "  cluster.fabric.oversubscription: [1, 2, 4, 8]\n"
         "  cluster.node.nics.count: [" +
         counts + "]\n";
}

}  // namespace

std::vector<scenario::KeyOverride> as_maps(const YamlView& document, const scenario::Scenario& scenario) {
  const auto& cluster = scenario.cluster;
  const auto written = document["cluster"];
  const auto* node = cluster.node();
  if (!written.is_map()) {
    if (node == nullptr) return {{"cluster", torus_as_map(cluster, *cluster.torus())}};
    return is_known_node(*node) ? std::vector<scenario::KeyOverride>{{"cluster", nodes_as_map(cluster, *node)}}
                                : std::vector<scenario::KeyOverride>{};
  }
  std::vector<scenario::KeyOverride> keys;
  if (node != nullptr && cluster.groups.empty() && is_known_node(*node)) {
    if (!written["node"].is_map()) {
      keys.push_back({"cluster.node", node_as_map(*node)});
    } else if (!written["node"]["nics"].exists()) {
      keys.push_back({"cluster.node.nics", nics_of(*node)});
    }
  }
  const std::string fabric = node != nullptr ? "fabric" : "dcn";
  const bool is_generated = !written["graph"].exists() && (node != nullptr || cluster.units > 1);
  if (is_generated && !written[fabric].is_map() && is_known_fabric(cluster.fabric.name))
    keys.push_back({"cluster." + fabric, "{like: " + cluster.fabric.name + "}"});
  return keys;
}

std::string usual_networks(const scenario::Scenario& scenario) {
  const auto& cluster = scenario.cluster;
  if (const auto* torus = cluster.torus()) return usual_shapes(scenario, *torus);
  const bool is_given = std::holds_alternative<topologies::GivenNetwork>(cluster.fabric.kind);
  if (!cluster.groups.empty() || cluster.halls > 1 || cluster.units < 2 || is_given)
    throw ConfigError({{scenario.where("cluster"), "cluster", "this machine has no usual networks to choose from",
                        "nodes of one kind in one hall, a torus, or --space FILE with what may vary"}});
  return usual_fabrics(*cluster.node());
}

}  // namespace lockstep::design_networks
