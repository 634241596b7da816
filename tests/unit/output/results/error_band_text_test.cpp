// The band of a step in text and in JSON, and the notes beside a result. A band is low and high, measured over
// predicted: a step of T lay between T low and T high.
#include "tools/output/results/error_band_text.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/scenario/small_scenario.hpp"
#include "tools/output/results/scenario_notes.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

validation::ErrorBand band() {
  validation::ErrorBand made;
  made.low = 0.75;
  made.high = 1.5;
  made.kind = validation::PoolKind::width;
  made.pool = "hopper, pipeline, 16 bits";
  made.rows = 21;
  made.sources = 4;
  return made;
}

// 2 s x 0.75 = 1.5 s, 2 s x 1.5 = 3 s.
TEST(ErrorBandText, IsOneSentence) {
  EXPECT_EQ(
      output::band_text(band(), Seconds(2)),
      "80 % of similar measured steps lay between 1.50 s and 3.00 s (21 of 4 sources: hopper, pipeline, 16 bits)");
}

TEST(ErrorBandText, OneSourceIsOne) {
  auto one = band();
  one.sources = 1;
  EXPECT_THAT(output::band_text(one, Seconds(2)), HasSubstr("(21 of 1 source: hopper"));
  EXPECT_THAT(output::band_text(band(), Seconds(2)), HasSubstr("(21 of 4 sources: hopper"));
}

// Both times have the unit that suits each: 2 ms x 0.75 = 1.5 ms, and 800 ms x 1.5 = 1.2 s beside 600 ms.
TEST(ErrorBandText, TimesHaveTheirUnits) {
  EXPECT_THAT(output::band_text(band(), Seconds(2e-3)), HasSubstr("between 1.50 ms and 3.00 ms ("));
  EXPECT_THAT(output::band_text(band(), Seconds(0.8)), HasSubstr("between 600.00 ms and 1.20 s ("));
}

// Each reason is in the text once, in its order, after the sentence itself.
TEST(ErrorBandText, SaysWhyItIsWider) {
  auto wide = band();
  wide.widened = {"since it has 4096 chips", "since it waits for its network"};
  const auto text = output::band_text(wide, Seconds(2));
  EXPECT_THAT(text, StartsWith(output::band_text(band(), Seconds(2))));
  EXPECT_EQ(text.substr(output::band_text(band(), Seconds(2)).size()),
            "; wider, since it has 4096 chips; wider, since it waits for its network");
}

// JSON has the band's own numbers, unrounded: whatever step, low_s / step = low and high_s / step = high.
TEST(ErrorBandJson, IsTheBand) {
  for (const double step : {1e-4, 0.37, 2.0, 5000.0}) {
    auto wide = band();
    wide.widened = {"since it has 4096 chips"};
    const auto json = output::band_json(wide, Seconds(step));
    EXPECT_DOUBLE_EQ(json["low_s"].get<double>(), step * wide.low);
    EXPECT_DOUBLE_EQ(json["high_s"].get<double>(), step * wide.high);
    EXPECT_EQ(json["share"], validation::band_share);
    EXPECT_EQ(json["pool"], wide.pool);
    EXPECT_EQ(json["rows"], wide.rows);
    EXPECT_EQ(json["sources"], wide.sources);
    EXPECT_EQ(json["wider_because"], nlohmann::ordered_json(wide.widened));
    EXPECT_EQ(json.size(), 7U) << "and nothing else";
  }
  EXPECT_EQ(output::band_json(band(), Seconds(1))["wider_because"], nlohmann::ordered_json::array());
}

TEST(ErrorBandJson, IsNullWithoutABand) { EXPECT_TRUE(output::band_json(std::nullopt, Seconds(2)).is_null()); }

// Of 3, 1, 2 s the best is 1, the median 2, the worst 3; of four draws the median is the mean of the middle two.
TEST(ErrorBandJson, DrawsAreBestMedianAndWorst) {
  const auto three = output::draws_json(StepDraws({Seconds(3), Seconds(1), Seconds(2)}));
  EXPECT_EQ(three["seeds"], 3);
  EXPECT_EQ(three["best_step_time_s"], 1);
  EXPECT_EQ(three["median_step_time_s"], 2);
  EXPECT_EQ(three["worst_step_time_s"], 3);
  EXPECT_EQ(output::draws_json(StepDraws({Seconds(1), Seconds(4), Seconds(2), Seconds(8)}))["median_step_time_s"], 3);
  const auto one = output::draws_json(StepDraws({Seconds(5)}));
  EXPECT_EQ(one["best_step_time_s"], one["worst_step_time_s"]);
}

scenario::Scenario on(const std::string& cluster, const std::string& parallel) {
  return test::small_scenario({{"cluster", cluster},
                               {"parallel", parallel},
                               {"mesh", "{data: rest}"},
                               {"batch", "{sequences: 240, sequence_length: 16}"}});
}

// Nodes of one kind, in however many groups, need no note; of two kinds one note, in a line of its own.
TEST(ScenarioNotes, AreOfSeveralKindsOnly) {
  const std::string same = "{node: dgx-h100, nodes: 1}", other = "{node: {like: dgx-h100, chip: a100}, nodes: 1}";
  EXPECT_THAT(output::notes_of(on("{groups: [" + same + ", " + same + "]}", "{data: 16}")), IsEmpty());
  const auto mixed = on("{groups: [" + same + ", " + other + "]}", "{data: 16}");
  EXPECT_THAT(output::notes_of(mixed), ElementsAre(StartsWith("nodes of several kinds: ")));
  EXPECT_EQ(output::note_lines(mixed), "note: " + output::notes_of(mixed).front() + "\n");
  EXPECT_EQ(output::note_lines(on("{node: dgx-h100, nodes: 2}", "{data: 16}")), "");
}

// A v5p job has 6,144 chips at most (16 x 16 x 24); its slices are blocks of 4 x 4 x 4 and listed smaller ones. 3 x 5 x
// 1 is neither; in a pod of one's own any slice is as good as another.
TEST(ScenarioNotes, SlicesThatNobodyIsOffered) {
  EXPECT_THAT(output::notes_of(on("{chip: tpu-v5p, shape: [4, 4, 8]}", "{data: 128}")), IsEmpty());
  EXPECT_THAT(output::notes_of(on("{chip: tpu-v5p, shape: [3, 5, 1]}", "{data: 15}")),
              ElementsAre(StartsWith("a slice of 3x5x1 (15 chips) is none that users of tpu-v5p are offered: ")));
  EXPECT_THAT(output::notes_of(on("{chip: tpu-v5p, shape: [3, 5, 1], pod: [8, 8, 8]}", "{data: 15}")), IsEmpty());
}

}  // namespace
}  // namespace lockstep
