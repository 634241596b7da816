// Rules from published rows to scenarios. The rows are those of tests/validation/data, which name their sources.
#include "sim/studies/validation/published_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sim/scenario/scenario.hpp"
#include "sim/studies/validation/ablation.hpp"
#include "sim/studies/validation/published_private.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/validation/published_rows.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Every row of every table becomes a run with a time or a peak of memory, or says why not.
TEST(PublishedTables, NoRowIsDropped) {
  for (const auto& published : validation::published_tables()) {
    for (const auto& run : runs_of(std::string(published.name))) {
      EXPECT_TRUE(run.time || run.peak_bytes || !run.skipped_because.empty()) << run.table << " " << run.name;
      EXPECT_FALSE(run.family.empty()) << run.table << " " << run.name;
    }
  }
}

// 530B: 2520 chips = 8 x 35 x 9 replicas; 2520 sequences / 9 = 280 microbatches of 1; 3 chunks of one layer on a stage.
TEST(PublishedTables, MegatronSc21) {
  const auto scenario = first(runs_of("megatron_sc21_table1"), "530B");
  EXPECT_EQ(axis(scenario, "tensor"), 8);
  EXPECT_EQ(axis(scenario, "pipeline"), 35);
  EXPECT_EQ(axis(scenario, "data"), 9);
  EXPECT_EQ(scenario.batch.microbatches, 280);
  EXPECT_EQ(scenario.pipeline.schedule, "interleaved");
  EXPECT_EQ(scenario.pipeline.chunks, 3);
  EXPECT_TRUE(scenario.derive.recompute.all);
  EXPECT_FALSE(scenario.training.causal_attention);
  EXPECT_NEAR(static_cast<double>(count_parameters(scenario.model).total()), 529.6e9, 0.1e9);
}

// The shapes that published tables print with their parameters: the same number comes out.
TEST(PublishedTables, ShapesHaveThePublishedParameters) {
  Problems problems;
  const CsvTable table(std::filesystem::path(source_dir) / "tests/validation/data/mosaicml_llm_foundry.csv", problems);
  const auto runs = read_published_runs(*validation::find_published_table("mosaicml_llm_foundry"), table);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].value_of("training.precision") != "bf16") continue;
    EXPECT_EQ(count_parameters(scenario_of(runs[i], ".").model).total(), table.rows()[i].integer("n_params"))
        << runs[i].name;
  }
}

// 64 chips of v4 are a cube of 4; 256 of v5e the whole pod of 16 x 16; slices are replicas over the data-centre
// network.
TEST(PublishedTables, TpuSlices) {
  const auto runs = runs_of("maxtext_tpu");
  EXPECT_EQ(runs[0].value_of("cluster"), "{chip: tpu-v4, shape: [4, 4, 4]}");
  EXPECT_EQ(runs[1].value_of("cluster"), "{chip: tpu-v4, shape: [4, 4, 4], pods: 2}");
  EXPECT_EQ(runs[4].value_of("cluster"), "{chip: tpu-v4, shape: [4, 4, 12]}");
  const auto pods = first(runs, "128B, v5e");
  EXPECT_EQ(pods.cluster.torus()->shape, (std::vector<int>{16, 16}));
  EXPECT_EQ(axis(pods, "tensor"), 16);
  EXPECT_EQ(axis(pods, "fsdp"), 16);
}

// Facts of recipes that rows of DGX Cloud do not print: finetuning packs examples of SQuAD; weights of fp8 travel in 8
// bits and those of bf16 do not; GPT-3 has had 6 chunks since 25.02.
TEST(PublishedTables, RecipesOfDgxCloud) {
  int finetuned = 0, chunked = 0, narrow = 0;
  for (const auto& run : runs_of("dgxc_benchmarking")) {
    if (!run.skipped_because.empty()) continue;
    const auto scenario = scenario_of(run, ".");
    const bool is_fp8 = scenario.training.precision == topologies::Precision::fp8;
    if (run.value_of("training.master_weights") == "true") {
      EXPECT_EQ(scenario.training.low_precision_gather, is_fp8) << run.name;
      narrow += is_fp8 ? 1 : 0;
    }
    if (!scenario.lengths.documents.empty()) {
      double mean = 0;
      for (const auto& [tokens, share] : scenario.lengths.documents) mean += share * static_cast<double>(tokens);
      EXPECT_NEAR(mean, 384 / 2.2, 3);
      EXPECT_EQ(scenario.batch.sequence_length, 4096);
      ++finetuned;
    }
    if (run.family.starts_with("gpt3-175b") && scenario.pipeline.chunks == 6) ++chunked;
  }
  EXPECT_EQ(finetuned, 8);
  EXPECT_EQ(chunked, 18);
  EXPECT_GT(narrow, 50);
}

