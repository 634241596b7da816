// Groups inside a torus keep the flows, phases and closed forms of collective.hpp to the last bit.
#include <gtest/gtest.h>

#include "sim/collectives/communicator.hpp"
#include "tests/unit/collectives/network_case.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/cluster/cluster_spec.hpp"

namespace lockstep::test {
namespace {

/// All groups along `axes` with the flows of their lanes.
collectives::Communicator lanes_along(const topologies::Mesh& mesh, const std::vector<std::string>& axes,
                                      topologies::BlockShape block) {
  const auto dimensions = mesh.dimensions(axes, block);
  collectives::Communicator communicator;
  for (const auto& axis : axes) communicator.name += (communicator.name.empty() ? "" : "+") + axis;
  communicator.slots = collectives::SlotLayout(dimensions).total;
  for (const auto& group : mesh.groups(axes, block))
    communicator.groups.push_back({group.members, collectives::flows_of_lanes(group.lanes, dimensions)});
  return communicator;
}

void expect_the_same(const collectives::Communicator& one, const collectives::Communicator& other) {
  EXPECT_EQ(one.name, other.name);
  EXPECT_EQ(one.slots, other.slots);
  ASSERT_EQ(one.groups.size(), other.groups.size());
  for (std::size_t g = 0; g < one.groups.size(); ++g) {
    EXPECT_EQ(one.groups[g].members, other.groups[g].members);
    ASSERT_EQ(one.groups[g].flows.size(), other.groups[g].flows.size());
    for (std::size_t f = 0; f < one.groups[g].flows.size(); ++f) {
      EXPECT_EQ(one.groups[g].flows[f].slot, other.groups[g].flows[f].slot);
      EXPECT_EQ(one.groups[g].flows[f].links, other.groups[g].flows[f].links);
    }
  }
}

TEST(TorusNetwork, SameFlowsPhasesAndTimes) {
  const auto cluster = torus({4, 6, 5}, multiple_of_four);  // a ring and two lines
  const auto mesh = placed(cluster, {on("a", {"x/2", "y/2"}), on("b", {"x"}), on("c", {"y", "z"})});
  const Bytes size(123'456'789);
  for (const std::vector<std::string>& axes :
       {std::vector<std::string>{"a"}, {"b"}, {"c"}, {"a", "b"}, {"a", "b", "c"}}) {
    const collectives::GroupNetwork network(cluster, mesh, axes);
    for (const auto kind : workloads::all_collective_kinds) {
      const auto choice = network.choose(kind, size);
      // The block of y and z, 6x5, has five links at its middle, a ring through it two.
      const bool by_axis = kind == workloads::CollectiveKind::all_to_all && axes.size() == 3;
      const auto block = by_axis ? topologies::BlockShape::lines : topologies::BlockShape::ring;
      const auto dimensions = mesh.dimensions(axes, block);
      EXPECT_EQ(choice.algorithm->name(), by_axis ? "torus all-to-all" : "torus");
      EXPECT_EQ(choice.cost, collectives::cost(kind, dimensions, size));
      const auto phases = collectives::plan(kind, dimensions, size);
      ASSERT_EQ(choice.phases.size(), phases.size());
      for (std::size_t i = 0; i < phases.size(); ++i) {
        EXPECT_EQ(choice.phases[i].latency, phases[i].latency);
        EXPECT_EQ(choice.phases[i].slot_bytes, phases[i].slot_bytes);
      }
      expect_the_same(network.communicator(*choice.algorithm), lanes_along(mesh, axes, block));
    }
  }
}

/// An 8x8x8 torus of 50 GB/s links and 1 us hops as one group.
topologies::ClusterSpec cube() {
  auto fifty = chip(always);
  fifty.torus->link = BytesPerSecond(50e9);
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{fifty, {8, 8, 8}, {}};
  return spec;
}

// Six links bring 2V (N-1)/N to each chip, so nothing beats 2V (N-1)/N / 300e9; 1 GiB must take no more than 1.15 of
// it.
TEST(TorusNetwork, AllReduceOnACubeIsNearItsSixLinkBound) {
  const NetworkCase groups(cube(), "all");
  const double v = 1 << 30;
  const double bound = 2 * v * 511 / 512 / 300e9;
  const double time = groups.simulated(groups.network().choose(workloads::CollectiveKind::all_reduce, Bytes(1 << 30)));
  EXPECT_GE(time, bound);
  EXPECT_LE(time, 1.15 * bound);
}

// Half of the chips send a quarter of V to the other half over 2 x 64 links: V/4 / (128 x 50e9). 1 GiB on each chip.
TEST(TorusNetwork, AllToAllOnACubeIsNearItsBisectionBound) {
  const NetworkCase groups(cube(), "all");
  const Bytes size(std::int64_t{512} << 30);
  const double bound = static_cast<double>(size.value()) / 4 / (128 * 50e9);
  const double time = groups.simulated(groups.network().choose(workloads::CollectiveKind::all_to_all, size));
  EXPECT_GE(time, bound);
  EXPECT_LE(time, 1.5 * bound);
}

// The axes of an UltraServer: each chip receives V (N-1)/N over two links of 128, two of 128 and two of 64 GB/s, which
// no algorithm beats; shares in proportion to the rates of the axes come within a tenth of it.
TEST(TorusNetwork, AxesOfDifferentRatesShareByTheirRates) {
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{catalog_chip("trainium2"), {4, 4, 4}, {}};
  const NetworkCase groups(spec, "all");
  const double v = std::int64_t{64} << 30;
  const double bound = v * 63 / 64 / (2 * (128e9 + 128e9 + 64e9));
  const double time =
      groups.simulated(groups.network().choose(workloads::CollectiveKind::all_gather, Bytes(std::int64_t{64} << 30)));
  EXPECT_GE(time, bound);
  EXPECT_LE(time, 1.1 * bound);
}

// Such a slice keeps the order of its axes and is not twisted.
TEST(TorusNetwork, SlicesOfDifferentRatesKeepTheOrderOfTheirAxes) {
  auto chip = catalog_chip("trainium2");
  chip.torus->pod = {8, 4, 4};
  EXPECT_EQ(topologies::why_not_a_slice({chip, {8, 4, 4}, {}}), "");
  EXPECT_EQ(topologies::why_not_a_slice({chip, {4, 4, 8}, {}}),
            "4x4x8 does not fit the pod of 8x4x4, whose axes have links of different rates");
  EXPECT_EQ(topologies::why_not_a_slice({chip, {8, 4, 4}, {}, true}),
            "8x4x4 cannot be twisted, since its axes have links of different rates");
}

}  // namespace
}  // namespace lockstep::test
