// Summaries of a layer In[B, D] Win[D, F] Wout[F, D], D F = 16384, on 4 chips with 16 sequences of 8 tokens; bf16.
// A product of B tokens takes 2 B D F / C seconds; a backward has two for each of the forward.
#include "sim/studies/planning/plan_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "sim/core/errors.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t weights_bytes = 2 * 2 * small_d * small_f;  ///< of both matrices
constexpr std::uint32_t tensor_bit = 1, data_bit = 1U << planning::data_axis;

struct Summaries {
  explicit Summaries(const std::string& more)
      : scenario(SmallSpace{.layers = 2, .more = more}.load()), model(preparation::sharded_model(scenario)) {}
  [[nodiscard]] planning::PassesSummary passes(
      planning::WeightGathers gathers = planning::WeightGathers::counted) const {
    return summarize_passes(scenario, model, gathers);
  }
  [[nodiscard]] planning::StateSummary state() const { return planning::summarize_state(scenario, model); }

  scenario::Scenario scenario;
  preparation::ShardedModel model;
};

double compute_of(const planning::PassSummary& pass) {
  return std::accumulate(pass.steps.begin(), pass.steps.end(), 0.0,
                         [](double sum, const auto& step) { return sum + step.compute; });
}

bool reads_weights(const planning::PassSummary& pass) {
  return std::any_of(pass.steps.begin(), pass.steps.end(), [](const auto& step) { return step.weights; });
}

/// "AllGather 8 65536": kind, axes, bytes.
std::vector<std::string> named(const planning::CollectiveList& list, const std::vector<std::int32_t>& places) {
  std::vector<std::string> names;
  for (const auto place : places) {
    const auto& one = list.collectives.at(static_cast<std::size_t>(place));
    names.push_back(std::string(name(one.kind)) + " " + std::to_string(one.axes) + " " +
                    std::to_string(one.size.value()));
  }
  return names;
}

std::string text_of(workloads::CollectiveKind kind, std::uint32_t axes, std::int64_t bytes) {
  return std::string(name(kind)) + " " + std::to_string(axes) + " " + std::to_string(bytes);
}

const std::string gathered = text_of(workloads::CollectiveKind::all_gather, data_bit, weights_bytes);
const std::string scattered = text_of(workloads::CollectiveKind::reduce_scatter, data_bit, weights_bytes);
const std::string reduced = text_of(workloads::CollectiveKind::all_reduce, data_bit, weights_bytes);

TEST(AxisBitsTest, AreNumberedLikeThePlansAxes) {
  EXPECT_EQ(planning::axis_bits({}), 0u);
  EXPECT_EQ(planning::axis_bits({"tensor"}), 1u);
  EXPECT_EQ(planning::axis_bits({"context"}), 2u);
  EXPECT_EQ(planning::axis_bits({"expert"}), 4u);
  EXPECT_EQ(planning::axis_bits({"data"}), 8u);
  EXPECT_EQ(planning::axis_bits({"pipeline"}), 16u);
  EXPECT_EQ(planning::axis_bits({"data", "tensor"}), 9u);
  EXPECT_EQ(planning::axis_bits({"fsdp"}), planning::axis_bits({"data"}));
  EXPECT_THROW((void)planning::axis_bits({"tensor", "replica"}), InternalError);
  EXPECT_THROW((void)planning::axis_bits({"tensor/2"}), InternalError);  // groups along a part have no cost here
}

TEST(PlanSummaryTest, ComputeIsThatOfTheProducts) {
  const auto summary = Summaries("parallel: {data: 4, zero: 0}\n").passes();
  ASSERT_EQ(summary.kinds.size(), 1u);
  const auto& block = summary.kinds.front();
  constexpr double tokens = 16 * 8 / 4;
  const double product = 2 * tokens * small_d * small_f / peak_flops;
  EXPECT_NEAR(block.forward.compute, 2 * product, 1e-9 * product);
  EXPECT_NEAR(block.backward.compute, 4 * product, 1e-9 * product);
  EXPECT_NEAR(block.input_gradient.compute, 2 * product, 1e-9 * product);
  EXPECT_NEAR(block.weight_gradient.compute, 2 * product, 1e-9 * product);
  for (const auto* pass : {&block.forward, &block.backward, &block.input_gradient, &block.weight_gradient})
    EXPECT_DOUBLE_EQ(pass->compute, compute_of(*pass));
  EXPECT_THAT(summary.collectives, IsEmpty());
}

