// Keys reach their fields, defaults stand where a key is absent, and what contradicts something else is told at its
// place.
#include <gmock/gmock.h>

#include "sim/collectives/algorithms.hpp"
#include "tests/unit/scenario/small_scenario.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "workloads/sharded_layers/loss_elements.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string complaint(const Keys& keys) {
  return refused([&] { (void)small_scenario(keys); });
}

TEST(ReadScenario, DefaultsAreWhatMostRunsHave) {
  const auto scenario = small_scenario();
  EXPECT_EQ(scenario.name, "small.yaml");
  EXPECT_EQ(scenario.chips(), 4);
  EXPECT_EQ(scenario.pipeline.schedule, "1f1b");
  EXPECT_EQ(scenario.batch.microbatches, 1);
  EXPECT_EQ(scenario.training.precision, topologies::Precision::bf16);
  EXPECT_EQ(scenario.derive.context_attention, workloads::ContextAttention::ring);
  EXPECT_TRUE(scenario.training.flat_zero_shards);
  EXPECT_FALSE(scenario.derive.recompute.any());
  EXPECT_FALSE(scenario.reliability);
  EXPECT_FALSE(scenario.replay);
  EXPECT_THAT(scenario.perturbations, IsEmpty());
}

// A step takes what kernels reach unless the file says otherwise, or a chip has no kernels in the precisions of the
// step: for 8 bits those of 8 and of 16 bits.
TEST(ReadScenario, TheModelOfTimeIsCalibratedWhereAllKernelsAreKnown) {
  const auto model_on = [](const std::string& cluster, const std::string& precision = "bf16",
                           const std::string& more = "") {
    return scenario::scenario_of_text(
        "format: 1\nmodel: {type: two-matmul, layers: 6, d_model: 64, d_ff: 128}\ncluster: " + cluster +
            "\nbatch: {sequences: 8, sequence_length: 16}\ntraining: {precision: " + precision + "}\n" + more,
        "small.yaml", ".");
  };
  const auto measured = model_on("tpu-v5p:4x1x1");
  EXPECT_EQ(measured.time_model, cost::TimeModel::calibrated);
  EXPECT_FALSE(measured.time_model_chosen);
  EXPECT_EQ(model_on("tpu-v3:4x4").time_model, cost::TimeModel::ideal) << "no kernels";
  EXPECT_EQ(model_on("tpu-v5p:4x1x1", "int8").time_model, cost::TimeModel::calibrated);
  EXPECT_EQ(model_on("{groups: [{node: dgx-h100, nodes: 1}, {node: dgx-a100, nodes: 1}]}").time_model,
            cost::TimeModel::calibrated);
  EXPECT_EQ(model_on("{groups: [{node: dgx-h100, nodes: 1}, {node: hgx-h20, nodes: 1}]}").time_model,
            cost::TimeModel::ideal)
      << "one kind of chip has no kernels";
  const auto chosen = model_on("tpu-v5p:4x1x1", "bf16", "model_of_time: ideal\n");
  EXPECT_EQ(chosen.time_model, cost::TimeModel::ideal);
  EXPECT_TRUE(chosen.time_model_chosen);
}

// mesh gives places, parallel sizes; an axis of size 1 that has no place is none. What only parallel names comes after.
TEST(ReadScenario, AxesAreJoinedFromMeshAndParallel) {
  const auto scenario = small_scenario(
      {{"mesh", "{tensor: [x/2, y], fsdp: rest}"}, {"parallel", "{data: 1, fsdp: 2, pipeline: 2, tensor: 1}"}});
  ASSERT_EQ(scenario.mesh.size(), 3U);
  EXPECT_EQ(scenario.mesh[0].name, "tensor");
  EXPECT_EQ(scenario.mesh[0].size, 1);
  EXPECT_THAT(scenario.mesh[0].place.value(), ElementsAre("x/2", "y"));
  EXPECT_EQ(scenario.mesh[1].name, "fsdp");
  EXPECT_EQ(scenario.mesh[1].size, 2);
  EXPECT_THAT(scenario.mesh[1].place.value(), ElementsAre("rest"));
  EXPECT_EQ(scenario.mesh[2].name, "pipeline");
  EXPECT_FALSE(scenario.mesh[2].place);
  EXPECT_EQ(complaint({{"mesh", "{compute: rest}"}}),
            "mesh.compute: 'compute' cannot name a mesh axis [letters and digits only, and not 'compute']");
}

