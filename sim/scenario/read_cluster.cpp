// The `cluster` of a scenario: a slice of a pod, pods over a data-centre network, nodes on a fabric, halls of nodes.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "sim/collectives/algorithms.hpp"
#include "sim/core/known_word.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/readable_file.hpp"
#include "sim/scenario/reading_private.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::scenario {
namespace {

constexpr int most_units = 1'000'000;
const std::string usual_network_of_pods = "ethernet-dcn";

/// The catalog's node of that name, or of the usual server of that chip: h100 is dgx-h100. Empty: there is none.
std::string node_of(const std::string& name) {
  return known_word(topologies::usual_node(name), topologies::node_names(topology_catalog()));
}

/// "16x20x28" as sizes; nothing if it is anything else.
std::vector<int> parse_sizes(std::string_view text) {
  std::vector<int> sizes;
  while (true) {
    int size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || size < 1 || text.front() == '0') return {};
    sizes.push_back(size);
    text = {end, text.data() + text.size()};
    if (text.empty()) return sizes;
    if (text.front() != 'x') return {};
    text.remove_prefix(1);
  }
}

topologies::FabricSpec fabric_named(const std::string& name, const Location& where, const std::string& key,
                                    Problems& problems) {
  const auto names = topologies::fabric_names(topology_catalog());
  if (const auto entry = known_word(name, names); !entry.empty())
    return topologies::load_fabric(topology_catalog(), entry, problems);
  problems.add({where, key, "fabric '" + name + "' is not in the catalog", catalog_name(name, names)});
  return {};
}

class ClusterReader {
 public:
  ClusterReader(const YamlView& view, std::filesystem::path folder, Problems& problems)
      : view_(view), folder_(std::move(folder)), problems_(problems) {}

  topologies::ClusterSpec read() {
    if (view_["node"].exists() || view_["groups"].exists()) {
      nodes();
      foreign({"chip", "shape", "pod", "twisted", "pods", "dcn"},
              "is for pods of a torus, and this cluster has a node");
    } else {
      pods();
      foreign({"groups", "nodes", "fabric", "halls", "between_halls", "order", "graph"},
              "is for clusters of nodes, and this one has no node");
    }
    if (const auto background = view_["background"]; background.exists())
      spec_.background = read_background(background);
    if (!view_["graph"].exists()) {
      for (const auto key : {"routing", "placement"}) {
        if (const auto view = view_[key]; view.exists())
          view.problem("is for clusters on a graph, and this one has none", "graph: FILE, or no such key");
      }
    }
    view_.refuse_unknown_keys();
    return std::move(spec_);
  }

 private:
  void foreign(std::initializer_list<std::string_view> keys, const std::string& what) {
    for (const auto key : keys) {
      if (const auto view = view_[key]; view.exists()) view.problem(what, "either chip and shape, or node and nodes");
    }
  }

  void pods() {
    auto& torus = spec_.unit.emplace<topologies::TorusSpec>();
    torus.chip = chip(view_.require("chip", "a catalog name such as tpu-v5p, or a block that describes the chip"));
    torus.shape = shape(view_.require("shape", "the slice's chips along each axis, such as [16, 20, 28]"));
    if (const auto pod = view_["pod"]; pod.exists()) torus.pod = shape(pod);
    if (const auto twisted = view_["twisted"]; twisted.exists()) torus.twisted = twisted.boolean();
    if (const auto pods = view_["pods"]; pods.exists()) spec_.units = static_cast<int>(pods.integer(1, most_units));
    if (spec_.units > 1 || view_["dcn"].exists()) fabric("dcn", usual_network_of_pods, spec_.fabric);
  }

  /// Those of a node's library; its torus is not for it to say.
  static void algorithms(const YamlView& view) {
    if (!view.exists()) return;
    std::vector<std::string> names;
    for (const auto* algorithm : collectives::collective_algorithms()) {
      if (algorithm != &collectives::network::torus() && algorithm != &collectives::network::torus_all_to_all() &&
          collectives::made_for_groups(*algorithm) == nullptr)
        names.emplace_back(algorithm->name());
    }
    for (const auto& item : view.items()) (void)item.choice(names);
  }

  void nodes() {
    auto& spec = spec_.unit.emplace<topologies::NodeSpec>();
    if (view_["groups"].exists()) {
      groups(view_["groups"]);
      if (!spec_.groups.empty()) spec = common_node(spec_.groups);
    } else {
      spec = node_of_view(view_["node"]);
      if (const auto nodes = view_["nodes"]; nodes.exists())
        spec_.units = static_cast<int>(nodes.integer(1, most_units));
    }
    if (const auto halls = view_["halls"]; halls.exists()) spec_.halls = static_cast<int>(halls.integer(1, most_units));
    const bool on_graph = view_["graph"].exists();
    const bool usual = (spec_.units > 1 || on_graph) && !spec.fabric.empty();  // an unknown node has none
    if (usual || view_["fabric"].exists()) {
      fabric("fabric", spec.fabric, spec_.fabric);
    }
    if (on_graph) read_given_network(view_, folder_, spec_, problems_);
    if (spec_.halls > 1 || view_["between_halls"].exists())
      fabric("between_halls", usual_network_of_pods, spec_.between_halls);
    order();
  }

