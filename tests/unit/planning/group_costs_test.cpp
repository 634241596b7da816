// Costs of collectives by where their groups lie. Without a pipeline all groups run at the same time, and the cost is
// CollectiveModel's closed form; with one, groups of other stages may rest, and the cost is at most that.
#include "sim/studies/planning/group_costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

constexpr std::uint32_t tensor_bit = 1, data_bit = 1U << planning::data_axis,
                        pipeline_bit = 1U << planning::pipeline_axis_number;

const SmallSpace eight_chips{.cluster = "tpu-v5p:4x2",
                             .search = "tensor: [1, 2, 4], pipeline: [1, 2, 4], zero: 0, recompute: none"};

/// Collectives along one axis, of kinds and sizes that differ, numbered from 0.
planning::CollectiveList along(std::uint32_t axes) {
  planning::CollectiveList list;
  for (const auto kind : {workloads::CollectiveKind::all_gather, workloads::CollectiveKind::reduce_scatter,
                          workloads::CollectiveKind::all_reduce, workloads::CollectiveKind::all_to_all}) {
    for (const std::int64_t size : {64, 1 << 16, 1 << 24}) {
      list.numbers.push_back(static_cast<std::int32_t>(list.collectives.size() + 100 * axes));
      list.collectives.push_back({kind, axes, Bytes(size), {}});
    }
  }
  return list;
}

/// Those of the axes that a node has.
std::vector<planning::CollectiveList> lists_of(const planning::PlanSpace::Node& node) {
  std::vector<planning::CollectiveList> lists;
  for (const int axis : {0, planning::data_axis, planning::pipeline_axis_number}) {
    if (size_of(node.degrees, axis) > 1) lists.push_back(along(1U << axis));
  }
  return lists;
}

std::string axis_of(const planning::CollectiveList& list) {
  const auto bits = list.collectives.front().axes;
  return bits == tensor_bit ? "tensor" : bits == data_bit ? "data" : "pipeline";
}

TEST(PlacementSetsTest, SplitByOneNumberAfterTheOther) {
  planning::PlacementSets sets(5);
  EXPECT_THAT(sets.which, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(sets.first, ElementsAre(0));
  sets.tell_apart({1, 0, 1, 0, 1}, 2);
  EXPECT_THAT(sets.which, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(sets.first, ElementsAre(0, 1));
  sets.tell_apart({0, 0, 0, 0, 0}, 1);  // tells nothing apart
  EXPECT_THAT(sets.which, ElementsAre(0, 1, 0, 1, 0));
  sets.tell_apart({2, 0, 2, 1, 0}, 3);
  EXPECT_THAT(sets.which, ElementsAre(0, 1, 0, 2, 3));
  EXPECT_THAT(sets.first, ElementsAre(0, 1, 3, 4));
}

// Two placements are in one set if, and only if, all numbers given for them are equal, and sets are numbered in the
// order of their first placements.
TEST(PlacementSetsTest, HoldPlacementsWithEqualNumbers) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + random() % 12;
    planning::PlacementSets sets(count);
    std::vector<std::vector<std::int32_t>> numbers(count);
    for (int splits = 0; splits < 3; ++splits) {
      const std::size_t most = 1 + random() % 3;
      std::vector<std::int32_t> by;
      for (std::size_t i = 0; i < count; ++i) {
        by.push_back(static_cast<std::int32_t>(random() % most));
        numbers[i].push_back(by.back());
      }
      sets.tell_apart(by, most);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < i; ++k) EXPECT_EQ(sets.which[i] == sets.which[k], numbers[i] == numbers[k]);
      const auto first = sets.first[static_cast<std::size_t>(sets.which[i])];
      EXPECT_LE(first, static_cast<std::int32_t>(i));
      EXPECT_EQ(sets.which[static_cast<std::size_t>(first)], sets.which[i]);
    }
    EXPECT_TRUE(std::is_sorted(sets.first.begin(), sets.first.end()));
  }
}

TEST(ByPlacementTest, GivesEachPlacementItsValue) {
  const planning::ByPlacement<std::string> values{{"near", "far"}, {1, 0, 1}};
  EXPECT_EQ(values.of(0), "far");
  EXPECT_EQ(values.of(1), "near");
  EXPECT_EQ(values.of(2), "far");
}

// Three stages: pairs (0, 1), (1, 2) and, last, (0, 2).
TEST(StagesAlongTest, TransfersLieBetweenNeighboursAndTheTwoEnds) {
  const planning::StagesAlong::Times times{{1, 2, 9}, {4, 5, 8}};
  EXPECT_EQ(times.between(0, 1), 1);
  EXPECT_EQ(times.between(1, 2), 2);
  EXPECT_EQ(times.between(1, 0), 4);
  EXPECT_EQ(times.between(2, 1), 5);
  EXPECT_EQ(times.between(0, 2), 9);
  EXPECT_EQ(times.between(2, 0), 8);
  EXPECT_EQ(times.between(1, 1), 0);
}

