// Sweep files to points: how many, which settings, in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sim/studies/sweep/sweep.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string base =
    "format: 1\n"
    "model: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\n"
    "cluster: tpu-v5p:4x4\n"
    "batch: {sequences: 16, sequence_length: 8}\n";

class SweepFile : public testing::Test {
 protected:
  SweepFile()
      : folder_(std::filesystem::temp_directory_path() /
                (std::string("lockstep_sweep_") + testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~SweepFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] sweep::Sweep load(const std::string& sweep) const {
    write("sweep.yaml", base + "sweep: " + sweep + "\n");
    return sweep::load_sweep(folder_ / "sweep.yaml");
  }
  /// "key=value key=value" of every point.
  [[nodiscard]] Words points(const std::string& sweep) const {
    const auto loaded = load(sweep);
    Words texts;
    for (std::int64_t point = 0; point < loaded.points(); ++point) {
      std::string text;
      for (const auto* setting : loaded.settings(point))
        text += (text.empty() ? "" : " ") + setting->key.substr(setting->key.rfind('.') + 1) + "=" + setting->value;
      texts.push_back(text);
    }
    return texts;
  }
  /// The first problem, without the folder.
  [[nodiscard]] std::string refusal(const std::string& sweep) const {
    try {
      (void)load(sweep);
    } catch (const ConfigError& error) {
      const auto text = error.problems().front().to_string();
      return text.substr(text.find("sweep.yaml"));
    }
    return "";
  }

  std::filesystem::path folder_;
};

// |grid| = 2 x 2: every combination, the last key fastest.
TEST_F(SweepFile, AGridIsEveryCombination) {
  EXPECT_THAT(
      points("{grid: {parallel.fsdp: [4, 16], batch.sequences: [16, 32]}}"),
      ElementsAre("fsdp=4 sequences=16", "fsdp=4 sequences=32", "fsdp=16 sequences=16", "fsdp=16 sequences=32"));
}

// Zipped keys vary together: 2 points of them, times the 2 of the grid.
TEST_F(SweepFile, ZippedKeysVaryTogether) {
  EXPECT_THAT(points("{grid: {batch.sequences: [16, 32]}, zip: {cluster: ['tpu-v5p:4x4', 'tpu-v5p:4x8'], "
                     "parallel.fsdp: [16, 32]}}"),
              ElementsAre("sequences=16 cluster=tpu-v5p:4x4 fsdp=16", "sequences=16 cluster=tpu-v5p:4x8 fsdp=32",
                          "sequences=32 cluster=tpu-v5p:4x4 fsdp=16", "sequences=32 cluster=tpu-v5p:4x8 fsdp=32"));
  EXPECT_THAT(points("{zip: [{parallel.fsdp: [4, 16]}, {batch.sequences: [16, 32]}]}"), testing::SizeIs(4))
      << "two zips combine";
}

TEST_F(SweepFile, AListHasItsPointsAsWritten) {
  const auto sweep = load("{list: [{parallel.fsdp: 16}, {parallel.tensor: 4, parallel.fsdp: 4}]}");
  EXPECT_THAT(sweep.keys, ElementsAre("parallel.fsdp", "parallel.tensor"));
  EXPECT_EQ(sweep.points(), 2);
  EXPECT_EQ(sweep.settings(0).size(), 1U) << "what a point does not set stays the scenario's";
}

// from, from + step, ... up to the end; from, from x times, ...: 1, 4, 7, 10 and 2, 4, 8, 16.
TEST_F(SweepFile, RangesCountUp) {
  EXPECT_THAT(points("{grid: {parallel.fsdp: {from: 1, to: 12, step: 3}}}"),
              ElementsAre("fsdp=1", "fsdp=4", "fsdp=7", "fsdp=10"));
  EXPECT_THAT(points("{grid: {parallel.fsdp: {from: 2, to: 16, times: 2}}}"),
              ElementsAre("fsdp=2", "fsdp=4", "fsdp=8", "fsdp=16"));
  EXPECT_THAT(points("{grid: {routing.variation: {from: 0, to: 0.3, step: 0.1}}}"), testing::SizeIs(4))
      << "0.1 x 3 is a little more than 0.3";
}

// Draws lie in their range, reach both ends, and are those of the seed.
TEST_F(SweepFile, RandomPointsAreThoseOfTheSeed) {
  const std::string over = "over: {parallel.fsdp: {from: 1, to: 4}, batch.sequences: [16, 32]}}}";
  const auto first = points("{random: {seed: 1, count: 200, " + over);
  EXPECT_EQ(first.size(), 200U);
  EXPECT_EQ(first, points("{random: {seed: 1, count: 200, " + over));
  EXPECT_NE(first, points("{random: {seed: 2, count: 200, " + over));
  const std::set<std::string> distinct(first.begin(), first.end());
  EXPECT_EQ(distinct.size(), 8U) << "4 x 2 combinations, each drawn once or more in 200 draws";
}

// Evenly over the logarithm: as many below sqrt(1 x 10000) = 100 as above, +- 5 standard deviations of 1000 draws.
TEST_F(SweepFile, ALogarithmicScaleDrawsEveryDecadeAlike) {
  int below = 0;
  for (const auto& point :
       points("{random: {seed: 3, count: 1000, over: {batch.sequence_length: {from: 1, to: 10000, scale: log}}}}")) {
    below += std::stod(point.substr(point.find('=') + 1)) < 100 ? 1 : 0;
  }
  EXPECT_NEAR(below, 500, 5 * 16);
}

// A point is known by its scenario and settings, not by where a sweep has them.
TEST_F(SweepFile, EqualSettingsAreOnePointInEverySweep) {
  const auto grid = load("{grid: {parallel.fsdp: [4, 16], batch.sequences: [16, 32]}}");
  const auto list = load("{list: [{batch.sequences: 32, parallel.fsdp: 16}]}");
  EXPECT_EQ(grid.identity(3), list.identity(0));
  EXPECT_NE(grid.identity(2), list.identity(0));
}

// The digest of the scenario is that of what it says and of the files it names.
TEST_F(SweepFile, AnotherScenarioMakesOtherPoints) {
  write("model.json", "{}");
  write("scenario.yaml", base);
  write("named.yaml", "scenario: scenario.yaml\nsweep: {grid: {model: [model.json, llama-3-8b]}}\n");
  const auto before = sweep::load_sweep(folder_ / "named.yaml");
  write("model.json", "{ }");
  const auto after = sweep::load_sweep(folder_ / "named.yaml");
  EXPECT_NE(before.identity(0), after.identity(0)) << "the file is another";
  EXPECT_EQ(before.identity(1), after.identity(1));
  write("scenario.yaml", base + "model_of_time: roofline\n");
  EXPECT_NE(sweep::load_sweep(folder_ / "named.yaml").identity(1), after.identity(1));
}

// Problems of a point are told at the value in the sweep file.
TEST_F(SweepFile, APointsProblemsStandAtItsValue) {
  const auto sweep = load("{grid: {batch.sequences: [16, none]}}");
  EXPECT_EQ(sweep.scenario_at(0).batch.sequences, 16);
  try {
    (void)sweep.scenario_at(1);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sweep.yaml:5:38: batch.sequences: `none` is not a whole number"));
  }
  EXPECT_EQ(sweep.scenario_at(0).batch.sequences, 16) << "and are forgotten";
  EXPECT_EQ(sweep.scenario_at(0).where("batch.sequences").to_string(), (folder_ / "sweep.yaml").string() + ":5:34")
      << "for problems that show up later";
}

TEST_F(SweepFile, MistakesAreLocated) {
  EXPECT_THAT(refusal("{grid: {batch.sequencs: [1]}}"),
              HasSubstr("sweep.yaml:5:33: batch.sequencs: unknown key; did you mean `sequences`"));
  EXPECT_THAT(refusal("{grid: {cluster.nodes: [1]}}"), HasSubstr("is a single value and holds no key `nodes`"));
  EXPECT_THAT(refusal("{gird: {batch.sequences: [1]}}"), HasSubstr("did you mean `grid`"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: [1], parallel.fsdp: [2]}}"), HasSubstr("duplicate key"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: [1]}, list: [{parallel.fsdp: 2}]}"), HasSubstr("is swept twice"));
  EXPECT_THAT(refusal("{zip: {parallel.fsdp: [1, 2], batch.sequences: [16]}}"),
              HasSubstr("has 1 value; expected as many as the keys before it, 2"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: {from: 1, to: 1e9, step: 1}}}"),
              HasSubstr("the range has 1000000000 values; expected at most 1000000"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: {from: 4, to: 1, step: 1}}}"), HasSubstr("ends before it starts"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: {from: 1, to: 4}}}"), HasSubstr("the range has no step"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: {from: 1, to: 4, step: 0}}}"), HasSubstr("never reaches the end"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: {from: 1, to: 4, times: 1}}}"), HasSubstr("never reaches the end"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: 4}}"), HasSubstr("is a single value; expected a list of values"));
  EXPECT_THAT(refusal("{grid: {parallel.fsdp: []}}"), HasSubstr("has no values"));
  EXPECT_THAT(refusal("{}"), HasSubstr("sweeps nothing"));
  EXPECT_THAT(refusal("{random: {seed: 1, count: 2000000, over: {parallel.fsdp: [1]}}}"), HasSubstr("2000000"));
  EXPECT_THAT(
      refusal("{grid: {parallel.fsdp: {from: 1, to: 10000, step: 1}, batch.sequences: {from: 1, to: 10000, step: 1}}}"),
      HasSubstr("the sweep has 100000000 points; expected at most 10000000"));
}

}  // namespace
}  // namespace lockstep
