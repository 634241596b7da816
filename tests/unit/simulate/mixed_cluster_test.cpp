// Clusters of nodes of several kinds. The chip of a rank is a fact of the cluster; an operation has a time on each kind
// of chip, and ranks on different kinds fold into different classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "sim/simulate.hpp"
#include "sim/studies/planning/plan_space.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The network of eight H100, and other chips.
std::string with_chip(const std::string& chip) { return "{like: dgx-h100, chip: " + chip + "}"; }
std::string groups_of(const std::string& first, const std::string& second) {
  return "{groups: [{node: " + first + ", nodes: 1}, {node: " + second + ", nodes: 1}]}";
}

scenario::Scenario on(const std::string& cluster, const test::Keys& more = {}) {
  test::Keys keys{{"model", "{type: two-matmul, layers: 12, d_model: 4096, d_ff: 16384}"},
                  {"cluster", cluster},
                  {"parallel", "{data: 16}"},
                  {"batch", "{sequences: 64, sequence_length: 512, microbatches: 4}"}};
  keys.insert(keys.end(), more.begin(), more.end());
  test::Keys last;
  for (const auto& key : keys) {
    std::erase_if(last, [&](const auto& one) { return one.first == key.first; });
    last.push_back(key);
  }
  return test::small_scenario(last);
}

Simulation run(const scenario::Scenario& scenario) {
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, log);
}

/// One node for each stage, data parallel inside it.
test::Keys two_stages(const std::string& layers = "") {
  return {{"parallel", "{data: 8, pipeline: 2}"},
          {"mesh", "{pipeline: [node], data: [gpu]}"},
          {"pipeline", "{schedule: 1f1b" + (layers.empty() ? "" : ", layers: " + layers) + "}"}};
}

// Two kinds that are equal are one: the same time to the last bit, and as many classes of ranks.
TEST(MixedCluster, EqualKindsAreThePlainCluster) {
  for (const auto& keys : {test::Keys{}, two_stages(), {{"parallel", "{fsdp: 16}"}}}) {
    const auto plain = run(on("{node: dgx-h100, nodes: 2}", keys));
    const auto mixed = run(on(groups_of("dgx-h100", "dgx-h100"), keys));
    EXPECT_EQ(mixed.metrics.step_time, plain.metrics.step_time);
    EXPECT_EQ(mixed.ranks.count(), plain.ranks.count());
    EXPECT_EQ(mixed.metrics.mfu(), plain.metrics.mfu());
  }
}

// Data replicas on two kinds of chips with the same network: gradients are added up when the slower replica has them,
// so the step is that of a cluster of the slower chip alone. Its ranks are in a class of their own.
TEST(MixedCluster, TheSlowestReplicaDecides) {
  const auto fast = run(on("{node: dgx-h100, nodes: 2}"));
  const auto slow = run(on("{node: " + with_chip("a100") + ", nodes: 2}"));
  const auto mixed = run(on(groups_of("dgx-h100", with_chip("a100"))));
  EXPECT_LT(fast.metrics.step_time, slow.metrics.step_time);
  EXPECT_NEAR(mixed.metrics.step_time.value(), slow.metrics.step_time.value(), 1e-12);
  EXPECT_EQ(mixed.ranks.count(), slow.ranks.count() + 1);
  EXPECT_EQ(run(on(groups_of(with_chip("a100"), "dgx-h100"))).metrics.step_time, mixed.metrics.step_time);
}

// Utilisation is of the sum of the peaks: F / (T (8 x 989 + 8 x 312) TFLOP/s).
TEST(MixedCluster, UtilisationIsOfTheSumOfPeaks) {
  const auto& metrics = run(on(groups_of("dgx-h100", with_chip("a100")))).metrics;
  EXPECT_NEAR(metrics.mfu(), metrics.model_flops.value() / metrics.step_time.value() / (8 * 989e12 + 8 * 312e12),
              1e-12);
}

