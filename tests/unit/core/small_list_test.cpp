// A SmallList is a std::vector of ids in 16 bytes: whatever is done to both leaves them equal, with few entries and
// with many.
#include "sim/core/small_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using Ids = SmallList<std::int32_t>;
using testing::ElementsAre;
using testing::ElementsAreArray;

static_assert(sizeof(Ids) == 16);

Ids of(std::int32_t count) {
  Ids list;
  for (std::int32_t i = 0; i < count; ++i) list.push_back(i);
  return list;
}

TEST(SmallList, HoldsWhatIsPutIn) {
  EXPECT_TRUE(Ids().empty());
  EXPECT_THAT(Ids({7, -1}), ElementsAre(7, -1));
  for (const std::int32_t count : {1, 2, 3, 4, 5, 100}) {
    const auto list = of(count);
    ASSERT_EQ(list.size(), static_cast<std::size_t>(count));
    for (std::int32_t i = 0; i < count; ++i) EXPECT_EQ(list[position_of(i)], i);
    EXPECT_EQ(list.front(), 0);
    EXPECT_EQ(list.back(), count - 1);
  }
}

TEST(SmallList, IsCopiedAndMovedWithItsEntries) {
  for (const std::int32_t count : {0, 3, 4, 50}) {
    const auto list = of(count);
    auto copy = list;
    EXPECT_EQ(copy, list);
    copy.push_back(-5);
    EXPECT_EQ(list, of(count)) << "a copy has its own entries";
    auto moved = std::move(copy);
    EXPECT_EQ(moved.back(), -5);
    for (const std::int32_t other : {0, 2, 9}) {
      auto assigned = of(other);
      assigned = list;
      EXPECT_EQ(assigned, list);
      assigned = of(other);
      EXPECT_EQ(assigned, of(other));
      const auto& itself = assigned;
      assigned = itself;
      EXPECT_EQ(assigned, of(other));
    }
  }
}

TEST(SmallList, IsAVectorUnderAnyOperations) {
  std::mt19937 random(5);
  Ids list;
  std::vector<std::int32_t> vector;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int32_t>(random());
    switch (random() % 6) {
      case 0: {
        const std::vector<std::int32_t> values(random() % 9, value);
        list.assign(values.begin(), values.end());
        vector = values;
        break;
      }
      case 1:
        list.assign(random() % 3, value);
        vector.assign(list.size(), value);
        break;
      case 2: list.reserve(random() % 12); break;
      case 3:
        if (!vector.empty()) list[vector.size() / 2] = vector[vector.size() / 2] = value;
        break;
      default: list.push_back(value); vector.push_back(value);
    }
    ASSERT_THAT(list, ElementsAreArray(vector)) << i;
  }
}

}  // namespace
}  // namespace lockstep
