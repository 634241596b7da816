// A scenario of a job that is known comes back with the job's model, spread, batch and rates.
#include "sim/studies/from_trace/from_trace.hpp"

#include <gmock/gmock.h>
#include <spdlog/logger.h>

#include "sim/core/errors.hpp"
#include "sim/studies/from_trace/recognised_degrees.hpp"
#include "sim/studies/from_trace/repeated_kernels.hpp"
#include "sim/studies/from_trace/timed_kernels.hpp"
#include "tests/unit/from_trace/llama_trace.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

from_trace::FromTrace scenario_of(const std::string& json, const std::vector<scenario::KeyOverride>& said = {},
                                  const std::string& cluster = "dgx-h100:1") {
  spdlog::logger log("test");
  return from_trace::scenario_of_trace(workloads::read_trace_bytes(json, "rank0.json"), {cluster, said, "job.yaml"},
                                       log);
}

const from_trace::ClassResidual& row(const from_trace::FromTrace& made, from_trace::KernelClass kind) {
  return made.classes.at(static_cast<std::size_t>(kind));
}

// The model's keys are those with which the trace was made, for gated and plain MLPs, with and without recomputation,
// and so are FSDP over 8 ranks and 2 microbatches of 2 sequences on each: 32 sequences.
TEST(FromTrace, ModelAndBatch) {
  for (const bool gated : {true, false}) {
    for (const bool recomputes : {true, false}) {
      LlamaTrace trace;
      trace.gated = gated;
      trace.recomputes = recomputes;
      const auto made = scenario_of(trace.json());
      EXPECT_THAT(made.yaml, HasSubstr(std::string("model: {layers: 3, d_model: 1024, d_ff: 2816, heads: 8, kv_heads: "
                                                   "2, vocabulary: 32000") +
                                       (gated ? "}" : ", mlp: plain}")));
      EXPECT_THAT(made.yaml, HasSubstr("parallel: {fsdp: 8}"));
      EXPECT_THAT(made.yaml, HasSubstr("batch: {microbatch_size: 2, sequence_length: 512, sequences: 32}"));
      EXPECT_EQ(made.yaml.find("recompute: {mode: full}") != std::string::npos, recomputes);
    }
  }
}

// Products ran at 400 TFLOP/s and attention at 200. The scenario has the same FLOPs, less those of the vocabulary's
// padding, of which there is none; so its rates are those, and the fitted classes take the recorded times.
TEST(FromTrace, RatesOfClasses) {
  LlamaTrace trace;
  const auto made = scenario_of(trace.json());
  ASSERT_TRUE(made.is_fitted);
  const auto& products = row(made, from_trace::KernelClass::products);
  EXPECT_NEAR(products.flops.value() / trace.product_flops, 1, 1e-9);
  EXPECT_NEAR((products.flops / products.recorded).value() / 400e12, 1, 1e-4);
  const auto& forward = row(made, from_trace::KernelClass::attention_forward);
  const auto& backward = row(made, from_trace::KernelClass::attention_backward);
  EXPECT_NEAR((forward.flops + backward.flops).value() / trace.attention_flops, 1, 1e-9);
  for (const auto* one : {&products, &forward, &backward}) EXPECT_NEAR(one->fitted / one->recorded, 1, 2e-3);
  EXPECT_GT(std::abs(products.unfitted / products.recorded - 1), 0.05) << "the catalog's rates are others";
}

/// Eight experts of width 512, two of a token, in three layers of four heads.
LlamaTrace with_experts() {
  LlamaTrace trace;
  trace.experts = 8;
  trace.d = 768;  // other than the rows, as gradients of weights have them
  trace.heads = 6;
  return trace;
}

// The keys of the experts are those with which the trace was made, with and without a gate, recomputation, a shared
// expert and a dense layer, and so are the FLOPs of all products: router, experts and the rest. Where the choice is not
// recorded, the rows of the experts' products tell it.
TEST(FromTrace, Experts) {
  for (int drawn = 0; drawn < 32; ++drawn) {
    auto trace = with_experts();
    trace.gated = (drawn & 1) == 0;
    trace.recomputes = (drawn & 2) != 0;
    trace.shared_width = (drawn & 4) != 0 ? 640 : 0;
    trace.dense_layers = (drawn & 8) != 0 ? 1 : 0;
    trace.tells_choice = (drawn & 16) == 0 || !trace.gated;  // without it a gate is taken for granted
    const auto made = scenario_of(trace.json());
    const std::string moe = std::string("moe: {experts: 8, experts_per_token: 2, d_ff: 512") +
                            (trace.shared_width > 0 ? ", shared_experts: 1, shared_d_ff: 640" : "") +
                            (trace.dense_layers > 0 ? ", dense_first: 1}" : "}");
    EXPECT_THAT(made.yaml, HasSubstr(moe)) << drawn;
    EXPECT_THAT(made.yaml,
                HasSubstr(std::string("d_model: 768") + (trace.dense_layers > 0 ? ", d_ff: 2816" : "") + ", heads: 6"))
        << drawn;
    EXPECT_EQ(made.yaml.find("mlp: plain") == std::string::npos, trace.gated) << drawn;
    EXPECT_NEAR(row(made, from_trace::KernelClass::products).flops.value() / trace.product_flops, 1, 1e-9) << drawn;
  }
}

