// One group of each orbit costs what all groups cost. On every placement of random axes over small clusters:
//   cost of a collective by any algorithm,   from one group of each orbit  =  from all groups
//   load of links by the groups of a stage,  likewise, of the stages that differ
//   transfers between two stages,            from one line of each orbit   =  from all lines
// to the last bit, since the same numbers of crossings are counted.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/slot_loads.hpp"
#include "sim/collectives/stage_pairs.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

struct ClusterCase {
  std::string name;
  topologies::ClusterSpec spec;
};

std::vector<ClusterCase> clusters() {
  auto mesh = test::node();
  mesh.scale_up = topologies::NodeSpec::ScaleUp::full_mesh;
  auto summing = test::node(4, 4);
  summing.in_network_reduction = true;
  summing.protocols = {{"slow", 0.95, Seconds(4e-6), Seconds(2e-6), Seconds(3e-6), Seconds(0)},
                       {"quick", 0.4, Seconds(1e-6), Seconds(1e-6), Seconds(1e-6), Seconds(0)}};
  return {{"two tiers", test::nodes(16, test::fabric(topologies::FatTree{}, 8))},
          {"three tiers, two to one", test::nodes(24, test::fabric(topologies::FatTree{}, 8, {2, 1.5}))},
          {"rails", test::nodes(16, test::fabric(topologies::RailOptimised{}, 8))},
          {"rails that sum", test::nodes(12, test::fabric(topologies::RailOptimised{}, 8, {2}), summing)},
          {"crossbar", test::nodes(12, test::fabric(topologies::Crossbar{}))},
          {"chips in a full mesh", test::nodes(8, test::fabric(topologies::FatTree{}, 8), mesh)},
          {"one node", test::nodes(1, test::fabric(topologies::Crossbar{}))},
          {"six chips, three NICs", test::nodes(6, test::fabric(topologies::FatTree{}, 12), test::node(6, 3))}};
}

/// Sizes of three axes that multiply to the chips: tensor, data, pipeline.
std::vector<topologies::AxisRequest> random_axes(int chips, std::mt19937& random) {
  const auto divisor = [&](int of) {
    std::vector<int> all;
    for (int size = 1; size <= of; ++size) {
      if (of % size == 0) all.push_back(size);
    }
    return all[random() % all.size()];
  };
  const int tensor = divisor(chips), data = divisor(chips / tensor);
  std::vector<topologies::AxisRequest> axes;
  for (const auto& [name, size] :
       {std::pair{"tensor", tensor}, std::pair{"data", data}, std::pair{"pipeline", chips / tensor / data}}) {
    if (size > 1) axes.push_back({name, size, std::nullopt});
  }
  return axes;
}

class GroupOrbitsTest : public testing::TestWithParam<ClusterCase> {
 protected:
  void expect_same_costs(const topologies::Mesh& mesh, const std::string& axis) const {
    const collectives::GroupNetwork all(cluster_, mesh, {axis});
    const topologies::GroupOrbits orbits(cluster_, symmetry_, mesh.factors(axis));
    const collectives::GroupNetwork one(cluster_, orbits);
    fewer_ += orbits.groups().size() < mesh.groups({axis}).size() ? 1 : 0;
    for (const auto kind : {workloads::CollectiveKind::all_gather, workloads::CollectiveKind::all_reduce,
                            workloads::CollectiveKind::all_to_all, workloads::CollectiveKind::point_to_point}) {
      for (const std::int64_t size : {4096, 100'000'000}) {
        const auto expected = all.choices(kind, Bytes(size)), found = one.choices(kind, Bytes(size));
        ASSERT_EQ(expected.size(), found.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(expected[i].cost, found[i].cost) << expected[i].label << ' ' << mesh.to_string();
          EXPECT_EQ(expected[i].protocol, found[i].protocol);
          if (mesh.has_axis("pipeline") && axis != "pipeline") expect_same_loads(mesh, all, expected[i], axis);
        }
      }
    }
  }