TEST(ReadScenario, ParallelChoosesHow) {
  const auto scenario =
      small_scenario({{"parallel",
                       "{data: 4, zero: 3, sequence_parallel: false, experts_over: [tensor, expert], "
                       "expert_tensor: 2, context_attention: all_to_all, context_order: contiguous}"}});
  EXPECT_EQ(scenario.parallel.zero, 3);
  EXPECT_FALSE(scenario.parallel.sequence_parallel);
  EXPECT_THAT(scenario.parallel.experts_over, ElementsAre("tensor", "expert"));
  EXPECT_EQ(scenario.parallel.expert_tensor, 2);
  EXPECT_EQ(scenario.derive.context_attention, workloads::ContextAttention::all_to_all);
  EXPECT_FALSE(scenario.derive.balanced_context);
}

TEST(ReadScenario, PipelineNamesItsScheduleAndOptions) {
  const auto pipeline = small_scenario({{"pipeline",
                                         "{schedule: zb-auto, chunks: 2, group: 4, memory_limit: [4, 3.5], layers: [2, "
                                         "4], sends: in_order, scatter_gather: true}"}});
  EXPECT_EQ(pipeline.pipeline.schedule, "zb-auto");
  EXPECT_EQ(pipeline.pipeline.chunks, 2);
  EXPECT_EQ(pipeline.pipeline.group, 4);
  EXPECT_THAT(pipeline.pipeline.memory_limit, ElementsAre(4, 3.5));
  EXPECT_THAT(pipeline.pipeline.layers, ElementsAre(2, 4));
  EXPECT_TRUE(pipeline.lower.sends_in_order);
  EXPECT_TRUE(pipeline.step.scatter_sends);
  EXPECT_THAT(small_scenario({{"pipeline", "{memory_limit: 3}"}}).pipeline.memory_limit, ElementsAre(3));
}

// 64 sequences in microbatches of 2 for each of 4 ranks: 8 of them.
TEST(ReadScenario, MicrobatchesAreCountedOrFollowFromTheirSize) {
  const auto batch = [](const std::string& text, const std::string& parallel = "{data: 4}") {
    return small_scenario({{"batch", text}, {"parallel", parallel}});
  };
  EXPECT_EQ(batch("{sequences: 64, sequence_length: 16, microbatches: 4}").step.microbatches, 4);
  EXPECT_EQ(batch("{sequences: 64, sequence_length: 16, microbatch_size: 2}").batch.microbatches, 8);
  EXPECT_EQ(
      batch("{sequences: 64, sequence_length: 16, microbatch_size: 2}", "{data: 2, tensor: 2}").batch.microbatches, 16)
      << "tensor ranks share their sequences";
  EXPECT_EQ(complaint({{"batch", "{sequences: 64, sequence_length: 16, microbatch_size: 3}"}}),
            "batch.microbatch_size: microbatches of 12 sequences over all ranks do not make up 64 "
            "[microbatch_size x data x fsdp x expert to divide the sequences, in at most 100000 microbatches]");
}

