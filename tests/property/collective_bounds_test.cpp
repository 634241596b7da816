// Never below physics. Around a member, a unit or all chips below a leaf switch, whatever the algorithm: the bytes that
// must come in or go out cross the links there, and do so no faster than these links' bandwidth; so for halves of a
// torus. Held for every algorithm that serves, each fabric, kind of collective, size and group.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

struct Fabric {
  std::string name;
  topologies::ClusterSpec spec;
};

void PrintTo(const Fabric& fabric, std::ostream* out) { *out << fabric.name; }

std::vector<Fabric> fabrics() {
  auto adding = node();
  adding.in_network_reduction = true;
  auto adding_fabric = crossbar();
  adding_fabric.in_network_reduction = true;
  auto shared = node();
  shared.nics = 4;
  auto rail = fat_tree(4, 2);
  rail.kind = topologies::RailOptimised{.nodes_per_scalable_unit = 2};
  rail.radix = 64;
  auto dragonfly = crossbar();
  dragonfly.kind = topologies::Dragonfly{.routers_per_group = 2, .nics_per_router = 8, .global_links_per_router = 4};
  auto mixed_up = nodes(4, node());
  mixed_up.order.kind = topologies::RankOrder::Kind::listed;
  for (topologies::DeviceId device = 0; device < 32; ++device)
    mixed_up.order.devices.push_back(device * 5 % 32);  // unequal parts in units
  auto halls = nodes(2, node(), fat_tree(16, 1));
  halls.halls = 2;
  halls.between_halls = crossbar();
  auto uneven = pods(1, 4, 4);
  auto& links = *std::get<topologies::TorusSpec>(uneven.unit).chip.torus;
  links.axis_links = {links.link, links.link * 4.0, links.link * 2.0};

  std::vector<Fabric> all{{"node", nodes(1, node())},
                          {"adding_node", nodes(1, adding)},
                          {"mesh_node", nodes(1, mesh_node())},
                          {"crossbar", nodes(4, node())},
                          {"three_nodes", nodes(3, node())},
                          {"one_chip_nodes", nodes(9, node(1))},
                          {"mesh_nodes", nodes(2, mesh_node())},
                          {"shared_nics", nodes(4, shared)},
                          {"adding_fabric", nodes(4, adding, adding_fabric)},
                          {"rail", nodes(4, node(), rail)},
                          {"dragonfly", nodes(8, node(), dragonfly)},
                          {"mixed_up", mixed_up},
                          {"halls", halls},
                          {"torus", pods(1, 4, 3)},
                          {"long_torus", pods(1, 4, 16)},
                          {"uneven_torus", uneven},
                          {"pods", pods(3, 4, 2)}};
  for (const int oversubscription : {1, 2, 4}) {
    for (const auto routing : {topologies::FabricRouting::spray, topologies::FabricRouting::ecmp}) {
      const std::string name = "tree_" + std::to_string(oversubscription) +
                               (routing == topologies::FabricRouting::spray ? "_spray" : "_ecmp");
      all.push_back({name, nodes(4, node(), fat_tree(16, oversubscription, routing))});
    }
  }
  return all;
}

/// Chips that share a boundary, and the links through it.
struct Boundary {
  std::string name;
  std::set<topologies::DeviceId> inside;
  std::vector<topologies::LinkId> in, out;
};