// What fits is judged by the chip that a stage stands on: 80 GB of an H100, 40 GB of the smaller A100.
TEST(MixedCluster, MemoryIsThatOfEachStagesChip) {
  const auto simulation = run(on(groups_of("dgx-h100", with_chip("a100-40gb")), two_stages()));
  ASSERT_EQ(simulation.metrics.stages.size(), 2u);
  EXPECT_EQ(simulation.metrics.stages[0].memory.capacity, Bytes(80'000'000'000));
  EXPECT_EQ(simulation.metrics.stages[1].memory.capacity, Bytes(40'000'000'000));
  const auto replicas = run(on(groups_of("dgx-h100", with_chip("a100-40gb"))));
  EXPECT_EQ(replicas.metrics.memory.capacity, Bytes(40'000'000'000));
}

// 12 equal layers at 989 and 312 TFLOP/s: 9 and 3 take 9/989 and 3/312, the longer of which is the least of all splits
// (10 and 2: 10/989). The stages are then within 6 % of each other, where 6 and 6 differ by a factor of 3.2.
TEST(MixedCluster, LayersBySpeedBalanceTheStages) {
  const auto cluster = groups_of("dgx-h100", with_chip("a100"));
  const auto even = run(on(cluster, two_stages()));
  const auto by_speed = run(on(cluster, two_stages("by_speed")));
  EXPECT_THAT(by_speed.preparation.pipeline.first_block, ElementsAre(0, 9, 12));
  EXPECT_EQ(by_speed.metrics.step_time, run(on(cluster, two_stages("[9, 3]"))).metrics.step_time);
  const auto compute = [](const Simulation& simulation, std::size_t stage) {
    return simulation.metrics.stages[stage].breakdown.compute.value();
  };
  EXPECT_NEAR(compute(by_speed, 1) / compute(by_speed, 0), 3 / 312e12 / (9 / 989e12), 1e-9);
  EXPECT_NEAR(compute(even, 1) / compute(even, 0), 989.0 / 312, 1e-9);
  EXPECT_LT(by_speed.metrics.step_time, even.metrics.step_time);
  EXPECT_EQ(run(on("{node: dgx-h100, nodes: 2}", two_stages("by_speed"))).metrics.step_time,
            run(on("{node: dgx-h100, nodes: 2}", two_stages())).metrics.step_time);
}

// NICs are as fast as they are: nodes of 200 Gb/s among nodes of 400. The leaf's ports are those of the faster.
TEST(MixedCluster, CablesAreThoseOfEachNode) {
  const auto scenario = on(groups_of("dgx-h100", "dgx-a100"));
  const auto cluster = build_cluster(scenario.cluster);
  std::set<double> rates;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (cluster.node(link.from).kind == topologies::NodeKind::nic && link.kind == topologies::LinkKind::network)
      rates.insert(link.bandwidth.value() / scenario.cluster.fabric.efficiency);
  }
  EXPECT_EQ(rates, (std::set<double>{25e9, 50e9}));
  EXPECT_EQ(on(groups_of("dgx-a100", "dgx-h100")).cluster.fabric.name, scenario.cluster.fabric.name);
  EXPECT_EQ(cluster.chips().count(), 2);
  EXPECT_EQ(cluster.chip_kind(0), 0);
  EXPECT_EQ(cluster.chip_kind(15), 1);
}

/// Two leaves of two hosts each, below one spine.
std::string graph_file() {
  const auto file = std::filesystem::temp_directory_path() / "lockstep_mixed_graph.yaml";
  std::ofstream(file) << "hosts: [{names: \"new[1-2],old[1-2]\", adapters: 8}]\n"
                         "switches: [leaf1, leaf2, spine]\n"
                         "links:\n"
                         "  - {from: \"new1,old1\", to: leaf1, rate: 400 Gbps}\n"
                         "  - {from: \"new2,old2\", to: leaf2, rate: 400 Gbps}\n"
                         "  - {from: \"leaf[1-2]\", to: spine, count: 16, rate: 400 Gbps}\n";
  return file.string();
}

// Groups on a graph: the hosts that a group names are of its kind, whichever leaf they hang below. NICs of the old
// hosts have 200 Gb/s, and their adapters keep the file's names.
TEST(MixedCluster, GroupsNameTheirHostsOnAGraph) {
  const auto cluster_of = [](const std::string& groups) {
    return "{graph: " + graph_file() + ", fabric: {like: infiniband-ndr-fat-tree, efficiency: 1}, groups: [" + groups +
           "]}";
  };
  const auto scenario = on(cluster_of("{node: dgx-h100, hosts: \"new[1-2]\"}, {node: dgx-a100, hosts: \"old[1-2]\"}"),
                           {{"parallel", "{data: 32}"}});
  const auto cluster = build_cluster(scenario.cluster);
  EXPECT_EQ(cluster.devices(), 32);
  std::map<std::string, double> rates;  // of each host's first adapter
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    const auto& name = cluster.node(link.from).name;
    if (link.kind == topologies::LinkKind::network && name.ends_with("/nic0"))
      rates[name.substr(0, 4)] = link.bandwidth.value();
  }
  EXPECT_EQ(rates, (std::map<std::string, double>{{"new1", 50e9}, {"new2", 50e9}, {"old1", 25e9}, {"old2", 25e9}}));
  for (topologies::DeviceId device = 0; device < 32; ++device)
    EXPECT_EQ(cluster.chips()[cluster.chip_kind(device)].name, device < 16 ? "h100" : "a100");
  const auto turned = on(cluster_of("{node: dgx-a100, hosts: \"old[1-2]\"}, {node: dgx-h100, hosts: \"new[1-2]\"}"),
                         {{"parallel", "{data: 32}"}});
  EXPECT_EQ(run(turned).metrics.step_time, run(scenario).metrics.step_time);

  const auto refused = [&](const std::string& groups, const std::string& more = "") {
    auto text = cluster_of(groups);
    text.insert(text.size() - 1, more);
    return test::refused([&] { (void)on(text, {{"parallel", "{data: 32}"}}); });
  };
  EXPECT_THAT(refused("{node: dgx-h100, hosts: \"new[1-2]\"}, {node: dgx-a100, hosts: \"new1,old1\"}"),
              HasSubstr("cluster.groups[1].hosts: host 'new1' is in another group too"));
  EXPECT_THAT(refused("{node: dgx-h100, hosts: \"new[1-2]\"}, {node: dgx-a100, nodes: 2}"),
              HasSubstr("cluster.groups: some groups name their hosts and some do not"));
  EXPECT_THAT(refused("{node: dgx-h100, hosts: new1, nodes: 1}"),
              HasSubstr("cluster.groups[0].nodes: the hosts say it"));
  EXPECT_THAT(refused("{node: dgx-h100, hosts: new1}", ", placement: {hosts: new2}"),
              HasSubstr("cluster.placement: the groups name their hosts"));
  EXPECT_THAT(refused("{node: dgx-h100, nodes: 3}", ", placement: {hosts: \"new[1-2]\"}"),
              HasSubstr("cluster.groups: have 3 nodes, and the placement has 2 hosts"));
  EXPECT_THAT(test::refused([] { (void)on("{groups: [{node: dgx-h100, hosts: new1}]}"); }),
              HasSubstr("cluster.groups[0].hosts: are those of a graph, and this cluster has none"));
}

TEST(MixedCluster, WhatCannotBeMixedIsRefused) {
  const auto refused = [](const std::string& cluster) { return test::refused([&] { (void)on(cluster); }); };
  EXPECT_EQ(refused("{groups: []}"), "cluster.groups: is empty [a list of {node, nodes}]");
  EXPECT_THAT(refused("{groups: [{node: dgx-h100}]}"), HasSubstr("nodes"));
  EXPECT_THAT(refused("{groups: [{node: dgx-h100, nodes: 1}], nodes: 2}"),
              HasSubstr("cluster.nodes: each group has its own"));
  EXPECT_THAT(refused("{groups: [{node: dgx-h100, nodes: 1}, {node: gb200-nvl72, nodes: 1}]}"),
              HasSubstr("cluster.groups[1].node: it has another number of chips than the first group's"));
  EXPECT_THAT(refused("{groups: [{node: dgx-h100, nodes: 1}, {node: mi300x, nodes: 1}]}"),
              HasSubstr("cluster.groups[1].node: it has another kind of scale-up than the first group's"));
  EXPECT_THAT(refused("{groups: [{node: dgx-h100, nodes: 1}, {node: dgx-a100, nodes: 1}], halls: 2}"),
              HasSubstr("cluster.halls: nodes of several kinds have no halls"));
  EXPECT_EQ(test::refused([] { (void)planning::PlanSpace(on(groups_of("dgx-h100", "dgx-a100"))); }),
            "cluster.groups: a search looks at one kind of node [node and nodes, or lockstep run for one split]");
}

}  // namespace
}  // namespace lockstep
