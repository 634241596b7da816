// PCIe trees of many shapes by hand. Chip i hangs below switch i / s of every tier, where s is how many chips share the
// tier's uplink. Two chips meet in the lowest tier in which these agree, so the routes, how many pairs share an uplink
// and what a collective takes follow from s alone.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;
using topologies::DeviceId;
using topologies::SharedUplink;

constexpr double v = 96e6, chip_port = 32e9, pcie_latency = 2 * us;
const Bytes size(96'000'000);

struct Tree {
  int chips;
  std::vector<SharedUplink> uplinks;
};

SharedUplink shared(int chips, double rate) { return {chips, BytesPerSecond(rate)}; }

/// Rates with a wide and a narrow uplink on every tier.
std::vector<Tree> trees() {
  return {{4, {shared(2, 10e9)}},
          {6, {shared(3, 16e9)}},
          {6, {shared(2, 40e9)}},
          {8, {shared(2, 32e9), shared(4, 20e9)}},
          {8, {shared(2, 12e9), shared(4, 90e9)}},
          {8, {shared(1, 16e9), shared(4, 24e9)}},
          {12, {shared(2, 25e9), shared(4, 31e9)}},
          {12, {shared(3, 28e9), shared(6, 14e9)}},
          {16, {shared(2, 30e9), shared(4, 29e9), shared(8, 27e9)}}};
}

topologies::NodeSpec node_of(const Tree& tree) {
  auto made = node(tree.chips);
  made.scale_up = topologies::NodeSpec::ScaleUp::pcie;
  made.scale_up_link = BytesPerSecond(chip_port);
  made.scale_up_latency = Seconds(pcie_latency);
  made.uplinks = tree.uplinks;
  return made;
}

std::string text(const Tree& tree) {
  std::string text = std::to_string(tree.chips) + " chips";
  for (const auto& uplink : tree.uplinks) text += ", " + std::to_string(uplink.chips) + " to an uplink";
  return text;
}

/// The links from a chip up to its switch of a tier, by their names, each with the chips below it.
std::vector<std::string> way_up(const Tree& tree, int chip, int tier) {
  const auto at = [&](int of_tier) {
    const int below =
        std::cmp_less(of_tier, tree.uplinks.size()) ? tree.uplinks[position_of(of_tier)].chips : tree.chips;
    return "pcie(" + std::to_string(of_tier) + "," + std::to_string(chip / below) + ")";
  };
  std::vector<std::string> nodes{"chip(" + std::to_string(chip) + ")"};
  for (int passed = 0; passed <= tier; ++passed) nodes.push_back(at(passed));
  return nodes;
}

std::vector<std::string> route_by_hand(const Tree& tree, int from, int to) {
  int tier = 0;
  while (way_up(tree, from, tier).back() != way_up(tree, to, tier).back()) ++tier;
  auto nodes = way_up(tree, from, tier);
  const auto down = way_up(tree, to, tier);
  nodes.insert(nodes.end(), down.rbegin() + 1, down.rend());
  std::vector<std::string> links;
  for (std::size_t i = 1; i < nodes.size(); ++i) links.push_back(nodes[i - 1] + ">" + nodes[i]);
  return links;
}

// All pairs of all trees. Whatever is between two chips, a route takes the latency from chip to chip.
TEST(PcieTrees, RoutesMeetInTheLowestCommonSwitch) {
  for (const auto& tree : trees()) {
    const auto cluster = build_cluster(nodes(1, node_of(tree)));
    for (DeviceId from = 0; from < tree.chips; ++from) {
      for (DeviceId to = 0; to < tree.chips; ++to) {
        if (from == to) continue;
        std::vector<std::string> links;
        double latency = 0;
        for (const auto link : cluster.route(from, to)) {
          links.push_back(cluster.link_name(link));
          latency += cluster.link(link).latency.value();
        }
        EXPECT_EQ(links, route_by_hand(tree, from, to)) << text(tree);
        EXPECT_NEAR(latency, pcie_latency, 1e-15);
      }
    }
  }
}

// Of the n (n - 1) pairs, s (n - s) leave the s chips below an uplink and as many come to them; a chip's port carries n
// - 1 either way. Nothing else is in the tree, and each link has its tier's rate.
TEST(PcieTrees, UplinksAreSharedBySoManyPairs) {
  for (const auto& tree : trees()) {
    const auto cluster = build_cluster(nodes(1, node_of(tree)));
    std::map<topologies::LinkId, int> pairs;
    for (DeviceId from = 0; from < tree.chips; ++from) {
      for (DeviceId to = 0; to < tree.chips; ++to) {
        if (from == to) continue;
        for (const auto link : cluster.route(from, to)) ++pairs[link];
      }
    }
    std::map<std::pair<double, int>, int> expected, found;  // links by rate and pairs
    expected[{chip_port, tree.chips - 1}] += 2 * tree.chips;
    for (const auto& uplink : tree.uplinks)
      expected[{uplink.link.value(), uplink.chips * (tree.chips - uplink.chips)}] += 2 * tree.chips / uplink.chips;
    for (const auto& [link, count] : pairs) ++found[{cluster.link(link).bandwidth.value(), count}];
    EXPECT_EQ(found, expected) << text(tree);
  }
}

/// The slowest link of a ring that passes every link of the tree once each way.
double slowest(const Tree& tree) {
  double rate = chip_port;
  for (const auto& uplink : tree.uplinks) rate = std::min(rate, uplink.link.value());
  return rate;
}

