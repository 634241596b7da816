// Whatever the shardings of A[I,J] * B[J,K] -> C[I,K], the derived steps, carried out by ranks that hold only
// their parts, must give C = sum over J of A B on every rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/workloads/sharding_ranks.hpp"

namespace lockstep::test {
namespace {

/// Every way to put some of the axes on the two dimensions of a tensor, in every order.
std::vector<workloads::ShardedTensor> all_shardings(const workloads::ShardedTensor& bare,
                                                    const workloads::AxisNames& axes) {
  std::vector<workloads::ShardedTensor> result{bare};
  for (const auto& axis : axes) {
    const auto without = result;
    for (const auto& tensor : without) {
      for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
        for (std::size_t place = 0; place <= tensor.dims[d].axes.size(); ++place) {
          auto with = tensor;
          auto& list = with.dims[d].axes;
          list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), axis);
          result.push_back(with);
        }
      }
    }
  }
  return result;
}

constexpr std::int64_t a(const Index& at) { return 1 + 3 * at[0] + 7 * at[1] * at[1]; }
constexpr std::int64_t b(const Index& at) { return 2 + 5 * at[0] * at[1] + at[1]; }

/// Derives the product, carries it out and compares; true if it holds.
::testing::AssertionResult right_on_every_rank(const workloads::Einsum& einsum, const workloads::Sizes& sizes,
                                               workloads::OneSided one_sided) {
  const auto derived = derive(einsum, sizes, {Bytes(1), Bytes(1), Bytes(1), one_sided});
  DistributedArray left(einsum.left, sizes, [](const auto&, const Index& at) { return a(at); });
  DistributedArray right(einsum.right, sizes, [](const auto&, const Index& at) { return b(at); });
  for (const auto& collective : derived.left) left.run(collective);
  for (const auto& collective : derived.right) right.run(collective);
  left.slice(derived.local.left);
  right.slice(derived.local.right);
  auto result = multiply(derived.local, left, right, sizes);
  for (const auto& collective : derived.result) result.run(collective);
  if (!result.sharding().same_sharding(einsum.result)) result.slice(einsum.result);
  if (::testing::Test::HasFailure()) return ::testing::AssertionFailure() << einsum.to_string();

  for (const auto& rank : all_ranks(sizes)) {
    for (const auto& index : block_of(einsum.result, rank, sizes)) {
      std::int64_t expected = 0;
      for (std::int64_t j = 0; j < sizes.dim("J"); ++j) expected += a({index[0], j}) * b({j, index[1]});
      if (result.value(rank, index) != expected)
        return ::testing::AssertionFailure() << einsum.to_string() << " gives a wrong number";
    }
  }
  return ::testing::AssertionSuccess();
}

const workloads::ShardedTensor bare_a{"A", {{"I", {}}, {"J", {}}}, {}};
const workloads::ShardedTensor bare_b{"B", {{"J", {}}, {"K", {}}}, {}};
const workloads::ShardedTensor bare_c{"C", {{"I", {}}, {"K", {}}}, {}};
constexpr workloads::OneSided all_choices[] = {workloads::OneSided::fewer_bytes, workloads::OneSided::gather,
                                               workloads::OneSided::slice};

// 1 + 2 x 2 one-axis choices and 2 x 3 two-axis ones on each tensor: 11^3 products, under every choice of rule 2.
TEST(ShardingNumeric, EveryShardingOnTwoAxesOfUnequalSize) {
  const workloads::Sizes sizes{{{"I", {6, true}}, {"J", {6, true}}, {"K", {6, true}}}, {{"X", 2}, {"Y", 3}}};
  int products = 0;
  for (const auto& left : all_shardings(bare_a, {"X", "Y"})) {
    for (const auto& right : all_shardings(bare_b, {"X", "Y"})) {
      for (const auto& result : all_shardings(bare_c, {"X", "Y"})) {
        for (const auto choice : all_choices) ASSERT_TRUE(right_on_every_rank({left, right, result}, sizes, choice));
        ++products;
      }
    }
  }
  EXPECT_EQ(products, 11 * 11 * 11);
}

