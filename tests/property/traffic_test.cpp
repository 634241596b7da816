// What the links carry is what the collective must move. In a group of N with an array of V bytes
//   all-gather:      every member receives the N-1 shards it lacks, V (N-1)/N;
//   reduce-scatter:  every member hands on V (N-1)/N of partial sums;
//   all-reduce:      both, one after the other;
//   all-to-all:      every member sends what is the others', V (N-1)/N^2, over at least one hop.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/collectives/collective.hpp"
#include "tests/property/scenario_grid.hpp"

namespace lockstep {
namespace {

struct Moved {
  std::map<topologies::DeviceId, double> sent, received;
};

/// Bytes over every hop of the group's rings and lines, by the devices at its ends.
Moved moved_by(const collectives::Phase& phase, const topologies::Group& group,
               const collectives::Dimensions& dimensions, const topologies::Cluster& cluster) {
  const collectives::SlotLayout slots(dimensions);
  Moved moved;
  for (const auto& lane : group.lanes) {
    const bool ring =
        dimensions[static_cast<std::size_t>(lane.dimension)].shape == topologies::GroupDimension::Shape::ring;
    const auto hops = lane.hops();
    for (std::size_t hop = 0; hop < hops.size(); ++hop) {
      const auto slot = ring ? slots.ring(lane.dimension, lane.direction)
                             : slots.hop(lane.dimension, lane.direction, static_cast<int>(hop));
      const double bytes = phase.slot_bytes[static_cast<std::size_t>(slot)];
      moved.sent[cluster.link(hops[hop].front()).from] += bytes;
      moved.received[cluster.link(hops[hop].back()).to] += bytes;
    }
  }
  return moved;
}

void expect_all(const std::map<topologies::DeviceId, double>& by_device, std::size_t members, double bytes) {
  ASSERT_EQ(by_device.size(), members);
  for (const auto& [device, moved] : by_device) EXPECT_NEAR(moved / bytes, 1, 1e-12) << "device " << device;
}

void expect_moves(const workloads::StepOp& op, const topologies::Group& group,
                  const collectives::Dimensions& dimensions, const topologies::Cluster& cluster) {
  const auto phases = collectives::plan(op->collective, dimensions, op->full_size);
  const auto members = group.members.size();
  const double n = static_cast<double>(members);
  const double lacking = static_cast<double>(op->full_size.value()) * (n - 1) / n;
  switch (op->collective) {
    case workloads::CollectiveKind::all_gather:
      ASSERT_EQ(phases.size(), 1u);
      return expect_all(moved_by(phases[0], group, dimensions, cluster).received, members, lacking);
    case workloads::CollectiveKind::reduce_scatter:
      ASSERT_EQ(phases.size(), 1u);
      return expect_all(moved_by(phases[0], group, dimensions, cluster).sent, members, lacking);
    case workloads::CollectiveKind::all_reduce:
      ASSERT_EQ(phases.size(), 2u);
      expect_all(moved_by(phases[0], group, dimensions, cluster).sent, members, lacking);
      return expect_all(moved_by(phases[1], group, dimensions, cluster).received, members, lacking);
    case workloads::CollectiveKind::all_to_all: {
      double sent = 0;
      for (const auto& phase : phases) {
        for (const auto& [device, bytes] : moved_by(phase, group, dimensions, cluster).sent) sent += bytes;
      }
      EXPECT_GE(sent, lacking * (1 - 1e-12));
      return;
    }
    case workloads::CollectiveKind::broadcast:
    case workloads::CollectiveKind::reduce:
    case workloads::CollectiveKind::point_to_point: FAIL() << "no plan of the grid derives " << op->name;
  }
}

class Traffic : public testing::TestWithParam<test::GridRow> {};

TEST_P(Traffic, IsWhatTheCollectivesMustMove) {
  std::set<workloads::CollectiveKind> kinds;
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.to_string());
    const auto preparation = preparation::prepare_step(one.load());
    std::map<workloads::AxisNames, std::vector<topologies::Group>> groups;
    for (workloads::OpId id = 0; id < preparation.step.size(); ++id) {
      const auto& op = preparation.step.op(id);
      if (op->kind != workloads::StepOp::Kind::collective) continue;
      kinds.insert(op->collective);
      const auto dimensions = preparation.machine.mesh->dimensions(op->axes);
      auto& of_axes = groups.try_emplace(op->axes, std::vector<topologies::Group>{}).first->second;
      if (of_axes.empty()) of_axes = preparation.machine.mesh->groups(op->axes);
      for (const auto& group : of_axes) expect_moves(op, group, dimensions, *preparation.machine.cluster);
      if (HasFailure()) return;
    }
  }
  EXPECT_TRUE(kinds.contains(workloads::CollectiveKind::all_gather));
  EXPECT_TRUE(kinds.contains(workloads::CollectiveKind::reduce_scatter));
  EXPECT_TRUE(kinds.contains(workloads::CollectiveKind::all_reduce));
}

INSTANTIATE_TEST_SUITE_P(Grid, Traffic, testing::ValuesIn(test::grid()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep
