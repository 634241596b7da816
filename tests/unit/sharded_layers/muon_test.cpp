// Muon: work of the Newton-Schulz steps, what each way to share matrices moves, and which weights it leaves to AdamW.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/workloads/small_models.hpp"
#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Sharing = workloads::MuonSharing;

workloads::MuonMatrices matrices(std::int64_t tensor, std::int64_t zero) {
  workloads::MuonMatrices made{.count = 3,
                               .rows = 512,
                               .columns = 2048,
                               .local_rows = 512,
                               .local_columns = 2048 / tensor,
                               .tensor = {"tensor"},
                               .zero = {"data"},
                               .tensor_ranks = tensor,
                               .zero_ranks = zero};
  if (tensor == 1) made.tensor.clear();
  if (zero == 1) made.zero.clear();
  return made;
}

workloads::MuonWork work(Sharing sharing, std::int64_t tensor, std::int64_t zero,
                         Sharing of_tensor = Sharing::blockwise) {
  auto shared = matrices(tensor, zero);
  const workloads::MuonSpec spec{.sharing = sharing, .tensor = of_tensor};
  EXPECT_EQ(workloads::share(spec, shared).what, "");
  return muon_work(spec, shared, Bytes(4));
}

/// 5 steps of 4 m^2 n + 2 m^3 on three matrices.
double five_steps(double m, double n) { return 3 * 5 * (4 * m * m * n + 2 * m * m * m); }

TEST(NewtonSchulz, FlopsOfOneStep) {
  EXPECT_EQ(workloads::newton_schulz_flops(512, 2048).value(), 4.0 * 512 * 512 * 2048 + 2.0 * 512 * 512 * 512);
  EXPECT_EQ(workloads::newton_schulz_flops(2048, 512), workloads::newton_schulz_flops(512, 2048)) << "transposed";
}

// A tensor-parallel part of 512 x 512 is a matrix of its own, and nothing moves.
TEST(MuonSharing, Blockwise) {
  const auto done = work(Sharing::blockwise, 4, 1);
  EXPECT_EQ(done.flops.value(), five_steps(512, 512));
  EXPECT_EQ(done.gathered + done.exchanged + done.summed, Bytes(0));
}

// The whole momentum in fp32, 3 x 512 x 2048 x 4 B, over all axes that split it; every rank does all.
TEST(MuonSharing, Duplicated) {
  const auto done = work(Sharing::duplicated, 4, 2);
  EXPECT_EQ(done.flops.value(), five_steps(512, 2048));
  EXPECT_EQ(done.gathered.value(), 3 * 512 * 2048 * 4);
  EXPECT_THAT(done.axes, ElementsAre("tensor", "data"));
  EXPECT_EQ(work(Sharing::duplicated, 1, 1).gathered, Bytes(0)) << "whole already";
}

// The ranks' parts of X X^T are added up along the dimension that is split, and all ranks square the sum, whose side is
// the other dimension. With 512 of 2048 columns each: 3 matrices of 512 x 512 in bf16. With 128 of 512 rows each, the
// sum is 2048 x 2048, though the rows are fewer.
TEST(MuonSharing, Distributed) {
  const auto done = work(Sharing::distributed, 4, 1);
  EXPECT_EQ(done.flops.value(), 3 * 5 * (4.0 * 512 * 512 * 512 + 2.0 * 512 * 512 * 512));
  EXPECT_EQ(done.summed.value(), 3 * 512 * 512 * 2);
  EXPECT_THAT(done.axes, ElementsAre("tensor"));
  auto rows = matrices(4, 1);
  rows.local_rows = 512 / 4;
  rows.local_columns = 2048;
  rows.sharing = Sharing::distributed;
  const auto other = muon_work({.sharing = Sharing::distributed}, rows, Bytes(4));
  EXPECT_EQ(other.flops.value(), 3 * 5 * (4.0 * 2048 * 2048 * 128 + 2.0 * 2048 * 2048 * 2048));
  EXPECT_EQ(other.summed.value(), 3 * 2048 * 2048 * 2);
  EXPECT_EQ(work(Sharing::distributed, 1, 1).flops.value(), five_steps(512, 2048)) << "nothing is split";
  EXPECT_EQ(work(Sharing::distributed, 1, 1).summed, Bytes(0));
}

