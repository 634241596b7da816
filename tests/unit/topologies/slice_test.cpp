#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::string why_not(const std::string& chip, std::vector<int> shape, std::vector<int> pod = {}) {
  return topologies::why_not_a_slice({test::catalog_chip(chip), std::move(shape), std::move(pod)});
}

TEST(Slice, FitsInAnyOrderOfTheAxes) {
  EXPECT_EQ(why_not("tpu-v5p", {16, 20, 28}), "");
  EXPECT_EQ(why_not("tpu-v5p", {28, 16, 20}), "");
  EXPECT_EQ(why_not("tpu-v5p", {20, 16, 16}), "");
  EXPECT_EQ(why_not("tpu-v5p", {4, 4}), "");
  EXPECT_EQ(why_not("tpu-v5p", {28}), "");
}

/// 20 x 20 x 16 sorted is 16 20 20, the pod 16 20 28: fits; 24 x 24 x 1 needs two axes of 24 or more.
TEST(Slice, TwoLongAxesNeedTwoLongAxes) {
  EXPECT_EQ(why_not("tpu-v5p", {20, 20, 16}), "");
  EXPECT_THAT(why_not("tpu-v5p", {24, 24, 1}), HasSubstr("24x24x1 does not fit the pod of 16x20x28"));
  EXPECT_THAT(why_not("tpu-v5p", {24, 24}), HasSubstr("does not fit"));
}

TEST(Slice, BadShapesAreNamed) {
  EXPECT_THAT(why_not("tpu-v5e", {4, 4, 4}), HasSubstr("3 axes does not fit a pod of 2"));
  EXPECT_THAT(why_not("tpu-v5e", {}), HasSubstr("without axes"));
  EXPECT_THAT(why_not("tpu-v5e", {4, 0}), HasSubstr("axis of 0"));
  EXPECT_THAT(why_not("tpu-v5e", {-4, 4}), HasSubstr("axis of -4"));
  EXPECT_THAT(why_not("h100", {8}), HasSubstr("h100 has no torus"));
}

TEST(Slice, AHypotheticalPodMayBeLarger) {
  EXPECT_EQ(why_not("tpu-v5e", {32, 32}, {32, 32}), "");
  EXPECT_EQ(why_not("tpu-v5e", {4, 4, 4}, {8, 8, 8}), "");
  EXPECT_THAT(why_not("tpu-v5e", {2, 2, 2, 2}, {8, 8, 8, 8}), HasSubstr("one to three"));
}

// v5p: jobs of up to 6,144 chips, multiples of 4x4x4 and three smaller ones, axes in any order. v5e lists its slices.
// What the catalog does not know has no note, nor has a pod of one's own.
TEST(Slice, WhatUsersCannotHaveIsSaid) {
  const auto note = [](const std::string& chip, std::vector<int> shape, std::vector<int> pod = {}) {
    return topologies::slice_note({test::catalog_chip(chip), std::move(shape), std::move(pod)});
  };
  EXPECT_EQ(note("tpu-v5p", {16, 20, 28}),
            "a slice of 16x20x28 (8960 chips) cannot be scheduled: the largest job on tpu-v5p has 6144 chips");
  EXPECT_EQ(note("tpu-v5p", {16, 16, 24}), "");
  EXPECT_EQ(note("tpu-v5p", {24, 16, 16}), "");
  EXPECT_EQ(note("tpu-v5p", {2, 2, 1}), "");
  EXPECT_EQ(note("tpu-v5p", {2, 1, 2}), "");
  EXPECT_EQ(
      note("tpu-v5p", {4, 1, 1}),
      "a slice of 4x1x1 (4 chips) is none that users of tpu-v5p are offered: blocks of 4x4x4 chips, and 2x2x1, 2x2x2, "
      "2x4x4");
  EXPECT_EQ(
      note("tpu-v5p", {4, 4}),
      "a slice of 4x4 (16 chips) is none that users of tpu-v5p are offered: blocks of 4x4x4 chips, and 2x2x1, 2x2x2, "
      "2x4x4");
  EXPECT_EQ(note("tpu-v5e", {16, 8}), "");
  EXPECT_THAT(note("tpu-v5e", {3, 1}), HasSubstr("a slice of 3x1 (3 chips) is none that users"));
  EXPECT_EQ(note("tpu-v5e", {32, 32}, {32, 32}), "");
  EXPECT_EQ(note("tpu-v7x", {3, 1, 1}), "");
}

/// Up to a million chips; sizes whose product overflows are refused as well.
TEST(Slice, HostileSizesAreRefusedUnbuilt) {
  const std::vector<int> huge{2'000'000'000, 2'000'000'000, 2'000'000'000};
  EXPECT_EQ(why_not("tpu-v5p", {100, 100, 100}, {100, 100, 100}), "");
  EXPECT_THAT(why_not("tpu-v5p", {101, 100, 100}, {101, 100, 100}), HasSubstr("more than 1000000 chips"));
  EXPECT_THAT(why_not("tpu-v5p", huge, huge), HasSubstr("more than 1000000 chips"));
}

TEST(Slice, BuildingAnImpossibleOneIsABug) {
  EXPECT_THROW(static_cast<void>(topologies::build_torus({test::catalog_chip("tpu-v5e"), {17, 1}, {}})), InternalError);
}

/// The wrap rule belongs to the chip, so a 3D machine of v5e parts still wraps at 16 only; a host block
/// of fewer axes than the slice is one chip thick on the others.
TEST(Slice, AHypotheticalPodKeepsTheChipsRules) {
  const topologies::Cluster cluster =
      topologies::build_torus({test::catalog_chip("tpu-v5e"), {16, 4, 2}, {16, 16, 16}});
  EXPECT_TRUE(cluster.axes()[0].wraps);
  EXPECT_FALSE(cluster.axes()[1].wraps);
  EXPECT_EQ(cluster.nodes(), 16 * 4 * 2 + 4 * 2 * 2 + 1);
}

}  // namespace
}  // namespace lockstep
