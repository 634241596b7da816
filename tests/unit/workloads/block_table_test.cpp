// The table of one layer In[B, D] Win[D, F] Wout[F, D] in bf16: from the plan alone each strategy's collectives, kind
// by kind and byte by byte. B = 128 tokens, D = 32, F = 128: 2BD = 8192, 2DF = 8192; X is data or fsdp, Y is tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t B = 128;

/// "ReduceScatter_fsdp dWin 8192" for every gradient and published weight.
std::vector<std::string> chains(const workloads::ShardedLayer& block,
                                std::vector<workloads::DerivedCollective> workloads::WeightUpdate::*chain) {
  std::vector<std::string> result;
  for (const auto& update : block.weights) {
    for (const auto& derived : update.*chain) {
      result.push_back(std::string(book_name(derived.kind)) + "_" + workloads::subscript(derived.axes) + " " +
                       derived.before.name + " " + std::to_string(derived.full_size.value()));
    }
  }
  return result;
}
std::vector<std::string> each(const workloads::ShardedLayer& block) {
  return chains(block, &workloads::WeightUpdate::each_microbatch);
}
std::vector<std::string> last(const workloads::ShardedLayer& block) {
  return chains(block, &workloads::WeightUpdate::last_microbatch);
}
std::vector<std::string> publish(const workloads::ShardedLayer& block) {
  return chains(block, &workloads::WeightUpdate::publish);
}

std::int64_t update_bytes(const workloads::ShardedLayer& block) {
  std::int64_t sum = 0;
  for (const auto& update : block.weights) {
    for (const auto* chain : {&update.each_microbatch, &update.last_microbatch, &update.publish}) {
      for (const auto& derived : *chain) sum += book_bytes(derived.kind, derived.full_size);
    }
  }
  return sum;
}

workloads::Parallel data(std::int64_t size, int zero) { return {.data = size, .zero = zero}; }

// DP: nothing forward, nothing on the critical path backward; AllReduce_X of both gradients: 8DF.
TEST(BlockTable, DataParallel) {
  const auto layer = derived(two_matmuls(), data(4, 0)).layer();
  EXPECT_THAT(collectives(layer.forward), IsEmpty());
  EXPECT_THAT(collectives(layer.backward), IsEmpty());
  EXPECT_THAT(each(layer), IsEmpty());
  EXPECT_THAT(last(layer), ElementsAre("AllReduce_data dWin 8192", "AllReduce_data dWout 8192"));
  EXPECT_THAT(publish(layer), IsEmpty());
  EXPECT_EQ(update_bytes(layer), 8 * D * F);
}

// ZeRO-1: the optimizer state is split, so the gradient is scattered after the last microbatch and the weight
// gathered after the update: 2 x parameters = 2 x 4DF bytes, as DP.
TEST(BlockTable, ZeroOne) {
  const auto layer = derived(two_matmuls(), data(4, 1)).layer();
  EXPECT_THAT(collectives(layer.forward), IsEmpty());
  EXPECT_THAT(collectives(layer.backward), IsEmpty());
  EXPECT_THAT(each(layer), IsEmpty());
  EXPECT_THAT(last(layer), ElementsAre("ReduceScatter_data dWin 8192", "ReduceScatter_data dWout 8192"));
  EXPECT_THAT(publish(layer), ElementsAre("AllGather_data Win 8192", "AllGather_data Wout 8192"));
  EXPECT_EQ(update_bytes(layer), 2 * 4 * D * F);
  EXPECT_EQ(layer.weights[0].gradient_elements, D * F);
  EXPECT_EQ(layer.weights[0].optimizer_elements, D * F / 4);
}

// ZeRO-2: the same bytes, but the gradient is scattered as it comes and kept split.
TEST(BlockTable, ZeroTwo) {
  const auto layer = derived(two_matmuls(), data(4, 2)).layer();
  EXPECT_THAT(each(layer), ElementsAre("ReduceScatter_data dWin 8192", "ReduceScatter_data dWout 8192"));
  EXPECT_THAT(last(layer), IsEmpty());
  EXPECT_THAT(publish(layer), ElementsAre("AllGather_data Win 8192", "AllGather_data Wout 8192"));
  EXPECT_EQ(update_bytes(layer), 2 * 4 * D * F);
  EXPECT_EQ(layer.weights[0].gradient_elements, D * F / 4);
  EXPECT_EQ(layer.weights[0].stored, Bytes(2 * D * F));
}

