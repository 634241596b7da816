// Two scenarios side by side: the parts of a step add up to it, so the differences of the parts add up to the
// difference of the steps.
#include "tools/output/results/scenario_comparison.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"

namespace lockstep {
namespace {

using nlohmann::json;
using test::cells_of_line;
using test::line_with;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A result.json as far as the comparison reads it, of a step on two chips.
std::string result(double compute, double gather, double bubble, double tokens, bool flops = true) {
  const double step = compute + gather + bubble;
  json made = {{"step_time_s", step},
               {"tokens_per_step", tokens},
               {"tokens_per_s", tokens / step},
               {"tokens_per_s_per_chip", tokens / step / 2},
               {"mfu", flops ? json(0.5) : json()},
               {"pipeline", {{"bubble_fraction_step", bubble / step}, {"bubble_fraction_span", bubble / step / 2}}},
               {"memory", {{"peak_bytes", 12'000'000'000}, {"capacity_bytes", 16'000'000'000}, {"verdict", "fits"}}},
               {"breakdown", {{"compute_s", compute}, {"exposed_comm_s", gather}, {"bubble_s", bubble}}},
               {"comm", {{{"axis", "fsdp"}, {"kind", "all_gather"}, {"exposed_s", gather}}}}};
  return made.dump();
}

output::ComparedScenario scenario(const std::string& name, double compute, double gather, double bubble,
                                  double tokens = 1000, output::ScenarioInputs inputs = {{"model", "m"}}) {
  return output::read_compared(name, std::move(inputs), result(compute, gather, bubble, tokens));
}

TEST(ReadCompared, TheNumbersOfAResult) {
  const auto read = output::read_compared("a", {}, result(3, 1.5, 0.5, 1000, false));
  EXPECT_EQ(read.step_s, 5);
  EXPECT_EQ(read.tokens_per_s, 200);
  EXPECT_EQ(read.tokens_per_s_per_chip, 100);
  EXPECT_FALSE(read.mfu) << "replayed operations have no FLOPs";
  EXPECT_EQ(read.bubble_of_step, 0.1);
  EXPECT_EQ(read.bubble_of_span, 0.05);
  EXPECT_EQ(read.peak_bytes, 12'000'000'000);
  ASSERT_EQ(read.parts.size(), 3U);
  EXPECT_EQ(read.parts[1].what, "exposed fsdp all_gather");
  EXPECT_EQ(read.parts[1].axis, "fsdp");
  EXPECT_EQ(read.parts[1].seconds, 1.5);
}

TEST(Contributors, TheLargestChangeFirst) {
  const auto parts = contributors(scenario("a", 3, 1.5, 0.5), scenario("b", 2, 4, 0.5));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].what, "exposed fsdp all_gather");
  EXPECT_EQ(parts[0].seconds, 2.5);
  EXPECT_EQ(parts[1].what, "computing");
  EXPECT_EQ(parts[1].seconds, -1);
  EXPECT_EQ(parts[2].seconds, 0);
}

// Random parts, some of which only one of the two has.
TEST(Contributors, AddUpToTheDifferenceOfTheSteps) {
  std::mt19937 random(1);
  const auto drawn = [&](output::ComparedScenario& made) {
    for (const auto* what : {"computing", "exposed a", "exposed b", "exposed c", "idle (bubble)"}) {
      if (random() % 3 == 0) continue;
      made.parts.push_back({what, "", static_cast<double>(random() % 1000) / 100});
      made.step_s += made.parts.back().seconds;
    }
  };
  for (int round = 0; round < 500; ++round) {
    output::ComparedScenario first, other;
    drawn(first);
    drawn(other);
    const auto parts = contributors(first, other);
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0,
                                       [](double all, const output::StepPart& part) { return all + part.seconds; });
    EXPECT_NEAR(sum, other.step_s - first.step_s, 1e-12);
    for (std::size_t i = 1; i < parts.size(); ++i)
      EXPECT_GE(std::abs(parts[i - 1].seconds), std::abs(parts[i].seconds));
  }
}

// 5 s become 6.5: 2.5 s more gathering, 1 s less computing; of the 3.5 s that change, 2.5 are less than nine tenths.
// Equal work on equal chips: a token's cost changes as the step does and gets no line of its own.
TEST(DifferenceText, TellsNineTenths) {
  EXPECT_EQ(difference_text(scenario("a", 3, 1.5, 0.5), scenario("b", 2, 4, 0.5)),
            "b: 1.300 x the step time of a, +1.50 s: +2.50 s exposed fsdp all_gather, -1.00 s computing\n");
  EXPECT_EQ(difference_text(scenario("a", 3, 1.5, 0.5), scenario("b", 13, 1.5, 1)),
            "b: 3.100 x the step time of a, +10.50 s: +10.00 s computing\n");
  EXPECT_EQ(difference_text(scenario("a", 3, 1.5, 0.5), scenario("b", 3, 1.5, 0.5)),
            "b: 1.000 x the step time of a, +0.00 s\n");
}

