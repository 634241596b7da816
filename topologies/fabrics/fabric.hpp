#pragma once
/// From the specification of a cluster to the cluster, and from YAML to the specifications of nodes and fabrics.
/// Catalog: topologies/catalog/nodes/*.yaml and topologies/catalog/fabrics/*.yaml.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep {

/// One value of every kind of fabric, in the order in which messages list them.
[[nodiscard]] std::vector<FabricKind> fabric_kinds();
[[nodiscard]] std::string_view name(const FabricKind& kind);   ///< as YAML writes it: "fat_tree"
[[nodiscard]] std::string_view about(const FabricKind& kind);  ///< its line in docs/models/network.md

/// Why such a cluster cannot be built: a radix that cannot build the tree, oversubscription below 1, NICs that do not
/// divide the chips, a rank order that is no permutation, too many devices. Empty: it can.
struct ClusterProblem {
  std::string key;  ///< below `cluster`: "fabric.radix"; "": of the whole
  std::string what, expected;
};
[[nodiscard]] std::vector<ClusterProblem> why_not_a_cluster(const ClusterSpec& spec);

/// Physical axes, outermost first: hall (more than one), pod or node (more than one), then the torus' axes or gpu.
[[nodiscard]] Cluster build_cluster(const ClusterSpec& spec);

[[nodiscard]] NodeSpec read_node(const YamlView& view, std::string_view name, const std::filesystem::path& catalog);
/// `base` says what holds where the view is silent; without one, the view must give a kind.
[[nodiscard]] FabricSpec read_fabric(const YamlView& view, std::string_view name, const FabricSpec* base = nullptr);
/// The catalog's usual node of a chip ("dgx-h100" for "h100"); any other word as it is.
[[nodiscard]] std::string usual_node(std::string_view word);
[[nodiscard]] std::vector<std::string> node_names(const std::filesystem::path& catalog);
[[nodiscard]] std::vector<std::string> fabric_names(const std::filesystem::path& catalog);
/// By name, or by the name of a chip: its usual node.
[[nodiscard]] NodeSpec load_node(const std::filesystem::path& catalog, std::string_view name, Problems& problems);
[[nodiscard]] FabricSpec load_fabric(const std::filesystem::path& catalog, std::string_view name, Problems& problems);

}  // namespace lockstep
