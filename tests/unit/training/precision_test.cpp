// Products run at the peak of the training precision; attention and the unembedding at most at that of bf16. H100: bf16
// 989e12, fp8 1979e12 FLOP/s.
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "sim/cost/time_model.hpp"
#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

constexpr double bf16 = 989e12, fp8 = 1979e12;

OneRank trained(const std::string& file, const std::string& training, const std::string& parallel = "{fsdp: 8}") {
  return OneRank(file, {{"cluster", "h100:1"}, {"mesh", "{}"}, {"parallel", parallel}, {"training", training}});
}

Seconds compute_of(
    const OneRank& rank,
    const std::function<bool(const workloads::StepOp&)>& choice = [](const workloads::StepOp&) { return true; }) {
  Seconds sum(0);
  for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
    const auto& op = rank.step().op(id);
    if (op->kind == workloads::StepOp::Kind::compute && choice(op))
      sum += rank.timeline.span(id, 0).end - rank.timeline.span(id, 0).start;
  }
  return sum;
}

// time = flops / peak of the work's precision: 2e12 FLOPs at 2e12 and 1e12 FLOP/s.
TEST(PrecisionTest, OnlyProductsOfLayersUseTheLowPrecision) {
  const cost::ComputeRates rates{
      cost::TimeModel::ideal, FlopsPerSecond(2e12), FlopsPerSecond(1e12), BytesPerSecond(1), {}};
  EXPECT_DOUBLE_EQ(compute_time(rates, {workloads::ComputeWork::product, Flops(2e12)}).value(), 1);
  EXPECT_DOUBLE_EQ(compute_time(rates, {workloads::ComputeWork::memory, Flops(2e12)}).value(), 1);
  EXPECT_DOUBLE_EQ(compute_time(rates, {workloads::ComputeWork::attention, Flops(2e12)}).value(), 2);
  EXPECT_DOUBLE_EQ(compute_time(rates, {workloads::ComputeWork::head_product, Flops(2e12)}).value(), 2);
}

// A model of products alone: compute time is its FLOPs at the peak, 12 B D F a layer over 8 ranks.
TEST(PrecisionTest, AModelOfProductsTakesFlopsOverPeak) {
  const auto in_bf16 = trained("small_two_matmul.yaml", "{precision: bf16}");
  const auto in_fp8 = trained("small_two_matmul.yaml", "{precision: fp8}");
  const auto& model = in_bf16.scenario.model;
  const auto tokens = static_cast<double>(in_bf16.scenario.batch.sequences * in_bf16.scenario.batch.sequence_length);
  const double flops = 12 * tokens * static_cast<double>(model.d_model * model.d_ff * model.layers) / 8;
  EXPECT_NEAR(compute_of(in_bf16).value() / (flops / bf16), 1, 1e-12);
  EXPECT_NEAR(compute_of(in_fp8).value() / (flops / fp8), 1, 1e-12);
}

// Forward and backward of the unembedding: 6 B T D V FLOPs at bf16's peak under fp8 too.
TEST(PrecisionTest, TheUnembeddingStaysInBf16) {
  const auto unembedding = [](const workloads::StepOp& op) { return op->name.starts_with("unembedding"); };
  for (const char* training : {"{precision: bf16}", "{precision: fp8}"}) {
    const auto rank = trained("small.yaml", training);
    const auto& model = rank.scenario.model;
    const auto tokens = static_cast<double>(rank.scenario.batch.sequences * rank.scenario.batch.sequence_length);
    const double flops = 6 * tokens * static_cast<double>(model.d_model * model.vocabulary) / 8;
    EXPECT_NEAR(compute_of(rank, unembedding).value() / (flops / bf16), 1, 1e-12) << training;
  }
}

// MFU is against the peak of the stated precision.
TEST(PrecisionTest, RatesAreThoseOfTheChip) {
  const auto rank = trained("small_two_matmul.yaml", "{precision: fp8}");
  EXPECT_DOUBLE_EQ(preparation::rates_of(rank.scenario).flops.value(), fp8);
  EXPECT_DOUBLE_EQ(preparation::rates_of(rank.scenario).in_16_bits.value(), bf16);
}

/// Bytes of all weight gathers of a step whose names hold `weight`.
std::int64_t gathered(const OneRank& rank, const std::string& weight) {
  std::int64_t sum = 0;
  for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
    const auto& op = rank.step().op(id);
    if (op->kind == workloads::StepOp::Kind::collective && op->role == workloads::CollectiveRole::weight &&
        op->name.find(weight) != std::string::npos)
      sum += op->full_size.value();
  }
  return sum;
}

