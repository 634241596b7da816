// What routing and the order of ranks may do to a collective, on every kind of fabric, those of the catalog and drawn
// ones.
//   sprayed <= hashed:       rates that any choice of single paths allows, the sum of these paths allows too, so with
//   all
//                            else equal every algorithm's cost, latency + bytes of the busiest link / its bandwidth, is
//                            no larger where packets are sprayed, in the halls, between them, or in both. (In the halls
//                            alone other ports come out of the hash between halls, to good or bad luck: not compared.)
//   contiguous <= scattered: a ring over all nodes must enter and leave whatever is below a switch once, and in the
//   order of
//                            the nodes it does so no more often: on no tree does a ring cost more than in random order.
//                            On the catalog's fabrics the same holds for what is chosen for groups of neighbouring
//                            nodes. Not so by law: a tree over the nodes may get a lucky order, a hash lucky paths,
//                            groups that do not fit leaves a lucky cut, and a dragonfly is better used by ranks that
//                            are spread out, since two routers of a group have but one link.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#include "tests/source_dir.hpp"
#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

constexpr double rounding = 1 + 1e-9;

struct Fabric {
  std::string name;
  topologies::ClusterSpec spec;
};

std::vector<Fabric> of_the_catalog() {
  const auto catalog = std::filesystem::path(source_dir) / "topologies" / "catalog";
  std::vector<Fabric> all;
  for (const auto& name : topologies::fabric_names(catalog)) {
    Problems problems;
    auto spec = nodes(24, node(), topologies::load_fabric(catalog, name, problems));
    problems.throw_if_any();
    if (auto* rails = std::get_if<topologies::RailOptimised>(&spec.fabric.kind))
      rails->nodes_per_scalable_unit = std::min(rails->nodes_per_scalable_unit, 8);
    spec.fabric.radix = std::min(spec.fabric.radix, 24);
    all.push_back({name, spec});
    spec.units = 8;
    spec.halls = 3;
    spec.between_halls = topologies::load_fabric(catalog, "ethernet-dcn", problems);
    all.push_back({name + " in halls", spec});
  }
  return all;
}

topologies::FabricSpec drawn_fabric(const std::function<int(int)>& below) {
  auto fabric = crossbar();
  const auto kinds = topologies::fabric_kinds();
  fabric.kind = kinds[static_cast<std::size_t>(below(static_cast<int>(kinds.size())))];
  fabric.radix = 4 + 2 * below(16);
  if (below(2) == 0) fabric.link = BytesPerSecond(nic * (1 + below(4)) / 2);
  if (auto* dragonfly = std::get_if<topologies::Dragonfly>(&fabric.kind)) {
    dragonfly->routers_per_group = 1 + below(4);
    dragonfly->nics_per_router = 1 + below(8);
    dragonfly->global_links_per_router = 1 + below(6);
    fabric.radix = 64;
  } else if (!std::holds_alternative<topologies::Crossbar>(fabric.kind)) {
    for (int tier = below(3); tier > 0; --tier) fabric.oversubscription.push_back(1 + below(4));
    const int nodes = below(5);
    if (auto* rails = std::get_if<topologies::RailOptimised>(&fabric.kind)) rails->nodes_per_scalable_unit = nodes;
  }
  return fabric;
}

/// The first `count` clusters that can be built of those that a seed draws.
std::vector<Fabric> drawn(int count) {
  std::mt19937_64 random(17);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); };
  std::vector<Fabric> all;
  for (int number = 0; static_cast<int>(all.size()) < count; ++number) {
    auto of = node(1 << below(4));
    if (of.chips > 1 && below(3) == 0) of.nics /= 2;
    auto spec = nodes(2 + below(15), of, drawn_fabric(below));
    if (below(2) == 0) {
      spec.halls = 2 + below(3);
      spec.between_halls = drawn_fabric(below);
    }
    if (why_not_a_cluster(spec).empty()) all.push_back({"number " + std::to_string(number) + " drawn", spec});
  }
  return all;
}

/// Mesh axes "group" and "others" over the physical axes, from outside in: groups of everything, along each physical
/// axis, inside the outermost, and along or beside a part of the nodes.
struct Groups {
  std::vector<topologies::MeshAxis> axes;
  bool contiguous;  ///< each of neighbouring positions
};

std::vector<Groups> groups_on(const topologies::Cluster& cluster) {
  const auto& physical = cluster.axes();
  const int axes = static_cast<int>(physical.size());
  std::vector<Groups> all;
  const auto add = [&](std::vector<topologies::Factor> group, std::vector<topologies::Factor> others, bool contiguous) {
    if (others.empty()) others.push_back({0, 1, 1});
    all.push_back({{{"others", std::move(others)}, {"group", std::move(group)}}, contiguous});
  };
  for (int first = 0; first < axes; ++first) {
    std::vector<topologies::Factor> inside, alone, outside, beside;
    for (int axis = 0; axis < axes; ++axis) {
      const topologies::Factor whole{axis, physical[static_cast<std::size_t>(axis)].size, 1};
      (axis < first ? outside : inside).push_back(whole);
      (axis == first ? alone : beside).push_back(whole);
    }
    add(inside, outside, true);
    if (axes > 1) add(alone, beside, axes == first + 1);
  }
  for (int axis = 0; axis < axes; ++axis) {
    const int size = physical[static_cast<std::size_t>(axis)].size;
    for (int part = 2; part < size; ++part) {
      if (size % part != 0) continue;
      std::vector<topologies::Factor> near, far, outside, inside;
      for (int other = 0; other < axes; ++other) {
        if (other != axis)
          (other < axis ? outside : inside).push_back({other, physical[static_cast<std::size_t>(other)].size, 1});
      }
      near = inside;
      near.insert(near.begin(), {axis, part, 1});
      far = outside;
      far.push_back({axis, size / part, part});
      add(near, far, true);
      add(far, near, false);
      break;  // one part of each axis
    }
  }
  return all;
}

