// Routes over networks of any shape, compared with a search over the whole graph.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

using topologies::FabricRouting;

/// Up to 24 hosts of one or two adapters on up to 12 switches that a tree joins, and up to 20 more cables.
topologies::NetworkGraph random_graph(std::mt19937_64& random, int adapters) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); };
  topologies::NetworkGraph graph;
  const int switches = 1 + below(12);
  for (int id = 0; id < switches; ++id) graph.switches.push_back({"s" + std::to_string(id)});
  const auto join = [&](int a, int b) {
    graph.cables.push_back({topologies::SwitchEnd{a}, topologies::SwitchEnd{b}, 1 + below(3), {}, {}, ""});
  };
  for (int id = 1; id < switches; ++id) join(below(id), id);
  for (int more = below(20); more > 0 && switches > 1; --more) {
    const int a = below(switches), b = below(switches);
    if (a != b) join(a, b);
  }
  const int hosts = 2 + below(22);
  for (int host = 0; host < hosts; ++host) {
    graph.hosts.push_back({"h" + std::to_string(host), {}});
    for (int adapter = 0; adapter < adapters; ++adapter) {
      graph.hosts.back().adapters.push_back("a" + std::to_string(adapter));
      for (int port = 0; port <= (below(8) == 0 ? 1 : 0); ++port)
        graph.cables.push_back(
            {topologies::AdapterEnd{host, adapter}, topologies::SwitchEnd{below(switches)}, 1, {}, {}, ""});
    }
  }
  return graph;
}

/// The fewest links from a NIC to all others over switches alone; -1 where there is no way.
std::vector<int> fewest_links(const topologies::Cluster& cluster, topologies::NodeId from) {
  std::vector<std::vector<topologies::NodeId>> next(static_cast<std::size_t>(cluster.nodes()));
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const topologies::Link& link = cluster.link(id);
    if (link.kind == topologies::LinkKind::network) next[static_cast<std::size_t>(link.from)].push_back(link.to);
  }
  std::vector<int> links(next.size(), -1);
  std::deque<topologies::NodeId> reached{from};
  links[static_cast<std::size_t>(from)] = 0;
  for (; !reached.empty(); reached.pop_front()) {
    const auto here = static_cast<std::size_t>(reached.front());
    if (reached.front() != from && cluster.node(reached.front()).kind != topologies::NodeKind::network_switch) continue;
    for (const topologies::NodeId to : next[here]) {
      if (links[static_cast<std::size_t>(to)] >= 0) continue;
      links[static_cast<std::size_t>(to)] = links[here] + 1;
      reached.push_back(to);
    }
  }
  return links;
}

/// A chain of links from one chip to the other that passes no node twice and no third chip or NIC.
void expect_chain(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to) {
  const auto route = cluster.route(from, to);
  std::set<topologies::NodeId> passed{from};
  topologies::NodeId here = from;
  for (const topologies::LinkId id : route) {
    ASSERT_EQ(cluster.link(id).from, here);
    here = cluster.link(id).to;
    ASSERT_TRUE(passed.insert(here).second) << "twice at " << cluster.node(here).name;
    if (here == cluster.nic_of(from) || here == cluster.nic_of(to) || here == to) continue;
    ASSERT_EQ(cluster.node(here).kind, topologies::NodeKind::network_switch) << cluster.node(here).name;
  }
  ASSERT_EQ(here, to);
}

/// On 200 random graphs, sprayed and hashed: every route is a chain without loops. Where routes need not lead up and
/// then down it is as short as any; in a network of tiers it may be longer, but never where the shortest rises and
/// falls once. Asked again, a hashed network answers the same.
TEST(GivenRoutes, AreShortestChainsOnRandomGraphs) {
  std::mt19937_64 random(2);
  int pairs = 0, shortest = 0;
  for (int drawn = 0; drawn < 200; ++drawn) {
    const int adapters = 1 + static_cast<int>(random() % 2);
    const auto graph = std::make_shared<topologies::NetworkGraph>(random_graph(random, adapters));
    for (const FabricRouting routing : {FabricRouting::spray, FabricRouting::ecmp}) {
      auto spec =
          test::on_graph(test::nodes(graph->hosts.count(), test::fabric(topologies::Crossbar{}, 64, {}, routing),
                                     test::node(adapters, adapters)),
                         graph);
      spec.fabric.seed = random();
      const topologies::Cluster cluster = build_cluster(spec), again = build_cluster(spec);
      for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
        const auto fewest = fewest_links(cluster, cluster.nic_of(from));
        for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
          if (cluster.unit_of(from) == cluster.unit_of(to)) continue;
          expect_chain(cluster, from, to);
          if (HasFatalFailure()) return;
          const auto links = static_cast<int>(cluster.route(from, to).size()) - 2;  // less the two between chip and NIC
          const int least = fewest[static_cast<std::size_t>(cluster.nic_of(to))];
          ASSERT_GE(links, least);
          ++pairs;
          shortest += links == least ? 1 : 0;
          ASSERT_EQ(cluster.route(from, to), again.route(from, to));
        }
      }
    }
  }
  EXPECT_GT(pairs, 50'000);
  EXPECT_GT(shortest, pairs * 95 / 100);
}

/// Ten thousand hosts on a tree of three tiers (switches of 64 ports, 32 hosts a leaf), hashed over every cable: the
/// distances that routes are found by are kept for one leaf of each pod and within a bound, so that a hundred thousand
/// routes between all leaves take a second and no table of all pairs.
TEST(GivenRoutes, OfTenThousandHostsNeedNoTableOfPairs) {
  const auto spec = test::as_given(
      test::nodes(10'000, test::fabric(topologies::FatTree{}, 64, {}, FabricRouting::ecmp), test::node(1, 1)));
  const topologies::Cluster cluster = build_cluster(spec);
  std::size_t links = 0;
  for (topologies::DeviceId from = 0; from < cluster.devices(); from += 31) {
    for (topologies::DeviceId to = 7; to < cluster.devices(); to += 32)
      links += from == to ? 0 : cluster.route(from, to).size();
  }
  // 313 leaves of 32 in pods of 32 leaves: nearly all pairs are in different pods, 2 + 2 + 4 links apart.
  EXPECT_GT(links, 323u * 312u * 7u);
  EXPECT_LE(links, 323u * 313u * 8u);
}

}  // namespace
}  // namespace lockstep