// Tmp[B, F] is kept for the backward, and In[B, D], which arrives.
TEST(PlanSummaryTest, KeepsWhatTheBackwardReads) {
  const auto block = Summaries("parallel: {data: 4, zero: 0}\n").passes().kinds.front();
  constexpr std::int64_t tokens = 32;
  EXPECT_EQ(block.kept, tokens * small_f * 2);
  EXPECT_EQ(block.kept_for_weights, tokens * small_f * 2);  // the gradient of Wout reads it
  EXPECT_EQ(block.input, tokens * small_d * 2);
  EXPECT_EQ(block.sent, block.input);
  EXPECT_TRUE(block.keeps_input);
  EXPECT_FALSE(block.keeps_output);
}

TEST(PlanSummaryTest, GathersOfAPassAreOneCollectiveListedOnce) {
  const auto summary = Summaries("parallel: {fsdp: 4, zero: 3}\n").passes();
  const auto& block = summary.kinds.front();
  ASSERT_EQ(summary.collectives.size(), 1u);  // both matrices together, the same in both passes
  EXPECT_THAT(named(summary, block.forward.gathers), ElementsAre(gathered));
  EXPECT_EQ(block.backward.gathers, block.forward.gathers);
  EXPECT_EQ(block.input_gradient.gathers, block.forward.gathers);
  EXPECT_THAT(block.weight_gradient.gathers, IsEmpty());
  EXPECT_TRUE(reads_weights(block.forward));
  EXPECT_TRUE(reads_weights(block.input_gradient));
  EXPECT_FALSE(reads_weights(block.weight_gradient));
}

// The passes of a plan that splits no weights, from the derivation of one that does.
TEST(PlanSummaryTest, WithoutGathersPassesAreThoseOfWholeWeights) {
  const auto left_out = Summaries("parallel: {fsdp: 4, zero: 3}\n").passes(planning::WeightGathers::left_out);
  const auto whole = Summaries("parallel: {data: 4, zero: 0}\n").passes();
  EXPECT_THAT(left_out.collectives, IsEmpty());
  const auto& one = left_out.kinds.front();
  const auto& other = whole.kinds.front();
  for (const auto pass :
       {&planning::BlockPasses::forward, &planning::BlockPasses::backward, &planning::BlockPasses::input_gradient}) {
    EXPECT_THAT((one.*pass).gathers, IsEmpty());
    EXPECT_FALSE(reads_weights(one.*pass));
    ASSERT_EQ((one.*pass).steps.size(), (other.*pass).steps.size());
    for (std::size_t i = 0; i < (one.*pass).steps.size(); ++i) {
      EXPECT_EQ((one.*pass).steps[i].compute, (other.*pass).steps[i].compute);
      EXPECT_EQ((one.*pass).steps[i].after, (other.*pass).steps[i].after);
    }
    EXPECT_EQ((one.*pass).output, (other.*pass).output);
  }
  EXPECT_EQ(one.kept, other.kept);
}

// Arrays gathered one by one are waited for one by one, which the bound leaves out.
TEST(PlanSummaryTest, WeightsGatheredOneByOneAreNotWaitedFor) {
  const auto summary = Summaries("parallel: {fsdp: 4, zero: 3}\ncommunication: {weight_buckets: matrix}\n").passes();
  EXPECT_THAT(named(summary, summary.kinds.front().forward.gathers), ElementsAre(gathered));
  EXPECT_FALSE(reads_weights(summary.kinds.front().forward));
}

// Megatron's layer with sequences split: In is gathered along tensor before Win, sums of Wout are scattered, B D each.
// B = 128 tokens, all on each tensor rank.
TEST(PlanSummaryTest, CollectivesOfActivationsStandInThePath) {
  const auto summary = Summaries("parallel: {tensor: 4, zero: 0}\n").passes();
  const auto& forward = summary.kinds.front().forward;
  std::vector<std::int32_t> places;
  for (const auto& step : forward.steps) {
    if (step.collective >= 0) places.push_back(step.collective);
  }
  EXPECT_THAT(named(summary, places),
              ElementsAre(text_of(workloads::CollectiveKind::all_gather, tensor_bit, 128 * small_d * 2),
                          text_of(workloads::CollectiveKind::reduce_scatter, tensor_bit, 128 * small_d * 2)));
  EXPECT_THAT(forward.gathers, IsEmpty());
  // gather, product, product, scatter: 2 s and 3 s around the products
  const auto path = path_of(forward, std::vector<double>(summary.collectives.size(), 2.0));
  EXPECT_DOUBLE_EQ(path.data_data, 2 + forward.compute + 2);
  EXPECT_DOUBLE_EQ(path.data_free, 2 + forward.compute);
  EXPECT_DOUBLE_EQ(path.free_free, forward.compute);
  EXPECT_EQ(std::set<std::int32_t>(places.begin(), places.end()).size(), 2u);
  for (std::size_t i = 0; i < summary.collectives.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(summary.collectives[i] == summary.collectives[k]);
  }
}