// Each matrix has a home among all ranks, to which it goes and from which its update comes back.
TEST(MuonSharing, LayerSharded) {
  const auto done = work(Sharing::layer_sharded, 4, 2);
  EXPECT_NEAR(done.flops.value(), five_steps(512, 2048) / 8, 1e-3);
  EXPECT_EQ(done.exchanged.value(), 3 * 512 * 2048 * 4);
  EXPECT_EQ(done.owners, 8);
}

// Owners among the data ranks; their tensor-parallel parts are as the second word says.
TEST(MuonSharing, LayerWise) {
  const auto blocks = work(Sharing::layer_wise, 4, 2);
  EXPECT_NEAR(blocks.flops.value(), five_steps(512, 512) / 2, 1e-3);
  EXPECT_EQ(blocks.owners, 2);
  EXPECT_EQ(blocks.gathered + blocks.exchanged + blocks.summed, Bytes(0));
  const auto whole = work(Sharing::layer_wise, 4, 2, Sharing::duplicated);
  EXPECT_NEAR(whole.flops.value(), five_steps(512, 2048) / 2, 1e-3);
  EXPECT_EQ(whole.gathered.value(), 3 * 512 * 2048 * 4 / 2) << "of the matrices that a data rank owns";
  EXPECT_THAT(whole.axes, ElementsAre("tensor"));
}

TEST(MuonSharing, WhatTheAxesCannotServeIsRefused) {
  const auto refused = [](std::optional<Sharing> sharing, std::int64_t zero, bool scattered) {
    auto shared = matrices(4, zero);
    shared.scattered = scattered;
    return !workloads::share({.sharing = sharing}, shared).what.empty();
  };
  for (const auto sharing : {Sharing::blockwise, Sharing::distributed}) {
    EXPECT_TRUE(refused(sharing, 2, false));
    EXPECT_FALSE(refused(sharing, 1, false));
  }
  EXPECT_TRUE(refused(Sharing::layer_wise, 2, true)) << "no whole gradient";
  EXPECT_FALSE(refused(Sharing::layer_sharded, 2, true));
  for (const std::int64_t zero : {1, 2}) {
    for (const bool scattered : {false, true}) EXPECT_FALSE(refused({}, zero, scattered)) << "each has a usual sharing";
  }
}

// A matrix that one rank has is its own, whatever ZeRO does elsewhere. One that all ranks of an axis have has no owner
// if they all keep its momentum, and the message names the axis that lacks the stage.
TEST(MuonSharing, LayerWiseNeedsTheStageWhereRanksHaveCopies) {
  auto alone = matrices(4, 1);
  EXPECT_EQ(workloads::share({.sharing = Sharing::layer_wise}, alone).what, "");
  EXPECT_EQ(muon_work({.sharing = Sharing::layer_wise}, alone, Bytes(4)).owners, 1);
  auto copied = matrices(4, 1);
  copied.copied = {"context"};
  EXPECT_EQ(workloads::share({.sharing = Sharing::layer_wise}, copied).expected,
            "ZeRO stage 1 for context, or duplicated");
  copied.zero = {"data"};
  copied.zero_ranks = 2;
  EXPECT_EQ(workloads::share({.sharing = Sharing::layer_wise}, copied).what, "") << "owners along data, copies of them";
}

/// The layers of a model under a plan, with what their updates need to know.
Derived updated(const workloads::Model& model, const workloads::Parallel& parallel, const workloads::MuonSpec& spec) {
  auto made = derived(model, parallel);
  const auto blocks = blocks_of(model);
  auto plan = plan_for(blocks, parallel);
  auto sizes = sizes_on(model, parallel, 16, 8);
  copy_key_value_heads(plan, sizes);
  for (const workloads::KindId kind : blocks.kinds.ids()) {
    complete_updates(made.kinds[kind], blocks.kinds[kind], plan, sizes);
    EXPECT_EQ(share_matrices(made.kinds[kind], spec).what, "");
  }
  return made;
}

workloads::StepOptions with_muon(const workloads::MuonSpec& spec) {
  workloads::StepOptions options;
  options.optimizer.kind = workloads::OptimizerKind::muon;
  options.optimizer.muon = spec;
  return options;
}

double orthogonal_flops(const workloads::StepGraph& graph) {
  double sum = 0;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    if (graph.op(id)->name == "Newton-Schulz steps") sum += graph.op(id)->flops.value();
  }
  return sum;
}

