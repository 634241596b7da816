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

/// With a critical path of these parts.
metrics::Metrics on_path(metrics::Metrics metrics, std::vector<metrics::CriticalPart> parts) {
  metrics.critical_path.parts = std::move(parts);
  return metrics;
}

using Part = metrics::CriticalPart::Kind;

// 9 s of compute and 0.5 s of the update are 95 % of a path of 10 s.
TEST(BoundText, NamesWhatTakesMostOfTheCriticalPath) {
  const auto step =
      on_path(metrics(9.95, 0.05, 0, {use("x", gather, 6, 0.05)}), {{Part::compute, "forward", Seconds(9), 1},
                                                                    {Part::update, "update", Seconds(0.5), 1},
                                                                    {Part::transfer, "x all_gather", Seconds(0.5), 1}});
  EXPECT_EQ(output::bound_text(step), "compute sets the step: 95.0 % of its critical path");
}

// Compute is busy for 6 of 10 s, but 3 s of transfers, 2 s of latencies and 1 s of contention are on the path.
TEST(BoundText, CommunicationWithAllThatBelongsToIt) {
  const auto step = on_path(metrics(6, 4, 0, {use("fsdp", gather, 4, 1), use("fsdp", scatter, 3, 3)}),
                            {{Part::compute, "forward", Seconds(4), 1},
                             {Part::transfer, "fsdp reduce_scatter", Seconds(3), 1},
                             {Part::latency, "fsdp all_gather", Seconds(2), 1},
                             {Part::contention, "fsdp all_gather", Seconds(1), 1}});
  EXPECT_EQ(
      output::bound_text(step),
      "communication sets the step: 60.0 % of its critical path, most of it fsdp reduce_scatter; 40.0 % of the step "
      "is exposed communication, most of it fsdp reduce_scatter");
}

TEST(BoundText, BubblesAreSaidBeside) {
  const auto step = on_path(metrics(4, 0, 6, {}), {{Part::compute, "forward", Seconds(10), 1}});
  EXPECT_EQ(output::bound_text(step), "compute sets the step: 100.0 % of its critical path; 60.0 % is bubble");
}

// A step that was not explained has no path: its critical rank's own time.
TEST(BoundText, WithoutAPathByTheRanksOwnTime) {
  EXPECT_THAT(output::bound_text(metrics(2, 8, 0, {use("x", gather, 8, 8)})),
              StartsWith("communication sets the step: 80.0 %"));
}

TEST(SummaryTest, SharesOfTheCriticalRank) {
  const Simulated simulated("small.yaml");
  const auto text = output::summary(simulated.scenario, simulated.simulation);
  double shares = 0;
  ASSERT_EQ(simulated.simulation.metrics.breakdown.bubble, Seconds(0)) << "so there is no row for it";
  for (const auto* part : {"computing", "in exposed communication"}) {
    const auto cells = cells_of_line(line_with(text, part));
    ASSERT_EQ(cells.size(), 3U) << part;
    shares += std::stod(cells[2]);
  }
  EXPECT_NEAR(shares, 100, 0.15) << "each is rounded to a tenth";
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 (and 63 like it) spends"), HasSubstr("64 tpu-v5p"),
                          Not(HasSubstr("pipeline ")), Not(HasSubstr("bubble"))));
}

TEST(SummaryTest, MemoryThatDoesNotFitIsSaid) {
  Simulated simulated("small.yaml");
  EXPECT_THAT(output::summary(simulated.scenario, simulated.simulation), HasSubstr("(fits, "));
  auto& memory = simulated.simulation.metrics.memory;
  memory.peak = Bytes(20'000'000'000);
  memory.capacity = Bytes(16'000'000'000);
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