NetworkCase on(topologies::ClusterSpec spec, const Groups& groups) { return {spec, groups.axes, {"group"}}; }

topologies::ClusterSpec routed(topologies::ClusterSpec spec, topologies::FabricRouting in_halls,
                               topologies::FabricRouting between, std::uint64_t seed) {
  spec.fabric.routing = in_halls;
  spec.between_halls.routing = between;
  spec.fabric.seed = spec.between_halls.seed = seed;
  return spec;
}

constexpr std::int64_t sizes[] = {1 << 12, 1 << 30};

/// How many choices were compared.
int expect_none_slower(const NetworkCase& sprayed, const NetworkCase& hashed) {
  int compared = 0;
  for (const auto kind : workloads::all_collective_kinds) {
    for (const auto size : sizes) {
      const auto all = sprayed.network().choices(kind, Bytes(size));
      const auto others = hashed.network().choices(kind, Bytes(size));
      EXPECT_EQ(all.size(), others.size());
      for (std::size_t i = 0; i < std::min(all.size(), others.size()); ++i, ++compared) {
        EXPECT_LE(all[i].cost.value(), rounding * others[i].cost.value())
            << all[i].label << ", " << name(kind) << " of " << size;
      }
    }
  }
  return compared;
}

void expect_spraying_is_never_slower(const Fabric& fabric) {
  const auto spray = topologies::FabricRouting::spray, ecmp = topologies::FabricRouting::ecmp;
  // Ports of one hall at a dragonfly between halls are taken in turn or by hash, not sprayed over.
  const bool same_ports =
      fabric.spec.halls == 1 || !std::holds_alternative<topologies::Dragonfly>(fabric.spec.between_halls.kind);
  const auto shape = build_cluster(fabric.spec);
  for (const auto& groups : groups_on(shape)) {
    const auto best = on(routed(fabric.spec, spray, spray, 1), groups);
    if (best.network().structure().units == 1) continue;
    for (const std::uint64_t seed : {1U, 2U}) {
      SCOPED_TRACE(fabric.name + ", seed " + std::to_string(seed) + ", groups of " +
                   std::to_string(best.network().structure().members) + " of " + shape.to_string());
      const auto worst = on(routed(fabric.spec, ecmp, ecmp, seed), groups);
      if (same_ports) {
        EXPECT_GT(expect_none_slower(best, worst), 0);
      }
      if (fabric.spec.halls > 1) {
        const auto in_halls = on(routed(fabric.spec, spray, ecmp, seed), groups);
        const auto between = on(routed(fabric.spec, ecmp, spray, seed), groups);
        expect_none_slower(between, worst);
        if (same_ports) {
          expect_none_slower(best, in_halls);
          expect_none_slower(best, between);
        }
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(Routing, SprayingIsNeverSlowerThanHashingOnTheCatalogsFabrics) {
  for (const auto& fabric : of_the_catalog()) expect_spraying_is_never_slower(fabric);
}

TEST(Routing, SprayingIsNeverSlowerThanHashingOnDrawnFabrics) {
  for (const auto& fabric : drawn(60)) expect_spraying_is_never_slower(fabric);
}

/// For each kind and size, of ranks as they are numbered and on nodes in random order: what is chosen, or one algorithm
/// on everything.
void expect_contiguous_is_never_slower(const Fabric& fabric, std::uint64_t seed, std::string_view algorithm) {
  auto spec = routed(fabric.spec, topologies::FabricRouting::spray, topologies::FabricRouting::spray, 1);
  const auto shape = build_cluster(spec);
  for (const auto& groups : groups_on(shape)) {
    if (!groups.contiguous || (!algorithm.empty() && groups.axes.back().size() < shape.devices())) continue;
    spec.order.kind = topologies::RankOrder::Kind::packed;
    const auto packed = on(spec, groups);
    if (packed.network().structure().units == 1) continue;
    spec.order = {topologies::RankOrder::Kind::scattered, seed, {}};
    const auto scattered = on(spec, groups);
    for (const auto kind : workloads::all_collective_kinds) {
      if (!algorithm.empty() &&
          (kind == workloads::CollectiveKind::all_to_all || kind == workloads::CollectiveKind::point_to_point))
        continue;
      for (const auto size : sizes) {
        const auto near = packed.network().choose(kind, Bytes(size), algorithm);
        const auto far = scattered.network().choose(kind, Bytes(size), algorithm);
        EXPECT_LE(near.cost.value(), rounding * far.cost.value())
            << fabric.name << ", seed " << seed << ": " << near.label << " and " << far.label << ", " << name(kind)
            << " of " << size << " in groups of " << packed.network().structure().members << " on "
            << shape.to_string();
      }
    }
  }
}

TEST(RankOrder, ContiguousGroupsAreNeverSlowerThanScatteredOnes) {
  for (const auto& fabric : of_the_catalog()) {
    for (const std::uint64_t seed : {1U, 2U}) expect_contiguous_is_never_slower(fabric, seed, "");
  }
  for (const auto& fabric : drawn(60)) {
    if (std::holds_alternative<topologies::Dragonfly>(fabric.spec.fabric.kind) ||
        std::holds_alternative<topologies::Dragonfly>(fabric.spec.between_halls.kind))
      continue;
    for (const std::uint64_t seed : {1U, 2U, 3U}) expect_contiguous_is_never_slower(fabric, seed, "ring");
  }
}

}  // namespace
}  // namespace lockstep::test
