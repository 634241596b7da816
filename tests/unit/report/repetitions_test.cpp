#include "tools/report/repetitions.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace lockstep {
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers expanded(const Numbers& numbers, const std::vector<report::Stretch>& stretches) {
  Numbers result;
  for (const auto& [first, fresh, repeated, before] : stretches) {
    EXPECT_EQ(first, result.size());
    result.insert(result.end(), numbers.begin() + std::ptrdiff_t(first),
                  numbers.begin() + std::ptrdiff_t(first + fresh));
    for (std::size_t i = 0; i < repeated; ++i) result.push_back(result[result.size() - before]);
  }
  return result;
}

Numbers counted(std::size_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// `start`, `times` times `period`, `end`.
Numbers periodic(const Numbers& start, const Numbers& period, int times, const Numbers& end) {
  auto numbers = start;
  for (int i = 0; i < times; ++i) numbers.insert(numbers.end(), period.begin(), period.end());
  numbers.insert(numbers.end(), end.begin(), end.end());
  return numbers;
}

// 5 numbers, then 0 to 99 ten times, then 2 numbers: the first period and what stands before it are new (105), the
// other nine (900) come a period later, and the end is new.
TEST(Repetitions, APeriodIsWrittenOnce) {
  const auto numbers = periodic({900, 901, 902, 903, 904}, counted(100), 10, {905, 906});
  const auto stretches = report::repetitions(numbers);
  ASSERT_EQ(stretches.size(), 2u);
  EXPECT_EQ(stretches[0].fresh, 105u);
  EXPECT_EQ(stretches[0].repeated, 900u);
  EXPECT_EQ(stretches[0].before, 100u);
  EXPECT_EQ(stretches[1].fresh, 2u);
  EXPECT_EQ(stretches[1].repeated, 0u);
}

// A period that itself holds layers that are alike, and a long rest: more copies of it take no more stretches.
TEST(Repetitions, MoreCopiesTakeNoMoreStretches) {
  const auto period = periodic(counted(70), periodic({7}, counted(40), 1, {}), 12, Numbers(300, 0));
  const auto few = periodic({1, 2}, period, 4, {3}), many = periodic({1, 2}, period, 400, {3});
  EXPECT_EQ(report::repetitions(few).size(), report::repetitions(many).size());
  EXPECT_EQ(expanded(many, report::repetitions(many)), many);
}

TEST(Repetitions, ExpandToTheList) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    Numbers numbers;
    const auto length = random() % 700;
    while (numbers.size() < length) {
      const auto piece = 1 + random() % 90;
      const bool again = !numbers.empty() && random() % 2 == 0;
      const auto from = again ? random() % numbers.size() : 0;
      for (std::size_t i = 0; i < piece; ++i) numbers.push_back(again ? numbers[from + i] : random() % 3);
    }
    EXPECT_EQ(expanded(numbers, report::repetitions(numbers)), numbers) << round;
  }
}

}  // namespace
}  // namespace lockstep