// FSDP / ZeRO-3: AllGather_X of the weights in both passes, ReduceScatter_X of the gradients: 4DF + 8DF = 3 x
// parameters.
TEST(BlockTable, FullySharded) {
  const auto layer = derived(two_matmuls(), workloads::Parallel{.fsdp = 4}).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllGather_fsdp Win 8192", "AllGather_fsdp Wout 8192"));
  EXPECT_THAT(collectives(layer.backward), ElementsAre("AllGather_fsdp Wout 8192", "AllGather_fsdp Win 8192"));
  EXPECT_THAT(each(layer), ElementsAre("ReduceScatter_fsdp dWin 8192", "ReduceScatter_fsdp dWout 8192"));
  EXPECT_THAT(last(layer), IsEmpty());
  EXPECT_THAT(publish(layer), IsEmpty());
  EXPECT_EQ(book_bytes(layer.forward), 4 * D * F);
  EXPECT_EQ(book_bytes(layer.backward) + update_bytes(layer), 8 * D * F);
  // ZeRO-3 of the data axis is the same plan under another name.
  const auto zero3 = derived(two_matmuls(), data(4, 3)).layer();
  EXPECT_THAT(collectives(zero3.forward), ElementsAre("AllGather_data Win 8192", "AllGather_data Wout 8192"));
  EXPECT_EQ(book_bytes(zero3.forward) + book_bytes(zero3.backward) + update_bytes(zero3), 3 * 4 * D * F);
}

// Weights kept after the forward are not gathered again: 2 x parameters.
TEST(BlockTable, FullyShardedKeepingWeights) {
  const auto layer = derived(two_matmuls(), workloads::Parallel{.fsdp = 4}, {.regather_weights = false}).layer();
  EXPECT_THAT(collectives(layer.backward), IsEmpty());
  EXPECT_EQ(book_bytes(layer.forward) + update_bytes(layer), 2 * 4 * D * F);
}

// Megatron: AllGather_Y In, ReduceScatter_Y Out; backward AllGather_Y dOut, ReduceScatter_Y dIn: 4BD + 4BD.
TEST(BlockTable, TensorParallel) {
  const auto layer = derived(two_matmuls(), workloads::Parallel{.tensor = 4}).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllGather_tensor In 8192", "ReduceScatter_tensor Out 8192"));
  EXPECT_THAT(collectives(layer.backward), ElementsAre("AllGather_tensor dOut 8192", "ReduceScatter_tensor dIn 8192"));
  EXPECT_EQ(book_bytes(layer.forward), 4 * B * D);
  EXPECT_EQ(book_bytes(layer.backward), 4 * B * D);
  EXPECT_EQ(update_bytes(layer), 0);
}

// ... 6BD backward if In is gathered again for dWin.
TEST(BlockTable, TensorParallelGatheringTheInputAgain) {
  const auto layer =
      derived(two_matmuls(), workloads::Parallel{.tensor = 4}, {.share_activation_gathers = false}).layer();
  EXPECT_THAT(collectives(layer.backward),
              ElementsAre("AllGather_tensor dOut 8192", "AllGather_tensor In 8192", "ReduceScatter_tensor dIn 8192"));
  EXPECT_EQ(book_bytes(layer.backward), 6 * B * D);
}

// Both: forward 4BD/X + 4DF/Y, backward 4BD/X + 8DF/Y with In shared, 6BD/X without. X = 2, Y = 4.
TEST(BlockTable, FullyShardedAndTensorParallel) {
  const workloads::Parallel parallel{.fsdp = 2, .tensor = 4};
  const auto layer = derived(two_matmuls(), parallel).layer();
  EXPECT_THAT(collectives(layer.forward), ElementsAre("AllGather_tensor In 4096", "AllGather_fsdp Win 2048",
                                                      "AllGather_fsdp Wout 2048", "ReduceScatter_tensor Out 4096"));
  EXPECT_THAT(collectives(layer.backward), ElementsAre("AllGather_tensor dOut 4096", "AllGather_fsdp Wout 2048",
                                                       "AllGather_fsdp Win 2048", "ReduceScatter_tensor dIn 4096"));
  EXPECT_THAT(each(layer), ElementsAre("ReduceScatter_fsdp dWin 2048", "ReduceScatter_fsdp dWout 2048"));
  EXPECT_EQ(book_bytes(layer.forward), 4 * B * D / 2 + 4 * D * F / 4);
  EXPECT_EQ(book_bytes(layer.backward) + update_bytes(layer), 4 * B * D / 2 + 8 * D * F / 4);
  const auto unshared = derived(two_matmuls(), parallel, {.share_activation_gathers = false}).layer();
  EXPECT_EQ(book_bytes(unshared.backward) + update_bytes(unshared), 6 * B * D / 2 + 8 * D * F / 4);
}

