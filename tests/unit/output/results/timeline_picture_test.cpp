// A row for each stream of the critical rank; the window's time runs over 970 pixels from 110 on.
#include "tools/output/results/timeline_picture.hpp"

#include <gmock/gmock.h>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/picture_reading.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tools/output/results/pipeline_picture.hpp"

namespace lockstep {
namespace {

using test::Element;
using test::elements_of;

/// Spans of the picture: the rectangles that have a title.
std::vector<Element> spans_in(const std::string& svg) {
  auto spans = elements_of(svg, "rect");
  std::erase_if(spans, [](const Element& one) { return one.title.empty(); });
  return spans;
}

class TimelinePicture : public testing::Test {
 protected:
  [[nodiscard]] std::string draw(Seconds from, Seconds to) const {
    return output::timeline_picture(simulated_.scenario, simulated_.simulation, from, to);
  }
  Simulated simulated_{"trace_fsdp.yaml"};
};

TEST_F(TimelinePicture, EverySpanStandsAtItsTime) {
  const auto& timeline = simulated_.simulation.run.timeline;
  const auto rank = simulated_.simulation.metrics.critical_rank;
  const double end = timeline.makespan().value();
  const auto drawn = spans_in(draw(Seconds(0), timeline.makespan()));
  std::size_t next = 0;
  for (std::int32_t op = 0; op < timeline.ops(); ++op) {
    if (!timeline.took_part(op, rank)) continue;
    const auto span = timeline.span(op, rank);
    if (span.end <= span.start) continue;
    for (std::size_t i = 0; i < simulated_.simulation.program.ops[static_cast<std::size_t>(op)].streams.size(); ++i) {
      ASSERT_LT(next, drawn.size());
      EXPECT_NEAR(drawn[next].number("x"), 110 + 970 * span.start.value() / end, 0.01);
      EXPECT_NEAR(drawn[next].number("width"), std::max(970 * (span.end - span.start).value() / end, 0.8), 0.01);
      ++next;
    }
  }
  EXPECT_EQ(next, drawn.size());
}

// The second quarter of the step: what lies outside is cut off at its edges or left out.
TEST_F(TimelinePicture, AWindowCutsOff) {
  const auto end = simulated_.simulation.run.timeline.makespan();
  const auto all = spans_in(draw(Seconds(0), end)), some = spans_in(draw(end * 0.25, end * 0.5));
  EXPECT_LT(some.size(), all.size());
  ASSERT_FALSE(some.empty());
  for (const auto& span : some) {
    EXPECT_GE(span.number("x"), 110 - 0.01);
    EXPECT_LE(span.number("x") + span.number("width"), 1080 + 0.81);
  }
}

TEST_F(TimelinePicture, NamesOfAnyKind) {
  simulated_.scenario.name = test::hostile_name;
  simulated_.simulation.program.streams[0] = test::hostile_name;
  const auto texts = test::texts_of(draw(Seconds(0), simulated_.simulation.run.timeline.makespan()));
  EXPECT_THAT(texts, testing::Contains(test::hostile_name_shown));
  EXPECT_THAT(texts, testing::Contains(testing::StartsWith(test::hostile_name_shown + ", rank 0: ")));
}

// The usual window lies within the step and shows both sides of the turn from forward to backward.
TEST_F(TimelinePicture, TheMiddleShowsTheTurn) {
  const auto& simulation = simulated_.simulation;
  const auto window = output::middle_window(simulation);
  EXPECT_LT(window.from, window.to);
  EXPECT_GE(window.from, Seconds(0));
  EXPECT_LE(window.to, simulation.run.timeline.makespan());
  bool forward = false, backward = false;
  for (workloads::OpId id = 0; id < simulation.preparation.step.size(); ++id) {
    const auto& op = simulation.preparation.step.op(id);
    if (op->kind != workloads::StepOp::Kind::compute || !simulation.run.timeline.took_part(id, 0)) continue;
    const auto span = simulation.run.timeline.span(id, 0);
    if (span.start < window.from || span.end > window.to) continue;
    forward |= op.pass == workloads::StepPass::forward;
    backward |= op.pass == workloads::StepPass::backward;
  }
  EXPECT_TRUE(forward && backward);
}

// Passes of four even stages: in each row the passes' widths are the stage's computing, as a share of 1300 pixels.
TEST(PipelinePicture, RowsAreAsFullAsTheirStages) {
  Simulated simulated("pipeline_alike.yaml");
  simulated.scenario.name = test::hostile_name;
  const auto svg = output::pipeline_picture(simulated.scenario, simulated.simulation);
  const auto rectangles = elements_of(svg, "rect");
  const auto& metrics = simulated.simulation.metrics;
  for (const auto& stage : metrics.stages) {
    const double y = 84 + 34 * 1.25 * stage.stage;
    double wide = 0;
    for (const auto& one : rectangles) {
      const bool background = one.attributes.at("fill") == "#8882";
      if (!background && std::abs(one.number("y") - y) < 0.06) wide += one.number("width");
    }
    EXPECT_NEAR(wide / 1300, stage.breakdown.compute / metrics.step_time, 0.005) << "stage " << stage.stage;
  }
  EXPECT_THAT(test::texts_of(svg),
              testing::Contains(testing::StartsWith(test::hostile_name_shown + ": 1f1b, 4 stages")));
}

}  // namespace
}  // namespace lockstep
