// Blocks against the counts that stand by themselves: FLOPs per token and parameters of every model of the catalog.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/source_dir.hpp"
#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "workloads/catalog";

class EveryModel : public ::testing::TestWithParam<std::string> {
 protected:
  workloads::Model model() {
    Problems problems;
    auto loaded = workloads::load_model(catalog, GetParam(), problems);
    problems.throw_if_any();
    return loaded;
  }
};

/// FLOPs of one token in all recurrences: what kernels do, forward or of the states alone, over what MFU counts.
double beyond_the_count(const workloads::Model& model) {
  if (!model.recurrence) return 0;
  const auto& recurrence = *model.recurrence;
  const double done = static_cast<double>(recurrence.heads) * chunk_flops_of_head(recurrence).forward +
                      static_cast<double>(recurrence.key_heads) * chunk_flops_of_key_head(recurrence).forward;
  double layers = 0;
  for (const auto& kind : model.layer_kinds) layers += kind.mixer == workloads::Mixer::recurrence ? 1 : 0;
  return layers * (done - counted_state_flops(recurrence));
}

// On one rank the forward's products and attention are forward_flops_per_token x tokens; prediction modules, which that
// count leaves out, are left out here too. Slots: k T / E of each expert, rounded up.
TEST_P(EveryModel, ForwardFlopsAreThoseOfTheFormula) {
  auto one = model();
  if (!why_not_expanded(one).what.empty()) GTEST_SKIP() << why_not_expanded(one).what;
  one.mtp_modules = 0;
  for (const std::int64_t length : {4096, 32768}) {
    const auto all =
        derived(one, plan_for(blocks_of(one), workloads::Parallel{}), workloads::Parallel{}, {}, 1, length);
    double flops = 0;
    for (const int kind : all.order) {
      for (const auto& step : all.kinds[static_cast<std::size_t>(kind)].forward) flops += step.flops.value();
    }
    const double expected =
        (forward_flops_per_token(one, length, true) + beyond_the_count(one)) * static_cast<double>(length);
    EXPECT_NEAR(flops / expected, 1.0, one.experts ? 2e-3 : 1e-12) << length;
  }
}

// Backward of products and attention: twice the forward; a recurrence computes its states again besides.
TEST_P(EveryModel, BackwardIsTwiceTheForward) {
  const auto one = model();
  if (!why_not_expanded(one).what.empty()) GTEST_SKIP() << why_not_expanded(one).what;
  if (one.indexer) GTEST_SKIP() << "an indexer is trained by itself: block_sparse_test";
  const auto all = derived(one, plan_for(blocks_of(one), workloads::Parallel{}), workloads::Parallel{}, {}, 1, 2048);
  for (const auto& block : all.kinds) {
    double forward = 0, backward = 0;
    for (const auto& step : block.forward) forward += step.flops.value();
    for (const auto& step : block.backward) backward += step.flops.value();
    const bool scans =
        std::any_of(block.forward.begin(), block.forward.end(), [](const auto& step) { return step.name == "scan"; });
    const double again =
        scans ? 2048 * static_cast<double>(one.recurrence->heads) * chunk_flops_of_head(*one.recurrence).states : 0;
    EXPECT_NEAR(backward, 2 * forward + again, 1e-9 * forward) << block.name;
  }
}

// Weights of the step are the model's parameters, but for biases, learned positions and the like, which cost a step
// nothing that could be seen.
TEST_P(EveryModel, WeightsAreTheParameters) {
  const auto one = model();
  if (!why_not_expanded(one).what.empty()) GTEST_SKIP() << why_not_expanded(one).what;
  const auto all = derived(one, plan_for(blocks_of(one), workloads::Parallel{}), workloads::Parallel{}, {}, 1, 2048);
  std::int64_t weights = 0;
  for (const int kind : all.order) {
    for (const auto& update : all.kinds[static_cast<std::size_t>(kind)].weights) weights += update.parameters;
  }
  const auto count = count_parameters(one);
  const auto expected = count.total() + count.mtp;
  const bool plain =
      !one.qkv_bias && !one.attention_output_bias && !one.mlp_bias && one.norm != workloads::NormKind::layer_norm &&
      one.learned_positions == 0 && !one.attention_sinks && one.qk_norm != workloads::QkNorm::full_width &&
      !(one.experts && (one.experts->biases || one.experts->shared_gate)) && !one.recurrence && !one.indexer;
  if (plain) {
    EXPECT_EQ(weights, expected);
  } else {
    EXPECT_NEAR(static_cast<double>(weights) / static_cast<double>(expected), 1.0, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryModel, ::testing::ValuesIn(workloads::model_names(catalog)),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (auto& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace lockstep::test