// A group with all-to-alls beside grouped products distributes the experts: four ranks with two experts each. Of the
// eight ranks with FSDP they are some: weights are split over data 2 x expert 4, which is ZeRO-3.
TEST(FromTrace, ExpertsOnSeveralRanks) {
  auto trace = with_experts();
  trace.expert_ranks = 4;
  const auto made = scenario_of(trace.json());
  EXPECT_THAT(made.yaml, HasSubstr("parallel: {data: 2, expert: 4, zero: 3}"));
  EXPECT_THAT(made.yaml, HasSubstr("moe: {experts: 8, experts_per_token: 2, d_ff: 512}"));
  EXPECT_THAT(made.reasons, Contains("The group of 4 ranks with all-to-alls is taken to distribute the experts."));
  double exchanged = 0, derived = 0;
  for (const auto& one : made.collectives) {
    if (one.kind != "all_to_all") continue;
    exchanged += one.recorded;
    derived += one.derived;
  }
  EXPECT_DOUBLE_EQ(exchanged, 4 * 3 * 2) << "two forward and two backward, of three layers and two microbatches";
  EXPECT_DOUBLE_EQ(derived, exchanged);
}

// Without shapes the model is named by the user; its layers, three of them, tell two microbatches from six passes of
// attention, which the kernels' names tell.
TEST(FromTrace, NamesOfKernels) {
  LlamaTrace trace;
  trace.has_shapes = false;
  const auto json = trace.json();
  try {
    (void)scenario_of(json);
    FAIL() << "the model is not known";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("--scenario: model: the trace does not tell its d_model, d_ff, heads, vocabulary"));
    EXPECT_THAT(error.what(), HasSubstr("--scenario: batch.sequence_length: the trace does not tell it; expected --set "
                                        "batch.sequence_length=4096"));
  }
  const auto made = scenario_of(json, {{"model", "{layers: 3, d_model: 1024, d_ff: 2816, heads: 8, vocabulary: 32000}"},
                                       {"batch.sequence_length", "512"},
                                       {"batch.microbatch_size", "2"}});
  EXPECT_THAT(made.yaml, HasSubstr("sequences: 32"));
  EXPECT_NEAR(
      row(made, from_trace::KernelClass::products).fitted / row(made, from_trace::KernelClass::products).recorded, 1,
      2e-3);
}

const std::vector<scenario::KeyOverride> the_model = {
    {"model", "{layers: 3, d_model: 1024, d_ff: 2816, heads: 8, kv_heads: 2, vocabulary: 32000}"},
    {"batch.sequence_length", "512"},
    {"batch.microbatch_size", "2"},
    {"batch.sequences", "32"}};

// A class without kernels in the trace keeps the time that it has at the catalog's rates (attention's shares are
// written with four digits), though the products, to whose rate they are relative, are fitted to half the catalog's
// rate and less. The text says which is which.
TEST(FromTrace, ClassesWithoutKernelsKeepTheirRates) {
  LlamaTrace trace;
  trace.attends = false;
  trace.products = 250e12;
  const auto made = scenario_of(trace.json(), the_model);
  const auto& products = row(made, from_trace::KernelClass::products);
  EXPECT_TRUE(products.measured);
  EXPECT_NEAR(products.fitted / products.recorded, 1, 2e-3);
  for (const auto kind : {from_trace::KernelClass::attention_forward, from_trace::KernelClass::attention_backward}) {
    const auto& attention = row(made, kind);
    EXPECT_FALSE(attention.measured);
    ASSERT_GT(attention.unfitted, Seconds(0));
    EXPECT_NEAR(attention.fitted / attention.unfitted, 1, 1e-3);
  }
  EXPECT_THAT(made.reasons, Contains("Rates of the catalog, since the trace has no such kernels: attention, forward; "
                                     "attention, backward."));
}

// Where the scenario names kernels of attention, those are the ones whose rates are fitted.
TEST(FromTrace, FitsTheKernelsOfAttentionThatAreNamed) {
  LlamaTrace trace;
  auto said = the_model;
  said.push_back({"training.attention_kernel", "flash-attention-2"});
  const auto made = scenario_of(trace.json(), said);
  for (const auto kind : {from_trace::KernelClass::attention_forward, from_trace::KernelClass::attention_backward}) {
    const auto& attention = row(made, kind);
    EXPECT_TRUE(attention.measured);
    EXPECT_NEAR(attention.fitted / attention.recorded, 1, 2e-3);
  }
}

