// Rules of the rows of small models on one node and of TPU v6e without MaxText; tests/validation/data names their
// sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/validation/published_private.hpp"
#include "tests/unit/validation/published_rows.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

std::int64_t parameters(const validation::MeasuredRun& run) {
  return count_parameters(scenario_of(run, ".").model).total();
}

// The shapes that the sources print with their parameters: the same number comes out.
TEST(PublishedTables, SmallShapesHaveThePublishedParameters) {
  for (const auto* name : {"flash_attention_training", "small_gpt2_8gpu"}) {
    Problems problems;
    const CsvTable table(std::filesystem::path(source_dir) / "tests/validation/data" / (std::string(name) + ".csv"),
                         problems);
    const auto runs = read_published_runs(*validation::find_published_table(name), table);
    for (std::size_t i = 0; i < runs.size(); ++i)
      EXPECT_NEAR(static_cast<double>(parameters(runs[i])), static_cast<double>(table.rows()[i].integer("n_params")),
                  12 * 2 * 128)  // weights that the norms of queries and keys of modded-nanogpt do not have
          << name << " " << runs[i].name;
  }
}

// GPT3 125M: 256 sequences on 8 replicas are one microbatch of 32 each, gradients in fp32 in PyTorch's buckets. 760M
// accumulates two microbatches of 16 and splits its moments.
TEST(PublishedTables, FlashAttentionTraining) {
  const auto runs = runs_of("flash_attention_training");
  const auto small = first(runs, "GPT3-125M"), large = first(runs, "GPT3-760M");
  EXPECT_EQ(axis(small, "data"), 8);
  EXPECT_EQ(small.batch.microbatches, 1);
  EXPECT_TRUE(small.step.gradient_buckets.reaches_over_layers());
  EXPECT_EQ(small.step.gradient_buckets.size, Bytes(25'000'000));
  EXPECT_TRUE(small.blocks.dropout);
  EXPECT_EQ(small.training.attention_kernel, "flash-attention-triton");
  EXPECT_EQ(runs.at(0).value_of("parallel.zero"), "");
  EXPECT_EQ(runs.at(0).value_of("training.gradient_reduce"), "fp32");
  EXPECT_EQ(large.batch.microbatches, 2);
  EXPECT_EQ(runs.at(2).value_of("parallel.zero"), "1");
  EXPECT_NEAR(runs.at(0).time->value, 256 * 2048 / 1.31e6, 1e-4);
}

