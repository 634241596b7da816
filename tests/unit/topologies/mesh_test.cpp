#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep {
namespace {

using test::on;

TEST(Mesh, RanksAndDevicesAreOneToOne) {
  const topologies::Cluster cluster = test::torus({4, 6, 2}, test::multiple_of_four);
  const topologies::Mesh mesh = test::placed(cluster, {on("tp", {"x/2", "y/3"}), on("dp", {"rest"})});
  ASSERT_EQ(mesh.ranks(), 48);
  for (topologies::RankId rank = 0; rank < 48; ++rank) EXPECT_EQ(mesh.rank_of(mesh.device_of(rank)), rank);
  for (topologies::DeviceId device = 0; device < 48; ++device) EXPECT_EQ(mesh.device_of(mesh.rank_of(device)), device);
}

/// x of 4: a = x/2 (stride 1) is written first, so it is the slow digit: rank = 2a + b stands at x = a + 2b.
TEST(Mesh, RanksCountRowMajorOverTheAxes) {
  const topologies::Cluster cluster = test::torus({4}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x/2"}), on("b", {"x"})});
  EXPECT_EQ(mesh.device_of(0), 0);
  EXPECT_EQ(mesh.device_of(1), 2);
  EXPECT_EQ(mesh.device_of(2), 1);
  EXPECT_EQ(mesh.device_of(3), 3);
}

TEST(Mesh, KnowsItsAxes) {
  const topologies::Cluster cluster = test::torus({4, 2}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x"}), on("b", {"y"})});
  EXPECT_TRUE(mesh.has_axis("a"));
  EXPECT_FALSE(mesh.has_axis("x"));
  EXPECT_EQ(mesh.axis("b").size(), 2);
  EXPECT_THROW(static_cast<void>(mesh.axis("c")), InternalError);
}

/// 8 on x and 2 on y: the nearest are those along y, then along x. Groups of 4 of all 16 are two on x by two on y; a
/// part and what it leaves of the axis take every position once.
TEST(Mesh, APartOfAnAxisIsItsNeighbours) {
  const topologies::Cluster cluster = test::torus({8, 2}, test::always);
  const topologies::Mesh mesh = test::placed(cluster, {on("a", {"x", "y"})});
  EXPECT_EQ(mesh.factors("a/2"), (std::vector<topologies::Factor>{{0, 1, 1}, {1, 2, 1}}));
  EXPECT_EQ(mesh.factors("a/4"), (std::vector<topologies::Factor>{{0, 2, 1}, {1, 2, 1}}));
  EXPECT_EQ(mesh.factors("a/16"), mesh.factors("a"));
  EXPECT_THROW(static_cast<void>(mesh.factors("a/3")), InternalError);
  EXPECT_THROW(static_cast<void>(mesh.factors("b/2")), InternalError);
  for (const int size : {1, 2, 4, 8, 16}) {
    std::vector<int> seen(16, 0);
    const auto groups = mesh.groups({topologies::part_name("a", size)});
    EXPECT_EQ(groups.size(), 16U / static_cast<unsigned>(size));
    for (const auto& group : groups) {
      EXPECT_EQ(group.members.size(), static_cast<unsigned>(size));
      for (const auto rank : group.members) ++seen[static_cast<std::size_t>(rank)];
    }
    EXPECT_EQ(seen, std::vector<int>(16, 1));
  }
}

TEST(Mesh, RefusesAxesThatOverlapOrLeaveGaps) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  const auto build = [&](std::vector<topologies::Factor> factors) {
    static_cast<void>(topologies::Mesh(cluster, {{"a", std::move(factors)}}, ""));
  };
  EXPECT_NO_THROW(build({{0, 4, 1}, {1, 2, 1}, {1, 2, 2}}));
  EXPECT_THROW(build({{0, 4, 1}}), InternalError);                        // y is left over
  EXPECT_THROW(build({{0, 4, 1}, {1, 2, 1}, {1, 2, 1}}), InternalError);  // the same half twice
  EXPECT_THROW(build({{0, 4, 1}, {1, 2, 1}, {1, 2, 4}}), InternalError);  // beyond the axis
  EXPECT_THROW(build({{0, 4, 1}, {1, 8, 1}}), InternalError);             // too long
  EXPECT_THROW(build({{0, 4, 1}, {2, 4, 1}}), InternalError);             // no such axis
}

TEST(Mesh, PrintsItself) {
  const topologies::Cluster cluster = topologies::build_torus({test::catalog_chip("tpu-v5p"), {16, 20, 28}, {}});
  const auto axes = place_as_requested(cluster, {on("fsdp", {"rest"}), on("tp", {"x/2", "y/2"}), on("pp", {"z/1"})});
  EXPECT_EQ(
      topologies::Mesh(cluster, std::get<std::vector<topologies::MeshAxis>>(axes), "as requested").to_string(),
      "mesh of 8960 ranks on tpu-v5p 16x20x28, as requested\n"
      "  fsdp  2240 = x/8 (stride 2) * y/10 (stride 2) * z/28   ring of 8 on x (hop 2 links, 2 rings share each link), "
      "ring of 10 on y (hop 2 links, 2 rings share each link), ring of 28 on z\n"
      "  tp       4 = x/2 * y/2                                 ring of 4 through the 2x2 block x,y\n"
      "  pp       1 = z/1                                       nothing to exchange\n");
}

}  // namespace
}  // namespace lockstep
