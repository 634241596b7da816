// The rules for A[I, J] * B[J, K] -> C[I, K], case by case; the numbers are bf16 bytes.
#include <gtest/gtest.h>

#include "workloads/sharding/derive.hpp"

namespace lockstep {
namespace {

const workloads::AxisNames axes{"X", "Y", "Z"};

/// I = 64, J = 32, K = 128 on X = 4, Y = 2, Z = 2.
workloads::Sizes small() { return {{{"I", {64}}, {"J", {32}}, {"K", {128}}}, {{"X", 4}, {"Y", 2}, {"Z", 2}}}; }

workloads::Derivation of(const char* text, const workloads::Sizes& sizes = small(),
                         workloads::OneSided one_sided = workloads::OneSided::fewer_bytes) {
  return derive(workloads::parse_einsum(text, axes), sizes, {Bytes(2), Bytes(2), Bytes(2), one_sided});
}

std::string text(const std::vector<workloads::DerivedCollective>& collectives) {
  std::string all;
  for (const auto& collective : collectives)
    all += (all.empty() ? "" : "; ") + collective.to_string() + " " + std::to_string(collective.full_size.value());
  return all;
}

void expect(const workloads::Derivation& derived, const char* left, const char* right, const char* result) {
  EXPECT_EQ(text(derived.left), left);
  EXPECT_EQ(text(derived.right), right);
  EXPECT_EQ(text(derived.result), result);
}

// Case 1: nothing contracted is split, so every rank has all it needs: 2 I/X J K/Y FLOPs.
TEST(ShardingDerive, ContractedDimensionUnsharded) {
  const auto derived = of("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]");
  expect(derived, "", "", "");
  EXPECT_EQ(derived.flops.value(), 2.0 * 16 * 32 * 64);
}

// Case 2: gather the side that is split.
TEST(ShardingDerive, ContractedDimensionShardedOnOneSide) {
  const auto derived = of("A[I, J_X] * B[J, K] -> C[I, K]", small(), workloads::OneSided::gather);
  expect(derived, "AllGather_X A[I, J_X] -> A[I, J] 4096", "", "");
  EXPECT_EQ(derived.left[0].reason, "contracted dimension J is sharded over X on A only");
  // or slice the other: 2 bytes x 64 x 128 to all-reduce.
  const auto sliced = of("A[I, J_X] * B[J, K] -> C[I, K]", small(), workloads::OneSided::slice);
  expect(sliced, "", "", "AllReduce_X C[I, K] {U_X} -> C[I, K] 16384");
  EXPECT_EQ(sliced.local.right.to_string(), "B[J_X, K]");
  EXPECT_EQ(sliced.flops.value(), 2.0 * 64 * 8 * 128);
}

// In[B, D] * W[D_X, F]: gathering W moves 2DF, slicing In and reducing Out twice 2BF: slicing wins when D > 2B.
TEST(ShardingDerive, GatherAgainstSliceCrossesAtTwiceTheBatch) {
  auto sizes = workloads::Sizes{{{"B", {16}}, {"D", {32}}, {"F", {64}}}, {{"X", 4}}};
  const auto* product = "In[B, D] * W[D_X, F] -> Out[B, F]";
  expect(of(product, sizes), "", "AllGather_X W[D_X, F] -> W[D, F] 4096", "");  // 2DF = 4BF: a tie is gathered
  sizes.dims["D"].size = 36;
  expect(of(product, sizes), "", "", "AllReduce_X Out[B, F] {U_X} -> Out[B, F] 2048");
  sizes.dims["D"].size = 28;
  expect(of(product, sizes), "", "AllGather_X W[D_X, F] -> W[D, F] 3584", "");
  // Wanted split over X, the result is moved once (2BF): slicing wins from D > B on.
  const auto* scattered = "In[B, D] * W[D_X, F] -> Out[B_X, F]";
  sizes.dims["D"].size = 20;
  expect(of(scattered, sizes), "", "", "ReduceScatter_X Out[B, F] {U_X} -> Out[B_X, F] 2048");
  sizes.dims["D"].size = 16;
  const auto gathered = of(scattered, sizes);
  expect(gathered, "", "AllGather_X W[D_X, F] -> W[D, F] 2048", "");
  // Once W is whole, X is free to cut the rows: nobody computes what another computes.
  EXPECT_EQ(gathered.local.left.to_string(), "In[B_X, D]");
  EXPECT_EQ(gathered.flops.value(), 2.0 * 4 * 16 * 64);
}

// Case 3: split alike on both sides, the product is a partial sum.
TEST(ShardingDerive, ContractedDimensionShardedOnBothSides) {
  expect(of("A[I, J_X] * B[J_X, K] -> C[I, K]"), "", "", "AllReduce_X C[I, K] {U_X} -> C[I, K] 16384");
  expect(of("A[I, J_X] * B[J_X, K] -> C[I, K] {U_X}"), "", "", "");
}

// ... whose consumer wants it split: a reduce-scatter takes the place of the all-reduce.
TEST(ShardingDerive, ReduceScatterWhereTheResultStaysSharded) {
  expect(of("A[I, J_X] * B[J_X, K] -> C[I_X, K]"), "", "", "ReduceScatter_X C[I, K] {U_X} -> C[I_X, K] 16384");
  expect(of("A[I, J_X] * B[J_X, K] -> C[I, K_X]"), "", "", "ReduceScatter_X C[I, K] {U_X} -> C[I, K_X] 16384");
  expect(of("A[I, J_XY] * B[J_XY, K] -> C[I_X, K]"), "", "",
         "ReduceScatter_X C[I, K] {U_XY} -> C[I_X, K] {U_Y} 16384; AllReduce_Y C[I_X, K] {U_Y} -> C[I_X, K] 4096");
  expect(of("A[I, J_YX] * B[J_YX, K] -> C[I_XY, K]"), "", "", "ReduceScatter_XY C[I, K] {U_YX} -> C[I_XY, K] 16384");
}

// Case 4: one axis on two kept dimensions is impossible; what the result wants on it stays, the other is gathered.
TEST(ShardingDerive, OneAxisOnBothKeptDimensions) {
  expect(of("A[I_X, J] * B[J, K_X] -> C[I, K_X]"), "AllGather_X A[I_X, J] -> A[I, J] 4096", "", "");
  const auto derived = of("A[I_X, J] * B[J, K_X] -> C[I_X, K]");
  expect(derived, "", "AllGather_X B[J, K_X] -> B[J, K] 8192", "");
  EXPECT_EQ(derived.right[0].reason, "X shards both I of A and K of B");
  // Without a wish the smaller is gathered: A, and C is gathered where it has to be.
  expect(of("A[I_X, J] * B[J, K_X] -> C[I, K]"), "AllGather_X A[I_X, J] -> A[I, J] 4096", "",
         "AllGather_X C[I, K_X] -> C[I, K] 16384");
}

// FSDP and tensor parallelism together: X on rows of A and on the contracted J of B, Y the other way round.
TEST(ShardingDerive, AxesUsedTwiceAcrossOperands) {
  expect(of("A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]"), "AllGather_Y A[I_X, J_Y] -> A[I_X, J] 1024",
         "AllGather_X B[J_X, K_Y] -> B[J, K_Y] 4096", "");
  // Slicing is impossible where the axis already splits the other operand, whatever is asked for.
  expect(of("A[I_X, J] * B[J_X, K] -> C[I_X, K]", small(), workloads::OneSided::slice), "",
         "AllGather_X B[J_X, K] -> B[J, K] 8192", "");
}

TEST(ShardingDerive, WhatTheResultWantsIsCutFromTheOperands) {
  const auto derived = of("A[I, J] * B[J, K] -> C[I_X, K_Y]");
  expect(derived, "", "", "");
  EXPECT_EQ(derived.local.to_string(), "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]");
  EXPECT_EQ(derived.flops.value(), 2.0 * 16 * 32 * 64);
}

TEST(ShardingDerive, AnAxisThatMovesIsAnAllToAll) {
  expect(of("A[I_X, J] * B[J, K] -> C[I, K_X]"), "", "", "AllToAll_X C[I_X, K] -> C[I, K_X] 16384");
  expect(of("A[I_X, J] * B[J, K] -> C[I, K]"), "", "", "AllGather_X C[I_X, K] -> C[I, K] 16384");
}

// B_XY -> B_Y: a rank's block of Y lies with many X, so the axes change places before the outer one can be gathered.
TEST(ShardingDerive, AnOuterAxisIsExchangedInwardsBeforeItIsGathered) {
  const auto from = workloads::parse_tensor("C[I_XY, K]", axes);
  EXPECT_EQ(text(settle(from, workloads::parse_tensor("C[I_X, K]", axes), small(), Bytes(2))),
            "AllGather_Y C[I_XY, K] -> C[I_X, K] 4096");
  EXPECT_EQ(text(settle(from, workloads::parse_tensor("C[I_Y, K]", axes), small(), Bytes(2))),
            "AllToAll_XY C[I_XY, K] -> C[I_YX, K] 16384; AllGather_X C[I_YX, K] -> C[I_Y, K] 8192");
  EXPECT_EQ(text(settle(from, workloads::parse_tensor("C[I_YX, K]", axes), small(), Bytes(2))),
            "AllToAll_XY C[I_XY, K] -> C[I_YX, K] 16384");
  // The order of outer axes does not concern the ranks that differ in the inner one.
  EXPECT_EQ(settle(workloads::parse_tensor("C[I_XYZ, K]", axes), workloads::parse_tensor("C[I_YXZ, K]", axes), small(),
                   Bytes(2))[0]
                .axes,
            (workloads::AxisNames{"X", "Y"}));
  EXPECT_EQ(settle(workloads::parse_tensor("C[I_XYZ, K]", axes), workloads::parse_tensor("C[I_XZY, K]", axes), small(),
                   Bytes(2))[0]
                .axes,
            (workloads::AxisNames{"Y", "Z"}));
}

TEST(ShardingDerive, SettlingTheSameIsFree) {
  for (const auto* same : {"C[I, K]", "C[I_X, K_Y]", "C[I_X, K] {U_Y}"}) {
    EXPECT_TRUE(
        settle(workloads::parse_tensor(same, axes), workloads::parse_tensor(same, axes), small(), Bytes(2)).empty())
        << same;
  }
  EXPECT_TRUE(
      settle(workloads::parse_tensor("C[I, K]", axes), workloads::parse_tensor("C[I_XY, K_Z]", axes), small(), Bytes(2))
          .empty())
      << "a cut";
}

// 10 rows over 4: every rank holds and sends 3, so the array that moves has 12.
TEST(ShardingDerive, PaddedShardsAreMovedWhole) {
  const workloads::Sizes sizes{{{"I", {10}}, {"J", {8}}, {"K", {8}}}, {{"X", 4}}};
  const auto derived = of("A[I_X, J] * B[J, K] -> C[I, K]", sizes);
  expect(derived, "", "", "AllGather_X C[I_X, K] -> C[I, K] 192");
  EXPECT_EQ(derived.flops.value(), 2.0 * 3 * 8 * 8);
}

void expect_refused(const workloads::Einsum& einsum, const workloads::Sizes& sizes, const char* axis,
                    const char* what) {
  try {
    (void)derive(einsum, sizes);
    ADD_FAILURE() << einsum.to_string() << " was accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), axis);
    EXPECT_EQ(error.what_is_wrong(), what);
  }
}

TEST(ShardingDerive, InvalidProductsNameTheAxis) {
  const workloads::ShardedTensor b{"B", {{"J", {}}, {"K", {}}}, {}};
  const workloads::ShardedTensor c{"C", {{"I", {}}, {"K", {}}}, {}};
  expect_refused({{"A", {{"I", {"X"}}, {"J", {"X"}}}, {}}, b, c}, small(), "X",
                 "mesh axis X is used twice in A[I_X, J_X]");
  expect_refused({{"A", {{"I", {"Q"}}, {"J", {}}}, {}}, b, c}, small(), "Q", "mesh axis Q does not exist");
  expect_refused(workloads::parse_einsum("A[I, J] {U_X} * B[J, K] -> C[I, K]", axes), small(), "X",
                 "A[I, J] {U_X} is a partial sum where a product needs values");
  expect_refused(workloads::parse_einsum("A[I, J] * B[J, K] -> C[I, K] {U_X}", axes), small(), "X",
                 "C[I, K] {U_X} wants a partial sum over X that does not arise");
  expect_refused(workloads::parse_einsum("A[I, J] * B[J, K] -> C[I]", axes), small(), "",
                 "dimension K of B[J, K] is neither contracted nor in the result");
  expect_refused(workloads::parse_einsum("A[I, J] * B[J, K] -> C[I, L]", axes),
                 {{{"I", {2}}, {"J", {2}}, {"K", {2}}, {"L", {2}}}, {}}, "",
                 "dimension K of B[J, K] is neither contracted nor in the result");
  expect_refused(workloads::parse_einsum("A[I, J] * B[J, K] -> C[I, K, L]", axes),
                 {{{"I", {2}}, {"J", {2}}, {"K", {2}}, {"L", {2}}}, {}}, "",
                 "dimension L of C[I, K, L] is on neither operand");
  expect_refused(workloads::parse_einsum("A[I, Q] * B[Q, K] -> C[I, K]", axes), small(), "", "dimension Q has no size");
}

TEST(ShardingDerive, TokensAndHeadsThatAreNotDivided) {
  const workloads::Sizes sizes{{{"I", {10, true}}, {"J", {8}}, {"K", {8}}}, {{"X", 4}}};
  expect_refused(workloads::parse_einsum("A[I_X, J] * B[J, K] -> C[I_X, K]", {"X"}), sizes, "X",
                 "mesh axis X of size 4 does not divide I = 10 of A[I_X, J]");
}

}  // namespace
}  // namespace lockstep
