#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/known_word.hpp"
#include "topologies/chips/catalog_folder_private.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::topologies {
namespace {

constexpr int most_chips = 1'000'000;
constexpr double least_efficiency = 1e-6;  // more than nothing

/// The node that a chip's name stands for where nothing else is said.
constexpr std::array<std::pair<std::string_view, std::string_view>, 13> usual_nodes{
    {{"a100", "dgx-a100"},
     {"h100", "dgx-h100"},
     {"h200", "dgx-h200"},
     {"h800", "hgx-h800"},
     {"h20", "hgx-h20"},
     {"l40s", "l40s-pcie"},
     {"b200", "dgx-b200"},
     {"gb200", "gb200-nvl72"},
     {"gb300", "gb300-nvl72"},
     {"rubin", "rubin-nvl72"},
     {"mi455x", "helios"},
     {"ascend-910c", "cloudmatrix-384"},
     {"trainium3", "trn3-rack"}}};  // other nodes of AMD's chips have their chip's name

int read_count(const YamlView& view) { return static_cast<int>(view.integer(1, most_chips)); }

double read_efficiency(const YamlView& view) { return view.exists() ? view.number(least_efficiency, 1) : 1; }

std::vector<SharedUplink> read_uplinks(const YamlView& view) {
  std::vector<SharedUplink> uplinks;
  for (const YamlView& item : view.items()) {
    if (!item.expect_map("an uplink, such as {chips: 2, link: 31.5 GB/s}")) continue;
    uplinks.push_back({read_count(item.require("chips", "the chips that share it, such as 2")),
                       item.require("link", "its one-way rate, such as 31.5 GB/s").bytes_per_second()});
    item.refuse_unknown_keys();
  }
  return uplinks;
}

void read_scale_up(const YamlView& view, NodeSpec& node) {
  if (!view.expect_map("a map with kind, link, latency")) return;
  const YamlView kind = view.require("kind", "switch, mesh or pcie");
  using Kind = NodeSpec::ScaleUp;
  node.scale_up = std::array{Kind::network_switch, Kind::full_mesh, Kind::pcie}[kind.choice(
      {std::string(name(Kind::network_switch)), std::string(name(Kind::full_mesh)), std::string(name(Kind::pcie))})];
  node.scale_up_link =
      view.require("link",
                   "the one-way rate of a chip into the switch, of a link of the mesh or of a chip's PCIe port, such "
                   "as 450 GB/s")
          .bytes_per_second();
  node.uplinks.clear();
  if (const YamlView uplinks = view["uplinks"]; uplinks.exists()) {
    node.uplinks = read_uplinks(uplinks);
    if (kind.exists() && node.scale_up != Kind::pcie) uplinks.problem("only PCIe has shared uplinks", "kind: pcie");
  }
  node.scale_up_efficiency = read_efficiency(view["efficiency"]);
  node.scale_up_latency = view.require("latency", "from chip to chip, such as 1 us").seconds(true);
  if (const YamlView reduction = view["in_network_reduction"]; reduction.exists()) {
    node.in_network_reduction = true;
    node.in_network_efficiency = reduction.number(least_efficiency, 1);
    if (node.scale_up == Kind::full_mesh) reduction.problem("a mesh has no switch to add up", "kind: switch");
    if (node.scale_up == Kind::pcie) reduction.problem("PCIe switches do not add up", "kind: switch");
  }
  view.refuse_unknown_keys();
}

void read_nics(const YamlView& view, NodeSpec& node) {
  if (!view.expect_map("a map with count, rate, pcie")) return;
  const YamlView count = view.require("count", "the NICs of a node, such as 8");
  node.nics = read_count(count);
  if (node.chips % node.nics != 0) {
    count.problem(std::to_string(node.nics) + " NICs do not divide " + std::to_string(node.chips) + " chips",
                  "a divisor of " + std::to_string(node.chips));
    node.nics = 1;
  }
  node.nic = view.require("rate", "one NIC, one way, such as 400 Gbps").bytes_per_second();
  node.pcie = view.require("pcie", "the one-way rate between a chip and its NIC, such as 63 GB/s").bytes_per_second();
  view.refuse_unknown_keys();
}

std::vector<Protocol> read_protocols(const YamlView& view) {
  std::vector<Protocol> protocols;
  for (const YamlView& item : view.items()) {
    if (!item.expect_map(
            "a protocol, such as {name: LL, efficiency: 0.25, launch: 5 us, local_step: 1 us, remote_step: 3 us}"))
      continue;
    Protocol protocol;
    protocol.name = item.require("name", "a name, such as LL128").text();
    protocol.efficiency =
        item.require("efficiency", "its part of the bandwidth, such as 0.95").number(least_efficiency, 1);
    protocol.launch = item.require("launch", "a time, once per collective").seconds(true);
    protocol.local_step = item.require("local_step", "a time, per step inside a node").seconds(true);
    protocol.remote_step = item.require("remote_step", "a time, per step between nodes").seconds(true);
    if (const YamlView launch = item["remote_launch"]; launch.exists()) protocol.remote_launch = launch.seconds(true);
    item.refuse_unknown_keys();
    protocols.push_back(std::move(protocol));
  }
  const auto reduces_in_network = [](const Protocol& protocol) { return protocol.name.starts_with("NVLS"); };
  if (!protocols.empty() && std::all_of(protocols.begin(), protocols.end(), reduces_in_network))
    view.problem("NVLS serves in-network reduction alone", "a protocol for all other algorithms too, such as Simple");
  return protocols;
}

}  // namespace

