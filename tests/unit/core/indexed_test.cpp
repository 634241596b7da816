#include "sim/core/indexed.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace lockstep {
namespace {

using RankId = std::int32_t;
enum class StageId : std::int32_t {};
enum class Colour { red, green, blue };

template <class Container, class Id>
concept HasEntry = requires(Container container, Id id) {
  container[id];
};

// v[id] is the id-th entry, counted from 0, whatever integer says so.
TEST(Indexed, FindsTheEntryOfAnId) {
  Indexed<RankId, std::string> names{"a", "b", "c"};
  EXPECT_EQ(names[RankId{0}], "a");
  EXPECT_EQ(names[std::size_t{1}], "b");
  EXPECT_EQ(names[std::int64_t{2}], "c");
  names[1] = "d";
  EXPECT_EQ(std::as_const(names)[1], "d");
}

// An enum as index takes only its own ids: no number, and no id of another kind.
TEST(Indexed, RefusesIdsOfAnotherKind) {
  using OfStages = Indexed<StageId, int>;
  static_assert(HasEntry<OfStages, StageId>);
  static_assert(!HasEntry<OfStages, RankId> && !HasEntry<OfStages, std::size_t> && !HasEntry<OfStages, Colour>);
  using OfRanks = Indexed<RankId, int>;
  static_assert(HasEntry<OfRanks, RankId> && HasEntry<OfRanks, std::size_t>);
  static_assert(!HasEntry<OfRanks, StageId> && !HasEntry<OfRanks, double>);
  static_assert(!HasEntry<IndexedArray<Colour, int, 3>, int>);
  const OfStages layers{4, 7};
  EXPECT_EQ(layers[StageId{1}], 7);
}

// ids() = 0, 1, ..., size-1 in the index's own type, next_id() = size.
TEST(Indexed, WalksOverItsIds) {
  const Indexed<StageId, int> layers(3, 5);
  std::vector<StageId> seen;
  for (const auto stage : layers.ids()) seen.push_back(stage);
  EXPECT_EQ(seen, (std::vector{StageId{0}, StageId{1}, StageId{2}}));
  EXPECT_EQ(layers.next_id(), StageId{3});
  static_assert(std::is_same_v<decltype(layers.count()), std::int32_t>);
  EXPECT_EQ(layers.count(), 3);
  for ([[maybe_unused]] const auto stage : Indexed<StageId, int>().ids()) FAIL() << "an empty vector has no id";
}

TEST(Indexed, ContainsTheIdsFromZeroToItsSize) {
  const Indexed<RankId, int> two{1, 2};
  EXPECT_FALSE(two.contains(-1));
  EXPECT_TRUE(two.contains(0));
  EXPECT_TRUE(two.contains(1));
  EXPECT_FALSE(two.contains(2));
}

TEST(Indexed, GrowsAndShrinksAsAVector) {
  Indexed<RankId, int> numbers;
  EXPECT_TRUE(numbers.empty());
  numbers.push_back(4);
  numbers.emplace_back(5);
  EXPECT_EQ(numbers.front(), 4);
  EXPECT_EQ(numbers.back(), 5);
  numbers.resize(RankId{4}, 6);
  EXPECT_EQ(numbers, (std::vector{4, 5, 6, 6}));
  numbers.pop_back();
  numbers.insert(numbers.begin(), 3);
  EXPECT_EQ(erase_if(numbers, [](int number) { return number > 5; }), 1U);
  EXPECT_EQ(numbers, (std::vector{3, 4, 5}));
  EXPECT_EQ(numbers.size(), 3U);
  numbers.assign(2, 7);
  EXPECT_EQ(numbers, (std::vector{7, 7}));
  EXPECT_LT(numbers, (Indexed<RankId, int>{7, 8}));
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
}

// As with std::vector, (2, 9) is two entries that are 9, and {2, 9} an entry 2 and one 9.
TEST(Indexed, MakesEqualEntries) {
  EXPECT_EQ((Indexed<RankId, int>(2, 9)), (std::vector{9, 9}));
  EXPECT_EQ((Indexed<RankId, int>{2, 9}), (std::vector{2, 9}));
  EXPECT_EQ((Indexed<RankId, int>(2)), (std::vector{0, 0}));
}

TEST(Indexed, IsASpanOfItsEntries) {
  Indexed<RankId, int> numbers{3, 4};
  const std::span<int> all = numbers;
  all[1] = 8;
  EXPECT_EQ(numbers[1], 8);
  const std::span<const int> same = std::as_const(numbers);
  EXPECT_EQ(same.size(), 2U);
}

TEST(Indexed, HoldsBits) {
  Indexed<RankId, bool> up(3, false);
  up[2] = true;
  EXPECT_FALSE(up[0]);
  EXPECT_TRUE(std::as_const(up)[2]);
}

TEST(Indexed, TakesAsMuchMemoryAsAVector) { static_assert(sizeof(Indexed<RankId, int>) == sizeof(std::vector<int>)); }

TEST(IndexedArray, HasAnEntryForEachEnumerator) {
  IndexedArray<Colour, int, 3> count{};
  ++count[Colour::blue];
  EXPECT_EQ(count, (IndexedArray<Colour, int, 3>{0, 0, 1}));
  constexpr IndexedArray<Colour, std::string_view, 3> names{"red", "green", "blue"};
  static_assert(names[Colour::green] == "green");
  std::string all;
  for (const auto colour : names.ids()) all += names[colour];
  EXPECT_EQ(all, "redgreenblue");
}

// Entry (r, c) lies at place r C + c: the columns of a row follow one another.
TEST(Grid, FindsTheEntryOfARowAndAColumn) {
  Grid<StageId, RankId, int> grid(2, 3, -1);
  int next = 0;
  for (const auto stage : {StageId{0}, StageId{1}})
    for (RankId rank = 0; rank < 3; ++rank) grid(stage, rank) = next++;
  EXPECT_EQ((std::vector(grid.begin(), grid.end())), (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(std::as_const(grid)(StageId{1}, RankId{0}), 3);
  EXPECT_EQ(grid.columns(), 3U);
  Grid<RankId, RankId, bool> bits(1, 2);
  bits(0, 1) = true;
  EXPECT_FALSE(bits(0, 0));
  EXPECT_TRUE(bits(0, 1));
}

}  // namespace
}  // namespace lockstep
