// The schedule command's words about an order. 1F1B of two ranks and two microbatches, F = I = W = 1, by hand:
//   rank 0  F0 0-1  F1 1-2                 B0 4-6            B1 7-9
//   rank 1          F0 1-2   B0 2-4        F1 4-5   B1 5-7
// Makespan 9, busy 6 on either rank: the bubble of the step is 3 on both; within its span, 0-9 and 1-7, rank 0 idles 3
// and rank 1 not at all. The closed form is (P - 1)(F + I + W) = 3.
#include "tools/output/schedules/schedule_study.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"
#include "tests/unit/schedules/small_request.hpp"

namespace lockstep {
namespace {

using nlohmann::json;
using test::cells_of_line;
using test::line_with;
using testing::ElementsAre;
using testing::HasSubstr;

output::ScheduleStudy study_of(const workloads::ScheduleRequest& asked) {
  return output::study_order(make_order(asked), asked.times, closed_form(asked));
}

TEST(ScheduleStudyTest, BubblesOfTheStepAndOfTheSpan) {
  const auto study = study_of(test::request_of("1f1b", 2, 2));
  EXPECT_EQ(study.timing.makespan, 9);
  EXPECT_THAT(study.timing.bubble_step, ElementsAre(3, 3));
  EXPECT_THAT(study.timing.bubble_span, ElementsAre(3, 0));
  EXPECT_DOUBLE_EQ(study.step_fraction(1), 3.0 / 9);
  EXPECT_DOUBLE_EQ(study.span_fraction(0), 3.0 / 9);
  EXPECT_EQ(study.span_fraction(1), 0);
  EXPECT_EQ(study.worst_span(), 0U);
  EXPECT_EQ(study.peak_microbatches(), 2);
  EXPECT_EQ(study.parameter_copies(), 1);
  EXPECT_EQ(study.title(), "1f1b");
}

// Times that binary numbers only come near to leave no bubble of 1e-16 where there is none.
TEST(ScheduleStudyTest, RoundingIsNoBubble) {
  auto asked = test::request_of("1f1b", 1, 30);
  asked.times.stages = {{0.1, 0.2, 0.3}};
  const auto study = study_of(asked);
  EXPECT_EQ(study.timing.bubble_step[0], 0);
  EXPECT_EQ(study.timing.bubble_span[0], 0);
}

// A column is the shortest cell, 1: digits forward, letters backward, dots idle.
TEST(ScheduleText, DrawsTheOrder) {
  const auto text = schedule_text(study_of(test::request_of("1f1b", 2, 2)));
  EXPECT_THAT(text, HasSubstr("rank 0 |01..aa.bb|\nrank 1 |.0aa1bb..|\na column is 1;"));
  EXPECT_THAT(text, HasSubstr("makespan 9\n"));
  EXPECT_THAT(cells_of_line(line_with(text, "0  ")), ElementsAre("0", "6", "3 (33.3 %)", "3 (33.3 %)", "2", "2"));
  EXPECT_THAT(cells_of_line(line_with(text, "1  ")), ElementsAre("1", "6", "3 (33.3 %)", "0 (0.0 %)", "1", "1"));
  EXPECT_THAT(text, HasSubstr(" = 3; simulated 3\n"));
  EXPECT_THAT(text, HasSubstr("worst: rank 0 idles 3 (33.3 %) of the step; rank 0 3 (33.3 %) of its span\n"));
}

// The line of a rank holds as many marks of each kind as the rank spends time units on it.
TEST(ScheduleText, EveryCellHasItsColumns) {
  for (const auto* name : {"gpipe", "1f1b", "interleaved", "zb-h1"}) {
    const auto study = study_of(test::request_of(name, 4, 8));
    const auto text = schedule_text(study);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const auto line = line_with(text, "rank " + std::to_string(rank) + " |");
      ASSERT_NE(line, "") << name;
      const auto begin = line.find('|') + 1;
      const auto marks = line.substr(begin, line.size() - begin - 1);
      EXPECT_EQ(marks.size(), study.timing.makespan) << name;
      EXPECT_EQ(std::count(marks.begin(), marks.end(), '.'), study.timing.bubble_step[rank])
          << name << " rank " << rank;
      EXPECT_EQ(std::count(marks.begin(), marks.end(), '0'), study.order.shape.chunks) << "forwards of microbatch 0";
    }
  }
}

TEST(ScheduleText, AFormThatDoesNotApplySaysWhatItNeeds) {
  auto study = study_of(test::request_of("1f1b", 2, 2));
  study.form->applies = false;
  study.form->conditions = "A, C";
  study.form->broken = "C";
  EXPECT_THAT(schedule_text(study), HasSubstr("DOES NOT APPLY here, it needs C\n"));
  study.form.reset();
  EXPECT_THAT(schedule_text(study), HasSubstr("closed form: none\n"));
}

TEST(ScheduleJson, HoldsOrderAndTimes) {
  auto study = study_of(test::request_of("1f1b", 2, 2));
  study.remark = test::hostile_name;
  const auto read = json::parse(schedule_json(study));
  EXPECT_EQ(read["remark"], test::hostile_name);
  EXPECT_EQ(read["orders"], (json{{"0F0", "0F1", "0B0", "0B1"}, {"1F0", "1B0", "1F1", "1B1"}}));
  EXPECT_EQ(read["spans"][0], json::parse("[[0,1],[1,2],[4,6],[7,9]]"));
  EXPECT_EQ(read["spans"][1], json::parse("[[1,2],[2,4],[4,5],[5,7]]"));
  EXPECT_EQ(read["bubble_step"], (json{3.0, 3.0}));
  EXPECT_EQ(read["peak_activations"], (json{2, 1}));
  EXPECT_EQ(read["closed_form"]["value"], 3);
  EXPECT_EQ(read["closed_form"]["of"], "bubble_step");
  EXPECT_TRUE(read["times"]["pair"].is_null());
}

TEST(ScheduleComparison, RefusedOnesSayWhy) {
  const std::vector<output::ComparedSchedule> rows{{"1f1b", study_of(test::request_of("1f1b", 2, 2)), ""},
                                                   {"dualpipe", {}, "odd"}};
  const auto text = comparison_text(rows, {}, 2, 2);
  EXPECT_THAT(cells_of_line(line_with(text, "1f1b")),
              ElementsAre("1f1b", "1", "9", "3 (33.3 %)", "3 (33.3 %)", "3", "step", "yes", "2", "1x"));
  EXPECT_THAT(text, HasSubstr("\ndualpipe: cannot be had: odd\n"));
  const auto read = json::parse(comparison_json(rows));
  EXPECT_EQ(read["schedules"][0]["makespan"], 9);
  EXPECT_EQ(read["schedules"][1], (json{{"schedule", "dualpipe"}, {"refused", "odd"}}));
}

// Two ranks under limits of 1 and 2 microbatches: a design is set beside what fits too, and rank 0's memory is what it
// lacks.
TEST(ScheduleStudyTest, ADesignSaysWhatItIsComparedWithAndWhatItLacks) {
  auto asked = test::request_of("design", 2, 8);
  asked.memory_limit = {1, 2};
  const auto design = design_pipeline(asked);
  auto study = output::study_order(design.order, asked.times, {});
  study.design = output::study_design(asked, design);
  EXPECT_LE(study.design->lower_bound, design.makespan * (1 + 1e-12));
  EXPECT_FALSE(study.design->published.empty());
  EXPECT_GE(study.design->published.front().makespan, design.makespan - 1e-9);
  ASSERT_EQ(study.design->more_memory.size(), 3U);
  ASSERT_EQ(study.design->reasons.what_if.size(), 2U);
  EXPECT_THAT(study.design->reasons.what_if[0], testing::HasSubstr("more memory on"));
  EXPECT_THAT(study.design->reasons.what_if[0], testing::HasSubstr("the makespan would fall to"));
  EXPECT_THAT(study.design->reasons.what_if[1], testing::HasSubstr("all ranks, which have the same work,"));
  const auto text = schedule_text(study);
  for (const auto& sentence : study.design->reasons.why) EXPECT_THAT(text, testing::HasSubstr(sentence + "\n"));
  EXPECT_THAT(text, testing::HasSubstr("lower bound"));
  EXPECT_THAT(text, testing::HasSubstr("published schedules under the same limits"));
  const auto document = nlohmann::json::parse(schedule_json(study));
  EXPECT_NEAR(document.at("lower_bound").get<double>(), design.lower_bound, 1e-9);
  EXPECT_NEAR(document.at("gap").get<double>(), design.gap(), 1e-12);
  EXPECT_EQ(document.at("design").at("with_more_memory").size(), 3U);
  EXPECT_EQ(document.at("design").at("why"), study.design->reasons.why);
  EXPECT_EQ(document.at("design").at("what_if"), study.design->reasons.what_if);
  EXPECT_THAT(document.at("design").at("answer").get<std::string>(),
              testing::HasSubstr(study.design->published.front().schedule));
}

// busy + the sum of its waits = makespan, on every rank of every order. Rank r waits for its first forward until r
// forwards of 1 have passed on the ranks before it.
TEST(ScheduleStudyTest, WaitsFillTheTimeOfEveryRank) {
  auto asked = test::request_of("design", 3, 6);
  asked.times.stages = {{1, 1, 1}, {1, 1, 1}, {2, 2, 2}};
  const auto design = design_pipeline(asked);
  for (const auto* order : {&design.order, &design.published.front().order}) {
    const auto timing = time_order(*order, asked.times);
    const auto waits = output::waits_of(*order, asked.times);
    for (std::size_t rank = 0; rank < waits.size(); ++rank) {
      double sum = timing.busy[rank];
      for (const double idle : waits[rank].idle) sum += idle;
      EXPECT_NEAR(sum, timing.makespan, 1e-9) << rank;
      EXPECT_NEAR(waits[rank].idle[0], static_cast<double>(rank), 1e-9) << "a forward of 1 on each rank before";
    }
  }
}

}  // namespace
}  // namespace lockstep