// Weights are gathered for the forward and again for the backward: 2 x 2 bytes a parameter, 2 x 1 in fp8; the norms'
// scales, which no product reads, and the unembedding stay at 2.
TEST(PrecisionTest, OnlyWeightsOfProductsAreGatheredInOneByte) {
  const auto wide = trained("small.yaml", "{precision: fp8}");
  const auto narrow = trained("small.yaml", "{precision: fp8, low_precision_gather: true}");
  const auto& model = wide.scenario.model;
  std::int64_t matrices = 0, others = 0;
  for (const auto& block : wide.preparation.model.layers) {
    for (const auto& update : block.weights)
      (block.name == "layer" && update.parameters > model.d_model ? matrices : others) +=
          update.parameters * (block.name == "layer" ? model.layers : 1);
  }
  const auto embedding = model.vocabulary * model.d_model;  // needed in the forward alone
  EXPECT_EQ(gathered(wide, ""), 4 * (matrices + others) - 2 * embedding);
  EXPECT_EQ(gathered(narrow, ""), 2 * matrices + 4 * others - 2 * embedding);
  EXPECT_EQ(gathered(narrow, "Whead"), gathered(wide, "Whead"));
}

// Replicas publish what they updated: 2 bytes a parameter, 1 where only products read it.
TEST(PrecisionTest, UpdatedWeightsAreGatheredInOneByte) {
  const auto published = [](const char* training, bool of_layers) {
    const auto rank = trained("small.yaml", training, "{data: 8, zero: 1}");
    std::int64_t sum = 0;
    for (const auto& block : rank.preparation.model.layers) {
      for (const auto& update : block.weights) {
        if (block.is_layer != of_layers || update.parameters <= rank.scenario.model.d_model) continue;
        for (const auto& gather : update.publish) sum += gather.full_size.value();
      }
    }
    return sum;
  };
  const char *wide = "{precision: fp8}", *narrow = "{precision: fp8, low_precision_gather: true}";
  EXPECT_GT(published(wide, true), 0);
  EXPECT_EQ(2 * published(narrow, true), published(wide, true));
  EXPECT_EQ(published(narrow, false), published(wide, false));
}

// Weights of products take 2 bytes a parameter, 3 with a copy in 8 bits beside them and 4 with a transposed one; norms,
// embedding and unembedding stay at 2.
TEST(PrecisionTest, WeightsInOneByteLieBesideTheStoredOnes) {
  const auto held = [](const char* training) {
    return trained("small.yaml", training, "{data: 8}").step().held[0].weights.value();
  };
  const auto rank = trained("small.yaml", "{precision: fp8}", "{data: 8}");
  const auto& model = rank.scenario.model;
  std::int64_t matrices = 0, all = 0;
  for (const auto& block : rank.preparation.model.layers) {
    for (const auto& update : block.weights) {
      const auto parameters = update.parameters * (block.is_layer ? model.layers : 1);
      all += parameters;
      if (block.is_layer && update.parameters > model.d_model) matrices += parameters;
    }
  }
  EXPECT_EQ(held("{precision: fp8}"), 2 * all);
  EXPECT_EQ(held("{precision: fp8, low_precision_weights: kept}"), 2 * all + matrices);
  EXPECT_EQ(held("{precision: fp8, low_precision_weights: kept twice}"), 2 * all + 2 * matrices);
}

// Casts move 2 + 1 + 1 bytes an element, of what a product reads in the forward unless a norm made it (8 bits already),
// and of the gradient of its result in the backward. small.yaml has a gated MLP: in the forward the output projection
// (N H wide) and the down projection (F), in the backward query (N H), key and value (K H each), output (D), gate and
// up (F each), down (D).
TEST(PrecisionTest, CastsOfALayer) {
  const auto casts = [](const char* training) {
    const auto rank = trained("small.yaml", training);
    const auto& model = rank.scenario.model;
    const auto tokens = static_cast<double>(rank.scenario.batch.sequences * rank.scenario.batch.sequence_length) / 8;
    double sum = 0;
    for (workloads::OpId id = 0; id < rank.step().size(); ++id)
      sum += static_cast<double>(rank.step().op(id)->casts.value());
    const double queries = static_cast<double>(model.heads * model.head_size),
                 keys = static_cast<double>(model.kv_heads * model.head_size);
    const double forward = queries + static_cast<double>(model.d_ff);
    const double backward = queries + 2 * keys + 2 * static_cast<double>(model.d_ff + model.d_model);
    return sum / (4 * tokens * (forward + backward) * static_cast<double>(model.layers));
  };
  EXPECT_DOUBLE_EQ(casts("{precision: fp8}"), 1);
  EXPECT_EQ(casts("{precision: bf16}"), 0);
}