// A part of a node for fewer than 8 chips, and two nodes of 8 for 16.
TEST(PublishedTables, PartsOfNodes) {
  for (const auto& run : runs_of("vtrain_single")) {
    const auto scenario = scenario_of(run, ".");
    EXPECT_EQ(scenario.chips(), axis(scenario, "tensor") * axis(scenario, "data") * axis(scenario, "pipeline"))
        << run.name;
  }
}

// 50257 words on t tensor ranks, a multiple of 128 t: 393 x 128, 197 x 256, 99 x 512, 50 x 1024 and 25 x 2048.
TEST(PublishedTables, MegatronFillsUpItsVocabulary) {
  const std::map<std::string, std::string> words{
      {"", "50304"}, {"2", "50432"}, {"4", "50688"}, {"8", "51200"}, {"16", "51200"}};
  for (const auto& run : runs_of("vtrain_multi"))
    EXPECT_THAT(run.value_of("model"), HasSubstr("vocabulary: " + words.at(run.value_of("parallel.tensor")) + ","))
        << run.name;
}

// vTrain's simulator (VIA-Research/vTrain@f8dda84, src/predictor.py) times the gradients' reduction over n replicas as
// MiB / (1024 busbw(n)), with busbw(n) of 1 GiB from its table trace/a100: 196.89, 221.37 and 229.25 GB/s for 2, 4
// and 8. 12 layers of width 2048 with a vocabulary of 50257, twice: 1549 MiB in fp16, so 4 replicas are 1549 / 1024
// (1/196.89 - 1/221.37) s = 0.850 ms faster than 2 and 8 another 0.235 ms. So are the "measured" rows.
TEST(PublishedTables, WhatASimulatorMadeIsNoMeasurement) {
  std::map<std::string, double> ms;
  for (const auto& run : runs_of("vtrain_single")) {
    EXPECT_FALSE(run.skipped_because.empty()) << run.name;
    const auto is = [&](std::string_view key, std::string_view value) { return run.value_of(key) == value; };
    if (run.value_of("model").starts_with("{layers: 12, d_model: 2048,") && is("batch.microbatches", "16") &&
        is("parallel.tensor", "") && is("parallel.pipeline", "") &&
        run.value_of("batch.sequences") == std::to_string(16 * std::stoi(run.value_of("parallel.data"))))
      ms[run.value_of("parallel.data")] = 1e3 * run.time->value;
  }
  ASSERT_EQ(ms.size(), 3U);
  const double mib = 1549;
  EXPECT_NEAR(ms["2"] - ms["4"], 1e3 * mib / 1024 * (1 / 196.89 - 1 / 221.37), 2e-3);
  EXPECT_NEAR(ms["4"] - ms["8"], 1e3 * mib / 1024 * (1 / 221.37 - 1 / 229.25), 2e-3);
}

TEST(PublishedTables, WhatCannotBeExpressedSaysWhy) {
  int adapters = 0, impossible = 0;
  for (const auto& run : runs_of("dgxc_benchmarking")) {
    adapters += run.skipped_because.starts_with("low-rank adapters") ? 1 : 0;
    impossible += run.skipped_because.starts_with("impossible as printed: 41 ranks") ? 1 : 0;
  }
  EXPECT_GT(adapters, 0);
  EXPECT_GT(impossible, 0);
}

// Qwen3 235B on 256 H100 with TP 2, PP 8, EP 32 (Megatron Bridge): 16 replicas, experts over 16 of them x 2 tensor
// ranks.
TEST(PublishedTables, ExpertsLieOnTensorAndDataRanks) {
  for (const auto& run : runs_of("megatron_bridge_perf")) {
    if (!run.family.starts_with("Qwen3_235B_a22B, DGX-H100")) continue;
    EXPECT_EQ(run.value_of("parallel.expert"), "16");
    EXPECT_EQ(run.value_of("parallel.data"), "");
    EXPECT_EQ(run.value_of("parallel.experts_over"), "[expert, tensor]");
    return;
  }
  FAIL();
}

