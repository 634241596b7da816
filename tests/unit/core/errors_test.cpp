#include "sim/core/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Location, PrintsFileLineAndColumn) {
  EXPECT_EQ((Location{"a.yaml", 3, 7}).to_string(), "a.yaml:3:7");
  EXPECT_EQ((Location{"a.yaml", 0, 0}).to_string(), "a.yaml");
}

TEST(Problem, PrintsWhereWhichKeyWhatAndWhatWasExpected) {
  EXPECT_EQ((Problem{{"a.yaml", 3, 7}, "chip.memory", "is wrong", "a size"}).to_string(),
            "a.yaml:3:7: chip.memory: is wrong; expected a size");
}

TEST(Problem, LeavesOutWhatItDoesNotHave) {
  EXPECT_EQ((Problem{{"a.yaml", 0, 0}, "", "no such file", ""}).to_string(), "a.yaml: no such file");
  EXPECT_EQ((Problem{{"a.yaml", 1, 1}, "x", "unknown key", "did you mean `y`"}).to_string(),
            "a.yaml:1:1: x: unknown key; did you mean `y`");
}

TEST(Problems, ThrowNothingWhenThereIsNone) {
  const Problems none;
  EXPECT_TRUE(none.empty());
  EXPECT_NO_THROW(none.throw_if_any());
}

TEST(Problems, ComeOrderedByPlaceAndEachOnce) {
  Problems problems;
  problems.add({{"b.yaml", 1, 1}, "", "first of b", ""});
  problems.add({{"a.yaml", 10, 1}, "", "line ten", ""});
  problems.add({{"a.yaml", 2, 9}, "", "column nine", ""});
  problems.add({{"a.yaml", 2, 10}, "", "column ten", ""});
  problems.add({{"a.yaml", 2, 9}, "", "another at column nine", ""});
  problems.add({{"a.yaml", 2, 9}, "", "column nine", ""});
  EXPECT_EQ(problems.size(), 6u);
  try {
    problems.throw_if_any();
    FAIL() << "six problems and no exception";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "a.yaml:2:9: column nine\n"
                 "a.yaml:2:9: another at column nine\n"
                 "a.yaml:2:10: column ten\n"
                 "a.yaml:10:1: line ten\n"
                 "b.yaml:1:1: first of b");
    EXPECT_EQ(error.problems().size(), 5u);
  }
}

TEST(DidYouMean, NamesTheNearestCandidate) {
  EXPECT_EQ(did_you_mean("rign", {"tree", "ring"}), "did you mean `ring`");
  EXPECT_EQ(did_you_mean("lnks", {"ring", "links", "link"}), "did you mean `links`");
  EXPECT_EQ(did_you_mean("memroy_bandwidth", {"memory", "memory_bandwidth"}), "did you mean `memory_bandwidth`");
}

TEST(DidYouMean, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(did_you_mean("banana", {"ring", "tree"}), "");
  EXPECT_EQ(did_you_mean("ring", {}), "");
  EXPECT_EQ(did_you_mean("", {"a"}), "");
}

TEST(DidYouMean, DoesNotReplaceEveryLetterOfAShortWord) {
  // Two edits are allowed, but they would turn any word of two letters into any other.
  EXPECT_EQ(did_you_mean("ab", {"xy"}), "");
  EXPECT_EQ(did_you_mean("ab", {"ay"}), "did you mean `ay`");
}

TEST(DidYouMean, AllowsAThirdOfALongWordToBeWrong) {
  // 12 letters: 12 / 3 = 4 edits are near, 5 are not.
  EXPECT_EQ(did_you_mean("abcdefghijkl", {"abcdefghWXYZ"}), "did you mean `abcdefghWXYZ`");
  EXPECT_EQ(did_you_mean("abcdefghijkl", {"abcdefgVWXYZ"}), "");
}

TEST(DidYouMean, CountsSwappedNeighboursAsOneEdit) {
  // One swap (distance 1) beats two substitutions (distance 2) although it comes later.
  EXPECT_EQ(did_you_mean("abcd", {"xbxd", "abdc"}), "did you mean `abdc`");
}

}  // namespace
}  // namespace lockstep
