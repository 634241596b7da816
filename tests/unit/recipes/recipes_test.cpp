// Recipes with the facts of public ones become scenarios that load and fit their machines: at least ten of each format.
// Expected numbers are those of the recipes, or what their programs make of them, as each test says.
#include <gmock/gmock.h>

#include <map>

#include "sim/preparation/preparation.hpp"
#include "tests/unit/recipes/recipe_files.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

class RecipesOfAFormat : public testing::TestWithParam<const char*> {};

// import_recipe prepares what it wrote, so that none of these throws; the keys that a scenario needs are there, and the
// ranks make up the chips.
TEST_P(RecipesOfAFormat, BecomeScenariosThatFitTheirMachines) {
  const auto files = recipe_files(GetParam());
  EXPECT_GE(files.size(), 10U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    try {
      const auto recipe = imported(file);
      const auto scenario = scenario::scenario_of_text(recipe.yaml, "written", ".");
      const auto prepared = preparation::prepare(scenario);
      EXPECT_EQ(prepared.machine.mesh->ranks(), scenario.chips());
      EXPECT_GT(scenario.batch.sequences, 0);
      EXPECT_FALSE(recipe.lines.empty());
    } catch (const ConfigError& error) {
      ADD_FAILURE() << error.problems().front().to_string();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, RecipesOfAFormat,
                         testing::Values("megatron", "megatron_yaml", "torchtitan", "deepspeed", "maxtext"));

recipes::ImportedRecipe of_file(const std::string& folder, const std::string& name) {
  for (const auto& file : recipe_files(folder)) {
    if (file.filename() == name) return imported(file);
  }
  ADD_FAILURE() << "no recipe " << name;
  return {};
}

// GPT-3 on 128 chips: 50,257 tokens of GPT-2's byte pairs, padded to a multiple of 128 x 8 = 1,024, are 51,200; nothing
// is left for replicas after tensor 8 x pipeline 16. Without --swiglu the MLP has two matrices of 4 x 12,288.
TEST(MegatronRecipe, Gpt3) {
  const auto recipe = of_file("megatron", "gpt3_175b.sh");
  const std::map<std::string, std::string> expected = {
      {"model.layers", "96"},       {"model.d_model", "12288"},     {"model.d_ff", "49152"},
      {"model.mlp", "plain"},       {"model.vocabulary", "51200"},  {"model.tied_embeddings", "true"},
      {"parallel.tensor", "8"},     {"parallel.pipeline", "16"},    {"parallel.data", ""},
      {"batch.sequences", "1536"},  {"batch.microbatch_size", "1"}, {"training.precision", "fp16"},
      {"training.dropout", "true"}, {"model.qkv_bias", "true"},     {"parallel.sequence_parallel", "false"},
      {"model.norm", "layer_norm"}, {"pipeline.schedule", "1f1b"},  {"model.learned_positions", "2048"}};
  for (const auto& [key, value] : expected) EXPECT_EQ(value_of(recipe, key), value) << key;
}

// Variables with defaults, conditions, and lists that grow: the branch of the mock tokenizer is taken, the other not.
// `flash` takes FlashAttention's kernels, `auto` the chip's fastest.
TEST(MegatronRecipe, KernelsOfAttention) {
  const auto of = [](const std::string& backend, const std::string& key) {
    return value_of(imported("torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 "
                             "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 "
                             "--global-batch-size 64 --vocab-size 32000 --bf16 --attention-backend " +
                                 backend + "\n",
                             "h100:1"),
                    key);
  };
  EXPECT_EQ(of("flash", "training.attention_kernel"), "flash-attention-2");
  EXPECT_EQ(of("unfused", "training.attention"), "unfused");
  EXPECT_EQ(of("auto", "training.attention_kernel"), "");
}

// Nothing is swallowed: a backend that is not known, none at all, and a flag of models before Megatron Core.
TEST(MegatronRecipe, UnknownKernelsOfAttentionAreReported) {
  for (const std::string end : {"--attention-backend foo", "--attention-backend", "--use-flash-attn"}) {
    const auto recipe = imported(
        "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 "
        "--max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16 " +
            end + "\n",
        "h100:1");
    EXPECT_EQ(std::count_if(recipe.left_out.begin(), recipe.left_out.end(),
                            [&](const auto& left) { return left.option == end; }),
              1)
        << end;
    EXPECT_EQ(value_of(recipe, "training.attention_kernel"), "");
  }
}

TEST(MegatronRecipe, ShellIsReadNotRun) {
  const auto recipe = of_file("megatron", "llama3_8b_fp8.sh");
  EXPECT_EQ(value_of(recipe, "model.vocabulary"), "128256");
  EXPECT_EQ(value_of(recipe, "training.precision"), "fp8");
  EXPECT_EQ(value_of(recipe, "training.low_precision_gather"), "true");
  EXPECT_EQ(value_of(recipe, "training.kept_activations.format"), "8-bit");
  EXPECT_EQ(value_of(recipe, "training.kept_activations.functions"), "16-bit");
  EXPECT_EQ(value_of(recipe, "training.low_precision_weights"), "") << "gathered in 8 bits, they have no other copy";
  EXPECT_EQ(value_of(recipe, "batch.microbatch_size"), "1");
  EXPECT_EQ(value_of(recipe, "parallel.data"), "8");
  EXPECT_THAT(recipe.yaml, HasSubstr("layers: 32  # --num-layers, line 11\n"));
}

// Megatron's order of ranks is its mesh: of 8 chips of a node 4 tensor ranks and 2 replicas, then stages; with
// --use-tp-pp-dp-mapping 2 stages and then replicas. A user who says other sizes, and a torus, leave the mesh open.
TEST(MegatronRecipe, RanksStandInItsOrder) {
  const std::string text =
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 128 "
      "--max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 64 --vocab-size 1024 --bf16 "
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel";
  const auto mesh = [](const recipes::ImportedRecipe& recipe) {
    return value_of(recipe, "mesh.tensor") + value_of(recipe, "mesh.data") + value_of(recipe, "mesh.pipeline");
  };
  EXPECT_EQ(mesh(imported(text + "\n", "h100:4")), "[gpu/4][node/2, gpu/2][node/2]");
  const auto swapped = imported(text + " --use-tp-pp-dp-mapping\n", "h100:4");
  EXPECT_EQ(mesh(swapped), "[gpu/4][node/4][gpu/2]");
  EXPECT_TRUE(swapped.left_out.empty());
  EXPECT_EQ(mesh(imported(text + "\n", "tpu-v5p:2x2x4")), "");
  recipes::RecipeRequest request;
  request.file = "run.sh";
  request.cluster = "h100:4";
  request.set = {{"parallel.data", "4"}};
  EXPECT_EQ(mesh(import_recipe(text + "\n", request)), "");
}

// 64 chips are tensor 8 x data 8. With experts over E ranks, each split over t of the tensor ranks, the other 8 / t
// tensor ranks are among the E, and data ranks the rest: E t / 8 of them. Without --expert-tensor-parallel-size t is 8.
TEST(MegatronRecipe, ExpertsOverAPartOfTheTensorRanks) {
  const std::string shape =
      "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --micro-batch-size 1 --seq-length 128 --vocab-size "
      "1024 "
      "--bf16 --global-batch-size 64 --num-experts 16 --moe-router-topk 2 --tensor-model-parallel-size 8 "
      "--sequence-parallel --swiglu --disable-bias-linear ";
  const auto keys = [&](const std::string& experts) {
    const auto recipe = imported(shape + experts, "h100:8");
    std::string all;
    for (const auto* key : {"expert", "data", "experts_over", "expert_tensor"})
      all += value_of(recipe, std::string("parallel.") + key) + ";";
    return all;
  };
  EXPECT_EQ(keys("--expert-model-parallel-size 8"), "8;;;;");
  EXPECT_EQ(keys("--expert-model-parallel-size 8 --expert-tensor-parallel-size 1"), ";8;[expert, tensor];;");
  EXPECT_EQ(keys("--expert-model-parallel-size 8 --expert-tensor-parallel-size 2"), "2;4;[expert, tensor];2;");
  EXPECT_EQ(keys("--expert-model-parallel-size 16 --expert-tensor-parallel-size 4"), "8;;[expert, tensor];4;");
  EXPECT_EQ(keys("--expert-tensor-parallel-size 2"), ";8;;2;") << "copies on every 2 ranks";
  recipes::RecipeRequest request;
  request.cluster = "h100:8";
  EXPECT_THAT(
      refusal(shape + "--expert-model-parallel-size 8 --expert-tensor-parallel-size 3", request),
      HasSubstr("experts split over 3 of 8 tensor ranks have no counterpart; expected expert tensor parallelism "
                "that divides 8"));
}

// The documented layout of DeepSeek-V3 on 16 ranks has 32 stages, so two chunks; 64 expert ranks are all replicas of
// 1,024 chips / 16.
TEST(MegatronRecipe, DeepSeekV3InItsLayout) {
  const auto recipe = of_file("megatron", "deepseek_v3_layout.sh");
  EXPECT_EQ(value_of(recipe, "pipeline.layout"), "\"Et*3|(tt|)*29,m|L\"");
  EXPECT_EQ(value_of(recipe, "pipeline.schedule"), "interleaved");
  EXPECT_EQ(value_of(recipe, "parallel.expert"), "64");
  EXPECT_EQ(value_of(recipe, "model.moe.dense_first"), "3");
  EXPECT_EQ(value_of(recipe, "model.mtp_modules"), "1");
  const auto scenario = scenario::scenario_of_text(recipe.yaml, "written", ".");
  const auto prepared = preparation::prepare(scenario);
  EXPECT_EQ(prepared.pipeline.order.shape.chunks, 2);
  EXPECT_EQ(preparation::layout_of(prepared), "Et*3|(tt|)*29,m|L");
}

// The branch of MODEL_SIZE counts: 145B has TP 8, PP 8, 80 layers in chunks of 5, so 80 / 8 / 5 = 2 chunks.
TEST(MegatronRecipe, TheBranchOfACondition) {
  const auto recipe = of_file("megatron", "gpt_145b_sc21.sh");
  EXPECT_EQ(value_of(recipe, "model.layers"), "80");
  EXPECT_EQ(value_of(recipe, "parallel.tensor"), "8");
  EXPECT_EQ(value_of(recipe, "pipeline.chunks"), "2");
  EXPECT_EQ(value_of(recipe, "training.recompute"), "full");
  EXPECT_EQ(value_of(of_file("megatron", "mamba_8b.sh"), "parallel.tensor"), "4");  // of a case
}

// A list of lists of words is the same layout in letters: 4 layers on each of 15 stages and one on the last.
TEST(MegatronRecipe, ALayoutOfLists) {
  EXPECT_EQ(value_of(of_file("megatron_yaml", "bridge_layout.yaml"), "pipeline.layout"), "\"Et*4|(t*4|)*14,tmL\"");
}

// Two instances on 8 replicas: the state is split over 4 and copied twice.
TEST(MegatronRecipe, OptimizerInstances) {
  const auto recipe = of_file("megatron_yaml", "optimizer_instances.yaml");
  EXPECT_EQ(value_of(recipe, "parallel.fsdp"), "4");
  EXPECT_EQ(value_of(recipe, "parallel.data"), "2");
  EXPECT_EQ(value_of(recipe, "parallel.zero.fsdp"), "1");
}

// 128 chips under tensor 8 are FSDP 16; each of them has 2 sequences.
TEST(TorchtitanRecipe, Llama405B) {
  const auto recipe = of_file("torchtitan", "llama3_405b.toml");
  EXPECT_EQ(value_of(recipe, "model"), "llama-3-405b");
  EXPECT_EQ(value_of(recipe, "parallel.fsdp"), "16");
  EXPECT_EQ(value_of(recipe, "batch.sequences"), "32");
  EXPECT_EQ(value_of(recipe, "training.precision"), "fp8");
  EXPECT_EQ(value_of(recipe, "communication.collective_matmul"), "true");
  EXPECT_EQ(value_of(recipe, "training.recompute"), "full");
}

// The backend of experts' all-to-alls is the dispatcher of that name; where no axis shares out the experts it says
// nothing.
TEST(TorchtitanRecipe, TheBackendOfExpertsIsADispatcher) {
  const auto of = [](const std::string& backend, const std::string& experts) {
    std::string text;
    for (const auto& file : recipe_files("torchtitan")) {
      if (file.filename() == "deepseek_v3_16b.toml") text = recipe_text(file);
    }
    const std::string degree = "expert_parallel_degree = 8";
    text.replace(text.find(degree), degree.size(),
                 "expert_parallel_degree = " + experts + "\nexpert_parallel_comm_backend = \"" + backend + "\"");
    return imported(text, "h100:1");
  };
  EXPECT_EQ(value_of(of("standard", "8"), "communication.dispatcher"), "nccl");
  EXPECT_EQ(value_of(of("deepep", "8"), "communication.dispatcher"), "deepep");
  EXPECT_EQ(value_of(of("hybridep", "8"), "communication.dispatcher"), "hybridep");
  for (const auto& [backend, experts, why] : {std::tuple{"deepep", "1", "no axis shares out the experts"},
                                              {"another", "8", "communication.dispatcher knows nccl (standard)"}}) {
    const auto recipe = of(backend, experts);
    EXPECT_EQ(value_of(recipe, "communication.dispatcher"), "");
    ASSERT_EQ(std::count_if(recipe.left_out.begin(), recipe.left_out.end(),
                            [&, reason = std::string(why)](const auto& left) { return left.why.starts_with(reason); }),
              1);
  }
}

// 48 layers with embedding and head as one layer each are 50 on 4 stages: 13, 13, 12, 12, less one at both ends.
TEST(TorchtitanRecipe, StagesCountEmbeddingAndHead) {
  EXPECT_EQ(value_of(of_file("torchtitan", "llama4_17bx128e.toml"), "pipeline.layers"), "[12, 13, 12, 11]");
}

// 16 chips, 2 sequences in a microbatch: what "auto" leaves open is said by --set.
TEST(DeepSpeedRecipe, StagesOfZero) {
  const auto second = of_file("deepspeed", "autotuning_fp16_z2.json"),
             third = of_file("deepspeed", "autotuning_fp16_z3.json");
  EXPECT_EQ(value_of(second, "parallel.data"), "16");
  EXPECT_EQ(value_of(second, "parallel.zero"), "2");
  EXPECT_EQ(value_of(third, "parallel.fsdp"), "16");
  EXPECT_EQ(value_of(third, "batch.microbatch_size"), "2");
}

// A scale of 128 = 2^7: 7 = 2 x 3 + 1 doublings, so layers x 4, embedding x 4, heads and MLP x 8 of base.yml's 16,
// 2,048, 16 and 7,168. 1,024 chips in one slice under tensor 8 leave FSDP 128.
TEST(MaxTextRecipe, AScaleOfParameters) {
  const auto recipe = of_file("maxtext", "v5p_128b.sh");
  EXPECT_EQ(value_of(recipe, "model.layers"), "64");
  EXPECT_EQ(value_of(recipe, "model.d_model"), "8192");
  EXPECT_EQ(value_of(recipe, "model.heads"), "128");
  EXPECT_EQ(value_of(recipe, "model.d_ff"), "57344");
  EXPECT_EQ(value_of(recipe, "parallel.fsdp"), "128");
  EXPECT_EQ(value_of(recipe, "batch.sequences"), "1024");
}

// Two slices of 256: FSDP inside, replicas between them, which stand on the pods.
TEST(MaxTextRecipe, SlicesAndTheirReplicas) {
  const auto recipe = of_file("maxtext", "v5e_llama2_70b.sh");
  EXPECT_EQ(value_of(recipe, "parallel.fsdp"), "256");
  EXPECT_EQ(value_of(recipe, "parallel.data"), "2");
  EXPECT_EQ(value_of(recipe, "mesh.data"), "[pod]");
  EXPECT_EQ(value_of(recipe, "training.local_updates.inner_steps"), "");
}

// num_vocab_tiling parts of the tokens, each with its logits computed again in the backward; weight_dtype is float32
// unless something else is said. Without tiles the loss is one word.
TEST(MaxTextRecipe, ALossInTiles) {
  const std::string command =
      "python3 -m MaxText.train configs/base.yml model_name=llama2-70b dataset_type=synthetic per_device_batch_size=2";
  const auto tiled = imported(command + " num_vocab_tiling=16\n", "tpu-v5e:16x16");
  EXPECT_EQ(value_of(tiled, "training.cross_entropy.mode"), "in place");
  EXPECT_EQ(value_of(tiled, "training.cross_entropy.tiles"), "16");
  EXPECT_EQ(value_of(tiled, "training.cross_entropy.logits"), "again");
  EXPECT_EQ(value_of(tiled, "training.weight_precision"), "fp32");
  EXPECT_EQ(value_of(imported(command + "\n", "tpu-v5e:16x16"), "training.cross_entropy"), "in place");
}

// On GPUs XLA has no profile of the step: layers of a loop hide nothing beyond an iteration, unrolled ones no
// reduction. TPUs are as ever. A policy that leaves out MLPs keeps the projections of attention.
TEST(MaxTextRecipe, CollectivesOfXlaOnGpus) {
  const std::string command =
      "python3 -m MaxText.train configs/base.yml model_name=llama2-7b dataset_type=synthetic per_device_batch_size=2";
  const auto loop = of_file("maxtext", "gpu_llama3_405b.yml");
  EXPECT_EQ(value_of(loop, "communication.prefetch"), "0");
  EXPECT_EQ(value_of(loop, "communication.reductions_in_flight"), "0");
  const auto unrolled = imported(command + " hardware=gpu scan_layers=false\n", "h100:1");
  EXPECT_EQ(value_of(unrolled, "communication.gradient_buckets"), "1 TB");
  EXPECT_EQ(value_of(unrolled, "communication.prefetch"), "");
  EXPECT_EQ(value_of(imported(command + "\n", "tpu-v5e:16x16"), "communication.prefetch"), "");
  EXPECT_EQ(value_of(imported(command + " hardware=gpu remat_policy=save_dot_except_mlp\n", "h100:1"),
                     "training.recompute.kept"),
            "[query projection, key projection, value projection, attention output, down projection]");
  // A norm reads what Gemma's down projection makes; experts are MLPs too.
  const auto policy = [](const std::string& model) {
    return imported(
        "python3 -m MaxText.train configs/base.yml model_name=" + model +
            " dataset_type=synthetic per_device_batch_size=2 remat_policy=save_dot_with_context_except_mlp\n",
        "h100:8");
  };
  EXPECT_EQ(value_of(policy("gemma3-27b"), "training.recompute.kept"),
            "[query projection, key projection, value projection, attention output, attention]");
  EXPECT_EQ(value_of(policy("mixtral-8x7b"), "training.recompute.parts"), "[norms, activations, mlp, experts]");
}

// 36 layers in fragments of one, and one with embedding and head: a fragment every step.
TEST(MaxTextRecipe, SlicesThatTrainApart) {
  const auto recipe = of_file("maxtext", "qwen3_8b_streaming_diloco.sh");
  EXPECT_EQ(value_of(recipe, "parallel.data"), "2");
  EXPECT_EQ(value_of(recipe, "mesh.data"), "[pod]");
  EXPECT_EQ(value_of(recipe, "training.local_updates.inner_steps"), "37");
  EXPECT_EQ(value_of(recipe, "training.local_updates.fragments"), "37");
}

}  // namespace
}  // namespace lockstep::test
