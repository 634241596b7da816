// A lane runs one thing at a time. What finds it busy waits; on its release the first of those by (turn, index) is
// offered, and each further one only if that offer could not start.
#include "sim/engine/runtime/lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<std::pair<std::int32_t, engine::Work>> offers_of(engine::Lanes& lanes) {
  std::vector<engine::Lanes::Offer> offers;
  lanes.offer_released(offers);
  std::vector<std::pair<std::int32_t, engine::Work>> result;
  for (const engine::Lanes::Offer& offer : offers) result.emplace_back(offer.lane, offer.work);
  return result;
}

TEST(Lanes, AreBusyFromTheirOccupationToTheirRelease) {
  engine::Lanes lanes(2);
  EXPECT_FALSE(lanes.busy(0));
  lanes.occupy(0, Seconds(0));  // the beginning of time counts too
  EXPECT_TRUE(lanes.busy(0));
  EXPECT_FALSE(lanes.busy(1));
  EXPECT_EQ(lanes.busy_since(0), Seconds(0));
  lanes.release(0);
  EXPECT_FALSE(lanes.busy(0));
  lanes.occupy(0, Seconds(2.5));
  EXPECT_EQ(lanes.busy_since(0), Seconds(2.5));
}

TEST(Lanes, OfferTheFirstThatWaitsOncePerRelease) {
  engine::Lanes lanes(3);
  for (const std::int32_t lane : {0, 1, 2}) lanes.occupy(lane, Seconds(0));
  lanes.wait(0, {7, 0});
  lanes.wait(0, {3, 2});
  lanes.wait(0, {3, 1});
  lanes.wait(2, {5, 0});
  lanes.release(2);
  lanes.release(0);
  lanes.release(1);  // nobody waits here
  EXPECT_THAT(offers_of(lanes),
              ElementsAre(testing::Pair(2, engine::Work{5, 0}), testing::Pair(0, engine::Work{3, 1})));
  EXPECT_TRUE(offers_of(lanes).empty()) << "each release offers once";
  EXPECT_FALSE(lanes.has_offer(1));
  EXPECT_FALSE(lanes.has_offer(2)) << "its only one has been offered";

  EXPECT_TRUE(lanes.has_offer(0));
  EXPECT_EQ(lanes.take_first(0).work, (engine::Work{3, 2}));
  lanes.occupy(0, Seconds(1));
  EXPECT_FALSE(lanes.has_offer(0)) << "one still waits, but the lane is busy again";
  lanes.release(0);
  EXPECT_THAT(offers_of(lanes), ElementsAre(testing::Pair(0, engine::Work{7, 0})));
}

TEST(Lanes, OffersSortByWhoGoesFirst) {
  const engine::Lanes::Offer early{{1, 5}, 9}, late{{2, 0}, 0};
  EXPECT_LT(early, late);
  EXPECT_GT(late, early);
  EXPECT_FALSE(early < early);
}

TEST(Lanes, LetTheWaitingGoInOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    engine::Lanes lanes(1);
    lanes.occupy(0, Seconds(0));
    std::vector<engine::Work> waiting(1 + random() % 30);
    for (engine::Work& work : waiting) {
      work = {static_cast<std::int32_t>(random() % 5), static_cast<std::int32_t>(random() % 5)};
      lanes.wait(0, work);
    }
    std::sort(waiting.begin(), waiting.end());
    lanes.release(0);
    std::vector<engine::Work> gone{offers_of(lanes).front().second};
    while (lanes.has_offer(0)) gone.push_back(lanes.take_first(0).work);
    EXPECT_EQ(gone, waiting);
  }
}

}  // namespace
}  // namespace lockstep