// Megatron Core numbers its ranks tensor, context, data, pipeline from the inside out. Qwen3 235B on 256 H100: 2 tensor
// ranks leave 4 chips of a node of 8, so 16 experts' ranks are 4 of a node on 4 nodes, and 8 stages stride over these.
// 340B and GPT-3 have their 8 and 4 tensor ranks in one node at every scale.
TEST(PublishedTables, RanksOfMegatronCoreStandInItsOrder) {
  std::size_t found = 0;
  const auto expect = [&](const char* table, const char* family, const char* nodes, const char* mesh) {
    for (const auto& run : runs_of(table)) {
      if (!run.family.starts_with(family) || run.value_of("cluster").find(nodes) == std::string::npos) continue;
      EXPECT_EQ(run.value_of("mesh"), mesh);
      ++found;
      return;
    }
  };
  expect("megatron_bridge_perf", "Qwen3_235B_a22B, DGX-H100", "nodes: 32",
         "{tensor: [gpu/2], expert: [node/4, gpu/4], pipeline: [node/8]}");
  expect("dgxc_benchmarking", "Nemotron4 340b FP8, H100", "nodes: 64",
         "{tensor: [gpu/8], data: [node/8], pipeline: [node/8]}");
  EXPECT_EQ(found, 2U);
  for (const auto& run : runs_of("mlperf_llm")) {
    if (run.value_of("parallel.tensor") == "4" && run.value_of("parallel.pipeline") != "")
      EXPECT_TRUE(run.value_of("mesh").starts_with("{tensor: [gpu/4], ")) << run.value_of("mesh");
  }
}

// Megatron-LM of 2021 numbered them so too: 18.4B with tensor 4, data 32 and pipeline 2 on 256 A100 has two data ranks
// in each node.
TEST(PublishedTables, RanksOfMegatronIn2021StandInItsOrder) {
  EXPECT_EQ(runs_of("vtrain_multi").at(30).value_of("mesh"),
            "{tensor: [gpu/4], data: [node/16, gpu/2], pipeline: [node/2]}");
  for (const auto* table : {"megatron_sc21_table1", "vtrain_multi", "internevo_a100_roce_scaling"}) {
    for (const auto& run : runs_of(table)) EXPECT_NE(run.value_of("mesh"), "") << table << " " << run.name;
  }
}

// What a job takes of a rack, and what the catalog says that a rack has.
TEST(PublishedTables, RacksAreThoseOfTheCatalog) {
  for (const auto* name : {"gb200-nvl72", "gb300-nvl72"}) {
    Problems problems;
    const auto node = topologies::load_node(scenario::data_root() / "topologies/catalog", name, problems);
    EXPECT_EQ(node.chips, validation::chips_of_a_rack) << name;
  }
}

// Recipes say more than rows: collectives run beside products, fp8 operands are gathered in 8 bits; iterations of Qwen3
// 30B with dropped tokens on B200 are one graph, LLaMA 405B on H100 is launched kernel by kernel.
TEST(PublishedTables, RecipesBesideTheRows) {
  const auto runs = runs_of("megatron_bridge_perf");
  const auto of = [&](const char* family) { return first(runs, family); };
  const auto dense = of("LLAMA3.1_405B, DGX-H100");
  EXPECT_TRUE(dense.derive.collective_matmul);
  EXPECT_EQ(dense.derive.operand_element, Bytes(1));
  EXPECT_GT(dense.cluster.chip().kernels->host, Seconds(0));
  const auto graph = of("Qwen3_30B_a3B (tokendrop), DGX-B200");
  EXPECT_FALSE(graph.derive.collective_matmul);  // no tensor parallelism
  EXPECT_EQ(graph.cluster.chip().kernels->host, Seconds(0));
  EXPECT_TRUE(
      of("DeepSeekV3 (w/o MTP), DGX-GB200").derive.recompute.parts.contains(workloads::OpPart::latent_projection));
}