// Products at 40 PFLOP/s, forty times the peak, are not those of this model on this chip: they keep the catalog's rate,
// and attention is fitted all the same. Where nothing is in reach the trace is refused in one line.
TEST(FromTrace, ClassesOutOfReachKeepTheirRates) {
  LlamaTrace trace;
  trace.products = 40e15;
  const auto made = scenario_of(trace.json());
  const auto& products = row(made, from_trace::KernelClass::products);
  EXPECT_FALSE(products.measured);
  EXPECT_NEAR(products.fitted / products.unfitted, 1, 1e-3);
  const auto& attention = row(made, from_trace::KernelClass::attention_forward);
  EXPECT_TRUE(attention.measured);
  EXPECT_NEAR(attention.fitted / attention.recorded, 1, 2e-3);
  trace.attention = 40e15;
  trace.memory = 400e12;
  try {
    (void)scenario_of(trace.json());
    FAIL() << "there is no rate";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("--scenario: none of the chip's rates can be fitted: no share from 1 "
                                                  "% to all of it explains products (recorded "));
    EXPECT_EQ(error.problems().size(), 1u);
  }
}

// The job's eight ranks are one node; four nodes have 32, and the part of a node that two ranks take has two chips.
TEST(FromTrace, TheJobsMachine) {
  LlamaTrace trace;
  try {
    (void)scenario_of(trace.json(), {}, "dgx-h100:4");
    FAIL() << "32 chips";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "--cluster: the cluster has 32 chips, the job 8 ranks; expected dgx-h100:1");
  }
  auto json = LlamaTrace().json();
  json.replace(json.find("\"world_size\": 8"), 15, "\"world_size\": 2");
  const auto made = scenario_of(json, {{"parallel.fsdp", "2"}});
  EXPECT_THAT(made.yaml, HasSubstr("chips: 2"));
  EXPECT_THAT(made.yaml, HasSubstr("sequences: 8"));
}

// Shapes of 12 kinds of products and two of attention; each with the time of one call, 2 m n k / 400 TFLOP/s.
TEST(FromTrace, TimedKernels) {
  LlamaTrace trace;
  const auto job = workloads::read_trace_bytes(trace.json(), "t");
  const auto kernels = from_trace::timed_kernels(job, 1);
  double flops = 0;
  for (const auto& kernel : kernels) {
    flops += kernel.measured.kernel.flops.value() * static_cast<double>(kernel.calls);
    const double rate = kernel.measured.kernel.work == workloads::ComputeWork::attention ? 200e12 : 400e12;
    EXPECT_NEAR(kernel.measured.kernel.flops.value() / kernel.measured.time.value() / rate, 1, 1e-3)
        << kernel.measured.to_string();
  }
  EXPECT_NEAR(flops / (trace.product_flops + trace.attention_flops), 1, 1e-9);
}

workloads::RecordedJob with_group(const std::string& description, std::int32_t size, std::int32_t world,
                                  const std::vector<workloads::CollectiveKind>& kinds) {
  workloads::RecordedJob job;
  job.world = world;
  job.groups = {{"1", description, {}, size}};
  auto& rank = job.ranks.emplace_back();
  for (const auto kind : kinds) {
    workloads::RecordedCollective made;
    made.kind = kind;
    rank.collectives.push_back(made);
  }
  return job;
}

// Groups are called as Megatron, torchtitan and DeepSpeed call them; what they leave of 16 ranks is data parallel.
TEST(FromTrace, NamesOfGroups) {
  using Kind = workloads::CollectiveKind;
  const auto tensor =
      from_trace::recognised_degrees(with_group("TENSOR_MODEL_PARALLEL_GROUP", 4, 16, {Kind::all_reduce}));
  EXPECT_EQ(tensor.tensor, 4);
  EXPECT_EQ(tensor.data, 4);
  EXPECT_FALSE(tensor.sequence_parallel);
  EXPECT_TRUE(from_trace::recognised_degrees(with_group("mesh_tp", 4, 16, {Kind::all_gather})).sequence_parallel);
  EXPECT_EQ(from_trace::recognised_degrees(with_group("mesh_dp_shard", 16, 16, {Kind::all_gather})).fsdp, 16);
  EXPECT_EQ(from_trace::recognised_degrees(with_group("PIPELINE_MODEL_PARALLEL_GROUP", 2, 16, {Kind::point_to_point}))
                .pipeline,
            2);
  const auto zero = from_trace::recognised_degrees(
      with_group("DATA_PARALLEL_GROUP", 16, 16, {Kind::reduce_scatter, Kind::all_gather}));
  EXPECT_EQ(zero.data, 16);
  EXPECT_TRUE(zero.shards_optimizer);
  EXPECT_EQ(from_trace::recognised_degrees(with_group("default_pg", 16, 16, {Kind::all_reduce})).data, 16);
}

// Three layers of four kernels between others; of two equal kernels in a row nothing longer repeats.
TEST(FromTrace, RepeatedKernels) {
  const auto layers = from_trace::longest_repetition({9, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 8, 7});
  EXPECT_EQ(layers.first, 1);
  EXPECT_EQ(layers.period, 4);
  EXPECT_EQ(layers.times, 3);
  EXPECT_EQ(from_trace::longest_repetition({1, 2, 3, 4}).times, 0);
  EXPECT_EQ(from_trace::longest_repetition({5, 5, 5}).times, 3);
}

}  // namespace
}  // namespace lockstep::test
