// Clusters on a network from a file: which hosts the ranks stand on, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/source_dir.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Hosts gpu1 and gpu2 on leaf1, gpu3 and gpu4 on leaf2, two spines; one NIC each.
const std::string two_leaves = std::string(source_dir) + "/tests/data/networks/two_leaves.csv";

scenario::Scenario on_graph(const std::string& keys, const std::string& file = two_leaves) {
  return test::small_scenario({{"cluster", "{graph: '" + file + "', node: {like: dgx-h100, chips: 1}" +
                                               (keys.empty() ? "" : ", ") + keys + "}"},
                               {"parallel", "{}"},
                               {"mesh", "{data: rest}"}});
}

std::vector<std::string> hosts_of(const std::string& keys) {
  const auto read = on_graph(keys);
  const auto& given = std::get<topologies::GivenNetwork>(read.cluster.fabric.kind);
  EXPECT_EQ(given.hosts.empty() ? read.cluster.units : std::ssize(given.hosts), read.cluster.units);
  std::vector<std::string> names;
  for (const auto host : given.hosts) names.push_back(given.graph->hosts[host].name);
  return names;
}

std::string refusal(const std::string& keys, const std::string& file = two_leaves) {
  return test::refused([&] { (void)on_graph(keys, file); });
}

TEST(GivenNetworkScenario, TakesAllHostsOrTheFirst) {
  EXPECT_EQ(on_graph("").cluster.units, 4);
  EXPECT_EQ(on_graph("nodes: 2").cluster.units, 2);
  EXPECT_EQ(on_graph("").cluster.fabric.name, "two_leaves");
}

TEST(GivenNetworkScenario, RanksStandOnHostsInTheOrderOfTheList) {
  EXPECT_THAT(hosts_of("placement: {hosts: [gpu4, gpu3, gpu1]}"), ElementsAre("gpu4", "gpu3", "gpu1"));
  EXPECT_THAT(hosts_of("placement: {hosts: 'gpu[3-4,1]'}"), ElementsAre("gpu3", "gpu4", "gpu1"));
  const auto file = std::filesystem::temp_directory_path() / "lockstep_hosts_of_a_job.txt";
  std::ofstream(file) << "# a job\ngpu2\n\ngpu[3-4]\r\n";
  EXPECT_THAT(hosts_of("placement: {hosts: '" + file.string() + "'}"), ElementsAre("gpu2", "gpu3", "gpu4"));
  std::filesystem::remove(file);
}