// Attention by FlashAttention-2 where a recipe turns cuDNN's kernels off (NVTE_FUSED_ATTN=0: GPT-3 in release 24.11 of
// DGX Cloud, not in 25.02; 340B in 24.11, not LLaMA) and in MLPerf's round 3.1, whose Transformer Engine prefers it;
// not in 4.0. Dropout where the recipe says 0.1, and in Megatron's defaults.
TEST(PublishedTables, AttentionAndDropoutOfTheRecipes) {
  const auto at = [](const std::string& table, int line) {
    for (const auto& run : runs_of(table)) {
      if (run.name == "line " + std::to_string(line)) return scenario_of(run, ".");
    }
    throw std::runtime_error("no line " + std::to_string(line));
  };
  const auto has = [](const scenario::Scenario& scenario, bool flash_attention_2, bool dropout) {
    return (scenario.training.attention_kernel == "flash-attention-2") == flash_attention_2 &&
           scenario.blocks.dropout == dropout;
  };
  EXPECT_TRUE(has(at("dgxc_benchmarking", 36), true, true)) << "GPT-3 in 24.11";
  EXPECT_TRUE(has(at("dgxc_benchmarking", 114), false, true)) << "GPT-3 in 25.02";
  EXPECT_TRUE(has(at("dgxc_benchmarking", 224), true, false)) << "340B in 24.11";
  EXPECT_TRUE(has(at("dgxc_benchmarking", 201), false, false)) << "340B in 25.04";
  EXPECT_TRUE(has(at("dgxc_benchmarking", 2), false, false)) << "LLaMA 3.1 70B";
  EXPECT_TRUE(has(at("mlperf_llm", 8), true, false)) << "round 3.1";
  EXPECT_TRUE(has(at("mlperf_llm", 16), false, false)) << "round 4.0";
  EXPECT_TRUE(has(at("megatron_core_h100_scaling", 5), false, true));
}

// 192 sequences over 48 replicas of 32B without a pipeline are one microbatch of 4 each; 384 over 48 replicas of 70B on
// two stages are 8 of one.
TEST(PublishedTables, MicrobatchesThatMegatronCoreDoesNotPublish) {
  const auto runs = runs_of("megatron_core_h100_scaling");
  const auto microbatches = [&](const std::string& model) {
    return std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.family.starts_with(model + ","); })
        ->value_of("batch.microbatches");
  };
  EXPECT_EQ(microbatches("32B"), "1");
  EXPECT_EQ(microbatches("70B"), "8");
  EXPECT_EQ(microbatches("314B"), "32");
}

// All-to-alls of experts: DeepSeek-V3's recipe on H100 has DeepEP and overlaps them, that of Qwen3 235B has NCCL's,
// beside other compute in release 25.11 and not in 25.09.
TEST(PublishedTables, AllToAllsOfTheRecipes) {
  const auto runs = runs_of("megatron_bridge_perf");
  const auto run = [&](const std::string& family) {
    return *std::find_if(runs.begin(), runs.end(),
                         [&](const auto& each) { return each.family.starts_with(family + ", DGX-H100"); });
  };
  const auto once_a_node = [](const validation::MeasuredRun& each) {
    return each.value_of("cluster").find("algorithms") == std::string::npos;
  };
  const auto deepseek = run("DeepSeekV3 (dropless)"), qwen = run("Qwen3_235B_a22B"),
             dropped = run("Qwen3_235B_a22B (tokendrop)");
  EXPECT_EQ(deepseek.value_of("pipeline.schedule"), "overlap-1f1b");
  EXPECT_TRUE(once_a_node(deepseek));
  EXPECT_EQ(qwen.value_of("pipeline.schedule"), "overlap-1f1b");
  EXPECT_FALSE(once_a_node(qwen));
  EXPECT_EQ(dropped.value_of("pipeline.schedule"), "interleaved");
  EXPECT_FALSE(once_a_node(dropped));
  EXPECT_EQ(scenario_of(dropped, ".").chips(), 256);
}

