// Hosts of two leaves, gpu1 and gpu2 on leaf1, gpu3 and gpu4 on leaf2 (two_leaves.hpp): the leaves look the same, and
// so do the hosts of each.
#include "sim/studies/jobs/host_pool.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/scenario/two_leaves.hpp"

namespace lockstep {
namespace {

const topologies::NetworkGraph& two_leaves() {
  static const auto scenario = test::on_two_leaves();
  return *std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind).graph;
}

TEST(HostPool, NamesChoicesByWhatTheNetworkTellsApart) {
  const jobs::HostPool pool(two_leaves(), {3, 1, 0, 2});
  EXPECT_EQ(pool.hosts(), (std::vector<topologies::HostId>{0, 1, 2, 3}));
  const auto together = pool.owners({{0, 1}, {2, 3}}), other_way = pool.owners({{2, 3}, {0, 1}});
  const auto across = pool.owners({{0, 2}, {1, 3}}), also_across = pool.owners({{1, 2}, {0, 3}});
  EXPECT_EQ(pool.name(together), pool.name(other_way));
  EXPECT_EQ(pool.name(across), pool.name(also_across));
  EXPECT_NE(pool.name(across), pool.name(together));
  EXPECT_EQ(pool.of(across, 1), (std::vector<topologies::HostId>{1, 3}));
}

/// A faster cable makes a leaf look different: who has it counts.
TEST(HostPool, TellsApartWhatIsCabledOtherwise) {
  auto graph = two_leaves();
  for (auto& cable : graph.cables) {
    if (std::holds_alternative<topologies::AdapterEnd>(cable.from)) {
      cable.rate = *cable.rate * 2;
      break;
    }
  }
  const jobs::HostPool pool(graph, {0, 1, 2, 3});
  EXPECT_NE(pool.name(pool.owners({{0, 1}, {2, 3}})), pool.name(pool.owners({{2, 3}, {0, 1}})));
}

/// Every exchange leaves each job with as many hosts, and free hosts take part.
TEST(HostPool, ExchangesBetweenBlocks) {
  const jobs::HostPool pool(two_leaves(), {0, 1, 2, 3});
  const auto owners = pool.owners({{0, 2}, {1}});
  const auto exchanges = pool.exchanges(owners);
  ASSERT_FALSE(exchanges.empty());
  std::set<std::string> reached;
  for (const auto& exchange : exchanges) {
    ASSERT_EQ(exchange.one.size(), exchange.other.size());
    auto after = owners;
    for (std::size_t i = 0; i < exchange.one.size(); ++i) std::swap(after[exchange.one[i]], after[exchange.other[i]]);
    EXPECT_EQ(pool.of(after, 0).size(), 2u);
    EXPECT_EQ(pool.of(after, 1).size(), 1u);
    reached.insert(pool.name(after));
  }
  EXPECT_TRUE(reached.contains(pool.name(pool.owners({{0, 1}, {2}}))));
  EXPECT_TRUE(reached.contains(pool.name(pool.owners({{0, 1}, {3}}))));
}

}  // namespace
}  // namespace lockstep