// A ring of neighbours leaves the chips below each uplink once and comes back once, so each link carries one stream: an
// all-reduce passes V (n-1)/n twice, in 2 (n-1) steps, over the slowest. T = 2 V (n-1)/n / slowest + 2 (n-1) L.
TEST(PcieTrees, AllReduceInARing) {
  for (const auto& tree : trees()) {
    const NetworkCase alone(nodes(1, node_of(tree)), "local");
    const auto choice = alone.network().choose(Kind::all_reduce, size, "ring");
    const double n = tree.chips, expected = 2 * v * (n - 1) / n / slowest(tree) + 2 * (n - 1) * pcie_latency;
    EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << text(tree);
    EXPECT_NEAR(alone.referenced(choice), expected, 1e-9 * expected) << text(tree);
  }
}

// Direct exchanges send all pairs at once. An all-to-all: V/n^2 for each; a gather: V/n. With s (n - s) pairs on an
// uplink and n - 1 on a port, T = max(pairs x part / rate) + L.
TEST(PcieTrees, DirectExchangesByTheMostLoadedUplink) {
  for (const auto& tree : trees()) {
    const NetworkCase alone(nodes(1, node_of(tree)), "local");
    const double n = tree.chips;
    for (const auto& [kind, part] : {std::pair{Kind::all_to_all, v / n / n}, std::pair{Kind::all_gather, v / n}}) {
      double longest = (n - 1) * part / chip_port;
      for (const auto& uplink : tree.uplinks)
        longest = std::max(longest, uplink.chips * (n - uplink.chips) * part / uplink.link.value());
      const auto choice = alone.network().choose(kind, size, "direct");
      EXPECT_NEAR(choice.cost.value(), longest + pcie_latency, 1e-9 * longest) << text(tree);
      EXPECT_NEAR(alone.referenced(choice), longest + pcie_latency, 1e-9 * longest) << text(tree);
    }
  }
}

// The efficiency of the scale-up is that of ports and uplinks alike: at 0.5 what takes bandwidth takes twice as long.
TEST(PcieTrees, EfficiencyIsThatOfAllLinks) {
  for (const auto& tree : trees()) {
    auto half = node_of(tree);
    half.scale_up_efficiency = 0.5;
    const NetworkCase whole(nodes(1, node_of(tree)), "local"), halved(nodes(1, half), "local");
    const double latency = 2 * (tree.chips - 1) * pcie_latency;
    const auto cost = [](const NetworkCase& on) {
      return on.network().choose(Kind::all_reduce, size, "ring").cost.value();
    };
    EXPECT_NEAR(cost(halved) - latency, 2 * (cost(whole) - latency), 1e-12) << text(tree);
  }
}

// Two groups side by side: chips 0 and 2, 1 and 3 below two pairs' uplinks exchange at once and share both uplinks, so
// each has half of 10 GB/s; as 0 and 1, 2 and 3 they need no uplink and have their ports of 32 GB/s.
// T = V/2 x 2 / 10e9 + L against V/2 / 32e9 + L.
TEST(PcieTrees, GroupsShareTheirUplinks) {
  const auto spec = nodes(1, node_of({4, {shared(2, 10e9)}}));
  const auto cost = [&](std::int64_t stride) {
    const std::vector<topologies::MeshAxis> axes{{"near", {{0, 2, 1}}}, {"far", {{0, 2, 2}}}};
    const NetworkCase pairs(spec, axes, {stride == 1 ? "near" : "far"});
    const auto choice = pairs.network().choose(Kind::all_gather, size, "ring");
    EXPECT_NEAR(pairs.referenced(choice), choice.cost.value(), 1e-9 * choice.cost.value());
    return choice.cost.value();
  };
  EXPECT_NEAR(cost(1), v / 2 / 32e9 + pcie_latency, 1e-12);
  EXPECT_NEAR(cost(2), v / 10e9 + pcie_latency, 1e-12);
}

// Chips reach a shared NIC and each other over the same ports. Whatever a collective of three nodes is bound by, a
// faster uplink does not make it longer, and an all-to-all takes what its most loaded link needs.
TEST(PcieTrees, AFasterUplinkNeverMakesACollectiveLonger) {
  int shorter = 0;
  for (const auto& tree : trees()) {
    for (std::size_t tier = 0; tier < tree.uplinks.size(); ++tier) {
      for (const auto kind : {Kind::all_to_all, Kind::all_gather, Kind::all_reduce}) {
        double before = 1e9;
        for (const double times : {1.0, 1.1, 1.3, 1.6, 2.0, 4.0, 16.0}) {
          auto made = node_of(tree);
          made.nics = tree.chips / tree.uplinks.back().chips;
          made.nic = BytesPerSecond(20e9);
          made.uplinks[tier].link = made.uplinks[tier].link * times;
          const NetworkCase three(nodes(3, made), "all");
          const auto choice = three.network().choose(kind, size);
          const double time = three.shared(choice);
          EXPECT_LE(time, before * (1 + 1e-9))
              << text(tree) << ", tier " << tier << " x " << times << ", " << choice.label;
          if (kind == Kind::all_to_all) EXPECT_NEAR(time, choice.cost.value(), 1e-9 * time) << choice.label;
          shorter += before < 1e9 && time < before * 0.99 ? 1 : 0;
          before = time;
        }
      }
    }
  }
  EXPECT_GT(shorter, 20) << "uplinks must matter";
}

}  // namespace
}  // namespace lockstep::test
