#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep {
namespace {

using test::on;
constexpr auto ring = topologies::GroupDimension::Shape::ring;
constexpr auto line = topologies::GroupDimension::Shape::line;

void expect_dimension(const topologies::GroupDimension& dimension, topologies::GroupDimension::Shape shape, int members,
                      int stride, const std::string& label) {
  SCOPED_TRACE(label);
  EXPECT_EQ(dimension.shape, shape);
  EXPECT_EQ(dimension.members, members);
  EXPECT_EQ(dimension.links_per_hop, stride);
  EXPECT_EQ(dimension.sharing, stride);  // the stride interleaves as many siblings
  EXPECT_EQ(dimension.link, BytesPerSecond(100e9));
  EXPECT_EQ(dimension.hop_latency, static_cast<double>(stride) * Seconds(1e-6));
  EXPECT_EQ(dimension.label, label);
}

TEST(Dimensions, AWholeAxisIsARingIfItWraps) {
  const topologies::Cluster cluster = test::torus({16, 6}, test::multiple_of_four);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x"}), on("b", {"y"})});
  ASSERT_EQ(mesh.dimensions({"a"}).size(), 1u);
  expect_dimension(mesh.dimensions({"a"})[0], ring, 16, 1, "ring of 16 on x");
  expect_dimension(mesh.dimensions({"b"})[0], line, 6, 1, "line of 6 on y");
}

/// x of 16 cut in 4 x 4: the inner part cannot use the wrap; the outer part comes round after
/// 4 hops of 4 links, beside 3 siblings.
TEST(Dimensions, APartIsALineAndTheRemainderAStridedRing) {
  const topologies::Cluster cluster = test::torus({16}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/4"}), on("dp", {"x"})});
  expect_dimension(mesh.dimensions({"tp"})[0], line, 4, 1, "line of 4 on x");
  expect_dimension(mesh.dimensions({"dp"})[0], ring, 4, 4, "ring of 4 on x");
}

TEST(Dimensions, OnALineTheRemainderIsALineToo) {
  const topologies::Cluster cluster = test::torus({8}, test::never);
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/2"}), on("dp", {"x"})});
  expect_dimension(mesh.dimensions({"dp"})[0], line, 4, 2, "line of 4 on x");
}

/// x of 12 cut in 2 x 3 x 2: only the outermost part reaches round; two members, each 6 links away
/// from the other both ways, still make a ring.
TEST(Dimensions, AMiddlePartIsALineAndARemainderOfTwoARing) {
  const topologies::Cluster cluster = test::torus({12}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x/2"}), on("b", {"x/3"}), on("c", {"x/2"})});
  expect_dimension(mesh.dimensions({"a"})[0], line, 2, 1, "line of 2 on x");
  expect_dimension(mesh.dimensions({"b"})[0], line, 3, 2, "line of 3 on x");
  expect_dimension(mesh.dimensions({"c"})[0], ring, 2, 6, "ring of 2 on x");
}

/// Neighbouring parts join: a+b is a run of 6, b+c strides by 2 to the end, a+b+c is the axis. a+c has a gap.
TEST(Dimensions, PartsOfOneAxisMergeWhenContiguous) {
  const topologies::Cluster cluster = test::torus({12}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x/2"}), on("b", {"x/3"}), on("c", {"x/2"})});
  ASSERT_EQ(mesh.dimensions({"a", "b"}).size(), 1u);
  expect_dimension(mesh.dimensions({"a", "b"})[0], line, 6, 1, "line of 6 on x");
  expect_dimension(mesh.dimensions({"b", "c"})[0], ring, 6, 2, "ring of 6 on x");
  expect_dimension(mesh.dimensions({"c", "a", "b"})[0], ring, 12, 1, "ring of 12 on x");
  const topologies::GroupDimensions gap = mesh.dimensions({"a", "c"});
  ASSERT_EQ(gap.size(), 2u);
  expect_dimension(gap[0], line, 2, 1, "line of 2 on x");
  expect_dimension(gap[1], ring, 2, 6, "ring of 2 on x");
}

TEST(Dimensions, ABlockWithAnEvenSideClosesIntoOneRing) {
  const topologies::Cluster cluster = test::torus({8, 12}, test::multiple_of_four);
  const topologies::Mesh mesh =
      test::placed(cluster, {on("tp", {"x/2", "y/2"}), on("cp", {"y/3"}), on("dp", {"rest"})});
  ASSERT_EQ(mesh.dimensions({"tp"}).size(), 1u);
  expect_dimension(mesh.dimensions({"tp"})[0], ring, 4, 1, "ring of 4 through the 2x2 block x,y");
  // With cp the block is 2 x 6.
  ASSERT_EQ(mesh.dimensions({"tp", "cp"}).size(), 1u);
  expect_dimension(mesh.dimensions({"tp", "cp"})[0], ring, 12, 1, "ring of 12 through the 2x6 block x,y");
}

TEST(Dimensions, AnOddBlockStaysTwoLines) {
  const topologies::Cluster cluster = test::torus({9, 9}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/3", "y/3"}), on("dp", {"rest"})});
  const topologies::GroupDimensions tp = mesh.dimensions({"tp"});
  ASSERT_EQ(tp.size(), 2u);
  expect_dimension(tp[0], line, 3, 1, "line of 3 on x");
  expect_dimension(tp[1], line, 3, 1, "line of 3 on y");
}

TEST(Dimensions, ThreeLinesStayThree) {
  const topologies::Cluster cluster = test::torus({4, 4, 4}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/2", "y/2", "z/2"}), on("dp", {"rest"})});
  EXPECT_EQ(mesh.dimensions({"tp"}).size(), 3u);
  const topologies::GroupDimensions dp = mesh.dimensions({"dp"});
  ASSERT_EQ(dp.size(), 3u);
  for (const topologies::GroupDimension& dimension : dp) EXPECT_EQ(dimension.links_per_hop, 2);
}

/// A line of a wrapped slice beside a whole ring does not make a block.
TEST(Dimensions, OneLineBesideARingStays) {
  const topologies::Cluster cluster = test::torus({4, 8}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x", "y/2"}), on("b", {"rest"})});
  const topologies::GroupDimensions a = mesh.dimensions({"a"});
  ASSERT_EQ(a.size(), 2u);
  expect_dimension(a[0], ring, 4, 1, "ring of 4 on x");
  expect_dimension(a[1], line, 2, 1, "line of 2 on y");
}

/// A v5e slice of 8x4 does not wrap, yet all its chips lie on one ring.
TEST(Dimensions, AWholeUnwrappedSliceIsARingThroughItsBlock) {
  const topologies::Cluster cluster = topologies::build_torus({test::catalog_chip("tpu-v5e"), {8, 4}, {}});
  const topologies::Mesh mesh = test::placed(cluster, {on("all", {"rest"})});
  ASSERT_EQ(mesh.dimensions({"all"}).size(), 1u);
  EXPECT_EQ(mesh.dimensions({"all"})[0].label, "ring of 32 through the 8x4 block x,y");
  EXPECT_EQ(mesh.dimensions({"all"})[0].link, BytesPerSecond(45e9));
}

TEST(Dimensions, AGroupOfOneHasNone) {
  const topologies::Cluster cluster = test::torus({4, 1}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x"}), on("b", {"y"}), on("c", {"rest"})});
  EXPECT_TRUE(mesh.dimensions({"b"}).empty());
  EXPECT_TRUE(mesh.dimensions({"c"}).empty());
  EXPECT_TRUE(mesh.dimensions({}).empty());
}

TEST(Dimensions, AnUnknownAxisIsABug) {
  const topologies::Cluster cluster = test::torus({4}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x"})});
  EXPECT_THROW(static_cast<void>(mesh.dimensions({"a", "b"})), InternalError);
  EXPECT_THROW(static_cast<void>(mesh.groups({"b"})), InternalError);
}

}  // namespace
}  // namespace lockstep
