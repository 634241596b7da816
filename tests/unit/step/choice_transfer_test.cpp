// Layers that attend to tokens which a layer of the stage before has chosen.
#include <gmock/gmock.h>

#include "tests/unit/step/pipelined.hpp"

namespace lockstep::test {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<std::int64_t> sent(const workloads::Model& model) {
  const auto layers = derived(model, workloads::Parallel{});
  const auto graph = build_step(layers.kinds, layers.order, on_schedule(layers, "gpipe", 2, 1), {});
  std::vector<std::int64_t> bytes;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    if (is_send(graph.op(id))) bytes.push_back(graph.op(id)->full_size.value());
  }
  return bytes;
}

// 128 tokens of 32 numbers of 2 B go forward and their gradients back; a second stage that begins with a layer without
// an index of its own is sent 4 choices of 4 B a token beside them, which have no gradient.
TEST(StageTransfers, ASharedIndexGoesWithTheStream) {
  auto model = sparse();
  EXPECT_THAT(sent(model), UnorderedElementsAre(128 * 32 * 2, 128 * 32 * 2));
  model.layer_kinds = {workloads::LayerKind{}, workloads::LayerKind{.shared_index = true}};
  EXPECT_THAT(sent(model), UnorderedElementsAre(128 * 32 * 2 + 128 * 4 * 4, 128 * 32 * 2));
}

}  // namespace
}  // namespace lockstep::test
