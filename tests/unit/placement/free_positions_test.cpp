// Each part taken of a physical axis strides over all parts taken of it before:
//   stride = product of the parts before, left = size / (stride x part).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/placement/placement_private.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FreePositions, LaterPartsStrideOverEarlierOnes) {
  topologies::FreePositions free(test::torus({24, 5}, test::never));
  EXPECT_EQ(free.axes(), 2U);
  EXPECT_EQ(free.left_in_all(), 120);
  EXPECT_EQ(free.take(0, 2), (topologies::Factor{0, 2, 1}));
  EXPECT_EQ(free.take(0, 3), (topologies::Factor{0, 3, 2}));
  EXPECT_EQ(free.left(0), 4);
  EXPECT_EQ(free.left(1), 5);
  EXPECT_EQ(free.left_in_all(), 20);
  EXPECT_THAT(free.take_all(), ElementsAre(topologies::Factor{0, 4, 6}, topologies::Factor{1, 5, 1}));
  EXPECT_EQ(free.left_in_all(), 1);
  EXPECT_THAT(free.take_all(), IsEmpty());
}

TEST(FreePositions, APartOfOneTakesNothing) {
  topologies::FreePositions free(test::torus({6}, test::never));
  EXPECT_EQ(free.take(0, 1), (topologies::Factor{0, 1, 1}));
  EXPECT_EQ(free.left(0), 6);
  EXPECT_EQ(free.take(0, 6), (topologies::Factor{0, 6, 1}));
}

TEST(FreePositions, OfAnAxisOfOneThereIsNothingToTake) {
  topologies::FreePositions free(test::torus({1, 1}, test::never));
  EXPECT_EQ(free.left_in_all(), 1);
  EXPECT_THAT(free.take_all(), IsEmpty());
}

TEST(TakesRest, OnlyAsTheOnePart) {
  EXPECT_TRUE(takes_rest(test::on("a", {"rest"})));
  EXPECT_FALSE(takes_rest(test::on("a", {"rest", "x"})));
  EXPECT_FALSE(takes_rest(test::on("a", {"x"})));
  EXPECT_FALSE(takes_rest(test::on("a", {})));
  EXPECT_FALSE(takes_rest(test::sized("a", 4)));
}

// A part that cannot be laid takes nothing before it is refused.
TEST(PlaceParts, ARefusalNamesThePart) {
  const topologies::Cluster cluster = test::torus({8}, test::never);
  topologies::FreePositions free(cluster);
  const auto refused = place_parts(cluster, test::on("a", {"x/3"}), free);
  ASSERT_TRUE(std::holds_alternative<topologies::PlacementError>(refused));
  EXPECT_EQ(std::get<topologies::PlacementError>(refused).what,
            "`x/3` does not divide the 8 of the 8 positions of x that are left");
  EXPECT_EQ(free.left(0), 8);
  const auto placed = place_parts(cluster, test::on("a", {"x/2", "x/4"}), free);
  ASSERT_TRUE(std::holds_alternative<topologies::MeshAxis>(placed));
  EXPECT_THAT(std::get<topologies::MeshAxis>(placed).factors,
              ElementsAre(topologies::Factor{0, 2, 1}, topologies::Factor{0, 4, 2}));
  EXPECT_EQ(std::get<topologies::MeshAxis>(placed).size(), 8);
}

TEST(Problems, OfSizesAndLeftovers) {
  const topologies::Cluster cluster = test::torus({8, 3}, test::never);
  const topologies::MeshAxis four{"a", {{0, 4, 1}}};
  EXPECT_FALSE(problem_of_size(test::sized("a", 4), four));
  EXPECT_FALSE(problem_of_size(test::sized("a", 0), four)) << "as many as the place gives";
  EXPECT_TRUE(problem_of_size(test::sized("a", 8), four));
  topologies::FreePositions free(cluster);
  EXPECT_EQ(problem_of_leftover(cluster, free)->what, "no axis takes a factor 8 of x and 3 of y");
  (void)free.take(1, 3);
  EXPECT_EQ(problem_of_leftover(cluster, free)->what, "no axis takes a factor 8 of x");
  (void)free.take(0, 8);
  EXPECT_FALSE(problem_of_leftover(cluster, free));
  EXPECT_FALSE(topologies::problem_of_requests({}));
}

}  // namespace
}  // namespace lockstep
