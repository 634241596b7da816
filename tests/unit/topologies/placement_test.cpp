#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

using test::on;
using testing::HasSubstr;

std::vector<topologies::MeshAxis> axes(std::vector<int> shape, const std::vector<topologies::AxisRequest>& requests) {
  return test::placed(test::torus(std::move(shape), test::never), requests).axes();
}

/// The error of a placement that must fail.
topologies::PlacementError error(std::vector<int> shape, const std::vector<topologies::AxisRequest>& requests) {
  const auto result = place_as_requested(test::torus(std::move(shape), test::never), requests);
  const auto* error = std::get_if<topologies::PlacementError>(&result);
  if (error == nullptr) throw std::runtime_error("the placement succeeded");
  return *error;
}

using Factors = std::vector<topologies::Factor>;

TEST(Placement, LaterPartsStrideOverEarlierOnes) {
  const std::vector<topologies::MeshAxis> placed = axes({24}, {on("a", {"x/2"}), on("b", {"x/3"}), on("c", {"x"})});
  EXPECT_EQ(placed[0].factors, (Factors{{0, 2, 1}}));
  EXPECT_EQ(placed[1].factors, (Factors{{0, 3, 2}}));
  EXPECT_EQ(placed[2].factors, (Factors{{0, 4, 6}}));
}

TEST(Placement, RestIsWhatTheOthersLeaveWhereverItIsWritten) {
  for (const bool first : {true, false}) {
    const std::vector<topologies::AxisRequest> requests = first
                                                              ? std::vector{on("dp", {"rest"}), on("tp", {"x/2", "y"})}
                                                              : std::vector{on("tp", {"x/2", "y"}), on("dp", {"rest"})};
    const std::vector<topologies::MeshAxis> placed = axes({8, 2, 3}, requests);
    EXPECT_EQ(placed[first ? 1 : 0].factors, (Factors{{0, 2, 1}, {1, 2, 1}}));
    EXPECT_EQ(placed[first ? 0 : 1].name, "dp");
    EXPECT_EQ(placed[first ? 0 : 1].factors, (Factors{{0, 4, 2}, {2, 3, 1}}));
  }
}

TEST(Placement, RestMayBeNothing) {
  const std::vector<topologies::MeshAxis> placed = axes({4}, {on("tp", {"x"}), on("dp", {"rest"})});
  EXPECT_EQ(placed[1].size(), 1);
}

TEST(Placement, SizesAreChecked) {
  EXPECT_EQ(axes({8}, {{"a", 2, {{"x/2"}}}, {"b", 4, {{"rest"}}}})[1].size(), 4);
  const topologies::PlacementError parts = error({8}, {{"a", 4, {{"x/2"}}}, on("b", {"rest"})});
  EXPECT_EQ(parts.axis, "a");
  EXPECT_EQ(parts.what, "its place has 2 positions but its size is 4");
  const topologies::PlacementError rest = error({8}, {{"a", 2, {{"x/2"}}}, {"b", 8, {{"rest"}}}});
  EXPECT_EQ(rest.axis, "b");
  EXPECT_EQ(rest.what, "its place has 4 positions but its size is 8");
}

TEST(Placement, WhatIsNoPartOfAnAxisIsNamed) {
  for (const std::string text :
       {"w", "w/2", "x/", "/2", "x/two", "x/2/2", "x/0", "x/-2", "x/+2", "x/2 ", "", "x/99999999999"}) {
    const topologies::PlacementError wrong = error({8, 4}, {on("a", {text}), on("b", {"rest"})});
    EXPECT_EQ(wrong.axis, "a");
    EXPECT_EQ(wrong.what, "`" + text + "` is not a part of a physical axis");
    EXPECT_EQ(wrong.expected, "x or y, a part of one as `x/2`, or `rest`");
  }
}

TEST(Placement, APartMustDivideWhatIsLeft) {
  const topologies::PlacementError wrong = error({24}, {on("a", {"x/2"}), on("b", {"x/8"}), on("c", {"rest"})});
  EXPECT_EQ(wrong.axis, "b");
  EXPECT_EQ(wrong.what, "`x/8` does not divide the 12 of the 24 positions of x that are left");
  EXPECT_EQ(wrong.expected, "x/2, x/3, x/4, x/6 or x/12");
  EXPECT_EQ(error({1, 2}, {on("a", {"x/2"}), on("b", {"rest"})}).expected, "x");
}

TEST(Placement, AnAxisCanBeUsedUp) {
  const topologies::PlacementError wrong = error({8, 2}, {on("a", {"x"}), on("b", {"x/2"}), on("c", {"rest"})});
  EXPECT_EQ(wrong.axis, "b");
  EXPECT_EQ(wrong.what, "`x/2` finds none of the 8 positions of x left");
  EXPECT_EQ(error({8, 2}, {on("a", {"x"}), on("b", {"x"}), on("c", {"rest"})}).axis, "b");
}

TEST(Placement, LeftoverPositionsAreAnError) {
  const topologies::PlacementError wrong = error({8, 4, 3}, {on("a", {"x/2"}), on("b", {"y"})});
  EXPECT_EQ(wrong.axis, "");
  EXPECT_EQ(wrong.what, "no axis takes a factor 4 of x and 3 of z");
  EXPECT_THAT(wrong.expected, HasSubstr("`rest`"));
}

TEST(Placement, BadRequestsAreNamed) {
  EXPECT_EQ(error({4}, {on("a", {"x/2"}), on("a", {"rest"})}).what, "two axes have this name");
  EXPECT_EQ(error({4}, {on("a", {"rest"}), on("b", {"rest"})}).what, "`a` already takes the rest");
  EXPECT_EQ(error({4}, {on("a", {"x/2", "rest"})}).what, "`rest` is given with other parts");
  EXPECT_EQ(error({4}, {{"a", -1, {{"x"}}}}).what, "its size is -1");
  EXPECT_EQ(error({4}, {test::sized("a", 4)}).what, "it has no place");
}

}  // namespace
}  // namespace lockstep