struct ChainCase {
  std::string parallel;
  std::vector<std::string> each, last, publish;
  std::int64_t state_ranks, weights_ranks;  ///< that share the optimizer's state, and the weights as stored
};

// ZeRO: 0 reduces whole gradients after the last microbatch; 1 scatters them then, 2 after every one; both gather
// updated weights. 3 scatters after every one, and gathers no weights after the update.
TEST(PlanSummaryTest, ChainsOfGradientsAreThoseOfTheZeroStage) {
  for (const auto& [parallel, each, last, publish, state_ranks, weights_ranks] :
       std::vector<ChainCase>{{"data: 4, zero: 0", {}, {reduced}, {}, 1, 1},
                              {"data: 4, zero: 1", {}, {scattered}, {gathered}, 4, 1},
                              {"data: 4, zero: 2", {scattered}, {}, {gathered}, 4, 1},
                              {"fsdp: 4, zero: 3", {scattered}, {}, {}, 4, 4}}) {
    SCOPED_TRACE(parallel);
    const auto summary = Summaries("parallel: {" + parallel + "}\n").state();
    ASSERT_EQ(summary.kinds.size(), 1u);
    const auto& block = summary.kinds.front();
    EXPECT_EQ(named(summary, block.each_microbatch), each);
    EXPECT_EQ(named(summary, block.last_microbatch), last);
    EXPECT_EQ(named(summary, block.publish), publish);
    // Adam: two moments of 4 bytes for each of D F x 2 parameters.
    constexpr std::int64_t parameters = 2 * small_d * small_f;
    EXPECT_EQ(block.held, 2 * parameters / weights_ranks + 8 * parameters / state_ranks);
  }
}

// Adam reads and writes 2 moments of 4 bytes, reads a gradient of g bytes, and reads and writes the weight in 2 bytes:
// 16 + g + 4 bytes for each parameter of the rank's shard, at the memory's bandwidth.
TEST(PlanSummaryTest, AnUpdateMovesItsStateThroughMemory) {
  constexpr double parameters = 2 * small_d * small_f;
  for (const auto& [precision, g] : {std::pair<std::string, double>{"bf16", 2}, {"fp32", 4}}) {
    const std::string lines = "model_of_time: roofline\ntraining: {gradient_precision: " + precision + "}\n";
    const auto whole = Summaries("parallel: {data: 4, zero: 0}\n" + lines).state();
    const auto shard = Summaries("parallel: {data: 4, zero: 1}\n" + lines).state();
    const double expected = (20 + g) * parameters / memory_bandwidth;
    EXPECT_NEAR(whole.kinds.front().update, expected, 1e-9 * expected);
    EXPECT_NEAR(shard.kinds.front().update, expected / 4, 1e-9 * expected);
    EXPECT_EQ(whole.kinds.front().gradients, static_cast<std::int64_t>(g * parameters));
  }
  // The ideal chip has memory for free.
  EXPECT_EQ(Summaries("parallel: {data: 4, zero: 0}\n").state().kinds.front().update, 0);
}

TEST(PlanSummaryTest, BucketsBySizeReachOverBlocksAndAreLeftOut) {
  const auto summary = Summaries("parallel: {data: 4, zero: 1}\ncommunication: {gradient_buckets: 25 MB}\n").state();
  EXPECT_THAT(summary.kinds.front().each_microbatch, IsEmpty());
  EXPECT_THAT(summary.kinds.front().last_microbatch, IsEmpty());
  EXPECT_THAT(named(summary, summary.kinds.front().publish), ElementsAre(gathered));
}

}  // namespace
}  // namespace lockstep::test