std::string usual_node(std::string_view word) {
  for (const auto& [chip, node] : usual_nodes) {
    if (!known_word(word, {std::string(chip)}).empty()) return std::string(node);
  }
  return std::string(word);
}

NodeSpec read_node(const YamlView& view, std::string_view name, const std::filesystem::path& catalog) {
  NodeSpec node;
  if (!view.expect_map("a node")) return node;
  const YamlView like = view["like"];
  if (like.exists()) {
    Problems of_base;
    node = load_node(catalog, like.text(), of_base);
    for (const Problem& problem : of_base.list()) like.problem(problem.what, problem.expected);
  }
  node.name = like.exists() && name == "inline" ? like.text() : std::string(name);
  const auto given = [&](std::string_view key, std::string_view expected) {
    return like.exists() ? view[key] : view.require(key, expected);
  };
  const YamlView chip = given("chip", "a chip from the catalog, such as h100");
  if (chip.exists() && chip.is_scalar()) {
    const std::string word = chip.text();
    Problems of_chip;
    node.chip = load_chip(catalog, word, of_chip);
    // Reported at the chip's name, unless the chip's own file is at fault.
    for (const Problem& problem : of_chip.list()) chip.problem(problem.what, problem.expected);
  } else if (chip.is_map()) {
    node.chip = read_chip_block(chip, catalog);
  } else if (chip.exists()) {
    chip.problem("is not a name", "a chip from the catalog, such as h100");
  }
  if (const YamlView chips = given("chips", "the chips of a node, such as 8"); chips.exists()) {
    const int count = read_count(chips);
    if (like.exists() && count < node.chips)
      node = part_of(std::move(node), count);
    else
      node.chips = count;
  }
  if (const YamlView scale_up = given("scale_up", "a map with kind, link, latency"); scale_up.exists())
    read_scale_up(scale_up, node);
  if (const YamlView nics = given("nics", "a map with count, rate, pcie"); nics.exists()) read_nics(nics, node);
  if (node.chips % std::max(node.nics, 1) != 0) {
    view.problem(std::to_string(node.nics) + " NICs do not divide " + std::to_string(node.chips) + " chips",
                 "nics with a count that does");
  }
  if (const YamlView protocols = view["protocols"]; protocols.exists()) node.protocols = read_protocols(protocols);
  if (const YamlView algorithms = view["algorithms"]; algorithms.exists()) {
    node.algorithms.clear();
    for (const YamlView& item : algorithms.items())
      node.algorithms.push_back(item.text());  // sim/scenario knows their names
  }
  if (const YamlView fabric = view["fabric"]; fabric.exists()) node.fabric = fabric.text();
  if (const YamlView sources = view["sources"]; sources.exists()) {
    for (const YamlView& source : sources.items()) node.sources.push_back(source.text());
  }
  view.refuse_unknown_keys();
  return node;
}

std::vector<std::string> node_names(const std::filesystem::path& catalog) { return catalog_entries(catalog / "nodes"); }

NodeSpec load_node(const std::filesystem::path& catalog, std::string_view name, Problems& problems) {
  const std::filesystem::path folder = catalog / "nodes";
  const std::string entry = catalog_entry(folder, usual_node(name));
  if (is_catalog_entry(folder, "node", entry, problems))
    return read_node(YamlView::from_file(catalog_file(folder, entry), problems), entry, catalog);
  NodeSpec unknown;
  unknown.name = name;
  return unknown;
}

}  // namespace lockstep::topologies
