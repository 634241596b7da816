// Twisted tori: going once round a short axis (k) also leads on by k along each long axis (2k). Derived by hand and by
// breadth-first search over the links.
#include "topologies/cluster/twisted_torus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/cluster/node_sets.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::vector<int>> shapes{{4, 4, 8}, {8, 4, 4}, {4, 8, 8}, {8, 4, 8}, {8, 8, 16}};

topologies::Cluster twisted(std::vector<int> shape) {
  return topologies::build_torus({test::chip(test::multiple_of_four), std::move(shape), {}, true});
}

/// Hops from chip 0, over links between chips.
std::vector<int> distances(const topologies::Cluster& cluster) {
  std::vector<std::vector<topologies::DeviceId>> next(static_cast<std::size_t>(cluster.devices()));
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.kind == topologies::LinkKind::ici) next[position_of(link.from)].push_back(link.to);
  }
  std::vector<int> hops(next.size(), -1);
  std::deque<topologies::DeviceId> reached{0};
  hops[0] = 0;
  for (; !reached.empty(); reached.pop_front()) {
    for (const auto to : next[position_of(reached.front())]) {
      if (hops[position_of(to)] >= 0) continue;
      hops[position_of(to)] = hops[position_of(reached.front())] + 1;
      reached.push_back(to);
    }
  }
  return hops;
}

// 4 x 4 x 8: from the end of x or y the closing link leads to the start and on by 4 along z; z closes as ever. 4 x 8 x
// 8: from the end of x on by 4 along y and z.
TEST(TwistedTorus, ClosingLinksLeadOn) {
  const auto one = twisted({4, 4, 8});
  const auto ends_at = [&](const topologies::Cluster& cluster, std::vector<int> from, int axis, int direction) {
    const auto link = cluster.neighbour_link(cluster.device_at(from), axis, direction);
    return cluster.coordinates(cluster.link(link).to);
  };
  EXPECT_THAT(ends_at(one, {3, 1, 2}, 0, 1), ElementsAre(0, 1, 6));
  EXPECT_THAT(ends_at(one, {0, 1, 6}, 0, -1), ElementsAre(3, 1, 2));
  EXPECT_THAT(ends_at(one, {0, 3, 5}, 1, 1), ElementsAre(0, 0, 1));
  EXPECT_THAT(ends_at(one, {2, 2, 7}, 2, 1), ElementsAre(2, 2, 0));
  EXPECT_THAT(ends_at(one, {1, 1, 1}, 0, 1), ElementsAre(2, 1, 1));
  const auto two = twisted({4, 8, 8});
  EXPECT_THAT(ends_at(two, {3, 5, 2}, 0, 1), ElementsAre(0, 1, 6));
  EXPECT_THAT(ends_at(two, {3, 7, 2}, 1, 1), ElementsAre(3, 0, 2));
}

// Each chip has six links out and six in, to six chips.
TEST(TwistedTorus, EveryChipHasSixNeighbours) {
  for (const auto& shape : shapes) {
    const auto cluster = twisted(shape);
    std::map<topologies::DeviceId, std::set<topologies::DeviceId>> out, in;
    for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
      const auto& link = cluster.link(id);
      if (link.kind != topologies::LinkKind::ici) continue;
      out[link.from].insert(link.to);
      in[link.to].insert(link.from);
    }
    for (topologies::DeviceId chip = 0; chip < cluster.devices(); ++chip) {
      EXPECT_EQ(out[chip].size(), 6u);
      EXPECT_EQ(in[chip], out[chip]);
    }
  }
}

// Routes are chains as short as a search finds, from a chip in the middle too: all chips see the same.
TEST(TwistedTorus, RoutesAreShortest) {
  for (const auto& shape : shapes) {
    const auto cluster = twisted(shape);
    const auto hops = distances(cluster);
    for (const topologies::DeviceId from : {0, cluster.devices() / 2 + 3}) {
      std::multiset<std::size_t> lengths;
      for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
        const auto route = cluster.route(from, to);
        auto at = from;
        for (const auto link : route) {
          ASSERT_EQ(cluster.link(link).from, at);
          at = cluster.link(link).to;
        }
        ASSERT_EQ(at, to);
        lengths.insert(route.size());
        if (from > 0) continue;
        ASSERT_EQ(std::ssize(route), hops[position_of(to)]);
      }
      EXPECT_EQ(lengths, std::multiset<std::size_t>(hops.begin(), hops.end()));
    }
  }
}

// All chips and all directions look the same, so an all-to-all of N x N chunks of V/N^2 loads each of the 6 N links
// with N x (sum of hops) / 6N chunks.
TEST(TwistedTorus, ExchangeFollowsFromTheHops) {
  for (const auto& shape : shapes) {
    const auto cluster = twisted(shape);
    const auto hops = distances(cluster);
    const double sum = std::accumulate(hops.begin(), hops.end(), 0.0);
    const auto ring = twisted_ring(cluster, {0, 1, 2});
    EXPECT_DOUBLE_EQ(ring.exchange, sum / (6.0 * cluster.devices()));
    EXPECT_EQ(ring.diameter, *std::max_element(hops.begin(), hops.end()));
  }
}