  /// Nodes of several kinds, one kind after the other.
  void groups(const YamlView& view) {
    for (const auto key : {"node", "nodes"}) {
      if (const auto other = view_[key]; other.exists())
        other.problem("each group has its own", "groups without it, or " + std::string(key) + " without groups");
    }
    const auto before = problems_.size();
    spec_.units = 0;
    for (const auto& item : view.items()) {
      if (!item.expect_map("a group, such as {node: dgx-h100, nodes: 8}")) continue;
      const auto node = node_of_view(item.require("node", "a node from the catalog, or a block that describes it"));
      const auto nodes = nodes_of_group(item);
      item.refuse_unknown_keys();
      spec_.groups.push_back({node, static_cast<int>(nodes)});
      spec_.units = static_cast<int>(std::min<std::int64_t>(spec_.units + nodes, most_units));
    }
    if (view.is_list() && view.items().empty()) view.problem("is empty", "a list of {node, nodes}");
    if (problems_.size() > before) spec_.groups.clear();
    spec_.units = std::max(spec_.units, 1);
  }

  /// How many; of a group that names its hosts, which are counted with the graph, one.
  [[nodiscard]] std::int64_t nodes_of_group(const YamlView& group) const {
    const auto hosts = group["hosts"];
    if (!hosts.exists()) return group.require("nodes", "how many, such as 8").integer(1, most_units);
    if (!view_["graph"].exists()) hosts.problem("are those of a graph, and this cluster has none", "nodes, or a graph");
    if (const auto nodes = group["nodes"]; nodes.exists()) nodes.problem("the hosts say it", "one of the two");
    return 1;
  }

  topologies::NodeSpec node_of_view(const YamlView& node) {
    topologies::NodeSpec spec;
    if (!node.exists()) return spec;  // said already
    if (node.is_map()) {
      spec = topologies::read_node(node, "inline", topology_catalog());
      algorithms(node["algorithms"]);
    } else if (expect_value(node, "a node from the catalog such as dgx-h100, or a block that describes it")) {
      const auto name = node_of(node.text());
      if (const std::filesystem::path file = node.text(); file.extension() == ".yaml" || file.extension() == ".yml") {
        spec = node_in_file(node, folder_ / file);
      } else if (name.empty()) {
        node.problem("node '" + node.text() + "' is not in the catalog",
                     catalog_name(node.text(), topologies::node_names(topology_catalog())));
      } else {
        spec = topologies::load_node(topology_catalog(), name, problems_);
      }
    }
    return spec;
  }

  topologies::NodeSpec node_in_file(const YamlView& view, const std::filesystem::path& file) {
    if (const auto why = why_unreadable(file); !why.empty()) {
      view.problem(why == "no such file" ? "there is no file '" + view.text() + "'" : "'" + view.text() + "' " + why,
                   "the file of a node, seen from the scenario's folder");
      return {};
    }
    const auto document = YamlView::from_file(file, problems_);
    auto spec = topologies::read_node(document, file.stem().string(), topology_catalog());
    algorithms(document["algorithms"]);
    return spec;
  }

  void fabric(std::string_view key, const std::string& usual, topologies::FabricSpec& spec) {
    const auto view = view_[key];
    if (!view.exists()) {
      spec = fabric_named(usual, view_.where(), view_.path(), problems_);
    } else if (view.is_map()) {
      const auto like = view["like"];
      const auto base = like.exists() && expect_value(like, "a fabric from the catalog")
                            ? fabric_named(like.text(), like.where(), like.path(), problems_)
                            : topologies::FabricSpec{};
      spec = read_fabric(view, like.exists() ? like.text() : "inline", like.exists() ? &base : nullptr);
    } else if (expect_value(view, "a fabric from the catalog, or a block that describes it")) {
      spec = fabric_named(view.text(), view.where(), view.path(), problems_);
    }
  }

  void order() {
    const auto view = view_["order"];
    if (!view.exists()) return;
    auto& order = spec_.order;
    if (view.is_map()) {
      order.kind = topologies::RankOrder::Kind::scattered;
      order.seed = static_cast<std::uint64_t>(view.require("scattered", "{scattered: SEED}").integer(0));
      view.refuse_unknown_keys();
      return;
    }
    if (!expect_value(view, "packed, round-robin, {scattered: SEED} or a file with one device per line")) return;
    const auto text = view.text();
    if (text == "packed") {
      order.kind = topologies::RankOrder::Kind::packed;
    } else if (text == "round-robin") {
      order.kind = topologies::RankOrder::Kind::round_robin;
    } else {
      order.kind = topologies::RankOrder::Kind::listed;
      order_file(view, folder_ / text);
    }
  }