// With three axes a gathered or moved axis can lie between two others. A seeded sample of all products.
TEST(ShardingNumeric, ASampleOnThreeAxes) {
  const workloads::Sizes sizes{{{"I", {8, true}}, {"J", {8, true}}, {"K", {8, true}}}, {{"X", 2}, {"Y", 2}, {"Z", 2}}};
  const workloads::AxisNames axes{"X", "Y", "Z"};
  const auto lefts = all_shardings(bare_a, axes);
  const auto rights = all_shardings(bare_b, axes);
  const auto results = all_shardings(bare_c, axes);
  std::mt19937 random(20240607);
  for (int i = 0; i < 1500; ++i) {
    const workloads::Einsum einsum{lefts[random() % lefts.size()], rights[random() % rights.size()],
                                   results[random() % results.size()]};
    ASSERT_TRUE(right_on_every_rank(einsum, sizes, all_choices[i % 3]));
  }
}

// A result that may stay a partial sum: every rank's part, summed over the axis, is the product.
TEST(ShardingNumeric, PartialResults) {
  const workloads::Sizes sizes{{{"I", {6, true}}, {"J", {6, true}}, {"K", {6, true}}}, {{"X", 2}, {"Y", 3}}};
  int partial = 0;
  for (const auto& left : all_shardings(bare_a, {"X", "Y"})) {
    for (const auto& right : all_shardings(bare_b, {"X", "Y"})) {
      for (auto result : all_shardings(bare_c, {"Y"})) {
        result.partial = {"X"};
        const auto* on_left = left.sharded_by("X");
        const auto* on_right = right.sharded_by("X");
        if (on_left == nullptr || on_right == nullptr || on_left->name != "J" || on_left->axes != on_right->axes ||
            on_right->name != "J")
          continue;
        ASSERT_TRUE(right_on_every_rank({left, right, result}, sizes, workloads::OneSided::fewer_bytes));
        ++partial;
      }
    }
  }
  EXPECT_EQ(partial,
            (2 * 2 + 2) * 3);  // J_X on both with Y on I, K or neither; J_XY and J_YX; Y on I, K or neither of C
}

/// settle by itself: from every sharding over three axes, whole or partial over the first or the second, to every
/// other.
void settle_every_sharding(const workloads::Sizes& sizes, const workloads::AxisNames& axes) {
  int settled = 0;
  for (auto from : all_shardings(bare_c, axes)) {
    for (const auto& axis : workloads::AxisNames{"", axes[0], axes[1]}) {
      if (!axis.empty() && from.sharded_by(axis) != nullptr) continue;
      from.partial = axis.empty() ? workloads::AxisNames{} : workloads::AxisNames{axis};
      for (const auto& to : all_shardings(bare_c, axes)) {
        if (++settled % 7 != 0) continue;  // a seventh of them is enough, and every kind is among them
        // A partial sum: the rank at 0 holds the value, the others nothing.
        DistributedArray array(from, sizes, [&](const Coordinates& rank, const Index& at) {
          return axis.empty() || place_along(axis, rank) == 0 ? a(at) : 0;
        });
        for (const auto& collective : settle(from, to, sizes, Bytes(1))) array.run(collective);
        array.slice(to);
        for (const auto& rank : all_ranks(sizes)) {
          for (const auto& index : block_of(to, rank, sizes)) {
            ASSERT_EQ(array.value(rank, index), a(index)) << from.to_string() << " -> " << to.to_string();
          }
        }
      }
    }
  }
}

TEST(ShardingNumeric, EverySettlementOnThreeAxes) {
  settle_every_sharding({{{"I", {12, true}}, {"K", {12, true}}}, {{"X", 2}, {"Y", 3}, {"Z", 2}}}, {"X", "Y", "Z"});
}

// An axis as two digits, each of which splits arrays by itself; where both move together it is one exchange along X.
TEST(ShardingNumeric, DigitsOfAnAxisAreTwoAxes) {
  const workloads::Sizes sizes{{{"I", {12, true}}, {"J", {12, true}}, {"K", {12, true}}}, {{"X", 6}, {"Y", 2}}};
  const workloads::AxisNames axes{"X//2", "X%2", "Y"};
  settle_every_sharding(sizes, axes);
  const auto lefts = all_shardings(bare_a, axes), rights = all_shardings(bare_b, axes),
             results = all_shardings(bare_c, axes);
  std::mt19937 random(20260911);
  for (int i = 0; i < 600; ++i) {
    const workloads::Einsum einsum{lefts[random() % lefts.size()], rights[random() % rights.size()],
                                   results[random() % results.size()]};
    ASSERT_TRUE(right_on_every_rank(einsum, sizes, all_choices[i % 3]));
  }
  const workloads::ShardedTensor split{"C", {{"I", {"X//2", "X%2"}}, {"K", {}}}, {}};
  const auto gather = settle(split, bare_c, sizes, Bytes(1));
  ASSERT_EQ(gather.size(), 1U);
  EXPECT_EQ(gather[0].axes, workloads::AxisNames{"X"});
}