// Matrices of layers, the router's and each expert's; not the embedding, the unembedding and norms. One momentum of 4 B
// for the former, two moments for the latter.
TEST(Muon, TakesTheMatricesOfLayers) {
  const auto made = updated(mixture(), workloads::Parallel{}, {});
  const workloads::OptimizerSpec spec{.kind = workloads::OptimizerKind::muon};
  for (const auto& block : made.kinds) {
    for (const auto& update : block.weights) {
      const bool vector = update.weight.starts_with("Wnorm");
      EXPECT_EQ(by_muon(spec, update), block.is_layer && !vector) << update.weight;
      EXPECT_EQ(state_of(spec, update), Bytes(4) * (update.parameters * (by_muon(spec, update) ? 1 : 2)));
    }
  }
  const auto& layer = made.layer();
  const auto of = [&](const std::string& name) {
    return std::find_if(layer.weights.begin(), layer.weights.end(),
                        [&](const auto& update) { return update.weight == name; })
        ->matrices;
  };
  EXPECT_EQ(of("Weup").count, 8);
  EXPECT_EQ(of("Weup").rows * of("Weup").columns, D * 24);
  EXPECT_EQ(of("Wq").columns, 8 * 4) << "heads side by side";
  EXPECT_EQ(of("Wrouter").count, 1);
}

// Two layers of D x F and F x D on one rank: four matrices, 5 steps each.
TEST(Muon, AStepDoesTheWorkOfItsMatrices) {
  const double each = 5 * (4.0 * D * D * F + 2.0 * D * D * D);
  const auto one = updated(two_matmuls(), workloads::Parallel{}, {});
  EXPECT_NEAR(orthogonal_flops(one.step(with_muon({}))), 4 * each, 1e-6);
  // Four owners have one each; of eight, four have nothing, and the step waits for the others.
  for (const std::int64_t ranks : {4, 8}) {
    const auto owned = updated(two_matmuls(), workloads::Parallel{.data = ranks, .zero = 1}, {});
    EXPECT_NEAR(orthogonal_flops(owned.step(with_muon({}))), each, 1e-6) << ranks;
  }
}

// Four matrices of D x F with a momentum of 4 B: an owner keeps two whole ones of two ranks, one of four, and the rank
// with the most keeps one of eight, where half of them have none. A mean rank of eight would have half a matrix.
TEST(Muon, OwnersKeepWholeStates) {
  for (const auto& [ranks, kept] : {std::pair{1, 4}, std::pair{2, 2}, std::pair{4, 1}, std::pair{8, 1}}) {
    const auto owned = updated(two_matmuls(), workloads::Parallel{.data = ranks, .zero = 1},
                               {.sharing = ranks > 1 ? Sharing::layer_wise : Sharing::duplicated});
    const auto graph = owned.step(with_muon({.sharing = Sharing::layer_wise}));
    EXPECT_EQ(graph.held[0].optimizer.value(), kept * D * F * 4) << ranks;
  }
  const auto shared =
      updated(two_matmuls(), workloads::Parallel{.data = 8, .zero = 1}, {.sharing = Sharing::layer_sharded});
  EXPECT_EQ(shared.step(with_muon({.sharing = Sharing::layer_sharded})).held[0].optimizer.value(), 4 * D * F * 4 / 8)
      << "state that ZeRO splits evenly";
}

/// LLaMA 3 8B's layers: D = 4096, F = 14336, 32 heads of 128 on 8.
workloads::Model llama_3_8b() {
  auto model = transformer(32);
  model.d_model = 4096;
  model.d_ff = 14336;
  model.heads = 32;
  model.kv_heads = 8;
  model.head_size = 128;
  return model;
}

// Over 16 tensor ranks, two have each of 8 key-value heads. The matrix of all keys still has 1,024 columns, not 2,048:
// m = 1024 and n = 4096 for keys and values, m = n = 4096 for queries and the output, m = 4096 and n = 14336 in the
// MLP.
TEST(Muon, CopiesOfKeyValueHeadsAreNoPartOfTheMatrix) {
  const workloads::MuonSpec spec{.sharing = Sharing::duplicated};
  const auto made = updated(llama_3_8b(), {.tensor = 16, .sequence_parallel = false}, spec);
  const auto step = [](double m, double n) { return 4 * m * m * n + 2 * m * m * m; };
  const double layer = 2 * step(4096, 4096) + 2 * step(1024, 4096) + 3 * step(4096, 14336);
  EXPECT_NEAR(orthogonal_flops(made.step(with_muon(spec))), 32 * 5 * layer, 1e3);
  for (const auto& update : made.layer().weights) {
    if (update.weight == "Wk") {
      EXPECT_EQ(update.matrices.columns, 8 * 128);
      EXPECT_EQ(update.matrices.local_columns, 128) << "one head each";
    }
  }
}

