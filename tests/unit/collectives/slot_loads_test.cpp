// Flow f of slot s crosses link l once for each time that it lists it. With slot_bytes b, link l of bandwidth w carries
//   B(l) = sum over flows f of (times that f crosses l) b[slot of f]      and takes B(l) / w.
// Links on which all of that is equal are told once, by the first of them.
#include "sim/collectives/slot_loads.hpp"

#include <gmock/gmock.h>

#include <random>

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

BytesPerSecond even(std::int32_t /*link*/) { return BytesPerSecond(10); }

collectives::Communicator of(std::vector<collectives::ProgramGroup> groups, std::int32_t slots) {
  return {"data", slots, std::move(groups)};
}

TEST(SlotLoads, CountCrossingsBySlot) {
  // Slot 0 crosses link 2 twice and link 5 once, slot 1 crosses link 5.
  const auto loads = slot_loads(of({{{0, 1}, {{0, {2, 5, 2}}, {1, {5}}}}}, 2), even);
  ASSERT_EQ(loads.loads.size(), 2U);
  EXPECT_EQ(loads.loads[0].link, 2);
  EXPECT_THAT(loads.loads[0].crossings, ElementsAre(Pair(0, 2)));
  EXPECT_EQ(loads.loads[1].link, 5);
  EXPECT_THAT(loads.loads[1].crossings, ElementsAre(Pair(0, 1), Pair(1, 1)));
  EXPECT_THAT(loads.of_class, ElementsAre(ElementsAre(0, 1)));

  const collectives::Phase phase{Seconds(0), {30, 50}};
  EXPECT_DOUBLE_EQ(loads.loads[0].seconds(phase), 2 * 30 / 10.0);
  EXPECT_DOUBLE_EQ(loads.loads[1].seconds(phase), (30 + 50) / 10.0);
  EXPECT_EQ(loads.heaviest(phase), &loads.loads[1]);
  EXPECT_EQ(loads.heaviest({Seconds(0), {30, 20}}), &loads.loads[0]) << "60 bytes against 50";
  EXPECT_EQ(loads.heaviest({Seconds(1), {0, 0}}), nullptr) << "nothing is carried";
}

TEST(SlotLoads, EqualLoadsAreToldOnce) {
  const auto fast_second = [](std::int32_t link) { return BytesPerSecond(link == 7 ? 20 : 10); };
  const auto loads = slot_loads(of({{{0}, {{0, {3, 4}}}}, {{1}, {{0, {7}}}}}, 1), fast_second);
  ASSERT_EQ(loads.loads.size(), 2U) << "links 3 and 4 are alike, link 7 is twice as fast";
  EXPECT_EQ(loads.loads[0].link, 3);
  EXPECT_EQ(loads.loads[1].link, 7);
}

TEST(SlotLoads, GroupsOfOneClassShareLinksThoseOfOthersDoNot) {
  const auto groups = of({{{0}, {{0, {1}}}}, {{1}, {{0, {1}}}}, {{2}, {{0, {1}}}}}, 1);
  const collectives::Phase phase{Seconds(0), {10}};
  const auto together = slot_loads(groups, even);
  EXPECT_DOUBLE_EQ(together.heaviest(phase)->seconds(phase), 3);
  const auto apart = slot_loads(groups, even, {0, 1, 0});
  ASSERT_EQ(apart.of_class.size(), 2U);
  EXPECT_DOUBLE_EQ(apart.loads[static_cast<std::size_t>(apart.of_class[0].front())].seconds(phase), 2);
  EXPECT_DOUBLE_EQ(apart.loads[static_cast<std::size_t>(apart.of_class[1].front())].seconds(phase), 1);
}

TEST(SlotLoads, OfNoGroupsAreNone) {
  const auto loads = slot_loads(of({}, 3), even);
  EXPECT_TRUE(loads.loads.empty());
  EXPECT_EQ(loads.heaviest({Seconds(0), {1, 1, 1}}), nullptr);
}

// Few links crossed by many flows and many links crossed by few are sorted in two ways: the sum above tells both.
TEST(SlotLoads, AreTheSumOverFlows) {
  std::mt19937 random(7);
  for (const std::int32_t links : {5, 40, 20'000}) {
    for (int round = 0; round < 20; ++round) {
      constexpr std::int32_t slots = 3;
      std::vector<collectives::ProgramGroup> groups(1 + random() % 4);
      std::vector<std::int32_t> class_of_group;
      std::map<std::pair<std::int32_t, std::int32_t>, double> bytes;  // by class and link
      const collectives::Phase phase{Seconds(0), {1, 10, 100}};
      for (std::size_t group = 0; group < groups.size(); ++group) {
        class_of_group.push_back(static_cast<std::int32_t>(random() % 2));
        for (int flow = 0; flow < 6; ++flow) {
          collectives::Flow made{static_cast<std::int32_t>(random() % slots), {}};
          for (std::size_t hop = 0; hop < 1 + random() % 3; ++hop) {
            made.links.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(links)));
            bytes[{class_of_group.back(), made.links.back()}] += phase.slot_bytes[static_cast<std::size_t>(made.slot)];
          }
          groups[group].flows.push_back(std::move(made));
        }
      }
      const auto loads = slot_loads(of(std::move(groups), slots), even, class_of_group);
      std::map<std::int32_t, double> most, found;  // by class
      for (const auto& [at, carried] : bytes) most[at.first] = std::max(most[at.first], carried / 10);
      for (std::size_t each = 0; each < loads.of_class.size(); ++each) {
        for (const auto load : loads.of_class[each]) {
          auto& longest = found[static_cast<std::int32_t>(each)];
          longest = std::max(longest, loads.loads[static_cast<std::size_t>(load)].seconds(phase));
        }
      }
      EXPECT_EQ(found, most) << links << " links, round " << round;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
