// A SmallList against std::vector as its model: several lists at once under random operations, erasures, copies, moves
// and swaps among them. Whatever was done, each equals its vector, and equal vectors are equal lists whether they lie
// inside or outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sim/core/small_list.hpp"

namespace lockstep {
namespace {

using Ids = SmallList<std::int32_t>;
using Model = std::vector<std::int32_t>;

/// A list and what it should hold.
struct Pair {
  Ids list;
  Model model;

  void push(std::int32_t value) {
    list.push_back(value);
    model.push_back(value);
  }
};

Pair counted(std::int32_t count) {
  Pair made;
  for (std::int32_t i = 0; i < count; ++i) made.push(10 * i);
  return made;
}

bool equal(const Ids& list, const Model& model) {
  return list.size() == model.size() && std::equal(list.begin(), list.end(), model.begin()) &&
         list.empty() == model.empty();
}

// Every range [from, to) of every length up to 9, which covers lists inside (up to 3) and outside: n - (to - from)
// entries are left, in their order.
TEST(SmallListModel, ErasesEveryRange) {
  for (std::int32_t count = 0; count <= 9; ++count) {
    for (std::int32_t from = 0; from <= count; ++from) {
      for (std::int32_t to = from; to <= count; ++to) {
        auto [list, model] = counted(count);
        list.erase(list.begin() + from, list.begin() + to);
        model.erase(model.begin() + from, model.begin() + to);
        ASSERT_EQ(list.size(), static_cast<std::size_t>(count - (to - from)));
        ASSERT_TRUE(equal(list, model)) << count << " without " << from << " to " << to;
      }
    }
  }
}

// What is left after an erasure takes new entries behind its last one; nothing of the erased ones comes back.
TEST(SmallListModel, GrowsAgainAfterErasing) {
  for (const std::int32_t count : {1, 3, 4, 7}) {
    auto pair = counted(count);
    pair.list.erase(pair.list.begin(), pair.list.end());
    pair.model.clear();
    EXPECT_TRUE(pair.list.empty());
    EXPECT_EQ(pair.list, Ids());
    for (std::int32_t i = 0; i < 2 * count; ++i) {
      pair.push(-i);
      ASSERT_TRUE(equal(pair.list, pair.model)) << count;
    }
  }
}

// Equality is of entries, not of where they lie: a list that has grown to 50 and shrunk to 2 lies outside and equals
// one that has only ever held 2.
TEST(SmallListModel, EqualityDoesNotSeeWhereEntriesLie) {
  auto outside = counted(50).list;
  outside.erase(outside.begin() + 2, outside.end());
  EXPECT_EQ(outside, counted(2).list);
  outside[1] = 11;
  EXPECT_FALSE(outside == counted(2).list);
  EXPECT_FALSE(counted(2).list == counted(3).list);
}

// All numbers that an id can be, the largest and the smallest too, since the room outside is noted beside the entries.
TEST(SmallListModel, KeepsTheOutermostNumbers) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max(), least = std::numeric_limits<std::int32_t>::min();
  Pair pair;
  for (const auto value : {most, least, -1, 0, least, most, most}) {
    pair.push(value);
    ASSERT_TRUE(equal(pair.list, pair.model));
  }
}

// Moving and swapping lists of a few and of many entries: of the two, each has what the other had; a list that was
// moved from may be assigned to.
TEST(SmallListModel, MovesAndSwapsBetweenInsideAndOutside) {
  for (const std::int32_t here : {0, 2, 3, 4, 40}) {
    for (const std::int32_t there : {0, 1, 3, 5, 80}) {
      auto one = counted(here), other = counted(there);
      one.list.swap(other.list);
      EXPECT_TRUE(equal(one.list, other.model));
      EXPECT_TRUE(equal(other.list, one.model));
      Ids moved = std::move(one.list);
      EXPECT_TRUE(equal(moved, other.model));
      one.list = other.list;
      EXPECT_TRUE(equal(one.list, one.model));
      moved = std::move(other.list);
      EXPECT_TRUE(equal(moved, one.model));
    }
  }
}

/// One random operation on lists and vectors alike.
void operate(std::array<Pair, 4>& pairs, std::mt19937& random) {
  auto& [list, model] = pairs[random() % pairs.size()];
  auto& other = pairs[random() % pairs.size()];
  const auto value = static_cast<std::int32_t>(random());
  const auto position = [&](std::size_t past) { return static_cast<std::ptrdiff_t>(random() % (past + 1)); };
  switch (random() % 10) {
    case 0: {
      const auto first = position(model.size());
      const auto last = first + position(model.size() - static_cast<std::size_t>(first));
      list.erase(list.begin() + first, list.begin() + last);
      model.erase(model.begin() + first, model.begin() + last);
      break;
    }
    case 1: {
      const Model values(random() % 7, value);
      list.assign(values.begin(), values.end());
      model = values;
      break;
    }
    case 2:
      list = other.list;
      model = other.model;
      break;
    case 3:
      list.swap(other.list);
      model.swap(other.model);
      break;
    case 4: list.reserve(random() % 20); break;
    case 5: {
      Ids copy = list;
      copy.push_back(value);  // a copy's entries are its own
      break;
    }
    case 6: std::sort(list.begin(), list.end()), std::sort(model.begin(), model.end()); break;
    default: list.push_back(value), model.push_back(value);
  }
}

TEST(SmallListModel, IsAVectorWhateverIsDoneToSeveral) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    std::array<Pair, 4> pairs;
    std::size_t longest = 0, inside = 0;
    for (int i = 0; i < 5'000; ++i) {
      operate(pairs, random);
      for (const auto& [list, model] : pairs) {
        ASSERT_TRUE(equal(list, model)) << "seed " << seed << ", operation " << i;
        longest = std::max(longest, model.size());
        inside += model.size() <= 3 ? 1 : 0;
      }
      ASSERT_EQ(pairs[0].list == pairs[1].list, pairs[0].model == pairs[1].model);
    }
    EXPECT_GT(longest, 8U) << "the operations must reach lists outside";
    EXPECT_GT(inside, 1'000U) << "and those inside";
  }
}

}  // namespace
}  // namespace lockstep
