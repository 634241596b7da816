// What one rank holds: on every dimension ceil(size / product of its axes) elements.
#include <gtest/gtest.h>

#include "workloads/sharding/sizes.hpp"

namespace lockstep {
namespace {

workloads::Sizes sizes(std::map<std::string, workloads::DimSize> dims, std::map<std::string, std::int64_t> axes) {
  return {std::move(dims), std::move(axes)};
}

std::int64_t ranks(const workloads::Sizes& of) {
  std::int64_t product = 1;
  for (const auto& [axis, size] : of.axes) product *= size;
  return product;
}

// int8[128_XY, 2048] on {X:2, Y:8, Z:2}: 128/16 x 2048 = 16 KiB on a device, and 32 x 16 KiB = 2 copies of 256 KiB.
TEST(ShardingSizes, SplitOverTwoAxesReplicatedOverTheThird) {
  const auto of = sizes({{"I", {128}}, {"J", {2048}}}, {{"X", 2}, {"Y", 8}, {"Z", 2}});
  const auto array = workloads::parse_tensor("A[I_XY, J]", {"X", "Y", "Z"});
  EXPECT_EQ(of.local(array.dims[0]), 8);
  EXPECT_EQ(of.local(array.dims[1]), 2048);
  EXPECT_EQ(of.local_elements(array), 16 * 1024);
  EXPECT_EQ(of.local_elements(array) * ranks(of), 2 * 128 * 2048);
}

// fp32[1024_XY, 4096] on {X:8, Y:2}: 64 x 4096 x 4 B = 1 MiB, read in 2^20/3.4e12 s = 0.308 us.
TEST(ShardingSizes, ShardOfOneMebibyte) {
  const auto of = sizes({{"I", {1024}}, {"J", {4096}}}, {{"X", 8}, {"Y", 2}});
  const auto array = workloads::parse_tensor("A[I_XY, J]", {"X", "Y"});
  const auto bytes = Bytes(4) * of.local_elements(array);
  EXPECT_EQ(of.local(array.dims[0]), 64);
  EXPECT_EQ(bytes.value(), 1 << 20);
  EXPECT_NEAR((bytes / BytesPerSecond(3.4e12)).value(), 0.308e-6, 0.001e-6);
}

// A[I_X, J, K] on {X:4, Y:8, Z:2}: every rank of the other 8 x 2 holds the same, so 16 copies.
TEST(ShardingSizes, SixteenCopies) {
  const auto of = sizes({{"I", {64}}, {"J", {3}}, {"K", {5}}}, {{"X", 4}, {"Y", 8}, {"Z", 2}});
  const auto array = workloads::parse_tensor("A[I_X, J, K]", {"X", "Y", "Z"});
  EXPECT_EQ(of.local_elements(array) * ranks(of), 16 * 64 * 3 * 5);
}

// 2 heads on 4 ranks: 4 are held and computed with, one on each; ranks 0 and 1 have the first, 2 and 3 the second. An
// array of 2 x 5 elements of its own is 4 x 5 with its copies, none of them padding.
TEST(ShardingSizes, EachRankGetsACopyOfItsOwn) {
  auto of = sizes({{"K", {2, true, true}}, {"J", {5}}}, {{"X", 4}});
  const auto array = workloads::parse_tensor("A[K_X, J]", {"X"});
  EXPECT_THROW(of.check_divides(array), workloads::ShardingError);
  of.copy_over("K", {"X"});
  EXPECT_NO_THROW(of.check_divides(array));
  EXPECT_EQ(of.dim("K"), 4);
  EXPECT_EQ(of.local(array.dims[0]), 1);
  EXPECT_EQ(of.local_elements(array), 5);
  EXPECT_EQ(of.padding_elements(array), 0);
  EXPECT_EQ(of.own_elements({"K", "J"}), 10);
  EXPECT_EQ(of.copied_over(array), (workloads::AxisNames{"X/2"}));
  EXPECT_EQ(of.product({"X/2"}), 2);
  EXPECT_EQ(of.copied_over(workloads::parse_tensor("A[J]", {"X"})), workloads::AxisNames{});
}

// Copies stand on ranks that follow one another, so over the inner axes first: 1 head on 2 x 4 ranks is on all of both,
// 2 heads are on each 4 of Y, 4 on each 2 of Y.
TEST(ShardingSizes, CopiesAreOnNeighbours) {
  const auto copied = [](std::int64_t heads, const workloads::AxisNames& axes) {
    auto of = sizes({{"K", {heads, true, true}}}, {{"X", 2}, {"Y", 4}, {"Z", 6}});
    of.copy_over("K", axes);
    return std::pair(of.dim("K") / heads, of.copied_over(workloads::ShardedTensor{"A", {{"K", axes}}, {}}));
  };
  using Copied = std::pair<std::int64_t, workloads::AxisNames>;
  EXPECT_EQ(copied(1, {"X", "Y"}), Copied(8, {"X/2", "Y/4"}));
  EXPECT_EQ(copied(2, {"X", "Y"}), Copied(4, {"Y/4"}));
  EXPECT_EQ(copied(4, {"X", "Y"}), Copied(2, {"Y/2"}));
  EXPECT_EQ(copied(1, {"Y"}), Copied(4, {"Y/4"}));
  EXPECT_EQ(copied(2, {"Y//2", "Y%2"}), Copied(2, {"Y/2"}));  // digits of Y are Y
  EXPECT_EQ(copied(8, {"X", "Y"}), Copied(1, {}));            // as many heads as ranks
  EXPECT_EQ(copied(4, {"Z"}), Copied(1, {}));                 // 6 ranks are no multiple of 4
  EXPECT_EQ(copied(6, {"Y", "Z"}), Copied(1, {}));            // groups of 4 do not fit rows of 6
}

// 10 over 4: shards of 3, 12 held in all, 2 of them padding; with 7 columns 14.
TEST(ShardingSizes, WhatDoesNotDivideIsPadded) {
  const auto of = sizes({{"I", {10}}, {"J", {7}}}, {{"X", 4}});
  const auto array = workloads::parse_tensor("A[I_X, J]", {"X"});
  EXPECT_EQ(of.local(array.dims[0]), 3);
  EXPECT_EQ(of.local_elements(array), 21);
  EXPECT_EQ(of.padding_elements(array), 14);
  EXPECT_EQ(of.padding_elements(workloads::parse_tensor("A[I, J]", {"X"})), 0);
  EXPECT_NO_THROW(of.check_divides(array));
}

// As one flat run of 70 elements over 4: 18 each, 2 of them padding. With J over Y = 2 first, 10 x 4 = 40: 10 each.
TEST(ShardingSizes, AFlatAxisSplitsTheWholeArray) {
  auto of = sizes({{"I", {10}}, {"J", {7}}}, {{"X", 4}, {"Y", 2}});
  of.flat_axes = {"X"};
  const auto array = workloads::parse_tensor("A[I_X, J]", {"X", "Y"});
  EXPECT_EQ(of.local_elements(array), 18);
  EXPECT_EQ(of.padding_elements(array), 2);
  const auto both = workloads::parse_tensor("A[I_X, J_Y]", {"X", "Y"});
  EXPECT_EQ(of.local_elements(both), 10);
  EXPECT_EQ(of.padding_elements(both), 4 * 2 * 10 - 70);
}

// Norms of queries have one weight for each number of a head: 256 ranks hold half a number each, padded to one.
TEST(ShardingSizes, AFlatAxisNeedNotDivideAWeight) {
  auto of = sizes({{"H", {128, true}}}, {{"X", 256}, {"Y", 3}});
  const auto weight = workloads::parse_tensor("W[H_X]", {"X", "Y"});
  EXPECT_THROW(of.check_weight_divides(weight), workloads::ShardingError);
  of.flat_axes = {"X"};
  EXPECT_NO_THROW(of.check_weight_divides(weight));
  EXPECT_EQ(of.local_elements(weight), 1);
  EXPECT_THROW(of.check_weight_divides(workloads::parse_tensor("W[H_XY]", {"X", "Y"})), workloads::ShardingError);
  EXPECT_THROW(of.check_divides(weight), workloads::ShardingError) << "an activation is split by dimensions";
}

TEST(ShardingSizes, TokensAndHeadsMustDivide) {
  const auto of = sizes({{"B", {10, true}}, {"N", {12, true}}}, {{"X", 4}, {"Y", 2}});
  EXPECT_NO_THROW(of.check_divides(workloads::parse_tensor("A[B_Y, N_X]", {"X", "Y"})));
  try {
    of.check_divides(workloads::parse_tensor("A[B_X, N]", {"X", "Y"}));
    FAIL() << "accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.axis(), "X");
    EXPECT_EQ(error.what_is_wrong(), "mesh axis X of size 4 does not divide B = 10 of A[B_X, N]");
    EXPECT_EQ(error.expected(), "a size that divides 10");
  }
  try {
    of.check_divides(workloads::parse_tensor("A[B, N_XY]", {"X", "Y"}));
    FAIL() << "accepted";
  } catch (const workloads::ShardingError& error) {
    EXPECT_EQ(error.what_is_wrong(), "mesh axes XY of size 8 does not divide N = 12 of A[B, N_XY]");
  }
}

TEST(ShardingSizes, UnknownNames) {
  const auto of = sizes({{"B", {10}}}, {{"X", 4}});
  EXPECT_EQ(of.dim("B"), 10);
  EXPECT_EQ(of.product({}), 1);
  EXPECT_THROW((void)of.dim("Q"), workloads::ShardingError);
  EXPECT_THROW((void)of.product({"Q"}), workloads::ShardingError);
}

}  // namespace
}  // namespace lockstep
