// What DeepSeek-V3 holds on a rank in the middle of its pipeline, by hand from the sizes and settings of arXiv
// 2412.19437, sections 3.2.3, 3.3.3 and 4.2: a microbatch is one sequence of t = 4096 tokens on each of 64 ranks that
// share the experts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/simulate.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t t = 4096, D = 7168, heads = 128, Fe = 2048,
                       slots = 8 * t;  // experts of a token are spread evenly

struct Trained {
  scenario::Scenario scenario =
      scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios/published/deepseek-v3.yaml");
  preparation::ShardedModel model = preparation::sharded_model(scenario);
  [[nodiscard]] const workloads::ShardedLayer& block(const std::string& name) const {
    return *std::find_if(model.layers.begin(), model.layers.end(), [&](const auto& one) { return one.name == name; });
  }
};

std::int64_t kept_of_a_microbatch(const workloads::ShardedLayer& layer) {
  std::set<int> read;
  for (const auto& step : layer.backward) read.insert(step.saved.begin(), step.saved.end());
  std::int64_t sum = 0;
  for (const int step : read)
    sum += (step == workloads::BlockStep::outside ? layer.input_bytes
                                                  : layer.forward[static_cast<std::size_t>(step)].output)
               .value();
  return sum;
}

/// FP8 in tiles of 128 with a scale in fp32.
constexpr std::int64_t in_fp8(std::int64_t numbers) { return numbers + numbers / 128 * 4; }

// In 16 bits: the inputs of both norms, and the latents that queries, keys and values are projected up from again (1536
// and 512 numbers a token, and 64 of the rotary key). In 12 (E5M6): what attention leaves. In 8: the tokens that the
// experts got, and the inputs of SwiGLU, of the experts and of the shared one. 635 MB.
TEST(DeepSeekMemory, AnExpertLayerKeeps635MBOfAMicrobatch) {
  const std::int64_t norms = 2 * 2 * t * D, latents = 2 * t * (1536 + 512 + 64);
  const std::int64_t attention = t * heads * 128 * 3 / 2 + t * heads * 128 / 128 * 4;
  const std::int64_t tokens = in_fp8(slots * D), swiglu = in_fp8(slots * 2 * Fe) + in_fp8(t * 2 * Fe);
  const Trained run;
  EXPECT_EQ(kept_of_a_microbatch(run.block("expert layer")), norms + latents + attention + tokens + swiglu);
  EXPECT_EQ(norms + latents + attention + tokens + swiglu, 635'437'056);
}

// The first three layers: SwiGLU of 18432.
TEST(DeepSeekMemory, ADenseLayerKeeps393MBOfAMicrobatch) {
  const std::int64_t attention = 2 * 2 * t * D + 2 * t * (1536 + 512 + 64) + t * heads * 128 * 3 / 2 + t * heads * 4;
  EXPECT_EQ(kept_of_a_microbatch(Trained().block("dense layer")), attention + in_fp8(t * 2 * 18432));
}

// Attention a = 187.1e6 parameters, one shared expert s = 44.0e6 and four routed ones, a router of 1.8e6, norms. A
// parameter of a product has 2 bytes in bf16 and 1 in FP8, 4 of gradient, and 4 + 2 + 2 of master weight and moments,
// which ZeRO-1 splits over 128 ranks, those of routed experts over the two that have them.
TEST(DeepSeekMemory, ParametersOfAnExpertLayer) {
  const std::int64_t up = 1536 * heads * 192 + 512 * heads * (128 + 128), down = D * (1536 + 512 + 64),
                     output = heads * 128 * D;
  const std::int64_t attention = up + down + output, expert = 3 * D * Fe, router = D * 256, norms = 2 * D + 1536 + 512;
  const Trained run;
  std::int64_t stored = 0, gradients = 0, optimizer = 0;
  for (const auto& update : run.block("expert layer").weights) {
    stored += update.stored.value();
    gradients += (run.scenario.step.gradient_element * update.gradient_elements).value();
    optimizer += state_of(run.scenario.step.optimizer, update).value();
  }
  EXPECT_EQ(stored, 3 * (attention + 5 * expert + router) + 2 * norms);
  EXPECT_EQ(gradients, 4 * (attention + 5 * expert + router + norms));
  EXPECT_EQ(optimizer, 8 * ((attention + expert + router + norms) / 128 + 4 * expert / 2));
}

}  // namespace
}  // namespace lockstep
