#include "sim/engine/runtime/date_queue.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

engine::Work work(std::int32_t turn) { return {turn, 0}; }

TEST(DateQueue, TakesByDateUpToTheLimit) {
  engine::DateQueue dates;
  dates.push(2, work(2));
  dates.push(1, work(1));
  dates.push(3, work(3));
  EXPECT_EQ(dates.next_date_s(), 1);
  std::vector<engine::Work> due;
  EXPECT_EQ(dates.take(2.5, due), 2);
  EXPECT_EQ(due, (std::vector{work(1), work(2)}));
  EXPECT_EQ(dates.next_date_s(), 3);
  EXPECT_EQ(dates.take(4, due), 3);
  EXPECT_TRUE(dates.empty());
}

TEST(DateQueue, NothingDueGivesTheLimit) {
  engine::DateQueue dates;
  dates.push(2, work(0));
  std::vector<engine::Work> due;
  EXPECT_EQ(dates.take(1, due), 1);
  EXPECT_TRUE(due.empty());
}

// Work for one date, pushed in a row or not, before and after that date was taken: none is lost.
TEST(DateQueue, SameDateManyTimes) {
  engine::DateQueue dates;
  dates.push(1, work(0));
  dates.push(1, work(1));
  dates.push(2, work(2));
  dates.push(1, work(3));
  std::vector<engine::Work> due;
  dates.take(1, due);
  EXPECT_EQ(due.size(), 3U);
  dates.push(1, work(4));
  dates.push(2, work(5));
  due.clear();
  dates.take(1, due);
  EXPECT_EQ(due, (std::vector{work(4)}));
  due.clear();
  dates.take(2, due);
  EXPECT_EQ(due.size(), 2U);
  EXPECT_TRUE(dates.empty());
}

}  // namespace
}  // namespace lockstep
