// The first screen of a run.
#include "tools/output/results/summary.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/unit/output/lines_of.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tools/output/results/chip_kinds.hpp"

namespace lockstep {
namespace {

using test::cells_of_line;
using test::line_with;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A step of 10 s.
metrics::Metrics metrics(double compute, double exposed, double bubble, std::vector<metrics::CommunicationUse> uses) {
  metrics::Metrics made;
  made.step_time = Seconds(10);
  made.breakdown = {Seconds(compute), Seconds(exposed), Seconds(bubble)};
  made.communication = std::move(uses);
  return made;
}

metrics::CommunicationUse use(const std::string& axis, workloads::CollectiveKind kind, double busy, double exposed) {
  return {axis, kind, 1, Bytes(0), Seconds(busy), Seconds(exposed)};
}

constexpr auto gather = workloads::CollectiveKind::all_gather;
constexpr auto scatter = workloads::CollectiveKind::reduce_scatter;

// Within 2 % of each other kinds of chips do not wait.
TEST(ChipKinds, SaysForWhichTheOthersWait) {
  const auto computing = [](const char* chip, double seconds) {
    return output::ChipKindUse{chip, 64, {Seconds(seconds), Seconds(0), Seconds(0)}};
  };
  EXPECT_EQ(output::chip_kinds_line({}), "");
  EXPECT_EQ(output::chip_kinds_line({computing("h100", 1), computing("a100", 3)}),
            "the others wait for a100: 64 h100 compute for 1.00 s, 64 a100 compute for 3.00 s");
  EXPECT_THAT(output::chip_kinds_line({computing("h100", 1.01), computing("a100", 1)}),
              StartsWith("no kind of chip waits for another: "));
}

TEST(BoundText, ComputeBoundWhereEveryAxisHasTime) {
  EXPECT_EQ(output::bound_text(metrics(9.95, 0.05, 0, {use("x", gather, 6, 0.05)})),
            "compute-bound: no axis communicates for longer than the 9.95 s of compute");
}

// 4 s of gathering and 3 s of scattering keep one axis busy for 7 s, longer than 6 s of compute, though neither alone
// is.
TEST(BoundText, KindsOnOneAxisTogether) {
  const std::vector<metrics::CommunicationUse> uses{use("fsdp", gather, 4, 1), use("fsdp", scatter, 3, 2),
                                                    use("tensor", gather, 5, 1)};
  EXPECT_EQ(
      output::bound_text(metrics(6, 4, 0, uses)),
      "communication-bound: axis fsdp communicates for 7.00 s, compute takes 6.00 s; 40.0 % of the step is exposed "
      "communication, most of it fsdp reduce_scatter");
}

TEST(BoundText, BubblesThatAreTheLargestPart) {
  EXPECT_EQ(output::bound_text(metrics(4, 0, 6, {})), "bound by bubbles");
  EXPECT_THAT(output::bound_text(metrics(5, 0, 5, {})), StartsWith("compute-bound"));
}

TEST(SummaryTest, SharesOfTheCriticalRank) {
  const Simulated simulated("small.yaml");
  const auto text = output::summary(simulated.scenario, simulated.simulation);
  double shares = 0;
  for (const auto* part : {"computing", "in exposed communication", "idle (bubble)"}) {
    const auto cells = cells_of_line(line_with(text, part));
    ASSERT_EQ(cells.size(), 3U) << part;
    shares += std::stod(cells[2]);
  }
  EXPECT_NEAR(shares, 100, 0.15) << "each is rounded to a tenth";
  EXPECT_THAT(text,
              AllOf(HasSubstr("rank 0 (and 63 like it) spends"), HasSubstr("64 tpu-v5p"), Not(HasSubstr("pipeline "))));
}

TEST(SummaryTest, MemoryThatDoesNotFitIsSaid) {
  Simulated simulated("small.yaml");
  EXPECT_THAT(output::summary(simulated.scenario, simulated.simulation), HasSubstr("(fits, "));
  auto& memory = simulated.simulation.metrics.memory;
  memory.peak = Bytes(20'000'000'000);
  memory.capacity = Bytes(16'000'000'000);
  memory.fits = false;
  EXPECT_THAT(output::summary(simulated.scenario, simulated.simulation),
              HasSubstr("peak 20.0 GB of 16.0 GB  DOES NOT FIT, 4.00 GB too much"));
}

// A table of more than 18 stages shows eight of either end; the bubble's form stands beside what was simulated.
TEST(SummaryTest, StagesOfAPipeline) {
  Simulated simulated("pipeline_alike.yaml");
  const auto text = output::summary(simulated.scenario, simulated.simulation);
  EXPECT_THAT(text, HasSubstr("pipeline 1f1b: 4 stages, 8 microbatches; bubble of the worst stage "));
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(cells_of_line(line_with(text, std::to_string(stage) + "  ")).size(), 10U) << stage;
  auto& stages = simulated.simulation.metrics.stages;
  while (stages.size() < 19) stages.push_back(stages.front());
  const auto many = output::summary(simulated.scenario, simulated.simulation);
  EXPECT_THAT(many, HasSubstr("\n..."));
  std::size_t rows = 0;
  for (const auto& line : test::lines_of(many)) rows += cells_of_line(line).size() == 10 && line.front() != 's' ? 1 : 0;
  EXPECT_EQ(rows, 16U);
}

// Every line of the timeline reads back as the span of its operation.
TEST(TimelineText, SpansReadBack) {
  const Simulated simulated("small.yaml");
  const auto& timeline = simulated.simulation.run.timeline;
  const auto rank = simulated.simulation.metrics.critical_rank;
  const auto lines = test::lines_of(output::timeline_text(simulated.simulation));
  std::size_t line = 1;
  for (std::int32_t op = 0; op < timeline.ops(); ++op) {
    if (!timeline.took_part(op, rank)) continue;
    ASSERT_LT(line, lines.size());
    std::istringstream words(lines[line++]);
    double start = -1, end = -1;
    std::string stream;
    words >> start >> end >> stream;
    EXPECT_EQ(Seconds(start), timeline.span(op, rank).start);
    EXPECT_EQ(Seconds(end), timeline.span(op, rank).end);
    EXPECT_EQ(stream, simulated.simulation.program.streams[static_cast<std::size_t>(
                          simulated.simulation.program.ops[static_cast<std::size_t>(op)].streams[0])]);
  }
  EXPECT_EQ(line, lines.size());
}

}  // namespace
}  // namespace lockstep
