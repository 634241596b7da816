// Under ZeRO-2 and 3 block i's backward leaves a whole gradient that its reduction frees. With n reductions in flight,
// what computes after the reduction of pass i was issued waits for those of passes 0 to i - n, and for no later one.
#include <gtest/gtest.h>

#include "tests/unit/workloads/small_models.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

constexpr int layers = 5;
constexpr int microbatches = 2;

/// The first reduction of each block's backward, in order of issue.
std::vector<workloads::OpId> reductions_by_pass(const workloads::StepGraph& graph) {
  std::vector<workloads::OpId> result;
  for (const auto id : all_of(graph, [](const auto& op) {
         return is_collective(op, workloads::CollectiveKind::reduce_scatter, workloads::CollectiveRole::gradient);
       })) {
    const auto same = [&](workloads::OpId other) {
      return graph.op(other).block == graph.op(id).block && graph.op(other).microbatch == graph.op(id).microbatch;
    };
    if (result.empty() || !same(result.back())) result.push_back(id);
  }
  return result;
}

/// Every product of a backward waits for those reductions, and only those, that were issued `in_flight` blocks before
/// its own block's predecessor's.
void expect_waits(const workloads::StepGraph& graph, int in_flight) {
  const auto reductions = reductions_by_pass(graph);
  ASSERT_EQ(std::ssize(reductions), layers * microbatches);
  for (int pass = 0; pass < layers * microbatches; ++pass) {
    const int block = layers - 1 - pass % layers;
    const auto product =
        named(graph, "out projection input gradient", block, workloads::StepPass::backward, pass / layers);
    ASSERT_GE(product, 0);
    const auto waited = waited_for(graph, product);
    for (int earlier = 0; earlier < layers * microbatches; ++earlier) {
      // Before this pass `pass` reductions were issued; all but the last `in_flight` of them have ended.
      EXPECT_EQ(waited[static_cast<std::size_t>(reductions[static_cast<std::size_t>(earlier)])],
                earlier < pass - in_flight)
          << in_flight << " in flight, pass " << pass << ", reduction of pass " << earlier;
    }
  }
}

TEST(ReductionsInFlightTest, ComputeWaitsForAllButTheLast) {
  for (const int in_flight : {0, 1, 2, 100}) {
    for (const auto& parallel : {workloads::Parallel{.fsdp = 4}, workloads::Parallel{.data = 4, .zero = 2},
                                 workloads::Parallel{.data = 4, .zero = 3}}) {
      expect_waits(derived(two_matmuls(layers), parallel)
                       .step({.microbatches = microbatches, .reductions_in_flight = in_flight}),
                   in_flight);
    }
  }
}

// However the gradients of a block are cut into collectives, they are one of those in flight.
TEST(ReductionsInFlightTest, ABlockCountsOnce) {
  expect_waits(
      derived(two_matmuls(layers), workloads::Parallel{.fsdp = 4})
          .step({.microbatches = microbatches, .gradient_buckets = {workloads::Bucketing::Unit::matrix, Bytes(0)}}),
      1);
}

// One bucket of two blocks is one of those in flight: 4 blocks, buckets of 2 blocks, the second bucket's blocks wait
// for none.
TEST(ReductionsInFlightTest, ABucketOfSeveralBlocksCountsOnce) {
  const std::int64_t block = 4 * D * F;
  const auto graph = derived(two_matmuls(6), workloads::Parallel{.fsdp = 4})
                         .step({.gradient_buckets = {workloads::Bucketing::Unit::size, Bytes(2 * block)}});
  const auto reductions = reductions_by_pass(graph);
  ASSERT_EQ(reductions.size(), 3U);
  for (int behind = 0; behind < 6; ++behind) {
    const auto product = named(graph, "out projection input gradient", 5 - behind, workloads::StepPass::backward);
    EXPECT_EQ(waits_for(graph, product, reductions[0]), behind >= 4) << behind;
    EXPECT_FALSE(waits_for(graph, product, reductions[1])) << behind;
  }
}

// What is kept whole is reduced from where it lies: nothing but the update waits.
TEST(ReductionsInFlightTest, WholeGradientsWaitWithoutLimit) {
  for (const int zero : {0, 1}) {
    const auto graph =
        derived(two_matmuls(layers), workloads::Parallel{.data = 4, .zero = zero}).step({.reductions_in_flight = 0});
    const auto reductions = all_of(graph, [](const auto& op) {
      return op->kind == workloads::StepOp::Kind::collective && op->role == workloads::CollectiveRole::gradient;
    });
    ASSERT_EQ(reductions.size(), static_cast<std::size_t>(layers));
    for (const auto product : all_of(graph, [](const auto& op) {
           return op->kind == workloads::StepOp::Kind::compute && op.pass == workloads::StepPass::backward;
         })) {
      for (const auto reduction : reductions) EXPECT_FALSE(waits_for(graph, product, reduction));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