// Twice the tokens in 1.5 times the step: a token of a takes 5 s x 2 chips / 1000 = 10 ms, of b 7.5 s x 2 / 2000 = 7.5
// ms, 0.75 of it. Computing goes from 3/5 of 10 ms to 5.5/7.5 of 7.5 ms, -0.5 ms; gathering from 1.5/5 of it
// to 1.5/7.5, -1.5 ms; the bubble from 1 ms to 0.5 ms.
TEST(DifferenceText, OtherWorkIsComparedByTheToken) {
  EXPECT_THAT(difference_text(scenario("a", 3, 1.5, 0.5), scenario("b", 5.5, 1.5, 0.5, 2000)),
              HasSubstr("\n  a token takes 0.750 x the chip time, -2.50 ms: -1.50 ms exposed fsdp all_gather, "));
}

TEST(ChangedInputs, ThoseInWhichAnyTwoDiffer) {
  const std::vector<output::ComparedScenario> scenarios{
      scenario("a", 1, 1, 1, 1, {{"model", "m"}, {"chips", "8"}, {"schedule", "1f1b"}}),
      scenario("b", 1, 1, 1, 1, {{"model", "m"}, {"chips", "8"}, {"schedule", "gpipe"}}),
      scenario("c", 1, 1, 1, 1, {{"model", "m"}, {"network", "n"}, {"chips", "8"}, {"schedule", "1f1b"}})};
  EXPECT_THAT(changed_inputs(scenarios), ElementsAre("schedule", "network"));
  EXPECT_EQ(output::value_of(scenarios[0].inputs, "network"), "-");
  EXPECT_EQ(output::value_of(scenarios[2].inputs, "network"), "n");
  EXPECT_TRUE(output::changed_inputs({scenarios[0]}).empty());
}

TEST(ComparisonText, AColumnForEachScenario) {
  const auto text = output::comparison_text(
      {scenario("a", 3, 1.5, 0.5, 1000, {{"chips", "8"}}), scenario("b", 2, 4, 0, 1000, {{"chips", "16"}})});
  EXPECT_THAT(cells_of_line(line_with(text, "chips")), ElementsAre("chips", "8", "16"));
  EXPECT_THAT(cells_of_line(line_with(text, "step time")), ElementsAre("step time", "5.00 s", "6.00 s"));
  EXPECT_THAT(text, HasSubstr("1.000 x"));
  EXPECT_THAT(text, HasSubstr("1.200 x"));
  EXPECT_THAT(cells_of_line(line_with(text, "computing")),
              ElementsAre("computing", "3.00 s (60.0 %)", "2.00 s (33.3 %)"));
  EXPECT_THAT(cells_of_line(line_with(text, "pipeline bubble")),
              ElementsAre("pipeline bubble, of the step", "10.0 %", "0.0 %"));
  EXPECT_THAT(cells_of_line(line_with(text, "memory peak")),
              ElementsAre("memory peak", "12.0 GB of 16.0 GB", "12.0 GB of 16.0 GB"));
  EXPECT_THAT(text, Not(StartsWith("no input differs")));
}

TEST(ComparisonText, TwoScenariosFitInto80Columns) {
  const std::string name = "a-name-that-is-much-longer-than-a-column-of-a-terminal";
  const std::string value = "16 bits, a scale for 128 of them, and some more words";
  const auto text =
      output::comparison_text({scenario(name + "-1", 3, 1.5, 0.5, 1e6, {{"kept activations", value + "1"}}),
                               scenario(name + "-2", 3, 1.5, 0.5, 1e6, {{"kept activations", value + "2"}})},
                              80);
  const auto table = text.substr(0, text.find("\n\n" + name));
  std::string lines;
  for (const auto& line : test::lines_of(table)) {
    if (!line.starts_with(name)) lines += line + "\n";
  }
  EXPECT_LE(test::widest_line(lines), 80U) << lines;
}

TEST(ComparisonText, EqualInputsAreSaidToBe) {
  EXPECT_THAT(output::comparison_text({scenario("a", 3, 1, 0), scenario("b", 3, 1, 0)}),
              StartsWith("no input differs\n"));
  EXPECT_THAT(output::comparison_text({scenario("a", 3, 1, 0), scenario("b", 3, 1, 0)}), Not(HasSubstr("bubble")));
}

TEST(ComparisonJson, HoldsTheResultsAndTheDifferences) {
  const auto first = scenario(test::hostile_name, 3, 1.5, 0.5, 1000, {{"chips", "8"}, {"model", test::hostile_name}});
  const auto other = scenario("b", 2, 4, 0.5, 1000, {{"chips", "16"}, {"model", test::hostile_name}});
  const auto read = json::parse(output::comparison_json({first, other}));
  EXPECT_EQ(read["changed"], (json{{"chips", {"8", "16"}}}));
  ASSERT_EQ(read["scenarios"].size(), 2U);
  EXPECT_EQ(read["scenarios"][0]["name"], test::hostile_name);
  EXPECT_EQ(read["scenarios"][0]["inputs"]["model"], test::hostile_name);
  EXPECT_EQ(read["scenarios"][0]["result"], json::parse(first.result));
  EXPECT_EQ(read["scenarios"][0]["step_time_ratio"], 1);
  EXPECT_DOUBLE_EQ(read["scenarios"][1]["step_time_ratio"], 1.3);
  EXPECT_DOUBLE_EQ(read["scenarios"][1]["tokens_per_s_per_chip_ratio"], 1 / 1.3);
  double sum = 0;
  for (const auto& part : read["scenarios"][1]["difference"]) sum += part["seconds"].get<double>();
  EXPECT_NEAR(sum, 1.5, 1e-12);
}

}  // namespace
}  // namespace lockstep
