// What fabrics do to a step: the data-centre network between pods, a torus beside a switch, tensor parallelism across
// nodes, oversubscribed uplinks.
#include <gtest/gtest.h>

#include "sim/collectives/collective_model.hpp"
#include "sim/studies/roofline/threshold_search.hpp"
#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

Seconds exposed(const scenario::Scenario& trial) { return Seconds(test::contended(trial).exposed_comm_s); }

// n pods of M chips, data parallelism across them: the backward of a layer takes 8 b D F / C for b tokens a chip, and
// every chip moves 2 (n-1)/n of its share 4 D F / M of the gradients at its part of the host's NIC, W = 25e9 / 4 B/s.
// They meet at b M = C / W (n-1)/n tokens a pod, with C = 4.59e14: 73,440 (n-1)/n.
TEST(DcnThresholdBySimulation, IsTheBooksTokensOfASlice) {
  constexpr double chips = 16;  // few enough that FSDP inside a pod hides before: 1275 15/16 tokens a chip on two axes
  for (const int pods : {2, 4}) {
    const auto n = std::to_string(pods);
    const auto scenario =
        test::validation("validation_fsdp_threshold.yaml",
                         {{"cluster", "{chip: tpu-v5p, shape: [4, 4], pods: " + n + ", dcn: {kind: crossbar}}"},
                          {"mesh", "{data: [pod], fsdp: rest}"},
                          {"parallel", "{data: " + n + ", fsdp: 16, zero: 0}"},
                          {"batch.sequences", std::to_string(pods * 16)}});
    const double tokens = roofline::simulated_token_threshold(scenario, 1500, 6000, 1e-3, exposed);
    EXPECT_NEAR(tokens * chips / (4.59e14 / 6.25e9 * (pods - 1) / pods), 1, 0.02) << pods << " pods";
  }
}

// A ring of 8 moves 2 V 7/8 over each link whether its chips are neighbours on a torus or behind one switch: with one
// link of 90 GB/s each way used both ways round a torus, and 180 GB/s into the switch, the same bandwidth time.
TEST(TorusAgainstSwitch, TheSameRingTakesTheSameBandwidthTime) {
  const std::string node =
      "{node: {chip: h100, chips: 8, scale_up: {kind: switch, link: 180 GB/s, latency: 1 us}, nics: {count: 8, rate: "
      "400 Gbps, pcie: 63 GB/s}}}";
  const auto time = [](const std::string& cluster, const std::string& place) {
    const auto scenario = test::validation("validation_fsdp_threshold.yaml", {{"cluster", cluster},
                                                                              {"mesh", "{data: [" + place + "]}"},
                                                                              {"parallel", "{data: 8, zero: 0}"},
                                                                              {"batch.sequences", "8"},
                                                                              {"batch.sequence_length", "1"}});
    return exposed(scenario).value();
  };
  EXPECT_NEAR(time("tpu-v5p:8", "x") / time(node, "gpu"), 1, 0.01);
}

// Tokens/s a chip of a two-matmul stack with tensor parallelism 8 inside a node of H100 (450 GB/s into the switch),
// then 16 and 32 across nodes (50 GB/s a GPU): published throughput falls by 42 % and 65 %. Here compute is ideal; the
// shape must be there: mild to 8, at least a quarter lost at 16 and more again at 32.
TEST(TensorAcrossNodes, LosesThroughputSteeply) {
  const auto throughput = [](int tensor) {
    const auto nodes = std::to_string(std::max(1, tensor / 8));
    const auto scenario = test::validation("validation_tensor_limit.yaml",
                                           {{"cluster", "h100:" + nodes},
                                            {"mesh", tensor <= 8 ? "{tensor: [gpu]}" : "{tensor: [node, gpu]}"},
                                            {"parallel", "{tensor: " + std::to_string(tensor) + "}"},
                                            {"batch.sequences", "8192"}});
    const auto step = test::contended(scenario);
    return 1 / (step.step_s * tensor);
  };
  const double inside = throughput(8);
  EXPECT_LT(throughput(16) / inside, 0.75);
  EXPECT_LT(throughput(32) / inside, 0.75 * throughput(16) / inside);
}