// What a recipe says beside its row: GPT OSS on B200 in 25.11 has 64 expert ranks where 8 are printed. DeepSeek-V3 of
// DGX Cloud's 25.05 drops tokens and sends them by NCCL, and on GB200 its attention is not fused and runs again.
TEST(PublishedTables, MixturesRunTheirRecipes) {
  const auto found = [](const char* table, const auto& is_it) {
    for (const auto& run : runs_of(table)) {
      if (is_it(run)) return run;
    }
    throw std::runtime_error("no such run");
  };
  const auto gpt = found("megatron_bridge_perf", [](const auto& run) {
    return run.family == "GPT OSS 120B, DGX-B200, BF16" && run.value_of("batch.sequences") == "512";
  });
  EXPECT_EQ(axis(scenario_of(gpt, "."), "expert"), 64);
  const auto deepseek = scenario_of(
      found("dgxc_benchmarking", [](const auto& run) { return run.family == "deepseek-v3, GB200, bf16"; }), ".");
  EXPECT_EQ(deepseek.routing.capacity_factor, 1);
  EXPECT_FALSE(deepseek.blocks.fused_attention);
  EXPECT_TRUE(deepseek.derive.recompute.any());
  EXPECT_FALSE(deepseek.derive.collective_matmul);
}

// Updated weights: beside the next forward with Megatron Core, in 8 bits in MLPerf's round 4.0; Megatron-LM of 2021
// splits no optimizer state, and sends activations in parts where tensor ranks have copies of them.
TEST(PublishedTables, GathersAndSendsOfMegatron) {
  const auto mlperf = runs_of("mlperf_llm");
  EXPECT_TRUE(scenario_of(mlperf[0], ".").step.publish_ahead);
  EXPECT_FALSE(scenario_of(mlperf[0], ".").training.low_precision_gather);
  EXPECT_TRUE(scenario_of(mlperf[12], ".").training.low_precision_gather);
  for (const auto& run : runs_of("vtrain_multi")) {
    const auto scenario = scenario_of(run, ".");
    EXPECT_EQ(scenario.step.scatter_sends, axis(scenario, "tensor") > 1 && axis(scenario, "pipeline") > 1) << run.name;
    EXPECT_FALSE(scenario.step.publish_ahead) << run.name;
  }
}

// Google's Mixtral recipes drop tokens above 1.25 of a fair share and move the others by masks; the rest is dropless.
TEST(PublishedTables, MixturesOfTheTpuRecipes) {
  for (const auto& run : runs_of("tpu_recipes_v5p_v6e")) {
    const auto scenario = scenario_of(run, ".");
    const bool mixtral = run.family.starts_with("Mixtral");
    EXPECT_EQ(scenario.routing.capacity_factor, mixtral ? std::optional(1.25) : std::nullopt) << run.name;
    EXPECT_EQ(scenario.derive.one_hot_slots, mixtral) << run.name;
    EXPECT_EQ(scenario.derive.counted_slots, !mixtral) << run.name;
  }
}

// Two devices a chip: 512 devices of 256 chips are 64 replicas of a sequence over 8 devices, 4 chips. What a policy
// keeps is not computed again, nor what no backward reads.
TEST(PublishedTables, RecipesOnIronwood) {
  std::map<std::string, std::string> kept;
  for (const auto& run : runs_of("tpu_recipes_ironwood")) {
    if (!run.skipped_because.empty()) continue;
    const auto scenario = scenario_of(run, ".");
    const bool long_context = scenario.batch.sequence_length == 131'072;
    EXPECT_EQ(axis(scenario, "context"), long_context ? 4 : 1) << run.name;
    EXPECT_EQ(axis(scenario, "context") * axis(scenario, "fsdp") * axis(scenario, "data"), scenario.chips())
        << run.name;
    EXPECT_EQ(axis(scenario, "data"), run.family.starts_with("gpt-oss") ? scenario.chips() / 32 : 1) << run.name;
    kept[run.family] = run.value_of("training.recompute.kept");
  }
  EXPECT_EQ(kept.at("llama3.1-70b, v7x, bf16"),
            "[down projection, query projection, key projection, value projection, attention]");
  EXPECT_EQ(kept.at("llama3.1-405b, v7x, fp8"), "[down projection]");
  EXPECT_EQ(kept.at("qwen3-235b-a22b, v7x, bf16"), "[expert down projection]");
}

