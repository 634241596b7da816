// A kernel that takes `alone` by itself from date f on, with a slowdown s while a collective is under way, ends at e
// with
//   integral from f to e of 1 / pace(t) dt = alone,   pace = s while a collective is under way, else 1.
#include "sim/engine/runtime/shared_chips.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

/// A clock that the test sets; keeps the date that each kernel was given last, and how many it got.
class Clock final : public engine::Network {
 public:
  [[nodiscard]] Seconds now() const override { return Seconds(now_s); }
  void start_compute(engine::Work work, Seconds until) override {
    ends_s[work] = until.value();
    ++dates;
  }
  [[nodiscard]] bool start_collective(engine::Work, std::int32_t, std::int32_t) override { return false; }
  void run(const TakeIn&) override {}
  [[nodiscard]] std::int64_t flows() const override { return 0; }

  double now_s = 0;
  std::map<engine::Work, double> ends_s;
  int dates = 0;
};

program::Program sharing(double slowdown, std::int32_t count = 2) {
  program::Program program = ranks(count);
  add_compute(program, 1);
  add_compute(program, 1, {}, 0, 2);
  share_chips(program, slowdown);
  return program;
}

constexpr engine::Work kernel{0, 0};

// 4 s from 0 on with a slowdown of 2. At 1 s a collective starts: 3 s are left, which take 6, so the end is at 7. At 3
// s it ends: 2 of the 3 s are left, so the end is at 5.
TEST(SharedChips, CollectivesThatStartAndEndMoveTheEnd) {
  engine::SharedChips chips(sharing(2));
  Clock clock;
  chips.kernel_starts(0, 0, kernel, Seconds(4), Seconds(0));
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(kernel), 4);
  clock.now_s = 1;
  chips.collective_starts(0, false);
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(kernel), 7);
  EXPECT_FALSE(chips.ends(0, 0, kernel, Seconds(4))) << "the date from before the collective";
  clock.now_s = 3;
  chips.collective_ends(0, false);
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(kernel), 5);
  EXPECT_TRUE(chips.ends(0, 0, kernel, Seconds(5)));
  EXPECT_FALSE(chips.ends(0, 0, kernel, Seconds(7))) << "it has ended, and an old date does not end it again";
}

// Two collectives slow down no more than one, and the end of one of two changes nothing: no new date is given.
TEST(SharedChips, SeveralCollectivesAreAsOne) {
  engine::SharedChips chips(sharing(1.5));
  Clock clock;
  chips.collective_starts(0, false);
  chips.collective_starts(0, false);
  chips.kernel_starts(0, 0, kernel, Seconds(2), Seconds(0));
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(kernel), 3);
  EXPECT_EQ(clock.dates, 1);
  clock.now_s = 1;
  chips.collective_ends(0, false);
  chips.redate(clock);
  EXPECT_EQ(clock.dates, 1);
  clock.now_s = 1.5;
  chips.collective_ends(0, false);  // one of two seconds is done
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(kernel), 2.5);
}

// A collective that starts and ends within one instant has slowed nothing down.
TEST(SharedChips, NothingHappensWithinAnInstant) {
  engine::SharedChips chips(sharing(2));
  Clock clock;
  chips.kernel_starts(0, 0, kernel, Seconds(1), Seconds(0));
  chips.redate(clock);
  clock.now_s = 0.5;
  chips.collective_starts(0, false);
  chips.collective_ends(0, false);
  chips.redate(clock);
  EXPECT_EQ(clock.dates, 1);
}

TEST(SharedChips, EachStreamAndRankHasItsOwnKernel) {
  engine::SharedChips chips(sharing(3));
  Clock clock;
  const engine::Work here{0, 0}, beside{1, 0}, elsewhere{0, 1};
  chips.kernel_starts(0, 0, here, Seconds(1), Seconds(0));
  chips.kernel_starts(0, 2, beside, Seconds(2), Seconds(0));
  chips.kernel_starts(1, 0, elsewhere, Seconds(1), Seconds(0));
  chips.collective_starts(0, false);
  chips.redate(clock);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(here), 3);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(beside), 6);
  EXPECT_DOUBLE_EQ(clock.ends_s.at(elsewhere), 1);
  EXPECT_FALSE(chips.ends(0, 0, beside, Seconds(3))) << "the kernel of another stream";
  EXPECT_TRUE(chips.ends(0, 0, here, Seconds(3)));
  EXPECT_TRUE(chips.ends(0, 2, beside, Seconds(6)));
}

// Nothing is left when a kernel's pace changes at its very end: it still gets a date that is later than now.
TEST(SharedChips, AKernelWithNothingLeftEndsAnInstantLater) {
  engine::SharedChips chips(sharing(2));
  Clock clock;
  chips.kernel_starts(0, 0, kernel, Seconds(1), Seconds(0));
  chips.redate(clock);
  clock.now_s = 1;
  chips.collective_starts(0, false);
  chips.redate(clock);
  EXPECT_GT(clock.ends_s.at(kernel), 1);
  EXPECT_LE(clock.ends_s.at(kernel), 1 + 2 * engine::one_instant_s);
  EXPECT_TRUE(chips.ends(0, 0, kernel, Seconds(clock.ends_s.at(kernel))));
}

// The equation above, step by step on a grid of eighths of a second.
TEST(SharedChips, TheWorkDoneIsTheIntegralOfThePace) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const double slowdown = 1 + 0.5 * static_cast<double>(random() % 5);
    const double alone = 0.5 + static_cast<double>(random() % 8);
    const double from = static_cast<double>(random() % 4);  // launched later than its stream is free
    engine::SharedChips chips(sharing(slowdown, 1));
    Clock clock;
    chips.kernel_starts(0, 0, kernel, Seconds(alone), Seconds(from));
    int under_way = 0;
    double left = alone;
    double expected = -1;
    for (int tick = 0; expected < 0; ++tick) {
      clock.now_s = tick / 8.0;
      if (random() % 6 == 0 && under_way < 2) ++under_way, chips.collective_starts(0, false);
      if (random() % 6 == 0 && under_way > 0) --under_way, chips.collective_ends(0, false);
      chips.redate(clock);
      const double pace = under_way > 0 ? slowdown : 1;
      if (clock.now_s < from) continue;
      if (left * pace <= 1 / 8.0 + 1e-12) expected = clock.now_s + left * pace;
      left -= 1 / 8.0 / pace;
    }
    ASSERT_NEAR(clock.ends_s.at(kernel), expected, 1e-9) << "round " << round;
    EXPECT_TRUE(chips.ends(0, 0, kernel, Seconds(clock.ends_s.at(kernel))));
  }
}

// A program in which nothing shares a chip needs none of this, and its instants end without a date.
TEST(SharedChips, WithoutSharingThereIsNothingToDate) {
  program::Program program = ranks(2);
  add_compute(program, 1);
  engine::SharedChips chips(program);
  Clock clock;
  chips.redate(clock);
  EXPECT_EQ(clock.dates, 0);
}

}  // namespace
}  // namespace lockstep::test