// Two key-value heads on four ranks X: K_X with copies. The forward gives each rank its own head from its own copy.
TEST(ShardingNumeric, EveryRankComputesItsCopy) {
  workloads::Sizes sizes{{{"I", {6, true}}, {"J", {6, true}}, {"K", {2, true, true}}}, {{"X", 4}, {"Y", 3}}};
  sizes.copy_over("K", {"X"});
  for (const auto& left : all_shardings(bare_a, {"Y"})) {
    auto right = bare_b, result = bare_c;
    right.find("K")->axes = result.find("K")->axes = {"X"};
    for (const auto choice : all_choices) EXPECT_TRUE(right_on_every_rank({left, right, result}, sizes, choice));
  }
}

// The gradient of a copied weight: the queries of each rank give its copy another gradient, 1 + X % 2 times b here, and
// every copy of a head must end with the sum of both, (1 + 2) b. J, the tokens, are split over Y; the gradient is
// wanted whole along Y or split, and reduced over copies with the tokens or after them.
TEST(ShardingNumeric, GradientsOfCopiesAreAddedUp) {
  workloads::Sizes sizes{{{"I", {6, true}}, {"J", {6, true}}, {"K", {2, true, true}}}, {{"X", 4}, {"Y", 3}}};
  sizes.copy_over("K", {"X"});
  const auto left = workloads::parse_tensor("A[I, J_Y]", {"X", "Y"});
  const auto right = workloads::parse_tensor("B[J_Y, K_X]", {"X", "Y"});
  for (const char* wanted : {"C[I, K_X]", "C[I_Y, K_X]"}) {
    for (const bool later : {false, true}) {
      const auto updated = workloads::parse_tensor(wanted, {"X", "Y"});
      auto kept = updated;
      if (later) kept.partial = sizes.copied_over(updated);
      const auto derived =
          derive({left, right, kept}, sizes,
                 {Bytes(1), Bytes(1), Bytes(1), workloads::OneSided::fewer_bytes, sizes.copied_over(updated)});
      const DistributedArray tokens(left, sizes, [](const auto&, const Index& at) { return a(at); });
      const DistributedArray gradient(
          right, sizes, [](const Coordinates& rank, const Index& at) { return (1 + rank.at("X") % 2) * b(at); });
      auto result = multiply(derived.local, tokens, gradient, sizes);
      for (const auto& collective : derived.result) result.run(collective);
      EXPECT_TRUE(result.sharding().same_sharding(kept)) << result.sharding().to_string();
      for (const auto& collective : settle(kept, updated, sizes, Bytes(1))) result.run(collective);
      for (const auto& rank : all_ranks(sizes)) {
        for (const auto& index : block_of(updated, rank, sizes)) {
          std::int64_t expected = 0;
          for (std::int64_t j = 0; j < 6; ++j) expected += 3 * a({index[0], j}) * b({j, index[1]});
          EXPECT_EQ(result.part(rank).at(index), expected) << wanted;
        }
      }
    }
  }
}

// Query head n of N attends to key-value head n / (N / K): each rank has the one that its queries need.
TEST(ShardingNumeric, QueriesFindTheirHeadOnTheirRank) {
  for (const std::int64_t heads : {1, 2, 4, 8}) {
    workloads::Sizes sizes{{{"N", {16, true}}, {"K", {heads, true, true}}}, {{"X", 4}, {"Y", 2}}};
    sizes.copy_over("K", {"X", "Y"});
    for (const auto& rank : all_ranks(sizes)) {
      const auto held = block_of(workloads::parse_tensor("K[K_XY]", {"X", "Y"}), rank, sizes);
      for (const auto& query : block_of(workloads::parse_tensor("Q[N_XY]", {"X", "Y"}), rank, sizes)) {
        EXPECT_NE(std::find(held.begin(), held.end(), Index{query[0] / (16 / heads)}), held.end());
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
