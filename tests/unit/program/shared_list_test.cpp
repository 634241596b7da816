#include "sim/program/shared_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

TEST(SharedList, HoldsItsItemsInOrder) {
  const program::SharedList<int> list{3, 1, 2};
  EXPECT_THAT(std::vector<int>(list.begin(), list.end()), ElementsAre(3, 1, 2));
  EXPECT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1], 1);
  EXPECT_EQ(list.front(), 3);
  EXPECT_EQ(list.back(), 2);
  EXPECT_THAT(list.items(), ElementsAre(3, 1, 2));
  EXPECT_EQ(std::span<const int>(list).data(), list.begin());
}

// A list that was never given items, and one of none, are both empty and can be walked through.
TEST(SharedList, MayBeEmpty) {
  for (const program::SharedList<int>& list :
       {program::SharedList<int>(), program::SharedList<int>(std::vector<int>{})}) {
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.begin(), list.end());
    EXPECT_TRUE(list.items().empty());
    EXPECT_TRUE(std::span<const int>(list).empty());
  }
}

TEST(SharedList, CopiesShareOneMemory) {
  const program::SharedList<int> list{1, 2};
  const auto copy = list;
  EXPECT_EQ(copy.begin(), list.begin());
}

// Changing a list means changing a copy of its items: other copies of the list keep theirs.
TEST(SharedList, DoesNotChangeUnderItsCopies) {
  program::SharedList<int> list{1, 2};
  const auto copy = list;
  auto items = list.items();
  items[0] = 9;
  list = items;
  EXPECT_THAT(list.items(), ElementsAre(9, 2));
  EXPECT_THAT(copy.items(), ElementsAre(1, 2));
}

TEST(SharedList, OutlivesTheFirstOfItsCopies) {
  program::SharedList<std::vector<int>> copy;
  {
    const program::SharedList<std::vector<int>> list{{1, 2}, {3}};
    copy = list;
  }
  EXPECT_THAT(copy.items(), ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
}

}  // namespace
}  // namespace lockstep