  using Loads = std::set<std::set<std::pair<std::vector<std::pair<std::int32_t, std::int32_t>>, double>>>;
  static Loads loads_of(const collectives::SlotLoads& made) {
    Loads loads;
    for (const auto& of_class : made.of_class) {
      std::set<std::pair<std::vector<std::pair<std::int32_t, std::int32_t>>, double>> own;
      for (const auto number : of_class) {
        const auto& load = made.loads[static_cast<std::size_t>(number)];
        own.insert({load.crossings, load.bandwidth.value()});
      }
      loads.insert(std::move(own));
    }
    return loads;
  }

  /// Of each stage by itself: the different loads of its links.
  void expect_same_loads(const topologies::Mesh& mesh, const collectives::GroupNetwork& all,
                         const collectives::CollectiveChoice& choice, const std::string& axis) const {
    std::vector<std::int32_t> stage_of_device(static_cast<std::size_t>(cluster_.devices()));
    for (const auto& line : collectives::pipeline_lines(mesh)) {
      for (std::size_t stage = 0; stage < line.size(); ++stage)
        stage_of_device[static_cast<std::size_t>(mesh.device_of(line[stage]))] = static_cast<std::int32_t>(stage);
    }
    const auto bandwidth = [&](topologies::LinkId link) { return cluster_.link(link).bandwidth; };
    const auto& everything = all.communicator(*choice.algorithm);
    std::vector<std::int32_t> stages;
    for (const auto& group : everything.groups)
      stages.push_back(stage_of_device[static_cast<std::size_t>(mesh.device_of(group.members.front()))]);

    const topologies::GroupOrbits orbits(cluster_, symmetry_, mesh.factors(axis), mesh.factors("pipeline"));
    const collectives::GroupNetwork network(cluster_, orbits);
    const auto& some = network.communicator(*choice.algorithm);
    std::vector<std::int32_t> classes;
    std::vector<std::int32_t> class_of_stage(stages.size(), -1);
    std::int32_t count = 0;
    for (const auto& group : some.groups) {
      auto& own =
          class_of_stage[static_cast<std::size_t>(stage_of_device[static_cast<std::size_t>(group.members.front())])];
      if (own < 0) own = count++;
      classes.push_back(own);
    }
    EXPECT_EQ(loads_of(slot_loads(everything, bandwidth, stages)),
              loads_of(slot_loads(some, bandwidth, classes, &orbits)))
        << choice.label << ' ' << mesh.to_string();
  }

  void expect_same_transfers(const topologies::Mesh& mesh) const {
    const auto lines = collectives::pipeline_lines(mesh);
    const topologies::GroupOrbits orbits(cluster_, symmetry_, mesh.factors("pipeline"));
    const auto stages = static_cast<std::int32_t>(lines.front().size());
    for (std::int32_t stage = 0; stage < stages; ++stage) {
      const auto [low, high] = std::minmax({stage, (stage + 1) % stages});
      const auto expected = collectives::connect_stages(cluster_, mesh, lines, low, high).routes;
      const auto found = collectives::connect_stages(cluster_, orbits, low, high);
      EXPECT_EQ(expected.latency, found.latency) << mesh.to_string();
      EXPECT_EQ(expected.seconds_per_byte, found.seconds_per_byte) << mesh.to_string();
    }
  }

  topologies::Cluster cluster_ = build_cluster(GetParam().spec);
  topologies::ClusterSymmetry symmetry_{cluster_};
  mutable int fewer_ = 0;  ///< times that one group stood for several
};

TEST_P(GroupOrbitsTest, OneOfEachOrbitStandsForAll) {
  ASSERT_TRUE(symmetry_.any());
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const auto placements = every_placement(cluster_, random_axes(cluster_.devices(), random));
    const auto& all = std::get<0>(placements);
    for (int some = 0; some < 4; ++some) {
      const topologies::Mesh mesh(cluster_, all[random() % all.size()], "");
      for (const auto& axis : mesh.axes()) expect_same_costs(mesh, axis.name);
      if (mesh.has_axis("pipeline")) expect_same_transfers(mesh);
    }
  }
  EXPECT_GT(fewer_, 20);
}

INSTANTIATE_TEST_SUITE_P(Clusters, GroupOrbitsTest, testing::ValuesIn(clusters()), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace lockstep