// Over 8 tensor ranks all matrices are split along heads or F, never along D, so X X^T and its square are D x D: a
// layer's seven matrices split 2 x 4096 + 2 x 1024 + 3 x 14336 columns or rows, and seven sums of 4096^2 numbers go
// around a step.
TEST(Muon, DistributedWorkOfLlama) {
  const workloads::MuonSpec spec{.sharing = Sharing::distributed};
  const auto graph = updated(llama_3_8b(), {.tensor = 8, .sequence_parallel = false}, spec).step(with_muon(spec));
  const double d = 4096, n = 2 * 4096 + 2 * 1024 + 3 * 14336;
  EXPECT_NEAR(orthogonal_flops(graph), 32 * 5 * (4 * d * d * n / 8 + 7 * 2 * d * d * d), 1e3);
  std::int64_t sums = 0;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    if (graph.op(id)->name == "AllReduce_tensor products") sums += graph.op(id)->full_size.value();
  }
  EXPECT_EQ(sums, std::int64_t{32} * 5 * 234'881'024);
}

// A single head of keys that all tensor ranks have is a whole matrix, which nobody gathers.
TEST(Muon, AHeadThatAllHaveIsNotSplit) {
  auto model = transformer();
  model.kv_heads = 1;
  const auto made = updated(model, {.tensor = 4}, {.sharing = Sharing::duplicated});
  for (const auto& update : made.layer().weights) {
    if (update.matrices.count == 0) continue;
    const bool keys = update.weight == "Wk" || update.weight == "Wv";
    EXPECT_EQ(update.matrices.tensor_ranks, keys ? 1 : 4) << update.weight;
    EXPECT_EQ(update.matrices.zero_ranks, 1) << update.weight;
  }
}

// Experts split over the only batch axis are there once, and all else is copied over it: ZeRO stage 1 gives owners to
// the latter, and the former need none. With a further axis that copies experts, at stage 0, they are refused.
TEST(Muon, ExpertsThatAreThereOnceNeedNoOwners) {
  const workloads::MuonSpec spec{.sharing = Sharing::layer_wise};
  const auto made = updated(mixture(), {.expert = 8, .zero = 1}, spec);
  for (const auto& update : made.layer().weights) {
    if (update.matrices.count == 0) continue;
    EXPECT_EQ(muon_work(spec, update.matrices, Bytes(4)).owners, update.weight.starts_with("We") ? 1 : 8);
    EXPECT_THAT(update.matrices.copied, IsEmpty()) << update.weight;
  }
  const workloads::Parallel parallel{.data = 2, .expert = 8, .zero_of = {{"expert", 1}}};
  const auto copied = updated(mixture(), parallel, {});
  for (const auto& update : copied.layer().weights) {
    if (update.matrices.count > 0) EXPECT_THAT(update.matrices.copied, ElementsAre("data")) << update.weight;
  }
}

// layer_wise: gradients are all-reduced, and updated weights gathered, in place of scattered gradients.
TEST(Muon, OwnersGetWholeGradients) {
  const auto made = updated(two_matmuls(), workloads::Parallel{.data = 4, .zero = 1}, {});
  for (const auto& update : made.layer().weights) {
    ASSERT_EQ(update.last_microbatch.size(), 1U);
    EXPECT_EQ(update.last_microbatch.front().kind, workloads::CollectiveKind::all_reduce);
    EXPECT_EQ(update.last_microbatch.front().full_size.value(), 2 * D * F);
    ASSERT_EQ(update.publish.size(), 1U);
    EXPECT_EQ(update.publish.front().kind, workloads::CollectiveKind::all_gather);
  }
}