// MLPerf 5.0 and 5.1: 5120 GB200 with TP 4, PP 8, CP 2 are 80 replicas, 1280 / 80 = 16 microbatches, and 64 chips of a
// rack; 72 chips are a rack. What 8-bit products read is gathered in 8 bits, not what 4-bit products read.
TEST(PublishedTables, Llama31OfMlperf) {
  const auto runs = runs_of("mlperf_llama31");
  const auto of = [&](const std::string& source) {
    for (const auto& run : runs) {
      if (run.source.find(source) != std::string::npos) return run;
    }
    throw std::runtime_error("no run " + source);
  };
  const auto large = scenario_of(of("hsg_ngpu5120"), ".");
  EXPECT_EQ(axis(large, "data"), 80);
  EXPECT_EQ(large.batch.microbatches, 16);
  EXPECT_EQ(large.pipeline.chunks, 8);
  EXPECT_FALSE(large.training.low_precision_gather);
  EXPECT_THAT(of("hsg_ngpu5120").value_of("cluster"), HasSubstr("like: gb200-nvl72, chips: 64"));
  const auto rack = of("theia_ngpu72");
  EXPECT_THAT(rack.value_of("cluster"), HasSubstr("like: gb300-nvl72, chips: 72"));
  EXPECT_TRUE(scenario_of(rack, ".").training.low_precision_gather);
  EXPECT_EQ(scenario_of(rack, ".").cluster.chip().kernels->host, Seconds(0)) << "launched as a graph";
  EXPECT_FALSE(large.derive.collective_matmul);
  EXPECT_FALSE(large.training.hadamard_transform);
  EXPECT_EQ(of("hsg_ngpu5120").value_of("communication.activation_gathers"), "4-bit");
  EXPECT_EQ(large.training.attention_kernel, "");
  EXPECT_EQ(scenario_of(of("nebius_b200_n1"), ".").training.attention_kernel, "cudnn-9-fp8");
  EXPECT_GT(scenario_of(of("AS-8126GS-NB3RT"), ".").cluster.chip().kernels->host, Seconds(0)) << "its graphs are off";
  EXPECT_EQ(scenario_of(of("MI350X_EPYC"), ".").cluster.chip().name, "mi350x");
  EXPECT_EQ(scenario_of(of("MI355X_EPYC"), ".").batch.microbatches, 2);
}

// Blocks that run again without their last product: 3 (HFU / MFU - 1) f / (f - d_ff), f = 2 d (1 + kv / heads) + 3 d_ff
// + 2 T. 13B: f = 2 x 5120 x 2 + 3 x 13,824 + 2 x 4096 = 70,144; on H100 3 (0.46 / 0.43 - 1) x 70,144 / 56,320 = 0.261
// of 40 blocks. 70B on A100: more than all, 80. Eight NICs of 100 Gbps make 800 Gbps.
TEST(PublishedTables, FmsFsdp) {
  const auto runs = runs_of("fms_fsdp");
  EXPECT_EQ(runs.at(5).value_of("training.recompute.layers"), "10");
  EXPECT_EQ(runs.at(3).value_of("training.recompute.layers"), "80");
  EXPECT_EQ(runs.at(0).value_of("training.recompute.layers"), "");
  EXPECT_EQ(axis(scenario_of(runs.at(0), "."), "fsdp"), 8);
  EXPECT_EQ(axis(scenario_of(runs.at(0), "."), "data"), 16);
  EXPECT_EQ(runs.at(0).value_of("mesh.fsdp"), "[gpu]");
  EXPECT_EQ(axis(scenario_of(runs.at(7), "."), "fsdp"), 96);
  EXPECT_THAT(runs.at(7).value_of("cluster"), HasSubstr("nics: {count: 8, rate: 100 Gbps"));
  EXPECT_NEAR(static_cast<double>(count_parameters(scenario_of(runs.at(2), ".").model).total()), 33.7e9, 0.1e9);
}

// A file with other columns is told so at its header, not row by row.
TEST(PublishedTables, MissingColumnsAreNamedOnce) {
  Problems problems;
  const CsvTable table("model,seq\nx,1\ny,2\n", "torchtitan.csv", problems);
  EXPECT_THAT(read_published_runs(*validation::find_published_table("torchtitan"), table), IsEmpty());
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems.list().front().to_string(), HasSubstr("torchtitan.csv:1:1: local_batch: the column is missing"));
}

}  // namespace
}  // namespace lockstep
