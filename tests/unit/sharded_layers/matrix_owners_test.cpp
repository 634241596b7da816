// Matrices with owners: over each axis that splits an optimizer's shards, the reduce-scatter of n shards of S bytes
// becomes a reduce of the same n S to the owner, and the all-gather of n S a broadcast of it. Nothing else changes, and
// what ranks hold stays n shards that make up the matrix.
#include <gtest/gtest.h>

#include "tests/unit/sharded_layers/small_layers.hpp"
#include "workloads/sharded_layers/matrix_owners.hpp"
#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;
using workloads::DerivedCollective;
using workloads::WeightUpdate;
using Chain = std::vector<DerivedCollective>;

workloads::ShardedLayer owned(workloads::ShardedLayer layer) {
  give_matrices_to_owners(layer);
  return layer;
}

/// Visits each weight of every model under every plan, with its optimizer's shards, before and after; returns how many
/// have shards.
template <class Visit>
int each_weight(Visit visit) {
  int split = 0;
  for_each_plan({}, [&](const workloads::Model& model, const workloads::Parallel& parallel, const Derived& made) {
    const auto blocks = blocks_of(model);
    auto plan = plan_for(blocks, parallel);
    auto sizes = sizes_on(model, parallel, 16, 8);
    copy_key_value_heads(plan, sizes);
    for (const auto kind : made.kinds.ids()) {
      auto layer = made.kinds[kind];
      complete_updates(layer, blocks.kinds[kind], plan, sizes);
      const auto after = owned(layer);
      ASSERT_EQ(after.weights.size(), layer.weights.size());
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        visit(layer.weights[i], after.weights[i], parallel);
        split += layer.weights[i].split_over.empty() ? 0 : 1;
      }
    }
  });
  return split;
}

std::int64_t bytes(const Chain& chain) {
  std::int64_t sum = 0;
  for (const auto& one : chain) sum += one.full_size.value();
  return sum;
}

CollectiveKind with_owner(CollectiveKind kind) {
  if (kind == CollectiveKind::reduce_scatter) return CollectiveKind::reduce;
  return kind == CollectiveKind::all_gather ? CollectiveKind::broadcast : kind;
}

// Link by link of both chains: the same axes and bytes, and the kind's counterpart with an owner.
TEST(MatrixOwners, ChangeTheKindAndNothingElse) {
  const int split = each_weight([](const WeightUpdate& before, const WeightUpdate& after, const auto&) {
    const bool has_shards = !before.split_over.empty();
    for (const auto chain : {&WeightUpdate::last_microbatch, &WeightUpdate::publish}) {
      ASSERT_EQ((before.*chain).size(), (after.*chain).size()) << before.weight;
      for (std::size_t i = 0; i < (before.*chain).size(); ++i) {
        const auto &was = (before.*chain)[i], &is = (after.*chain)[i];
        EXPECT_EQ(is.kind, has_shards ? with_owner(was.kind) : was.kind) << before.weight;
        EXPECT_EQ(is.axes, was.axes) << before.weight;
        EXPECT_EQ(is.full_size, was.full_size) << before.weight;
        EXPECT_EQ(has_owner(is), has_shards && with_owner(was.kind) != was.kind) << before.weight;
      }
    }
    EXPECT_EQ(bytes(after.last_microbatch), bytes(before.last_microbatch));
    EXPECT_EQ(bytes(after.publish), bytes(before.publish));
    ASSERT_EQ(before.each_microbatch.size(), after.each_microbatch.size());
    for (std::size_t i = 0; i < before.each_microbatch.size(); ++i) {
      EXPECT_EQ(after.each_microbatch[i].kind, before.each_microbatch[i].kind) << "no owner before the last microbatch";
      EXPECT_FALSE(has_owner(after.each_microbatch[i]));
    }
  });
  EXPECT_GT(split, 100);
}

// Shards, and with them memory and the update's work, stay even.
TEST(MatrixOwners, LeaveTheShardsAsTheyAre) {
  each_weight([](const WeightUpdate& before, const WeightUpdate& after, const auto&) {
    EXPECT_EQ(after.stored, before.stored);
    EXPECT_EQ(after.padding, before.padding);
    EXPECT_EQ(after.gradient_elements, before.gradient_elements);
    EXPECT_EQ(after.optimizer_elements, before.optimizer_elements);
    EXPECT_EQ(after.split_over, before.split_over);
  });
}

std::int64_t ranks_along(const workloads::AxisNames& axes, const workloads::Parallel& parallel) {
  return sizes_on(mixture(), parallel, 16, 8).product(axes);
}

// What owners get is what the n ranks would have got in shards: full size = n x shard x 2 B, a shard being the
// optimizer's elements of one rank (of chains with this one collective). That is the rank's gradient; only the latent
// model's 10 rows, 5 on each of two ranks, are padded to 2 x 3, which is 6/5 of it.
TEST(MatrixOwners, GetAllShardsOfTheMatrix) {
  int checked = 0;
  each_weight([&](const WeightUpdate& before, const WeightUpdate& after, const workloads::Parallel& parallel) {
    if (after.last_microbatch.size() != 1 || !has_owner(after.last_microbatch[0]) || before.padding.value() > 0) return;
    const auto& reduce = after.last_microbatch[0];
    EXPECT_EQ(reduce.full_size.value(), ranks_along(reduce.axes, parallel) * before.optimizer_elements * 2)
        << before.weight;
    const auto gradient = before.gradient_elements * 2;
    EXPECT_GE(reduce.full_size.value(), gradient) << before.weight;
    EXPECT_LE(5 * reduce.full_size.value(), 6 * gradient) << before.weight;
    checked += reduce.full_size.value() == gradient ? 1 : 0;
  });
  EXPECT_GT(checked, 50);
}

// Once given, matrices have their owners: giving them again changes nothing, and no weight with shards
// scatters its gradient after the last microbatch any more.
TEST(MatrixOwners, AreGivenOnce) {
  each_weight([](const WeightUpdate&, const WeightUpdate& after, const auto&) {
    workloads::ShardedLayer again;
    again.weights.push_back(after);
    again = owned(again);
    for (const auto chain : {&WeightUpdate::last_microbatch, &WeightUpdate::publish}) {
      const auto &once = after.*chain, &twice = again.weights.front().*chain;
      ASSERT_EQ(once.size(), twice.size());
      for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].kind, twice[i].kind);
    }
    for (const auto& one : after.last_microbatch) {
      EXPECT_TRUE(after.split_over.empty() || one.kind != CollectiveKind::reduce_scatter) << after.weight;
    }
  });
}

}  // namespace
}  // namespace lockstep::test
