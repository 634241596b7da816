#pragma once
/// Builds clusters from their specifications, and reads the specifications of nodes and fabrics from YAML. Catalog:
/// topologies/catalog/nodes/*.yaml and topologies/catalog/fabrics/*.yaml.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/yaml_view.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::topologies {

/// One value of every kind of fabric that keys describe, in the order in which messages list them.
[[nodiscard]] std::vector<FabricKind> fabric_kinds();
[[nodiscard]] std::string_view name(const FabricKind& kind);   ///< as YAML writes it: "fat_tree"
[[nodiscard]] std::string_view about(const FabricKind& kind);  ///< its line in docs/models/network.md

/// The reasons why a cluster cannot be built: a radix that cannot build the tree, oversubscription below 1, NICs that
/// do not divide the chips, a rank order that is not a permutation, too many devices. Empty if it can be built.
struct ClusterProblem {
  std::string key;  ///< below `cluster`: "fabric.radix"; "": of the whole
  std::string what, expected;
};
[[nodiscard]] std::vector<ClusterProblem> why_not_a_cluster(const ClusterSpec& spec);

/// Physical axes, outermost first: hall (more than one), pod or node (more than one), then the torus' axes or gpu.
[[nodiscard]] Cluster build_cluster(const ClusterSpec& spec);

[[nodiscard]] NodeSpec read_node(const YamlView& view, std::string_view name, const std::filesystem::path& catalog);
/// `base` has the values of keys that the view does not give; without a base, the view must give a kind.
[[nodiscard]] FabricSpec read_fabric(const YamlView& view, std::string_view name, const FabricSpec* base = nullptr);
/// The catalog's usual node of a chip ("dgx-h100" for "h100"); any other word unchanged.
[[nodiscard]] std::string usual_node(std::string_view word);
[[nodiscard]] std::vector<std::string> node_names(const std::filesystem::path& catalog);
[[nodiscard]] std::vector<std::string> fabric_names(const std::filesystem::path& catalog);
/// Loads by name from the catalog. A node may also be named by a chip, which means the chip's usual node.
[[nodiscard]] NodeSpec load_node(const std::filesystem::path& catalog, std::string_view name, Problems& problems);
[[nodiscard]] FabricSpec load_fabric(const std::filesystem::path& catalog, std::string_view name, Problems& problems);

}  // namespace lockstep::topologies