// Two nodes of eight GPUs, tensor parallelism inside them: of V bytes that the two ranks of a rail gather, each sends
// V/2 through its own port, 50 GB/s of which this network keeps 0.91; of an all-reduce V. What stays inside a node
// fills no port. On a torus no rank has a port.
TEST(NetworkPortsTest, AreFullForTheBytesThatLeaveTheNode) {
  const planning::PlanSpace space(
      SmallSpace{.cluster = "h100:2", .sequences = 32, .search = "tensor: 8, pipeline: 1, zero: 0, recompute: none"}
          .load());
  ASSERT_EQ(space.nodes().size(), 1u);
  planning::CostBook book(space);
  constexpr std::int64_t bytes = std::int64_t{1} << 32;
  const double half = static_cast<double>(bytes) / 2 / (0.91 * 50e9);
  planning::CollectiveList list;
  list.collectives = {{workloads::CollectiveKind::all_gather, data_bit, Bytes(bytes), {}},
                      {workloads::CollectiveKind::all_reduce, data_bit, Bytes(bytes), {}},
                      {workloads::CollectiveKind::all_gather, tensor_bit, Bytes(bytes), {}}};
  list.numbers = {0, 1, 2};
  const auto& placements = space.nodes().front().placements;
  bool compared = false;
  const auto costs = book.costs(0, list);
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const auto& tensor = placements[i].front().factors;
    if (tensor.size() != 1 || space.cluster().axes()[tensor.front().axis].name != "gpu") continue;
    compared = true;
    const auto& own = costs.of(static_cast<std::int32_t>(i));
    EXPECT_NEAR(own.of_network[0], half, 1e-9);
    EXPECT_NEAR(own.of_network[1], 2 * half, 1e-9);
    EXPECT_EQ(own.of_network[2], 0);
    for (std::size_t one = 0; one < 3; ++one) EXPECT_LE(own.of_network[one], own.alone[one]);
  }
  EXPECT_TRUE(compared);
  EXPECT_FALSE(planning::NetworkPorts(planning::PlanSpace(eight_chips.load()).cluster()).any());
}

// Four stages on a ring of four chips: one link of 90 GB/s and 1 us.
TEST(StagesAlongTest, NeighboursOnARingSendOverOneLink) {
  const planning::PlanSpace space(SmallSpace{.search = "tensor: 1, pipeline: 4, zero: 0, recompute: none"}.load());
  ASSERT_EQ(space.nodes().size(), 1u);
  const planning::StagesAlong stages(space, space.nodes().front().placements.front());
  EXPECT_EQ(stages.stages(), 4);
  std::vector<int> devices(4, 0);
  for (topologies::DeviceId device = 0; device < 4; ++device)
    ++devices[static_cast<std::size_t>(stages.stage_of(device))];
  EXPECT_THAT(devices, ElementsAre(1, 1, 1, 1));
  for (const std::int64_t bytes : {9'000, 9'000'000}) {
    const double expected = 1e-6 + static_cast<double>(bytes) / 90e9;
    for (int stage = 0; stage < 3; ++stage) {
      EXPECT_NEAR(stages.times(bytes).between(stage, stage + 1), expected, 1e-12);
      EXPECT_NEAR(stages.times(bytes).between(stage + 1, stage), expected, 1e-12);
    }
  }
  EXPECT_EQ(&stages.times(9'000), &stages.times(9'000));
}

class CostBookTest : public testing::Test {
 protected:
  /// The closed form on one placement.
  [[nodiscard]] double closed_form(const planning::PlanSpace::Placement& placement,
                                   const planning::CollectiveList& list, std::size_t i) {
    const topologies::Mesh mesh(space_.cluster(), placement, "");
    collectives::CollectiveModel model(space_.cluster(), mesh, space_.base().collectives);
    return model.cost(list.collectives[i].kind, {axis_of(list)}, list.collectives[i].size).value();
  }

  /// Visits every node's lists on every placement.
  template <class Visit>
  void for_each_cost(Visit visit) {
    for (std::int32_t number = 0; number < std::ssize(space_.nodes()); ++number) {
      const auto& node = space_.nodes()[static_cast<std::size_t>(number)];
      for (const auto& list : lists_of(node)) {
        const auto costs = book_.costs(number, list);
        ASSERT_EQ(costs.which.size(), node.placements.size());
        for (std::size_t placement = 0; placement < node.placements.size(); ++placement) {
          const auto& own = costs.of(static_cast<std::int32_t>(placement)).alone;
          ASSERT_EQ(own.size(), list.collectives.size());
          for (std::size_t i = 0; i < own.size(); ++i) visit(number, list, i, placement, own[i]);
        }
      }
    }
  }

  planning::PlanSpace space_{eight_chips.load()};
  planning::CostBook book_{space_};
};

TEST_F(CostBookTest, AreClosedFormsWhereAllGroupsRunTogether) {
  int alone = 0, below = 0;
  for_each_cost([&](std::int32_t number, const planning::CollectiveList& list, std::size_t i, std::size_t placement,
                    double cost) {
    const auto& node = space_.nodes()[static_cast<std::size_t>(number)];
    const double whole = closed_form(node.placements[placement], list, i);
    if (node.degrees.pipeline == 1 || list.collectives[i].axes == pipeline_bit) {
      EXPECT_EQ(cost, whole);
      ++alone;
    } else {
      EXPECT_LE(cost, whole * (1 + 1e-12));
      EXPECT_GT(cost, 0);
      ++below;
    }
  });
  EXPECT_GT(alone, 0);
  EXPECT_GT(below, 0);
}

TEST_F(CostBookTest, TheLeastIsThatOfTheBestPlacementOfEach) {
  for (std::int32_t number = 0; number < std::ssize(space_.nodes()); ++number) {
    for (const auto& list : lists_of(space_.nodes()[static_cast<std::size_t>(number)])) {
      const auto costs = book_.costs(number, list);
      const auto least = book_.least_costs(number, list).alone;
      ASSERT_EQ(least.size(), list.collectives.size());
      for (std::size_t i = 0; i < least.size(); ++i) {
        double expected = costs.different.front().alone[i];
        for (const auto& one : costs.different) expected = std::min(expected, one.alone[i]);
        EXPECT_EQ(least[i], expected);
      }
    }
  }
}

TEST_F(CostBookTest, PlacementsWithEqualCostsAreStoredOnce) {
  for (std::int32_t number = 0; number < std::ssize(space_.nodes()); ++number) {
    for (const auto& list : lists_of(space_.nodes()[static_cast<std::size_t>(number)])) {
      const auto costs = book_.costs(number, list);
      for (std::size_t a = 0; a < costs.different.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) EXPECT_NE(costs.different[a], costs.different[b]);
      }
    }
  }
}