TEST(ReadScenario, TrainingSaysInWhatItIsKept) {
  const auto scenario = small_scenario(
      {{"training",
        "{precision: int8, low_precision_gather: true, low_precision_weights: kept twice, optimizer: adafactor, "
        "optimizer_state: bf16, master_weights: true, gradient_precision: fp32, gradient_reduce: bf16, "
        "gradient_clipping: "
        "true, memory_overhead: 2 GB, step_overhead: 3 ms, zero_shards: dimension, causal_attention: false, dropout: "
        "true, attention: unfused, cross_entropy: unfused, elementwise_traffic: 1.5}"}});
  EXPECT_EQ(scenario.training.precision, topologies::Precision::int8);
  EXPECT_TRUE(scenario.training.low_precision_gather);
  EXPECT_EQ(scenario.training.low_precision_copies, 2);
  EXPECT_EQ(scenario.step.optimizer.kind, workloads::OptimizerKind::adafactor);
  EXPECT_EQ(scenario.step.optimizer.moment, Bytes(2));
  EXPECT_TRUE(scenario.step.optimizer.master_weights);
  EXPECT_EQ(scenario.step.gradient_element, Bytes(4));
  EXPECT_EQ(scenario.step.gradient_reduce_element, Bytes(2));
  EXPECT_EQ(scenario.derive.gradient_element, Bytes(2)) << "collectives carry what is reduced";
  EXPECT_TRUE(scenario.step.gradient_clipping);
  EXPECT_EQ(scenario.step.memory_overhead, Bytes(2'000'000'000));
  EXPECT_EQ(scenario.step.step_overhead, Seconds(0.003));
  EXPECT_FALSE(scenario.training.flat_zero_shards);
  EXPECT_FALSE(scenario.derive.causal);
  EXPECT_TRUE(scenario.blocks.dropout);
  EXPECT_FALSE(scenario.blocks.fused_attention);
  EXPECT_EQ(scenario.derive.loss_element, Bytes(12));
  EXPECT_EQ(scenario.derive.elementwise_traffic, 1.5);
  for (const auto& [word, held] : workloads::losses)
    EXPECT_EQ(small_scenario({{"training", "{cross_entropy: " + std::string(word) + "}"}}).derive.loss_element, held);
  EXPECT_EQ(small_scenario({{"training", "{cross_entropy: with metrics}"}}).derive.loss_element,
            workloads::loss_with_metrics);
  EXPECT_EQ(small_scenario({{"training", "{attention_kernel: flash-attention-2}"}}).training.attention_kernel,
            "flash-attention-2");
}

// Gradients travel as they are accumulated unless said otherwise.
TEST(ReadScenario, GradientsTravelAsTheyAreKept) {
  const auto scenario = small_scenario({{"training", "{gradient_precision: fp32}"}});
  EXPECT_EQ(scenario.step.gradient_reduce_element, Bytes(4));
  EXPECT_EQ(scenario.derive.gradient_element, Bytes(4));
}

TEST(ReadScenario, RecomputationByModePartsAndResults) {
  const auto recompute = [](const std::string& text) {
    return small_scenario({{"training", "{recompute: " + text + "}"}}).derive.recompute;
  };
  EXPECT_EQ(recompute("none"), workloads::Recompute{});
  EXPECT_EQ(recompute("full"), (workloads::Recompute{.all = true}));
  EXPECT_EQ(recompute("selective"), (workloads::Recompute{.parts = {workloads::OpPart::core_attention}}));
  EXPECT_EQ(recompute("{mode: selective, parts: [norms, mlp, latent_projections]}"),
            (workloads::Recompute{.parts = {workloads::OpPart::norm, workloads::OpPart::mlp,
                                            workloads::OpPart::mlp_activation, workloads::OpPart::latent_projection}}));
  EXPECT_EQ(recompute("{mode: selective, parts: [activations, experts]}"),
            (workloads::Recompute{.parts = {workloads::OpPart::mlp_activation, workloads::OpPart::expert_activation,
                                            workloads::OpPart::experts}}));
  EXPECT_EQ(recompute("{mode: selective, kept: [attention, up projection]}"),
            (workloads::Recompute{.kept = {"attention", "up projection"}}));
  EXPECT_EQ(small_scenario({{"training", "{recompute: {mode: full, layers: 3}}"}}).training.recompute_layers,
            std::vector<std::int64_t>{3});
  EXPECT_EQ(complaint({{"training", "{recompute: {mode: full, parts: [mlp]}}"}}),
            "training.recompute.parts: cannot be given with a mode that has no parts [mode: selective]");
}

TEST(ReadScenario, ActivationsAreKeptInFewerBits) {
  const auto kept = [](const std::string& text) {
    return small_scenario({{"training", "{kept_activations: " + text + "}"}}).derive;
  };
  EXPECT_FALSE(kept("16-bit").kept);
  EXPECT_EQ(kept("8-bit").kept, (workloads::KeptFormat{8, 0}));
  const auto both = kept("{format: 8-bit, attention: 12-bit, scaled_together: 128}");
  EXPECT_EQ(both.kept, (workloads::KeptFormat{8, 128}));
  EXPECT_EQ(both.kept_attention, (workloads::KeptFormat{12, 128}));
  EXPECT_FALSE(kept("{format: 8-bit, attention: 16-bit}").kept_attention);
  EXPECT_TRUE(both.kept_for_functions);
  EXPECT_FALSE(kept("{format: 8-bit, functions: 16-bit}").kept_for_functions);
  EXPECT_EQ(complaint({{"training", "{kept_activations: {format: 16-bit, functions: 8-bit}}"}}),
            "training.kept_activations.functions: what products read is kept in 16 bits [format: 8-bit, or functions: "
            "16-bit]");
}

TEST(ReadScenario, OffloadMovesWhatItSays) {
  const auto offload =
      small_scenario(
          {{"training", "{offload: {optimizer: true, activation_layers: 4, host_memory_bandwidth: 80 GB/s}}"}})
          .step.offload;
  EXPECT_TRUE(offload.optimizer);
  EXPECT_EQ(offload.activation_layers, 4);
  EXPECT_EQ(offload.host_memory, BytesPerSecond(80e9));
}

TEST(ReadScenario, CommunicationChoosesBucketsAndOrder) {
  const auto scenario = small_scenario(
      {{"communication",
        "{prefetch: 3, reductions_in_flight: 2, weight_buckets: matrix, gradient_buckets: 25 MB, regather_weights: "
        "false, "
        "share_activation_gathers: false, collective_matmul: true, updated_weights: ahead, rings: topology_aware}"}});
  EXPECT_EQ(scenario.step.prefetch, 3);
  EXPECT_EQ(scenario.step.reductions_in_flight, 2);
  EXPECT_EQ(scenario.step.weight_buckets.unit, workloads::Bucketing::Unit::matrix);
  EXPECT_EQ(scenario.step.gradient_buckets.unit, workloads::Bucketing::Unit::size);
  EXPECT_EQ(scenario.step.gradient_buckets.size, Bytes(25'000'000));
  EXPECT_FALSE(scenario.derive.regather_weights);
  EXPECT_FALSE(scenario.derive.share_activation_gathers);
  EXPECT_TRUE(scenario.derive.collective_matmul);
  EXPECT_TRUE(scenario.step.publish_ahead);
  EXPECT_EQ(scenario.collectives.units, collectives::UnitOrder::topology_aware);
  EXPECT_EQ(small_scenario({{"communication", "{gradient_buckets: matrix}"}}).step.gradient_buckets.unit,
            workloads::Bucketing::Unit::matrix);
  const Keys narrow{{"training", "{precision: int8}"}, {"communication", "{activation_gathers: 8-bit}"}};
  EXPECT_EQ(small_scenario(narrow).derive.operand_element, Bytes(1));
  const Keys narrowest{{"cluster", "{node: dgx-b200, nodes: 1}"},
                       {"mesh", "{}"},
                       {"parallel", "{tensor: 8}"},
                       {"training", "{precision: nvfp4, hadamard_transform: false}"},
                       {"communication", "{activation_gathers: 4-bit}"}};
  EXPECT_EQ(small_scenario(narrowest).derive.operand_element, Bytes(1));
  EXPECT_FALSE(small_scenario(narrowest).training.hadamard_transform);
  EXPECT_TRUE(small_scenario(narrow).training.hadamard_transform);
}

TEST(ReadScenario, RoutingIsDroplessOrHasACapacity) {
  const auto dropless =
      small_scenario({{"model", small_mixture}, {"routing", "{variation: 0.3, seed: 7, dispatch: 8-bit}"}});
  EXPECT_EQ(dropless.routing.variation, 0.3);
  EXPECT_EQ(dropless.routing.seed, 7U);
  EXPECT_EQ(dropless.derive.dispatch_element, Bytes(1));
  EXPECT_TRUE(dropless.derive.counted_slots);
  const auto capacity =
      small_scenario({{"model", small_mixture}, {"routing", "{capacity_factor: 1.25, slots: by mask}"}});
  EXPECT_EQ(capacity.routing.capacity_factor, 1.25);
  EXPECT_FALSE(capacity.derive.counted_slots);
  EXPECT_TRUE(capacity.derive.one_hot_slots);
}

TEST(ReadScenario, SearchListsWhatMayBeChosen) {
  const auto search =
      small_scenario({{"search",
                       "{tensor: [8, 2], pipeline: 4, microbatches: [1], zero: [3, 1], schedules: [gpipe, "
                       "zb-v], chunks: [4], recompute: [none, full, selective], memory: 64 GB}"}})
          .search;
  EXPECT_THAT(search.tensor, ElementsAre(2, 8)) << "in rising order";
  EXPECT_THAT(search.pipeline, ElementsAre(4));
  EXPECT_THAT(search.context, ElementsAre(1)) << "as without the key";
  EXPECT_THAT(search.zero, ElementsAre(1, 3));
  EXPECT_THAT(search.schedules, ElementsAre("gpipe", "zb-v"));
  EXPECT_THAT(search.chunks, ElementsAre(4));
  ASSERT_EQ(search.recompute.size(), 3U);
  EXPECT_FALSE(search.recompute[0].any());
  EXPECT_TRUE(search.recompute[1].all);
  EXPECT_EQ(search.recompute[2].parts, std::set{workloads::OpPart::core_attention});
  EXPECT_EQ(search.memory, Bytes(64'000'000'000));
  const auto own = small_scenario(
      {{"training", "{recompute: {mode: selective, parts: [norms]}}"}, {"search", "{recompute: [full, selective]}"}});
  ASSERT_EQ(own.search.recompute.size(), 2U);
  EXPECT_TRUE(own.search.recompute[0].all);
  EXPECT_EQ(own.search.recompute[1], own.derive.recompute) << "with the parts that the scenario names";
  EXPECT_EQ(complaint({{"search", "{tensor: [4, 4]}"}}), "search.tensor[1]: 4 is given twice [each value once]");
  EXPECT_THAT(complaint({{"search", "{schedules: [zb-auto]}"}}), HasSubstr("search.schedules[0]"))
      << "automatic schedules follow the times of each plan";
}

TEST(ReadScenario, PerturbationsAreOfEveryKind) {
  const auto list =
      small_scenario({{"perturbations",
                       "[{chip: [1, 0, 0], slowdown: 1.5}, {host: [0, 0, 0], slowdown: 2}, {link: [[0, 0, 0], "
                       "[1, 0, 0]], bandwidth: 0.5}, {links_of: [2, 0, 0], bandwidth: 0.25}, {random_chips: 3, "
                       "seed: 5, slowdown: 3}, {random_links: 2, seed: 6, bandwidth: 0.1}, {jitter: 0.1, "
                       "distribution: exponential, seed: 8}]"}})
          .perturbations;
  ASSERT_EQ(list.size(), 7U);
  EXPECT_THAT(std::get<program::SlowChip>(list[0]).chip, ElementsAre(1, 0, 0));
  EXPECT_FALSE(std::get<program::SlowChip>(list[0]).whole_host);
  EXPECT_TRUE(std::get<program::SlowChip>(list[1]).whole_host);
  EXPECT_EQ(std::get<program::DegradedLink>(list[2]).from, "chip(0,0,0)");
  EXPECT_EQ(std::get<program::DegradedLink>(list[2]).to, "chip(1,0,0)");
  EXPECT_EQ(std::get<program::DegradedLink>(list[2]).bandwidth, 0.5);
  EXPECT_EQ(std::get<program::DegradedNode>(list[3]).name, "chip(2,0,0)");
  EXPECT_EQ(std::get<program::RandomSlowChips>(list[4]).count, 3);
  EXPECT_EQ(std::get<program::RandomDegradedLinks>(list[5]).seed, 6U);
  EXPECT_EQ(std::get<program::Jitter>(list[6]).distribution, program::Jitter::Distribution::exponential);
  EXPECT_EQ(std::get<program::Jitter>(list[6]).spread, 0.1);
}

// Places: of a key, else of the nearest key above it that the file has, else of the file's beginning.
TEST(ReadScenario, PlacesAreThoseOfTheNearestKey) {
  const auto scenario = small_scenario({{"training", "{offload: {optimizer: true}}"}});
  EXPECT_EQ(scenario.where("batch.sequences").line, 5);
  EXPECT_EQ(scenario.where("batch.sequences.more").line, 5);
  EXPECT_EQ(scenario.where("training.offload.link").line, 7);
  EXPECT_EQ(scenario.where("routing").line, 1);
  EXPECT_EQ(scenario.where("routing").column, 1);
  EXPECT_EQ(scenario.where("batch.sequences").file, "small.yaml");
}

// A node's library has algorithms of the list in sim/collectives, a torus its own.
TEST(ClusterNode, HasKnownAlgorithms) {
  const auto with = [](const std::string& algorithms) {
    return refused([&] {
      (void)small_scenario(
          {{"cluster", "{node: {like: dgx-h100, algorithms: [" + algorithms + "]}}"}, {"parallel", "{data: 8}"}});
    });
  };
  for (const auto* algorithm : collectives::collective_algorithms()) {
    const std::string name(algorithm->name());
    if (name == "torus" || name == "torus all-to-all" || name == "designed") {
      EXPECT_THAT(with(name), HasSubstr("cluster.node.algorithms[0]: `" + name + "` is not known"));
    } else {
      EXPECT_EQ(with(name), "");
    }
  }
  EXPECT_THAT(with("ring, rong"), HasSubstr("cluster.node.algorithms[1]: `rong` is not known"));
  Problems problems;
  const auto catalog = scenario::data_root() / "topologies/catalog";
  for (const auto& node : topologies::node_names(catalog)) {
    for (const auto& name : topologies::load_node(catalog, node, problems).algorithms)
      EXPECT_EQ(with(name), "") << node;
  }
}

TEST(ClusterText, IsASliceOrNodes) {
  const auto read = [](const std::string& text) {
    Problems problems;
    auto spec = scenario::parse_cluster(text, {"small.yaml", 3, 10}, "cluster", problems);
    problems.throw_if_any();
    return spec;
  };
  EXPECT_THAT(read("tpu-v5p:4x4x8").torus()->shape, ElementsAre(4, 4, 8));
  EXPECT_EQ(read("tpu-v5p:4x4x8").units, 1);
  const auto pods = read("tpu-v5p:2x16x20x28");
  EXPECT_THAT(pods.torus()->shape, ElementsAre(16, 20, 28));
  EXPECT_EQ(pods.units, 2);
  EXPECT_EQ(pods.devices(), 2 * 8960);
  EXPECT_EQ(read("h100:4").units, 4);
  EXPECT_EQ(read("h100:4").devices(), 32) << "a DGX has 8";
  EXPECT_EQ(read("h100").units, 1);
  for (const auto* text : {"tpu-v5p", "tpu-v5p:", "tpu-v5p:4x", "tpu-v5p:x4", "tpu-v5p:04x4x4", "tpu-v5p:4x0x4",
                           "tpu-v5p:4 x4x4", "tpu-v5p:-4x4x4", "h100:", "h100:4x4", "h100:0"}) {
    EXPECT_EQ(refused([&] { (void)read(text); }).substr(0, 9), "cluster: ") << text;
  }
}

}  // namespace
}  // namespace lockstep::test