std::vector<Boundary> boundaries(const topologies::Cluster& cluster) {
  std::map<topologies::NodeId, topologies::NodeId> leaf_of_nic;
  std::map<topologies::NodeId, std::set<topologies::DeviceId>> below;  // a NIC or leaf
  const auto is_switch = [&](topologies::NodeId id) {
    return cluster.node(id).kind == topologies::NodeKind::network_switch;
  };
  const auto is_nic = [&](topologies::NodeId id) {
    return cluster.node(id).kind == topologies::NodeKind::nic || cluster.node(id).kind == topologies::NodeKind::host;
  };
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (is_nic(link.from) && is_switch(link.to)) leaf_of_nic[link.from] = link.to;
    if (link.from < cluster.devices() && is_nic(link.to)) below[link.to].insert(link.from);
  }
  for (const auto& [nic, leaf] : leaf_of_nic) below[leaf].insert(below[nic].begin(), below[nic].end());

  std::vector<Boundary> all;
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) all.push_back({"chip", {device}, {}, {}});
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.from < cluster.devices()) all[static_cast<std::size_t>(link.from)].out.push_back(id);
    if (link.to < cluster.devices()) all[static_cast<std::size_t>(link.to)].in.push_back(id);
  }
  for (int axis = 0;
       axis < static_cast<int>(cluster.axes().size()) && cluster.unit_is_torus() && cluster.fabric_spec() == nullptr;
       ++axis) {
    Boundary half{"half of " + cluster.axes()[static_cast<std::size_t>(axis)].name, {}, {}, {}};
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
      if (cluster.coordinates(device)[static_cast<std::size_t>(axis)] <
          cluster.axes()[static_cast<std::size_t>(axis)].size / 2)
        half.inside.insert(device);
    }
    for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
      const auto& link = cluster.link(id);
      if (link.kind != topologies::LinkKind::ici) continue;
      if (half.inside.contains(link.to) && !half.inside.contains(link.from)) half.in.push_back(id);
      if (half.inside.contains(link.from) && !half.inside.contains(link.to)) half.out.push_back(id);
    }
    all.push_back(half);
  }
  if (leaf_of_nic.empty()) return all;
  std::map<int, Boundary> units;
  std::map<topologies::NodeId, Boundary> leaves;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (is_nic(link.from) && is_switch(link.to)) units[cluster.unit_of(*below[link.from].begin())].out.push_back(id);
    if (is_switch(link.from) && is_nic(link.to)) units[cluster.unit_of(*below[link.to].begin())].in.push_back(id);
    if (!is_switch(link.from) || !is_switch(link.to)) continue;
    if (below.contains(link.from)) leaves[link.from].out.push_back(id);
    if (below.contains(link.to)) leaves[link.to].in.push_back(id);
  }
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device)
    units[cluster.unit_of(device)].inside.insert(device);
  for (auto& [unit, boundary] : units) {
    boundary.name = "unit";
    all.push_back(boundary);
  }
  for (auto& [leaf, boundary] : leaves) {
    boundary.name = "leaf";
    boundary.inside = below[leaf];
    // Units that lie below several leaves have other ways out.
    std::map<int, int> of_unit;
    for (const auto device : boundary.inside) ++of_unit[cluster.unit_of(device)];
    if (std::all_of(of_unit.begin(), of_unit.end(),
                    [&](const auto& part) { return part.second == cluster.unit_size(); }))
      all.push_back(boundary);
  }
  return all;
}

/// Bytes that k of the N members of a group, together, cannot do without receiving or sending.
struct Needs {
  double in = 0, out = 0;
};
Needs needs(Kind kind, double v, const std::vector<topologies::DeviceId>& members,
            const std::set<topologies::DeviceId>& inside) {
  const double n = static_cast<double>(members.size());
  const double k = static_cast<double>(std::count_if(
      members.begin(), members.end(), [&](topologies::DeviceId device) { return inside.contains(device); }));
  if (k == 0 || k == n) return {};
  const bool has_root = inside.contains(members.front());
  switch (kind) {
    case Kind::all_gather: return {v * (n - k) / n, v * k / n};      // what the others hold, what they lack
    case Kind::reduce_scatter: return {v * k / n, v * (n - k) / n};  // others' sums of its shards, its sums of theirs
    case Kind::all_reduce: return {v, v};
    case Kind::all_to_all: return {v * k * (n - k) / n / n, v * k * (n - k) / n / n};
    case Kind::broadcast: return has_root ? Needs{0, v} : Needs{v, 0};
    case Kind::reduce: return has_root ? Needs{v, 0} : Needs{0, v};
    case Kind::point_to_point: break;
  }
  Needs shifted;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool from = inside.contains(members[i]), to = inside.contains(members[(i + 1) % members.size()]);
    if (from && !to) shifted.out += v;
    if (!from && to) shifted.in += v;
  }
  return shifted;
}

class NeverBelowPhysics : public testing::TestWithParam<Fabric> {};

