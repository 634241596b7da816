// Parts of networks and tori: which of equal ways a pair takes, the hosts of chips, and what units hang on a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/fabrics/unit_network_private.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Three ways of two links each: way w crosses links 2w and 2w + 1.
bool take(std::uint64_t choice, const topologies::MissingLinks& missing, std::vector<topologies::LinkId>& links) {
  return topologies::take_way(3, choice, missing, links, [&](std::size_t way) {
    for (const std::size_t link : {2 * way, 2 * way + 1}) links.push_back(static_cast<topologies::LinkId>(link));
    return true;
  });
}

topologies::MissingLinks without(const std::vector<std::size_t>& gone) {
  topologies::MissingLinks missing(6, false);
  for (const std::size_t link : gone) missing[link] = true;
  return missing;
}

TEST(TakeWay, TheChoicePicksTheWay) {
  for (std::uint64_t choice = 0; choice < 9; ++choice) {
    std::vector<topologies::LinkId> links{77};
    EXPECT_TRUE(take(choice, {}, links));
    const auto first = static_cast<topologies::LinkId>(2 * (choice % 3));
    EXPECT_THAT(links, ElementsAre(77, first, first + 1)) << "behind what is there";
  }
}

// Choices whose way is whole keep it; those of the missing way spread over the ways that are left, here by turns.
TEST(TakeWay, OnlyThoseOfAMissingWayMove) {
  const topologies::MissingLinks missing = without({3});
  std::map<topologies::LinkId, int> taken;
  for (std::uint64_t choice = 0; choice < 60; ++choice) {
    std::vector<topologies::LinkId> links;
    ASSERT_TRUE(take(choice, missing, links));
    ASSERT_EQ(links.size(), 2U);
    if (choice % 3 != 1) {
      EXPECT_EQ(links[0], static_cast<topologies::LinkId>(2 * (choice % 3)));
    } else {
      EXPECT_NE(links[0], 2);
      ++taken[links[0]];
    }
  }
  EXPECT_THAT(taken, ElementsAre(testing::Pair(0, 10), testing::Pair(4, 10)));
}

TEST(TakeWay, WithoutAWayNothingIsAdded) {
  std::vector<topologies::LinkId> links{77};
  EXPECT_FALSE(take(1, without({0, 3, 4}), links));
  EXPECT_THAT(links, ElementsAre(77));
  EXPECT_TRUE(take(1, without({0, 3}), links)) << "one is left";
  EXPECT_THAT(links, ElementsAre(77, 4, 5));
}

// A way may refuse for reasons of its own, as where a network beyond it has none.
TEST(TakeWay, AWayThatRefusesIsNone) {
  std::vector<topologies::LinkId> links;
  const auto only_last = [&](std::size_t way) {
    links.push_back(static_cast<topologies::LinkId>(way));
    return way == 2;
  };
  for (std::uint64_t choice = 0; choice < 3; ++choice) {
    links.clear();
    EXPECT_TRUE(topologies::take_way(3, choice, {}, links, only_last));
    EXPECT_THAT(links, ElementsAre(2));
  }
}

TEST(AllThere, LooksFromItsFirstOn) {
  EXPECT_TRUE(topologies::all_there({1, 2, 3}, 0, {}));
  EXPECT_FALSE(topologies::all_there({1, 2, 3}, 0, without({2})));
  EXPECT_TRUE(topologies::all_there({1, 2, 3}, 2, without({2})));
  EXPECT_TRUE(topologies::all_there({}, 0, without({2})));
}

TEST(PlaceName, IsWhatAndWhere) {
  EXPECT_EQ(topologies::place_name("chip", {3, 0, 7}), "chip(3,0,7)");
  EXPECT_EQ(topologies::place_name("host", {12}), "host(12)");
  EXPECT_EQ(topologies::switch_name("crossbar", {}, {}), "crossbar");
  EXPECT_EQ(topologies::switch_name("leaf", {2}, {5, 1}), "leaf(2,5,1)");
}

// Chip (x, y) of hosts of 2x2 hangs on host (x/2, y/2); hosts count row-major, the last ones clipped.
TEST(HostsOfChips, AreBlocks) {
  for (const auto& [x, y] : {std::pair{4, 4}, {5, 3}, {1, 1}, {2, 7}}) {
    const topologies::TorusSpec spec{test::chip(test::never), {x, y}, {}};
    const auto hosts = hosts_of_chips(spec);
    ASSERT_EQ(std::ssize(hosts), x * y);
    const int hosts_along_y = (y + 1) / 2;
    for (int i = 0; i < x; ++i) {
      for (int j = 0; j < y; ++j) EXPECT_EQ(hosts[static_cast<std::size_t>(i * y + j)], i / 2 * hosts_along_y + j / 2);
    }
    topologies::ClusterSpec pod = test::pods(2, test::fabric(topologies::Crossbar{}), {x, y});
    EXPECT_EQ(nics_of_unit(pod), (x + 1) / 2 * hosts_along_y);
    EXPECT_EQ(nic_rate(pod), BytesPerSecond(25e9)) << "of a host";
  }
}

// A hall of 3 nodes of 2 NICs of 50 GB/s leaves by 2 switches: 150 GB/s each, unless the links' rate is given.
TEST(HallExit, IsEnoughForAllNicsOfTheHall) {
  topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::Crossbar{}));
  spec.halls = 2;
  spec.between_halls = test::fabric(topologies::Crossbar{});
  EXPECT_EQ(nics_of_unit(spec), 2);
  EXPECT_EQ(nic_rate(spec), BytesPerSecond(50e9));
  EXPECT_EQ(hall_exit_rate(spec, 2), BytesPerSecond(150e9));
  EXPECT_EQ(hall_exit_rate(spec, 1), BytesPerSecond(300e9));
}

TEST(UnitPlace, HasTheAxesThatTheClusterHas) {
  topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::Crossbar{}));
  EXPECT_THAT(unit_place(spec, 2), ElementsAre(2));
  spec.halls = 2;
  EXPECT_THAT(unit_place(spec, 4), ElementsAre(1, 1));
  spec.units = 1;
  EXPECT_THAT(unit_place(spec, 1), ElementsAre(1));
  spec.halls = 1;
  EXPECT_THAT(unit_place(spec, 0), IsEmpty());
}

}  // namespace
}  // namespace lockstep
