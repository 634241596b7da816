// Shapes come from the product that one rank multiplies: dimensions of the left alone are m, of the right alone n, of
// both k, of both and the result the batch.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

const workloads::AxisNames axes{"X", "Y"};
const workloads::Sizes sizes{{{"B", {8}}, {"T", {32}}, {"D", {256}}, {"F", {1024}}, {"E", {16}}, {"C", {64}}},
                             {{"X", 2}, {"Y", 4}}};

workloads::KernelShape shape_of(const std::string& einsum) {
  return product_shape(workloads::parse_einsum(einsum, axes), sizes);
}

TEST(KernelShapeTest, ForwardInputAndWeightGradient) {
  EXPECT_EQ(shape_of("In[B_X,T,D] * W[D,F_Y] -> Out[B_X,T,F_Y]"), (workloads::KernelShape{1, 4 * 32, 256, 256}));
  EXPECT_EQ(shape_of("dOut[B_X,T,F_Y] * W[D,F_Y] -> dIn[B_X,T,D]{U_Y}"), (workloads::KernelShape{1, 4 * 32, 256, 256}));
  EXPECT_EQ(shape_of("In[B_X,T,D] * dOut[B_X,T,F_Y] -> dW[D,F_Y]{U_X}"), (workloads::KernelShape{1, 256, 256, 4 * 32}));
}

TEST(KernelShapeTest, ExpertsAreABatch) {
  EXPECT_EQ(shape_of("Slots[E_X,C,D] * W[E_X,D,F_Y] -> Out[E_X,C,F_Y]"), (workloads::KernelShape{8, 64, 256, 256}));
}

using test::OneRank;

/// Every FLOP of a step belongs to a shape: 2 b m n k; attention 4 b m n k, half of it masked, twice that backward.
TEST(KernelShapeTest, ShapesHoldTheFlopsOfEveryStep) {
  for (const std::string file : {"llama-2-13b", "deepseek-v3", "gpt3-175b"}) {
    const OneRank rank("small.yaml", {{"model", file},
                                      {"cluster", "h100:32"},
                                      {"mesh", "{}"},
                                      {"parallel", "{tensor: 8, fsdp: 32}"},
                                      {"batch", "{sequences: 32, sequence_length: 2048}"}});
    int seen = 0;
    for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
      const auto& op = rank.step().op(id);
      if (op->kind != workloads::StepOp::Kind::compute || op->flops.value() == 0) continue;
      const auto& [batch, m, n, k, causal, backward, fused, counted, dropout] = op->shape;
      const double all =
          2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
      const double expected = op->work == workloads::ComputeWork::attention ? all * (backward ? 2 : 1) : all;
      ASSERT_NEAR(op->flops.value() / expected, 1, 1e-9) << file << ": " << op->name << ", " << op->detail;
      ++seen;
    }
    EXPECT_GT(seen, 100);
  }
}

}  // namespace
}  // namespace lockstep
