// An order puts each logical position on a device of its own: a permutation, of whole pods where units are tori.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/fabrics/unit_network_private.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

topologies::ClusterSpec with_order(topologies::ClusterSpec spec, topologies::RankOrder order) {
  spec.order = std::move(order);
  return spec;
}
topologies::ClusterSpec nodes_of_two(int units, topologies::RankOrder order) {
  return with_order(test::nodes(units, test::fabric(topologies::Crossbar{}), test::node(2, 1)), std::move(order));
}
topologies::ClusterSpec pods_of_four(int units, std::vector<topologies::DeviceId> devices) {
  return with_order(test::pods(units, test::fabric(topologies::Crossbar{}), {2, 2}),
                    {topologies::RankOrder::Kind::listed, 1, std::move(devices)});
}

std::vector<topologies::DeviceId> shuffled(topologies::DeviceId count, std::mt19937& random) {
  std::vector<topologies::DeviceId> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  std::shuffle(devices.begin(), devices.end(), random);
  return devices;
}

TEST(DevicesInOrder, OfAPackedOrderAreAsTheyAreNumbered) {
  EXPECT_THAT(devices_in_order(nodes_of_two(3, {})), IsEmpty());
}

// Position p stands on unit p mod n, and takes that unit's chips one after the other.
TEST(DevicesInOrder, RoundRobinDealsOutUnits) {
  for (const int units : {1, 2, 5}) {
    const auto devices = devices_in_order(nodes_of_two(units, {topologies::RankOrder::Kind::round_robin, 1, {}}));
    ASSERT_EQ(std::ssize(devices), 2 * units);
    for (int position = 0; position < 2 * units; ++position) {
      const topologies::DeviceId device = devices[static_cast<std::size_t>(position)];
      EXPECT_EQ(device / 2, position % units);
      EXPECT_EQ(device % 2, position / units);
    }
  }
}

// Units go anywhere; over many seeds each unit comes first about equally often: 600 draws of 3, 200 each, and 5
// standard deviations are 5 sqrt(600 x 1/3 x 2/3) = 58.
TEST(DevicesInOrder, ScatteredUnitsGoAnywhere) {
  std::vector<int> first(3, 0);
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const topologies::ClusterSpec spec = nodes_of_two(3, {topologies::RankOrder::Kind::scattered, seed, {}});
    const auto devices = devices_in_order(spec);
    EXPECT_THAT(why_not_an_order(with_order(spec, {topologies::RankOrder::Kind::listed, 1, devices})), IsEmpty());
    ++first[static_cast<std::size_t>(devices.front() / 2)];
  }
  for (const int count : first) EXPECT_NEAR(count, 200, 58);
}

TEST(WhyNotAnOrder, EveryPermutationOfNodesChipsIsOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const topologies::RankOrder order{topologies::RankOrder::Kind::listed, 1, shuffled(8, random)};
    EXPECT_THAT(why_not_an_order(nodes_of_two(4, order)), IsEmpty());
    EXPECT_EQ(devices_in_order(nodes_of_two(4, order)), order.devices);
  }
}

// One device for another: that one stands twice, and one is missing.
TEST(WhyNotAnOrder, AnythingElseIsNone) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    auto devices = shuffled(8, random);
    const std::size_t at = random() % 8;
    const topologies::DeviceId gone = devices[at];
    devices[at] = devices[(at + 1) % 8];
    const auto problems = why_not_an_order(nodes_of_two(4, {topologies::RankOrder::Kind::listed, 1, devices}));
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].key, "order");
    EXPECT_THAT(problems[0].what, HasSubstr("device " + std::to_string(devices[at]) + " is at positions"));
    EXPECT_THAT(problems[1].what, HasSubstr("1 of 8 devices are missing, the first is " + std::to_string(gone)));
    EXPECT_EQ(problems[1].expected, "every device from 0 to 7 once");
  }
}

// Too short, too long, out of range on either side.
TEST(WhyNotAnOrder, HasEveryDeviceAndNoOther) {
  const auto whats = [](std::vector<topologies::DeviceId> devices) {
    std::vector<std::string> texts;
    for (const auto& problem :
         why_not_an_order(nodes_of_two(1, {topologies::RankOrder::Kind::listed, 1, std::move(devices)})))
      texts.push_back(problem.what);
    return texts;
  };
  EXPECT_THAT(whats({}), ElementsAre("2 of 2 devices are missing, the first is 0"));
  EXPECT_THAT(whats({1}), ElementsAre("1 of 2 devices are missing, the first is 0"));
  EXPECT_THAT(whats({0, 1, 0}), ElementsAre("device 0 is at positions 0 and 2"));
  EXPECT_THAT(whats({0, 1, 2}), ElementsAre("position 2 is on device 2, which does not exist"));
  EXPECT_THAT(whats({-1, 1}), ElementsAre("position 0 is on device -1, which does not exist",
                                          "1 of 2 devices are missing, the first is 0"));
}

TEST(WhyNotAnOrder, AHopelessListIsNotToldInFull) {
  const std::vector<topologies::DeviceId> same(1000, 0);
  EXPECT_EQ(why_not_an_order(nodes_of_two(500, {topologies::RankOrder::Kind::listed, 1, same})).size(), 10U);
}

// Two pods of four have 8! orders, of which only two keep pods whole, each with its chips in theirs.
TEST(WhyNotAnOrder, PodsStayWhole) {
  std::vector<topologies::DeviceId> devices(8);
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<std::vector<topologies::DeviceId>> accepted;
  do {
    const auto problems = why_not_an_order(pods_of_four(2, devices));
    if (problems.empty()) {
      accepted.push_back(devices);
    } else {
      ASSERT_EQ(problems.front().what, "it takes neighbours on a torus apart");
    }
  } while (std::next_permutation(devices.begin(), devices.end()));
  EXPECT_THAT(accepted, ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3)));
}

TEST(WhyNotAnOrder, RoundRobinTakesToriApart) {
  const topologies::ClusterSpec pods = test::pods(2, test::fabric(topologies::Crossbar{}), {2, 2});
  EXPECT_EQ(why_not_an_order(with_order(pods, {topologies::RankOrder::Kind::round_robin, 1, {}})).size(), 1U);
  EXPECT_THAT(why_not_an_order(with_order(pods, {topologies::RankOrder::Kind::scattered, 1, {}})), IsEmpty());
}

}  // namespace
}  // namespace lockstep