// llm.c reduced all gradients after the last backward before it did so layer by layer; both without gaps of the host.
// 1.6B on H100: 1,024 sequences in microbatches of 16 on 8 replicas are 8.
TEST(PublishedTables, SmallGpt2) {
  const auto runs = runs_of("small_gpt2_8gpu");
  const auto early = scenario_of(runs.at(0), "."), late = scenario_of(runs.at(3), "."),
             compiled = scenario_of(runs.at(5), ".");
  EXPECT_TRUE(early.step.gradient_buckets.reaches_over_layers());
  EXPECT_GT(early.step.gradient_buckets.size, Bytes(100'000'000'000));
  EXPECT_EQ(early.cluster.chip().kernels->host, Seconds(0));
  EXPECT_EQ(early.training.attention_kernel, "");
  EXPECT_TRUE(late.step.gradient_buckets.ends_with_layer());
  EXPECT_EQ(late.batch.microbatches, 8);
  EXPECT_EQ(late.training.attention_kernel, "cudnn-9.0");
  EXPECT_EQ(compiled.step.gradient_buckets.size, Bytes(25'000'000));
  EXPECT_GT(compiled.cluster.chip().kernels->host, Seconds(0));
  EXPECT_EQ(compiled.model.norm, workloads::NormKind::none);
  EXPECT_EQ(runs.at(5).value_of("parallel.zero"), "");
  EXPECT_EQ(runs.at(5).value_of("training.weight_precision"), "fp32");
}

// 405B on two slices: 64 x 2 shards of weights and 4 tensor ranks; 8B has replicas over slices where `dcn` says data.
// Mixtral is cut to 16 layers and drops tokens beyond 1.25 of a fair share.
TEST(PublishedTables, TorchprimeOnV6e) {
  const auto runs = runs_of("torchprime_v6e");
  const auto large = scenario_of(runs.at(9), "."), replicas = scenario_of(runs.at(15), "."),
             mixture = scenario_of(runs.at(16), ".");
  EXPECT_EQ(axis(large, "fsdp"), 128);
  EXPECT_EQ(axis(large, "tensor"), 4);
  EXPECT_EQ(axis(large, "data"), 1);
  EXPECT_EQ(runs.at(9).value_of("training.offload.activation_layers"), "1000");
  EXPECT_EQ(axis(replicas, "fsdp"), 4);
  EXPECT_EQ(axis(replicas, "data"), 2);
  EXPECT_EQ(runs.at(15).value_of("mesh.data"), "[pod]");
  EXPECT_EQ(runs.at(15).value_of("training.optimizer"), "adafactor");
  EXPECT_EQ(runs.at(15).value_of("training.weight_precision"), "");
  EXPECT_EQ(mixture.model.layers, 16);
  EXPECT_EQ(mixture.routing.capacity_factor, 1.25);
  EXPECT_TRUE(mixture.derive.one_hot_slots);
}

// 1,024 sequences of 4,096 tokens: one on each chip of four slices, four microbatches on one slice. Attention's
// projections wait on the host, it runs again, and layers do not wait for other slices.
TEST(PublishedTables, AxlearnOnV6e) {
  const auto runs = runs_of("axlearn_v6e");
  EXPECT_EQ(axis(scenario_of(runs.at(0), "."), "data"), 4);
  EXPECT_EQ(scenario_of(runs.at(0), ".").batch.microbatches, 1);
  EXPECT_EQ(scenario_of(runs.at(1), ".").batch.microbatches, 4);
  EXPECT_EQ(runs.at(1).value_of("training.recompute.kept"),
            "[down projection, query projection, key projection, value projection, attention output]");
  EXPECT_THAT(runs.at(0).value_of("cluster"), HasSubstr("barrier: 0 ms"));
  EXPECT_EQ(runs.at(1).value_of("cluster"), "{chip: tpu-v6e, shape: [16, 16]}");
  EXPECT_EQ(runs.at(1).value_of("training.offload.activation_layers"), "1000");
  EXPECT_THAT(runs.at(1).value_of("model"), HasSubstr("vocabulary: 32768"));
}

// Trillium in MLPerf: slices of 256 chips with a replica each. 16 steps of 15.8618 s contain 12 forward passes of one
// of a chip's three sequences, a twelfth of a training step each: 15.8618 x 16 / 17 s.
TEST(PublishedTables, TrilliumOfMlperf) {
  const auto runs = runs_of("mlperf_llm");
  for (const auto& run : runs) {
    if (run.source.find("cloud-tpu-trillium-512-") == std::string::npos) continue;
    EXPECT_EQ(run.value_of("cluster"),
              "{chip: tpu-v6e, shape: [16, 16], pods: 2, dcn: {like: ethernet-dcn, barrier: 0 ms}}");
    EXPECT_EQ(run.value_of("communication.collective_matmul"), "") << "no tensor ranks";
    EXPECT_EQ(axis(scenario_of(run, "."), "fsdp"), 256);
    EXPECT_EQ(axis(scenario_of(run, "."), "data"), 2);
    EXPECT_EQ(run.value_of("batch.microbatches"), "1");
    EXPECT_NEAR(run.time->value, 15.8618 * 16 / 17, 1e-3);
    return;
  }
  FAIL();
}

// GPT-3 on v5p in MLPerf: blocks of 6 steps with 3 forward passes of one of a chip's two sequences. Products are kept,
// so a pass is a third of a step for as many tokens: 11.2491 x 6 / 6.5 s. The recipe of the same run on 512 chips needs
// 22.197 s, 1 % less than the block's 23.8148 s without its evaluation, 23.8148 x 12 / (12 + 12 / 16).
TEST(PublishedTables, BlocksOfV5pInMlperfContainAnEvaluation) {
  int seen = 0;
  for (const auto& run : runs_of("mlperf_llm")) {
    if (run.source.find("cloud-tpu-v5p-4096-") == std::string::npos &&
        run.source.find("cloud-tpu-v5p-1024-") == std::string::npos)
      continue;
    ++seen;
    const bool small = run.source.find("cloud-tpu-v5p-1024-") != std::string::npos;
    EXPECT_NEAR(run.time->value, small ? 23.8148 * 12 / (12 + 12.0 / 16) : 11.2491 * 6 / 6.5, 1e-3);
    EXPECT_EQ(run.value_of("communication.collective_matmul"), "true");
    if (small) EXPECT_NEAR(run.time->value, 22.197, 0.01 * 22.197);
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace lockstep