/// Links from one half of an axis to the other, one way.
double cut(const topologies::Cluster& cluster, topologies::AxisId axis) {
  double links = 0;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.kind != topologies::LinkKind::ici) continue;
    const auto half = [&](topologies::NodeId chip) {
      return 2 * cluster.coordinates(chip)[position_of(axis)] < cluster.axes()[axis].size;
    };
    links += half(link.from) && !half(link.to) ? 1 : 0;
  }
  return links;
}

// The cuts by hand. Plain k x k x 2k: the halves of z are joined by 2 k^2 links one way, those of x by 2 x 2 k^2.
// Twisted, all 2k^2 closing links of x, both ways, lead from one half of z to the other, and so do those of y: 6 k^2;
// the halves of x keep their 4 k^2. A quarter of V must cross each cut, so the twist can gain at most the ratio of the
// smallest cuts, 2.
TEST(TwistedTorus, CutsAreWider) {
  const int k = 4;
  const auto plain = test::torus({k, k, 2 * k}, test::multiple_of_four);
  const auto made = twisted({k, k, 2 * k});
  EXPECT_EQ(cut(plain, 2), 2 * k * k);
  EXPECT_EQ(cut(plain, 0), 4 * k * k);
  EXPECT_EQ(cut(made, 2), 6 * k * k);
  EXPECT_EQ(cut(made, 0), 4 * k * k);
}

TEST(TwistedTorus, OnlyTwoShapesCanBeTwisted) {
  EXPECT_THAT(topologies::twists_of({4, 4, 8}), ElementsAre(ElementsAre(0, 0, 4), ElementsAre(0, 0, 4), IsEmpty()));
  EXPECT_THAT(topologies::twists_of({8, 4, 8}), ElementsAre(IsEmpty(), ElementsAre(4, 0, 4), IsEmpty()));
  for (const std::vector<int>& shape : {std::vector{4, 4, 4}, {4, 8, 16}, {4, 8}, {4, 4, 12}, {1, 1, 2}})
    EXPECT_THAT(topologies::twists_of(shape), IsEmpty());
  const auto why_not = [](std::vector<int> shape) {
    return topologies::why_not_a_slice({test::catalog_chip("tpu-v5p"), std::move(shape), {}, true});
  };
  EXPECT_EQ(why_not({8, 16, 16}), "");
  EXPECT_THAT(why_not({4, 4, 4}), HasSubstr("4x4x4 cannot be twisted; only n x n x 2n and n x 2n x 2n can"));
  EXPECT_THAT(why_not({2, 2, 4}), HasSubstr("2x2x4 cannot be twisted, since its axis of 2 does not close"));
}

// A group with a short axis but not all long ones has lines where the plain torus has rings, since the closing link
// leads out of it; the long axis alone is the ring that it was; with both it is a twisted ring that goes round twice.
TEST(TwistedTorus, RingsOfGroups) {
  const auto cluster = twisted({4, 4, 8});
  const auto mesh = test::placed(cluster, {test::on("a", {"x"}), test::on("b", {"y"}), test::on("c", {"z"})});
  EXPECT_THAT(mesh.shapes("a"), ElementsAre("line of 4 on x"));
  EXPECT_THAT(mesh.shapes("c"), ElementsAre("ring of 8 on z"));
  const auto both = mesh.dimensions({"a", "c"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].label, "twisted ring of 8 on x");
  EXPECT_EQ(both[0].members * both[1].members, 32);
}

// The lanes of a group of all chips cross each link once each way, in closed chains.
TEST(TwistedTorus, LanesCoverEveryLinkOnce) {
  for (const auto& shape : shapes) {
    const auto cluster = twisted(shape);
    const auto mesh = test::placed(cluster, {test::on("all", {"rest"})});
    const auto groups = mesh.groups({"all"});
    ASSERT_EQ(groups.size(), 1u);
    std::multiset<topologies::LinkId> crossed;
    for (const auto& lane : groups.front().lanes) {
      for (std::size_t i = 0; i < lane.links.size(); ++i) {
        crossed.insert(lane.links[i]);
        EXPECT_EQ(cluster.link(lane.links[i]).to, cluster.link(lane.links[(i + 1) % lane.links.size()]).from);
      }
    }
    std::multiset<topologies::LinkId> all;
    for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
      if (cluster.link(id).kind == topologies::LinkKind::ici) all.insert(id);
    }
    EXPECT_EQ(crossed, all);
  }
}

}  // namespace
}  // namespace lockstep