// The same of LLaMA-3 70B's layers, with 8 key-value heads: 16 and 32 ranks have copies of them. Of each all-gather and
// reduce-scatter the bytes stay the same while a rank's compute halves.
TEST(TensorAcrossNodes, LosesThroughputSteeplyBeyondTheKeyValueHeads) {
  const auto throughput = [](int tensor) {
    const auto scenario =
        test::shipped("llama3-70b-h100.yaml",
                      {{"model", "{layers: 4, d_model: 8192, d_ff: 28672, heads: 64, kv_heads: 8, vocabulary: 128256}"},
                       {"cluster", "h100:" + std::to_string(tensor / 8)},
                       {"mesh", tensor == 8 ? "{tensor: [gpu]}" : "{tensor: [node, gpu]}"},
                       {"parallel", "{tensor: " + std::to_string(tensor) + "}"},
                       {"batch", "{sequences: 4, sequence_length: 4096}"}});
    return 1 / (test::contended(scenario).step_s * tensor);
  };
  const double inside = throughput(8);
  EXPECT_LT(throughput(16) / inside, 0.85);
  EXPECT_LT(throughput(32) / inside, 0.8 * throughput(16) / inside);
}

// All-to-all of 64 GPUs, one on each of 64 nodes. A leaf of radix 64 with r bytes below for one above has 64 r/(1+r)
// ports down: 4, 5 and 6 nodes of 8 NICs for r = 1, 2, 4. Each GPU sends (64 - nodes)/63 of its bytes to other leaves,
// at 1/r of its NIC's rate when all do: the time grows from 63 parts to 2 x 59 and 4 x 58.
TEST(Oversubscription, SlowsAnAllToAllByWhatCrossesLeaves) {
  const auto time = [](int ratio) {
    const auto scenario = test::validation(
        "validation_fsdp_threshold.yaml",
        {{"cluster", "{node: dgx-h100, nodes: 64, fabric: {like: infiniband-ndr-fat-tree, oversubscription: " +
                         std::to_string(ratio) + "}}"}});
    const auto cluster = build_cluster(scenario.cluster);
    const auto placed = place_as_requested(
        cluster, {{"others", 8, std::vector<std::string>{"gpu"}}, {"group", 64, std::vector<std::string>{"node"}}});
    const topologies::Mesh mesh(cluster, std::get<0>(placed), "");
    collectives::CollectiveModel model(
        cluster, mesh, {{{workloads::CollectiveKind::all_to_all, "direct"}}, collectives::UnitOrder::ranks});
    return model.cost(workloads::CollectiveKind::all_to_all, {"group"}, Bytes(std::int64_t{1} << 40)).value();
  };
  const double full = time(1);
  EXPECT_NEAR(time(2) / full, 2 * 59.0 / 63, 0.01);
  EXPECT_NEAR(time(4) / full, 4 * 58.0 / 63, 0.01);
}

// Rings of 32 nodes of 8, one on each rail, below leaves of six nodes with a quarter of their NICs' bandwidth up. Nodes
// in the order of the leaves: 8 hops leave a leaf and use 8 of its 12 NICs' worth, as if there were no
// oversubscription. In random order some leaf has all its six nodes followed by others: 48 hops over 12 NICs' worth
// take four times as long, three times t = V 255/256 / (8 x 45.5e9 x 120/128) more for each of 18 collectives of V = 2
// x 8192 x 32768 x 2 B (6 layers, three each): the protocol LL128 carries 120 of 128 bytes. A library that sorts nodes
// by leaf finds the first order again.
TEST(Oversubscription, CostsRanksThatAreScattered) {
  const auto time = [](int ratio, const std::string& order, const std::string& rings = "rank_order") {
    const auto scenario = test::validation(
        "validation_fsdp_threshold.yaml",
        {{"cluster", "{node: dgx-h100, nodes: 32, fabric: {like: infiniband-ndr-fat-tree, oversubscription: " +
                         std::to_string(ratio) + "}, order: " + order + "}"},
         {"parallel", "{fsdp: 256}"},
         {"batch.sequences", "256"},
         {"batch.sequence_length", "1"},
         {"communication.rings", rings}});
    return test::contended(scenario).step_s;
  };
  const double packed = time(4, "packed");
  EXPECT_NEAR(time(1, "packed") / packed, 1, 0.005);
  EXPECT_NEAR(time(1, "{scattered: 1}") / packed, 1, 0.005);
  const double transfers = 18 * (2.0 * 8192 * 32768 * 2) * 255 / 256 / (8 * 45.5e9 * 120 / 128);
  EXPECT_NEAR((time(4, "{scattered: 1}") - packed) / transfers, 3, 0.02);
  EXPECT_NEAR(time(4, "{scattered: 1}", "topology_aware") / packed, 1, 1e-9);
}

}  // namespace
}  // namespace lockstep