// Eager frameworks: all that norms, activation functions, rotary positions and residual adds move, but not the loss,
// the embedding or the update.
TEST(PrecisionTest, ElementwiseTrafficOfEagerFrameworks) {
  const auto traffic = [](const char* training) {
    const auto rank = trained("small.yaml", training);
    std::pair<double, double> sums{0, 0};  // of elementwise operations of layers, of all others
    for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
      const auto& op = rank.step().op(id);
      const auto is = [&](const char* word) { return op->name.find(word) != std::string::npos; };
      const bool elementwise = is("norm") || is("activation") || is("rotary") || is("residual");
      (elementwise && op->kind == workloads::StepOp::Kind::compute && op.pass != workloads::StepPass::update
           ? sums.first
           : sums.second) += static_cast<double>(op->traffic.value());
    }
    return sums;
  };
  const auto fused = traffic("{precision: bf16}"), eager = traffic("{precision: bf16, elementwise_traffic: 2}");
  EXPECT_GT(fused.first, 0);
  EXPECT_DOUBLE_EQ(eager.first, 2 * fused.first);
  EXPECT_DOUBLE_EQ(eager.second, fused.second);
}

// MXFP8 and NVFP4 on a B200 (4500e12 and 9000e12 FLOP/s): products run at their peaks, and weights are gathered twice
// with a scale for 32 or 16 values, 2 x 33/32 and 2 x 9/16 bytes a parameter.
TEST(PrecisionTest, BlocksWithScales) {
  for (const auto& [precision, peak, bytes] :
       {std::tuple{"mxfp8", 4500e12, 1 + 1.0 / 32}, std::tuple{"nvfp4", 9000e12, 0.5 + 1.0 / 16}}) {
    const auto training = std::string("{precision: ") + precision + ", low_precision_gather: true}";
    const OneRank rank(
        "small_two_matmul.yaml",
        {{"cluster", "{node: dgx-b200, nodes: 1}"}, {"mesh", "{}"}, {"parallel", "{fsdp: 8}"}, {"training", training}});
    EXPECT_DOUBLE_EQ(preparation::rates_of(rank.scenario).flops.value(), peak);
    const auto& model = rank.scenario.model;
    const double parameters = 2.0 * static_cast<double>(model.d_model * model.d_ff * model.layers);
    EXPECT_NEAR(static_cast<double>(gathered(rank, "Win")) / (2 * bytes * parameters), 1, 1e-9) << precision;
  }
}

// An operand's cast reads 2 bytes a value and writes it twice with its scales. A token's are, with d = 1024 and
// f = 4096, in the forward what attention and the activation function leave, d + f, in the backward the gradients of
// seven products, 5 d + 2 f: 18 d. In 4 bits with a scale for the array they are read once more to find the largest
// value, and so, but for that, are both norms' results, 2 d. With the Hadamard transform all 20 d are read three times.
TEST(PrecisionTest, CastsOfBlocksWithScales) {
  const auto casts = [](const std::string& precision) {
    const OneRank rank("small.yaml", {{"cluster", "{node: dgx-b200, nodes: 1}"},
                                      {"mesh", "{}"},
                                      {"parallel", "{fsdp: 8}"},
                                      {"training", "{precision: " + precision + "}"}});
    double sum = 0;
    for (workloads::OpId id = 0; id < rank.step().size(); ++id)
      sum += static_cast<double>(rank.step().op(id)->casts.value());
    return sum;
  };
  const double in_fp8 = casts("fp8");
  EXPECT_NEAR(casts("mxfp8") / in_fp8, (2 + 2 * 33.0 / 32) / 4, 1e-9);
  constexpr double written = 2 * 9.0 / 16;
  EXPECT_NEAR(casts("nvfp4") / in_fp8, 20 * (6 + written) / (18 * 4), 1e-9);
  EXPECT_NEAR(casts("nvfp4, hadamard_transform: false") / in_fp8, (18 * (4 + written) + 2 * (2 + written)) / (18 * 4),
              1e-9);
}

}  // namespace
}  // namespace lockstep
