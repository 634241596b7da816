// Slurm's topology.yaml: a list of topologies, of which the cluster's default is read.
#include "sim/core/yaml_view.hpp"
#include "topologies/graph/network_format_private.hpp"
#include "topologies/graph/network_text_private.hpp"
#include "topologies/graph/slurm_private.hpp"

namespace lockstep::topologies {
namespace {

bool recognises(std::string_view head) {
  return any_line(head, [](std::string_view line) {
    LineScan scan(line, 1);
    return scan.take("-") && (scan.skip_space(), scan.take("topology:"));
  });
}

TextPlace place_of(const YamlView& view) { return {view.where().line, view.where().column}; }

std::vector<std::string> names(const YamlView& view, NetworkBuilder& builder) {
  if (!view.exists()) return {};
  return slurm_names(view.text(), place_of(view), view.path(), builder);
}

/// The list of switches or of blocks; `kind` is the key of a name.
std::vector<SlurmSwitch> read_list(const YamlView& list, const std::string& kind, NetworkBuilder& builder) {
  std::vector<SlurmSwitch> switches;
  for (const YamlView& item : list.items()) {
    if (!item.expect_map("a map with " + kind + " and nodes")) continue;
    SlurmSwitch one;
    const YamlView name = item.require(kind, "a name");
    one.name = name.text();
    one.place = place_of(item);
    one.hosts = names(item["nodes"], builder);
    if (kind == "switch") one.switches = names(item["children"], builder);
    item.refuse_unknown_keys();
    switches.push_back(std::move(one));
  }
  return switches;
}

/// The topology that jobs get which ask for none: the one marked so, or the first.
YamlView default_of(const std::vector<YamlView>& topologies) {
  for (const YamlView& topology : topologies) {
    if (const YamlView mark = topology.is_map() ? topology["cluster_default"] : YamlView();
        mark.exists() && mark.boolean())
      return topology;
  }
  return topologies.front();
}

void read(std::string_view text, NetworkBuilder& builder) {
  const YamlView document = YamlView::from_text(text, builder.file(), builder.problems());
  if (!document.exists()) return;
  const auto topologies = document.items();
  if (topologies.empty()) return document.problem("has no topology", "a list of topologies");
  const YamlView chosen = default_of(topologies);
  if (!chosen.expect_map("a map with topology and tree or block")) return;
  const std::string name = chosen.require("topology", "a name").text();
  builder.name(name);
  if (topologies.size() > 1) {
    builder.note("Of " + std::to_string(topologies.size()) + " topologies the default of the cluster is read, " + name +
                 ".");
  }
  (void)chosen["cluster_default"];
  if (const YamlView tree = chosen["tree"]; tree.exists()) {
    if (!tree.expect_map("a map with switches")) return;
    const auto switches = read_list(tree.require("switches", "a list of switches"), "switch", builder);
    tree.refuse_unknown_keys();
    check_slurm_end(text, switches, builder);
    if (builder.problems().empty()) add_slurm_tree(switches, builder);
  } else if (const YamlView block = chosen["block"]; block.exists()) {
    if (!block.expect_map("a map with blocks")) return;
    auto blocks = read_list(block.require("blocks", "a list of blocks"), "block", builder);
    (void)block["block_sizes"];
    block.refuse_unknown_keys();
    check_slurm_end(text, blocks, builder);
    if (builder.problems().empty()) add_slurm_blocks(std::move(blocks), builder);
  }
  chosen.refuse_unknown_keys();
  if (builder.problems().empty() && !chosen["tree"].exists() && !chosen["block"].exists())
    chosen.problem("the topology '" + name + "' is neither a tree nor made of blocks", "tree or block");
}

}  // namespace

extern const NetworkFormat slurm_yaml_format;
const NetworkFormat slurm_yaml_format{"Slurm topology.yaml", recognises, read};

}  // namespace lockstep::topologies