  /// One device number per line, in the order of positions.
  void order_file(const YamlView& view, const std::filesystem::path& path) {
    std::ifstream file;
    if (why_unreadable(path).empty()) file.open(path);
    if (!file.is_open()) {
      view.problem("there is no file '" + view.text() + "'",
                   "packed, round-robin, {scattered: SEED} or a file with one device per line");
      return;
    }
    std::string line;
    for (int row = 1; std::getline(file, line); ++row) {
      topologies::DeviceId device = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), device);
      if (error != std::errc{} || end != line.data() + line.size() || device < 0 || device >= spec_.devices()) {
        problems_.add({{path.string(), row, 1},
                       "",
                       "'" + line.substr(0, 40) + "' is not a device",
                       "a number from 0 to " + std::to_string(spec_.devices() - 1)});
        return;
      }
      spec_.order.devices.push_back(device);
      if (std::ssize(spec_.order.devices) > spec_.devices()) {
        problems_.add({{path.string(), row, 1},
                       "",
                       "there are more lines than devices",
                       std::to_string(spec_.devices()) + " lines"});
        return;
      }
    }
  }

  topologies::Chip chip(const YamlView& view) {
    if (!view.exists()) return {};
    if (view.is_map()) return topologies::read_chip_block(view, topology_catalog());
    if (!expect_value(view, "a catalog name such as tpu-v5p, or a block that describes the chip")) return {};
    return chip_named(view.text(), view.where(), view.path(), problems_);
  }

  static std::vector<int> shape(const YamlView& view) {
    std::vector<int> result;
    if (!view.exists()) return result;
    for (const auto& item : view.items()) result.push_back(static_cast<int>(item.integer(1, 1'000'000)));
    if (view.is_list() && result.empty()) view.problem("is empty", "one to three sizes, such as [16, 20, 28]");
    return result;
  }

  const YamlView& view_;
  std::filesystem::path folder_;
  Problems& problems_;
  topologies::ClusterSpec spec_;
};

}  // namespace

void check_cluster(const topologies::ClusterSpec& spec, const Location& where, const std::string& key,
                   Problems& problems) {
  if (const auto* torus = spec.torus()) {
    const auto why = why_not_a_slice(*torus);
    if (!why.empty()) {
      auto plain = *torus;
      plain.twisted = false;
      const auto expected = !torus->chip.torus               ? "a chip whose links form a torus, such as tpu-v5p"
                            : why_not_a_slice(plain).empty() ? "such a shape, or no twisted"
                                                             : "a slice that the pod holds";
      problems.add({where, key, why, expected});
      return;
    }
  }
  for (const auto& problem : why_not_a_cluster(spec)) {
    const auto full = problem.key.empty() ? key : key.empty() ? problem.key : key + "." + problem.key;
    problems.add({where, full, problem.what, problem.expected});
  }
}

topologies::ClusterSpec parse_cluster(std::string_view text, const Location& where, const std::string& key,
                                      Problems& problems) {
  topologies::ClusterSpec spec;
  const auto before = problems.size();
  const auto colon = std::min(text.find(':'), text.size());
  const std::string name(text.substr(0, colon));
  constexpr std::string_view twist = "_twisted";
  const bool twisted = text.ends_with(twist);
  const auto shape = text.substr(0, text.size() - (twisted ? twist.size() : 0));
  const auto sizes = colon < shape.size() ? parse_sizes(shape.substr(colon + 1)) : std::vector<int>{};
  const auto node = node_of(name);
  if (!node.empty()) {
    if ((colon < text.size() && sizes.size() != 1) || twisted)
      problems.add({where, key, "'" + std::string(text) + "' has a bad number of nodes", "NODE:NODES such as h100:64"});
    if (problems.size() > before) return spec;
    auto& unit = spec.unit.emplace<topologies::NodeSpec>(topologies::load_node(topology_catalog(), node, problems));
    spec.units = sizes.empty() ? 1 : sizes.front();
    if (spec.units > 1) spec.fabric = fabric_named(unit.fabric, where, key, problems);
  } else {
    auto& torus = spec.unit.emplace<topologies::TorusSpec>();
    torus.chip = chip_named(name, where, key, problems);
    if (problems.size() > before) return spec;
    torus.shape = sizes;
    torus.twisted = twisted;
    if (sizes.empty()) {
      problems.add({where, key, "'" + std::string(text) + "' has " + (colon < text.size() ? "a bad" : "no") + " shape",
                    "CHIP:SHAPE such as tpu-v5p:16x20x28, or NODE:NODES such as h100:64"});
    } else if (torus.chip.torus && sizes.size() == torus.chip.torus->pod.size() + 1) {
      spec.units = sizes.front();
      torus.shape.erase(torus.shape.begin());
      if (spec.units > 1) spec.fabric = fabric_named(usual_network_of_pods, where, key, problems);
    }
  }
  if (problems.size() == before) check_cluster(spec, where, key, problems);
  return spec;
}

topologies::ClusterSpec read_cluster(const YamlView& view, const std::filesystem::path& folder, Problems& problems) {
  const auto before = problems.size();
  auto spec = ClusterReader(view, folder, problems).read();
  if (problems.size() == before) check_cluster(spec, view.where(), view.path(), problems);
  return spec;
}

}  // namespace lockstep::scenario