void check_choice(const NetworkCase& groups, const std::vector<Boundary>& boundaries, Kind kind, Bytes size,
                  const collectives::CollectiveChoice& choice, bool simulate) {
  const auto& cluster = groups.cluster();
  const auto& communicator = groups.network().communicator(*choice.algorithm);
  const double v = static_cast<double>(size.value());
  const double time = simulate ? groups.simulated(choice) : choice.cost.value();
  constexpr double rounding = 1 - 1e-9;
  EXPECT_GE(time, rounding * choice.cost.value());

  std::vector<double> carried(static_cast<std::size_t>(cluster.links()), 0.0);
  for (const auto& group : communicator.groups) {
    for (const auto& flow : group.flows) {
      double bytes = 0;
      for (const auto& phase : choice.phases) bytes += phase.slot_bytes[static_cast<std::size_t>(flow.slot)];
      for (const auto link : flow.links) carried[static_cast<std::size_t>(link)] += bytes;
    }
  }
  for (const auto& boundary : boundaries) {
    Needs total;
    for (const auto& group : communicator.groups) {
      std::vector<topologies::DeviceId> members;
      for (const auto rank : group.members) members.push_back(groups.mesh().device_of(rank));
      // A shift on a torus follows the first dimension, and not round a line: no bytes are known to be needed.
      if (choice.algorithm->name() == "torus" && kind == Kind::point_to_point) continue;
      const auto of_group = needs(kind, v, members, boundary.inside);
      total.in += of_group.in;
      total.out += of_group.out;
    }
    const auto check_way = [&](const std::vector<topologies::LinkId>& links, double needed, const char* way) {
      double bytes = 0, bandwidth = 0;
      for (const auto link : links) {
        bytes += carried[static_cast<std::size_t>(link)];
        bandwidth += cluster.link(link).bandwidth.value();
      }
      EXPECT_GE(bytes, rounding * needed) << "bytes " << way << ' ' << boundary.name << ' ' << *boundary.inside.begin();
      EXPECT_GE(time, rounding * needed / bandwidth)
          << "time " << way << ' ' << boundary.name << ' ' << *boundary.inside.begin();
    };
    check_way(boundary.in, total.in, "into");
    check_way(boundary.out, total.out, "out of");
  }
}

TEST_P(NeverBelowPhysics, EveryAlgorithmKindSizeAndGroup) {
  const auto& spec = GetParam().spec;
  std::vector<NetworkCase> cases;
  for (const char* group : {"all", "unit", "local"}) cases.emplace_back(spec, group);
  if (cases.front().cluster().axes().size() == 2 && cases.front().cluster().unit_size() == 8) {
    const int units = cases.front().cluster().axes()[0].size;
    const std::vector<topologies::MeshAxis> halves{{"every other", {{0, units, 1}, {1, 4, 2}}},
                                                   {"neighbours", {{1, 2, 1}}}};
    cases.emplace_back(spec, halves, std::vector<std::string>{"every other"});
    cases.emplace_back(spec, halves, std::vector<std::string>{"neighbours"});
  }
  if (GetParam().name == "long_torus") {  // a line of 2 beside a ring of 2 that shares its links with seven others
    const std::vector<topologies::MeshAxis> strided{{"group", {{0, 2, 1}, {1, 2, 8}}},
                                                    {"others", {{0, 2, 2}, {1, 8, 1}}}};
    cases.emplace_back(spec, strided, std::vector<std::string>{"group"});
    cases.emplace_back(spec, strided, std::vector<std::string>{"others"});
  }
  int served = 0;
  for (const auto& groups : cases) {
    if (groups.network().structure().members == 1) continue;
    const auto around = boundaries(groups.cluster());
    for (const auto kind : workloads::all_collective_kinds) {
      for (const std::int64_t bytes : {1, 12'345, 1 << 20, 1 << 30}) {
        const auto choices = groups.network().choices(kind, Bytes(bytes));
        EXPECT_FALSE(choices.empty()) << "nothing serves " << name(kind);
        for (const auto& choice : choices) {
          SCOPED_TRACE(choice.label + ", " + std::string(name(kind)) + " of " + std::to_string(bytes) + " on " +
                       groups.network().communicator(*choice.algorithm).name);
          check_choice(groups, around, kind, Bytes(bytes), choice, bytes == 1 << 30);
          ++served;
        }
      }
    }
  }
  EXPECT_GT(served, 0);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, NeverBelowPhysics, testing::ValuesIn(fabrics()),
                         [](const auto& fabric) { return fabric.param.name; });

}  // namespace
}  // namespace lockstep::test