TEST_F(CostBookTest, StagesAreThereWithAPipelineOnly) {
  bool shared = false;
  std::set<const planning::StagesAlong*> all;
  for (std::int32_t number = 0; number < std::ssize(space_.nodes()); ++number) {
    const auto& node = space_.nodes()[static_cast<std::size_t>(number)];
    const auto& stages = book_.stages(number);
    ASSERT_EQ(stages.which.size(), node.placements.size());
    for (std::size_t placement = 0; placement < node.placements.size(); ++placement) {
      const auto* const along = stages.of(static_cast<std::int32_t>(placement));
      if (node.degrees.pipeline == 1) {
        EXPECT_EQ(along, nullptr);
        continue;
      }
      ASSERT_NE(along, nullptr);
      EXPECT_EQ(along->stages(), node.degrees.pipeline);
      shared = shared || !all.insert(along).second;
    }
  }
  EXPECT_TRUE(shared);  // nodes that differ in other axes
}

TEST_F(CostBookTest, GroupsForgottenAndMadeAgainCostTheSame) {
  for (const auto& node : space_.nodes()) {
    if (node.degrees.data == 1) continue;
    planning::GroupsAlong groups(space_, node.placements.front(), data_bit);
    EXPECT_FALSE(groups.made());
    const auto list = along(data_bit);
    std::vector<Seconds> first;
    for (const auto& one : list.collectives) first.push_back(groups.cost(one));
    EXPECT_TRUE(groups.made());
    groups.forget();
    EXPECT_FALSE(groups.made());
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(groups.cost(list.collectives[i]), first[i]);
  }
}

TEST_F(CostBookTest, ANumberIsCostedOnce) {
  for (const auto& node : space_.nodes()) {
    if (node.degrees.pipeline > 1 || node.degrees.data == 1) continue;
    planning::GroupsAlong groups(space_, node.placements.front(), data_bit);
    const planning::NetworkPorts ports(space_.cluster());
    planning::GroupCosts costs(space_, ports, groups, nullptr);
    const auto list = along(data_bit);
    EXPECT_FALSE(costs.knows(7));
    const auto cost = costs.cost(7, list.collectives.front());
    EXPECT_TRUE(costs.knows(7));
    EXPECT_FALSE(costs.knows(8));
    groups.forget();
    EXPECT_EQ(costs.cost(7, list.collectives.front()), cost);
    EXPECT_FALSE(groups.made());
  }
}

}  // namespace
}  // namespace lockstep::test
