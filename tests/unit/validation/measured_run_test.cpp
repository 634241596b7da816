#include "sim/studies/validation/measured_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/studies/validation/validate.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string header =
    "model,layers,d_model,d_ff,heads,vocabulary,cluster,tensor,fsdp,sequences,sequence_length,micro_batch,recompute,"
    "training.attention,measured_step_s,measured_mfu,time_of\n";
const std::string good = "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,1,full,unfused,0.5,,\n";

struct Read {
  std::vector<validation::MeasuredRun> runs;
  std::vector<std::string> problems;
};

Read read(const std::string& text) {
  Problems problems;
  const CsvTable table(text, "mine.csv", problems);
  Read made{validation::read_measured_runs(table, "mine"), {}};
  for (const auto& problem : problems.list()) made.problems.push_back(problem.to_string());
  return made;
}

// 8 sequences in microbatches of 1 on each of 2 FSDP ranks: 4 microbatches. Columns become the scenario's keys.
TEST(MeasuredRun, ARowIsAScenario) {
  const auto made = read(header + good);
  ASSERT_THAT(made.problems, IsEmpty());
  const auto scenario = scenario_of(made.runs.front(), ".");
  EXPECT_EQ(scenario.model.d_model, 64);
  EXPECT_EQ(scenario.batch.microbatches, 4);
  EXPECT_EQ(scenario.chips(), 4);
  EXPECT_TRUE(scenario.derive.recompute.all);
  EXPECT_FALSE(scenario.blocks.fused_attention);
  EXPECT_EQ(made.runs.front().family, "mine");
  EXPECT_DOUBLE_EQ(measured_time(*made.runs.front().time, scenario).value(), 0.5);
}

TEST(MeasuredRun, MistakesStandAtTheirCells) {
  EXPECT_THAT(read("cluster,sequences,sequence_length,modle\n").problems,
              ElementsAre("mine.csv:1:35: modle: is not a column of measured runs; did you mean `model`"));
  EXPECT_THAT(read("model,sequences\n").problems, ElementsAre(HasSubstr("cluster: the column is missing"),
                                                              HasSubstr("sequence_length: the column is missing")));
  EXPECT_THAT(read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,3,full,unfused,0.5,,\n").problems,
              ElementsAre(HasSubstr("mine.csv:2:44: micro_batch: 6 sequences")));
  EXPECT_THAT(read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,1,full,unfused,0.5,0.4,\n").problems,
              ElementsAre(HasSubstr("measured_mfu: is a second measure")));
  EXPECT_THAT(read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,1,full,unfused,,,\n").problems,
              ElementsAre(HasSubstr("measured_step_s: nothing was measured")));
  EXPECT_THAT(read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,1,full,unfused,-2,,\n").problems,
              ElementsAre(HasSubstr("measured_step_s: '-2' is not a number above 0")));
}

// A word that only the scenario's reader knows to be wrong: its message, at the cell.
TEST(MeasuredRun, ProblemsOfTheScenarioStandAtTheirCells) {
  const auto made = read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,2,2,8,16,1,ful,unfused,0.5,,\n");
  ASSERT_THAT(made.problems, IsEmpty());
  try {
    (void)scenario_of(made.runs.front(), ".");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mine.csv:2:46: training.recompute.mode: `ful`"));
  }
}

// step = tokens / (tokens/s/chip x chips) = 8 x 16 / (10 x 4); of MFU = model FLOPs / (MFU x chips x peak), where all
// pairs of tokens add the other half of attention: 3 x 2 T N H L a token more.
TEST(MeasuredRun, UnitsOfTime) {
  const auto scenario = scenario_of(read(header + good).runs.front(), ".");
  EXPECT_DOUBLE_EQ(
      validation::measured_time({10, validation::Measurement::Unit::tokens_per_second_per_chip}, scenario).value(),
      8.0 * 16 / 40);
  const double tokens = 8 * 16, causal = 3 * forward_flops_per_token(scenario.model, 16, true) * tokens;
  const double more = 3 * 2 * 16.0 * 64 * 2 * tokens;
  EXPECT_DOUBLE_EQ(validation::measured_time({0.5, validation::Measurement::Unit::mfu}, scenario).value(),
                   causal / (0.5 * 459e12 * 4));
  EXPECT_DOUBLE_EQ(
      validation::measured_time({100, validation::Measurement::Unit::tflops_per_chip, true}, scenario).value(),
      (causal + more) / (100e12 * 4));
}

// A microbatch more is a forward and a backward more, whatever an update costs: with one chip at peak rate
// 3 x forward FLOPs / peak exactly, where the step has the same again for its other microbatches.
TEST(MeasuredRun, OneMicrobatchIsTheDifferenceOfTwoSteps) {
  const std::string one_chip = "mine,2,64,128,4,256,tpu-v5p:1x1x1,,,3,16,1,none,fused,1,,";
  const auto made = read(header + one_chip + "microbatch\n" + one_chip + "step\n");
  ASSERT_THAT(made.problems, IsEmpty());
  spdlog::logger silent("test");
  const auto runs =
      validation::validate({{"mine", made.runs, ".", false}}, {"ideal", 2, engine::EngineKind::reference, {}}, silent);
  ASSERT_EQ(runs.size(), 2U);
  const auto scenario = scenario_of(made.runs.front(), ".");
  const double microbatch = 3 * forward_flops_per_token(scenario.model, 16, true) * 16 / 459e12;
  EXPECT_NEAR(runs[0].predicted_s, microbatch, 1e-6 * microbatch);
  EXPECT_NEAR(runs[1].predicted_s, 3 * microbatch, 1e-6 * microbatch);
}

// In a user's own table what cannot be simulated is a mistake; in a published one it is a row with its reason.
TEST(Validate, OnlyPublishedRowsAreSkipped) {
  const auto made = read(header + "mine,2,64,128,4,256,tpu-v5p:2x2x1,4,2,8,16,1,full,unfused,0.5,,\n" + good);
  spdlog::logger silent("test");
  const validation::ValidateOptions options{"", 1, engine::EngineKind::reference, {}};
  EXPECT_THROW((void)validate({{"mine", made.runs, ".", false}}, options, silent), ConfigError);
  const auto runs = validate({{"mine", made.runs, ".", true}}, options, silent);
  EXPECT_THAT(runs[0].run.skipped_because, HasSubstr("does not make up the cluster's 4 chips"));
  EXPECT_TRUE(runs[1].counts());
}

}  // namespace
}  // namespace lockstep
