#include "topologies/graph/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace lockstep::topologies {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

Names expanded(std::string_view list) {
  auto names = expand_names(list, 1'000'000);
  if (const auto* error = std::get_if<QuantityError>(&names)) return {"refused: " + error->what};
  return std::get<Names>(std::move(names));
}

// Slurm's documented form: ranges and single numbers in brackets, zero padding, several brackets, the last one fastest.
TEST(ExpandNames, AsSlurmDoes) {
  EXPECT_THAT(expanded("a[1-3,7],b[08-10],login"), ElementsAre("a1", "a2", "a3", "a7", "b08", "b09", "b10", "login"));
  EXPECT_THAT(expanded("r[1-2]n[1-2]x"), ElementsAre("r1n1x", "r1n2x", "r2n1x", "r2n2x"));
  EXPECT_THAT(expanded("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(expanded(R"(a\[1\]\,b\\)"), ElementsAre("a[1],b\\"));
}

TEST(ExpandNames, RefusesWhatIsNoList) {
  EXPECT_THAT(expanded(""), ElementsAre("refused: is empty"));
  EXPECT_THAT(expanded("a,,b"), ElementsAre("refused: has an empty name"));
  EXPECT_THAT(expanded("a[1-3"), ElementsAre("refused: a bracket is not closed"));
  EXPECT_THAT(expanded("a]"), ElementsAre("refused: a bracket is closed that was not opened"));
  EXPECT_THAT(expanded("a[3-1]"), ElementsAre("refused: the range 3-1 runs backward"));
  EXPECT_THAT(expanded("a[x]"), ElementsAre("refused: a bracket lacks a number"));
  EXPECT_THAT(expanded("a[1-]"), ElementsAre("refused: a bracket lacks a number"));
  EXPECT_THAT(expanded("a[1-99999999999999999999]"), ElementsAre("refused: a number has too many digits"));
}

// 10^12 names would take terabytes: they are counted before one is made.
TEST(ExpandNames, CountsBeforeItMakes) {
  EXPECT_THAT(expanded("a[1-999999999999]"), ElementsAre("refused: has more than 1000000 names"));
  EXPECT_THAT(expanded("a[1-9999]b[1-9999]c[1-9999]"), ElementsAre("refused: has more than 1000000 names"));
  EXPECT_EQ(expanded("a[0-999999]").size(), 1'000'000u);
}

TEST(FoldNames, MakesRangesOfNeighbours) {
  EXPECT_EQ(fold_names({"gpu001", "gpu002", "gpu003", "gpu007", "login"}), "gpu[001-003,007],login");
  EXPECT_EQ(fold_names({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(fold_names({"rail0a", "rail1a"}), "rail[0-1]a");
  EXPECT_EQ(fold_names({"MF0;LEAF-1:MQM9701/U1", "MF0;LEAF-2:MQM9701/U1"}), "MF0;LEAF-[1-2]:MQM9701/U1");
  EXPECT_EQ(fold_names({"a,b"}), "a\\,b");
  EXPECT_EQ(fold_names({}), "");
}

// What is folded expands to the same names in the same order: random lists over few prefixes and numbers of several
// widths, so that ranges, gaps, repetitions and padding all occur.
TEST(FoldNames, ReadsBack) {
  std::mt19937 random(1);
  const auto below = [&](unsigned end) { return random() % end; };
  const Names words{"a", "b1-", "c[", "", "x,y"};
  for (int round = 0; round < 2000; ++round) {
    Names names;
    for (unsigned i = 0; i <= below(30); ++i) {
      std::string number = std::to_string(below(13));
      if (below(3) == 0) number.insert(0, "0");
      names.push_back(words[below(5)] + number + (below(4) == 0 ? "z" : ""));
    }
    EXPECT_EQ(expanded(fold_names(names)), names) << fold_names(names);
  }
}

TEST(NaturalLess, NumbersCountAsNumbers) {
  EXPECT_TRUE(natural_less("mlx5_9", "mlx5_10"));
  EXPECT_FALSE(natural_less("mlx5_10", "mlx5_9"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("a01", "a1"));
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_FALSE(natural_less("a1", "a1"));
}

}  // namespace
}  // namespace lockstep::topologies
