// Latent attention under tensor parallelism: 16 x 8 = 128 tokens, D = 32, 2 bytes an element.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

// Latents belong to whole tokens: tensor ranks share out the sequence of both, and gather the small latents instead of
// D.
TEST(LatentBlock, TensorParallelRanksGatherLatents) {
  const auto layer = derived(latent(), workloads::Parallel{.tensor = 2}).layer();
  // 128 tokens x (Rq = 12, Rk = 10, Hr = 2) x 2 B.
  const auto all = collectives(layer.forward);
  EXPECT_THAT(all, ::testing::IsSupersetOf(
                       {"AllGather_tensor Qn 3072", "AllGather_tensor KVn 2560", "AllGather_tensor Kr 512"}));
  EXPECT_THAT(all, ::testing::Not(::testing::Contains(::testing::HasSubstr("AllGather_tensor A "))));
  const auto stored = [&](const std::string& weight) {
    const auto found = std::find_if(layer.weights.begin(), layer.weights.end(),
                                    [&](const auto& other) { return other.weight == weight; });
    return found == layer.weights.end() ? -1 : found->stored.value();
  };
  EXPECT_EQ(stored("Wkva"), 32 * 10 * 2);
  EXPECT_EQ(stored("Wkb"), 10 * 8 / 2 * 4 * 2);
}

}  // namespace
}  // namespace lockstep::test