/// gpu1 and gpu2 share a leaf, so they are neighbouring units; ranks still follow the list: gpu4, gpu1, gpu3, gpu2 are
/// units 0 (gpu4), 2 (gpu1), 1 (gpu3) and 3 (gpu2). A list whose neighbours are together needs no order of its own.
TEST(GivenNetworkScenario, UnitsOfALeafFollowOneAnother) {
  EXPECT_THAT(hosts_of("placement: {hosts: [gpu4, gpu1, gpu3, gpu2]}"), ElementsAre("gpu4", "gpu3", "gpu1", "gpu2"));
  EXPECT_THAT(on_graph("placement: {hosts: [gpu4, gpu1, gpu3, gpu2]}").cluster.order.devices, ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(on_graph("placement: {hosts: 'gpu[3-4,1-2]'}").cluster.order.kind, topologies::RankOrder::Kind::packed);
  EXPECT_THAT(refusal("placement: {hosts: [gpu1, gpu2]}, order: round-robin"),
              HasSubstr("cluster.order: the placement gives the order of ranks"));
}

/// Of gpu2, gpu3 and gpu4 the last two share a leaf; the first two do not.
TEST(GivenNetworkScenario, TheBestHostsShareALeaf) {
  const std::string keys = "placement: {best: 2, free: 'gpu[2-4]'}";
  EXPECT_THAT(hosts_of(keys), ElementsAre("gpu3", "gpu4"));
  EXPECT_EQ(std::get<topologies::GivenNetwork>(on_graph(keys).cluster.fabric.kind).choice,
            "best 2 of 3 free; blocks of hosts by tier, leaves first: 1, 1; of the first ones: 2, 1");
}

TEST(GivenNetworkScenario, RoutingStandsInTheClusterOrItsFabric) {
  EXPECT_EQ(on_graph("").cluster.fabric.routing, topologies::FabricRouting::spray);
  EXPECT_EQ(on_graph("routing: ecmp").cluster.fabric.routing, topologies::FabricRouting::ecmp);
  const auto split = on_graph("fabric: {like: roce-400g, routing: ecmp, channels: 8, queue_pairs: 4}").cluster.fabric;
  EXPECT_EQ(split.flows_of_connection(), 32);
}

TEST(GivenNetworkScenario, RefusesHostsThatAreNotThere) {
  EXPECT_EQ(refusal("placement: {hosts: [gpu1, gpu9, gpu1, gpu-x]}"),
            "cluster.placement.hosts: host 'gpu9' is not in the graph [a host of the graph; did you mean `gpu1`]\n"
            "cluster.placement.hosts: host 'gpu1' is listed twice, first at small.yaml:3:" +
                std::to_string(
                    std::string("cluster: {graph: '' , node: {like: dgx-h100, chips: 1}, placement: {hosts: [").size() +
                    two_leaves.size()) +
                " [each host once]\n"
                "cluster.placement.hosts: host 'gpu-x' is not in the graph [a host of the graph; did you mean `gpu1`]");
  EXPECT_THAT(
      refusal("placement: {hosts: [a, b, c, d, e]}"),
      HasSubstr("cluster.placement.hosts: none of 5 entries is a host of the graph [a host of the graph, such as "
                "gpu1]"));
  EXPECT_THAT(refusal("placement: {hosts: [gpu1, gpu1, gpu1, x, x, gpu1]}"),
              testing::AllOf(HasSubstr("'gpu1' is listed twice"), HasSubstr("'x' is not in the graph"),
                             testing::ContainsRegex("^[^\n]*\n[^\n]*$")))
      << "each once";
  EXPECT_THAT(refusal("placement: {hosts: 'gpu[1-99999999999]'}"), HasSubstr("has more than"));
  EXPECT_EQ(refusal("placement: {hosts: 'gpu[5-24]'}"),
            "cluster.placement.hosts: hosts 'gpu5', 'gpu6', 'gpu7' and 17 more are not in the graph [a host of the "
            "graph; did you mean `gpu1`]");
  EXPECT_EQ(refusal("placement: {hosts: .}"),
            "cluster.placement.hosts: is a directory [a list of hosts, text such as gpu[001-064,070], or a file with a "
            "host on each line]");
  EXPECT_THAT(refusal("placement: {hosts: lists/none.txt}"), HasSubstr("there is no file 'lists/none.txt'"));
  EXPECT_THAT(refusal("placement: {hosts: []}"), HasSubstr("has no host"));
}

/// One line for one mistake, though each of the three keys contradicts the two others.
TEST(GivenNetworkScenario, RefusesGroupsOfWhichSomeNameHosts) {
  const std::string mixed = "groups: [{node: dgx-h100, hosts: 'gpu[1-2]'}, {node: dgx-a100, nodes: 2}]";
  EXPECT_THAT(refusal(mixed), HasSubstr("some groups name their hosts and some do not [all or none]"));
  EXPECT_THAT(refusal(mixed + ", placement: {hosts: 'gpu[1-4]'}"),
              testing::AllOf(HasSubstr("some do not [none that does, beside a placement]"),
                             testing::Not(HasSubstr("cluster.placement"))));
}

TEST(GivenNetworkScenario, RefusesKeysThatContradictTheFile) {
  EXPECT_THAT(refusal("placement: {hosts: [gpu1, gpu2]}, nodes: 3"), HasSubstr("cluster.nodes: 3 nodes on 2 hosts [2"));
  EXPECT_THAT(refusal("placement: {hosts: [gpu1], best: 1}"), HasSubstr("has hosts and best"));
  EXPECT_THAT(refusal("placement: {free: [gpu1]}"), HasSubstr("has neither hosts nor best"));
  EXPECT_THAT(refusal("placement: {best: 5}"), HasSubstr("5 hosts of 4 free ones [at most 4]"));
  EXPECT_THAT(refusal("nodes: 5"), HasSubstr("cluster.graph: 5 nodes on a graph of 4 hosts"));
  EXPECT_THAT(refusal("fabric: {like: roce-400g, oversubscription: 2}"),
              HasSubstr("cluster.fabric.oversubscription: the graph's file says it"));
  EXPECT_THAT(refusal("fabric: {like: roce-400g, channels: 16, queue_pairs: 8}"),
              HasSubstr("16 channels of 8 queue pairs [at most 64 flows in all]"));
  EXPECT_THAT(refusal("halls: 2"), HasSubstr("cluster.halls: a graph has no halls"));
  EXPECT_THAT(refusal("", "none.csv"), HasSubstr("cluster.graph: there is no file 'none.csv'"));
  EXPECT_THAT(test::refused([] {
                (void)test::small_scenario({{"cluster", "{node: h100, nodes: 2, routing: ecmp}"}});
              }),
              HasSubstr("cluster.routing: is for clusters on a graph, and this one has none"));
}

}  // namespace
}  // namespace lockstep
