// Blocks as lists of operations, of every model of the catalog: each array is made once, before it is read; each weight
// is used once; nothing is made for nobody.
#include <gmock/gmock.h>

#include <set>

#include "sim/core/errors.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "workloads/catalog";

template <class Visit>
int for_each_block(Visit visit) {
  int blocks = 0;
  for (const auto& name : workloads::model_names(catalog)) {
    Problems problems;
    const auto model = workloads::load_model(catalog, name, problems);
    problems.throw_if_any();
    if (!why_not_expanded(model).what.empty()) continue;
    for (const bool dropout : {false, true}) {
      for (const bool fused : {false, true}) {
        for (const auto& block : blocks_of(model, {.dropout = dropout, .fused_attention = fused}).kinds) {
          SCOPED_TRACE(name + " " + block.name);
          visit(block);
          ++blocks;
        }
      }
    }
  }
  return blocks;
}

TEST(BlockStructure, ArraysAreMadeOnceAndBeforeTheyAreRead) {
  const int blocks = for_each_block([](const workloads::Block& block) {
    std::set<std::string> declared, made;
    for (const auto& tensor : block.activations) ASSERT_TRUE(declared.insert(tensor.name).second) << tensor.name;
    if (!block.input.empty()) made.insert(block.input);
    made.insert("Tokens");
    for (const auto& op : block.ops) {
      for (const auto& input : op.inputs) ASSERT_TRUE(made.contains(input)) << op.name << " reads " << input;
      if (op.output.empty()) continue;
      ASSERT_TRUE(declared.contains(op.output)) << op.output;
      ASSERT_TRUE(made.insert(op.output).second) << op.output << " is made twice";
    }
    ASSERT_TRUE(block.output.empty() || made.contains(block.output));
    for (const auto& name : declared) ASSERT_TRUE(made.contains(name)) << name << " is never made";
  });
  EXPECT_GT(blocks, 200);
}

TEST(BlockStructure, NothingIsMadeForNobody) {
  for_each_block([](const workloads::Block& block) {
    std::set<std::string> read{block.output};
    for (const auto& op : block.ops) read.insert(op.inputs.begin(), op.inputs.end());
    for (const auto& tensor : block.activations) ASSERT_TRUE(read.contains(tensor.name)) << tensor.name;
  });
}

// Dimensions of a product's weight are on its input or its output, and those on both number matrices: experts, groups
// of heads, and the heads for which queries are turned into latents and results out of them.
TEST(BlockStructure, WeightsAreUsedOnceByWhatFitsThem) {
  for_each_block([](const workloads::Block& block) {
    std::set<std::string> used, operations;
    for (const auto& op : block.ops) {
      ASSERT_TRUE(operations.insert(op.name + op.output).second) << op.name << " stands twice";
      if (op.weight.empty()) continue;
      ASSERT_TRUE(used.insert(op.weight).second) << op.weight;
      if (op.kind != workloads::BlockOp::Kind::matmul) continue;
      const auto& in = block.activation(op.inputs.at(0)).dims;
      const auto& out = block.activation(op.output).dims;
      const auto has = [](const auto& dims, const auto& dim) {
        return std::find(dims.begin(), dims.end(), dim) != dims.end();
      };
      for (const auto& dim : block.weight(op.weight).dims) {
        ASSERT_TRUE(has(in, dim) || has(out, dim)) << op.weight << " " << dim;
        const bool of_latents = dim == "N" && (op.weight == "Wkb" || op.weight == "Wvb");
        const bool numbers = dim == "E" || dim == "Go" || of_latents;
        ASSERT_TRUE(!has(in, dim) || !has(out, dim) || numbers) << op.weight << " " << dim;
      }
    }
    for (const auto& weight : block.weights) ASSERT_TRUE(used.contains(weight.name)) << weight.name;
    EXPECT_THROW((void)block.activation("no such"), InternalError);
    EXPECT_THROW((void)block.weight("no such"), InternalError);
  });
}

// 16 sequences of 8 tokens, 2 of 8 experts each: 32 slots an expert, 25 % more under a capacity of 1.25, rounded up.
TEST(BlockSizes, SlotsAreAFairShareTimesTheCapacity) {
  const auto slots = [](double capacity, std::int64_t sequences = 16) {
    return sizes_of(mixture(), sequences, 8, capacity).dim("C");
  };
  EXPECT_EQ(slots(1), 16 * 8 * 2 / 8);
  EXPECT_EQ(slots(1.25), 40);
  EXPECT_EQ(slots(1.01), 33) << "32.32";
  EXPECT_EQ(slots(0.1, 1), 1);
}

TEST(BlockSizes, AreTheModelsAndTheBatchs) {
  const auto sizes = sizes_of(latent(), 16, 8);
  EXPECT_EQ(sizes.dim("B") * sizes.dim("T"), 128);
  EXPECT_EQ(sizes.dim("N"), 8);
  EXPECT_EQ(sizes.dim("Rq"), 12);
  EXPECT_EQ(sizes.dim("Rk"), 10);
  EXPECT_EQ(sizes.dim("Hn") + sizes.dim("Hr"), sizes.dim("H"));
  EXPECT_EQ(sizes_of(two_matmuls(), 16, 8).dim("B"), 128) << "a model without sequence counts tokens";
  EXPECT_THROW((void)sizes_of(two_matmuls(), 16, 8).dim("T"), workloads::ShardingError);
}

TEST(NotExpanded, AreIndexersWithoutAQueryLatentAndLongPredictionModules) {
  auto model = latent();
  EXPECT_EQ(why_not_expanded(model).what, "");
  model.indexer = workloads::SparseIndexer{};
  EXPECT_EQ(why_not_expanded(model).what, "");
  model.latent->q_rank = 0;
  EXPECT_EQ(why_not_expanded(model).expected, "latent_attention.q_rank");
  auto predicting = transformer();
  predicting.mtp_modules = 1;
  predicting.mtp_layers = {workloads::LayerKind{}, workloads::LayerKind{}};
  EXPECT_EQ(why_not_expanded(predicting).what, "a prediction module of several layers is not simulated");
}

}  // namespace
}  // namespace lockstep::test
