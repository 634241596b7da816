// Where collectives that are in flight at once share no link, flows and closed forms must agree, span by span.
#include <gtest/gtest.h>

#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;
using test::SimulatedStep;

struct Layout {
  std::string name, cluster, mesh, parallel;
  friend void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.mesh << " on " << layout.cluster; }
};

/// One communicating axis, or axes on whole physical axes of their own.
const std::vector<Layout> layouts{
    {"FsdpOnARing", "tpu-v5p:8", "{fsdp: rest}", "{fsdp: 8}"},
    {"FsdpOnALine", "tpu-v5e:8", "{fsdp: rest}", "{fsdp: 8}"},
    {"FsdpOnATorus", "tpu-v5p:4x4", "{fsdp: rest}", "{fsdp: 16}"},
    {"FsdpOnRingAndBlock", "tpu-v5p:4x2x2", "{fsdp: rest}", "{fsdp: 16}"},
    {"DataParallel", "tpu-v5p:4x4", "{data: rest}", "{data: 16, zero: 0}"},
    {"Zero1", "tpu-v5p:4x4", "{data: rest}", "{data: 16, zero: 1}"},
    {"Zero2", "tpu-v5p:8", "{data: rest}", "{data: 8, zero: 2}"},
    {"TensorOnARing", "tpu-v5p:8", "{tensor: rest}", "{tensor: 8}"},
    {"TensorOnABlock", "tpu-v5p:2x2", "{tensor: rest}", "{tensor: 4}"},
    {"TensorWithoutSequence", "tpu-v5p:4", "{tensor: rest}", "{tensor: 4, sequence_parallel: false}"},
    {"MixedOnOwnAxes", "tpu-v5p:4x4", "{tensor: [y], fsdp: [x]}", "{tensor: 4, fsdp: 4}"},
    {"ThreeAxes", "tpu-v5p:4x2x2", "{tensor: [x], fsdp: [y], data: [z]}", "{tensor: 4, fsdp: 2, data: 2, zero: 1}"},
    {"BlockAndAxis", "tpu-v5p:2x2x4", "{tensor: [x, y], fsdp: [z]}", "{tensor: 4, fsdp: 4}"},
};

class ContentionFree : public testing::TestWithParam<Layout> {};

TEST_P(ContentionFree, FlowsTakeTheClosedForms) {
  const auto& [name, cluster, mesh, parallel] = GetParam();
  for (const char* file : {"validation_grid_transformer.yaml", "validation_grid_two_matmul.yaml"}) {
    for (const char* microbatches : {"1", "3"}) {
      const Case one{
          file, {{"cluster", cluster}, {"mesh", mesh}, {"parallel", parallel}, {"batch.microbatches", microbatches}}};
      SCOPED_TRACE(one.to_string());
      const SimulatedStep step(one.load());
      const double makespan = step.reference.makespan().value();
      for (std::int32_t op = 0; op < step.reference.ops(); ++op) {
        for (std::int32_t rank = 0; rank < step.reference.ranks(); ++rank) {
          ASSERT_NEAR(step.simgrid.span(op, rank).start.value(), step.reference.span(op, rank).start.value(),
                      1e-9 * makespan)
              << op;
          ASSERT_NEAR(step.simgrid.span(op, rank).end.value(), step.reference.span(op, rank).end.value(),
                      1e-9 * makespan)
              << op;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ContentionFree, testing::ValuesIn(layouts),
                         [](const auto& layout) { return layout.param.name; });

// The opposite, so that the test above means something: axes that share links take longer than the closed forms.
TEST(Contention, ShowsWhereAxesShareLinks) {
  const SimulatedStep step(Case{"validation_shared_axis.yaml", {}}.load());
  EXPECT_GT(step.simgrid.makespan().value(), 1.03 * step.reference.makespan().value());
}

}  // namespace
}  // namespace lockstep