// Owners along one axis and copies of the state along another: the whole gradient, D x F in 2 B, is still summed over
// both, as with ZeRO stage 1 on both, and not only the part that a shard would be. Updated weights come back along the
// owners.
TEST(Muon, OwnersOnSomeAxesGetWholeGradients) {
  const auto check = [](const workloads::Model& model, const workloads::Parallel& parallel, const std::string& owners,
                        const std::string& copies) {
    const auto made = updated(model, parallel, {.sharing = Sharing::layer_wise});
    bool any = false;
    for (const auto& update : made.layer().weights) {
      const auto& matrices = update.matrices;
      if (matrices.count == 0 || matrices.zero != workloads::AxisNames{owners}) continue;
      if (copies == "expert" && update.weight.starts_with("We")) continue;  // each expert is there once
      any = true;
      std::int64_t both = 0;
      for (const auto& collective : update.last_microbatch) {
        EXPECT_EQ(collective.kind, workloads::CollectiveKind::all_reduce);
        EXPECT_EQ(collective.full_size.value(), 2 * update.gradient_elements) << collective.to_string();
        both += workloads::contains(collective.axes, owners) + workloads::contains(collective.axes, copies);
      }
      EXPECT_EQ(both, 2) << update.weight;
      ASSERT_EQ(update.publish.size(), 1U);
      EXPECT_THAT(update.publish.front().axes, ElementsAre(owners));
    }
    EXPECT_TRUE(any);
  };
  check(two_matmuls(), {.data = 2, .fsdp = 8, .zero_of = {{"fsdp", 1}}}, "fsdp", "data");
  check(two_matmuls(), {.data = 2, .fsdp = 8, .zero_of = {{"fsdp", 0}, {"data", 1}}}, "data", "fsdp");
  check(mixture(), {.data = 2, .expert = 8, .zero_of = {{"data", 1}}}, "data", "expert");
}

// ZeRO of single axes: state split inside a node (fsdp at stage 1) and copied between nodes (data). Weights stay whole,
// gradients are scattered inside and their shards summed outside after the last microbatch.
TEST(ZeroOfAxes, StateSplitInsideAndCopiedOutside) {
  const workloads::Parallel parallel{.data = 4, .fsdp = 2, .zero_of = {{"fsdp", 1}}};
  const auto layer = derived(two_matmuls(), parallel).layer();
  EXPECT_THAT(collectives(layer.forward), IsEmpty());
  EXPECT_THAT(collectives(layer.backward), IsEmpty());
  for (const auto& update : layer.weights) {
    EXPECT_THAT(update.each_microbatch, IsEmpty());
    ASSERT_EQ(update.last_microbatch.size(), 2U);
    EXPECT_EQ(update.last_microbatch[0].kind, workloads::CollectiveKind::reduce_scatter);
    EXPECT_THAT(update.last_microbatch[0].axes, ElementsAre("fsdp"));
    EXPECT_EQ(update.last_microbatch[0].full_size.value(), 2 * D * F);
    EXPECT_EQ(update.last_microbatch[1].kind, workloads::CollectiveKind::all_reduce);
    EXPECT_THAT(update.last_microbatch[1].axes, ElementsAre("data"));
    EXPECT_EQ(update.last_microbatch[1].full_size.value(), 2 * D * F / 2);
    ASSERT_EQ(update.publish.size(), 1U);
    EXPECT_THAT(update.publish[0].axes, ElementsAre("fsdp"));
    EXPECT_EQ(update.optimizer_elements, D * F / 2);
    EXPECT_EQ(update.stored.value(), 2 * D * F);
  }
}

// Stage 1 outside over stage 3 inside: weights and gradients are split over fsdp, the state over both.
TEST(ZeroOfAxes, StateSplitOverBoth) {
  const workloads::Parallel parallel{.data = 4, .fsdp = 2, .zero_of = {{"data", 1}}};
  const auto layer = derived(two_matmuls(), parallel).layer();
  for (const auto& update : layer.weights) {
    EXPECT_EQ(update.stored.value(), 2 * D * F / 2);
    EXPECT_EQ(update.optimizer_elements, D * F / 8);
  }
}

// The stage of an axis by itself is that of all axes if nothing else is said.
TEST(ZeroOfAxes, EqualsTheStageOfAll) {
  for (const int stage : {0, 1, 2, 3}) {
    workloads::Parallel all{.data = 2, .context = 2, .zero = stage};
    workloads::Parallel single{.data = 2, .context = 2, .zero_of = {{"data", stage}, {"context", stage}}};
    const auto blocks = blocks_of(transformer());
    EXPECT_EQ(plan_for(blocks, all).to_string(), plan_for(blocks, single).to_string()) << stage;
  }
}

}  // namespace
}  // namespace lockstep::test