// Hybrid sharding: weights split over fsdp, replicated over data; the gradient is scattered over fsdp each microbatch,
// its shard all-reduced over data at the end.
TEST(BlockTable, HybridShardedDataParallel) {
  const auto layer = derived(two_matmuls(), workloads::Parallel{.data = 2, .fsdp = 4}).layer();
  EXPECT_THAT(each(layer), ElementsAre("ReduceScatter_fsdp dWin 8192", "ReduceScatter_fsdp dWout 8192"));
  EXPECT_THAT(last(layer), ElementsAre("AllReduce_data dWin 2048", "AllReduce_data dWout 2048"));
  const auto zero1 = derived(two_matmuls(), workloads::Parallel{.data = 2, .fsdp = 4, .zero = 1}).layer();
  EXPECT_THAT(last(zero1), ElementsAre("ReduceScatter_data dWin 2048", "ReduceScatter_data dWout 2048"));
  EXPECT_THAT(publish(zero1), ElementsAre("AllGather_data Win 2048", "AllGather_data Wout 2048"));
}

// 4BDF FLOPs forward and 8BDF backward, divided evenly, under every plan.
TEST(BlockTable, FlopsAreDividedEvenly) {
  for (const auto& parallel :
       {data(4, 0), data(4, 3), workloads::Parallel{.fsdp = 4}, workloads::Parallel{.tensor = 4},
        workloads::Parallel{.fsdp = 2, .tensor = 4}, workloads::Parallel{.data = 2, .fsdp = 2, .tensor = 2},
        workloads::Parallel{.tensor = 4, .sequence_parallel = false}}) {
    const auto block = derived(two_matmuls(), parallel);
    double forward = 0;
    double backward = 0;
    for (const auto& step : block.layer().forward) forward += step.flops.value();
    for (const auto& step : block.layer().backward) backward += step.flops.value();
    EXPECT_EQ(forward * static_cast<double>(block.ranks), 4.0 * B * D * F);
    EXPECT_EQ(backward * static_cast<double>(block.ranks), 8.0 * B * D * F);
  }
}

// Collective matmul changes when collectives start, not what they move.
TEST(BlockTable, CollectiveMatmulMovesTheSame) {
  const workloads::Parallel parallel{.fsdp = 2, .tensor = 4};
  const auto plain = derived(two_matmuls(), parallel).layer();
  const auto overlapped = derived(two_matmuls(), parallel, {.collective_matmul = true}).layer();
  EXPECT_EQ(collectives(plain.forward), collectives(overlapped.forward));
  EXPECT_EQ(collectives(plain.backward), collectives(overlapped.backward));
  // The product that reads In no longer waits for its gather.
  const auto product = [](const workloads::ShardedLayer& block) {
    return *std::find_if(block.forward.begin(), block.forward.end(),
                         [](const auto& step) { return step.name == "in projection"; });
  };
  EXPECT_THAT(product(plain).after, ::testing::Contains(0));
  EXPECT_THAT(product(overlapped).after, ::testing::Not(::testing::Contains(0)));
}

TEST(BlockTable, OnlyGradientsMayStayPartial) {
  const workloads::Parallel parallel{.tensor = 4};
  auto plan = plan_for(blocks_of(two_matmuls()), parallel);
  plan.activations["Out"] = workloads::parse_tensor("Out[B, D] {U_tensor}", {"tensor"});
  EXPECT_THROW((void)derived(two_matmuls(), plan, parallel), workloads::ShardingError);
  plan = plan_for(blocks_of(two_matmuls()), parallel);
  plan.optimizer["Win"] = workloads::parse_tensor("Win[D, F] {U_tensor}", {"tensor"});
  EXPECT_THROW((void)derived(two_matmuls(), plan, parallel), workloads::ShardingError);
}

TEST(BlockTable, TokensMustBeDivided) {
  try {
    (void)derived(two_matmuls(), data(3, 0));
    FAIL() << "accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), "data");
    EXPECT_EQ(error.expected(), "a size that divides 128");
  }
}

}  // namespace
}  // namespace lockstep::test
