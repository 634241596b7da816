// Why a plan loses: the parts of its step that differ by more than a tenth of what it loses, the largest first.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/output/hostile_name.hpp"
#include "tools/output/studies/plan_report.hpp"

namespace lockstep {
namespace {

planning::PlanFigures figures(double compute, double bubble,
                              std::array<double, planning::plan_axes.size() + 1> exposed) {
  planning::PlanFigures made;
  made.compute_s = compute;
  made.bubble_s = bubble;
  made.exposed_s = exposed;
  made.step_s = compute + bubble;
  for (const double each : exposed) made.step_s += each;
  return made;
}

// The plan takes 2 s where the best takes 1.2: 0.9 more exposed tensor, 0.3 less compute, 0.2 more bubble; 0.05 and
// 0.05 of other axes are less than a tenth of the 0.8 s and not worth a word.
TEST(WhyItLoses, TheLargestPartsAndWhatTheyAreSavedBy) {
  const auto best = figures(0.9, 0.1, {0.1, 0.1, 0, 0, 0, 0});
  const auto plan = figures(0.6, 0.3, {1.0, 0.05, 0, 0, 0, 0.05});
  EXPECT_EQ(output::why_it_loses(plan, best), "+900.00 ms exposed tensor, -300.00 ms compute, +200.00 ms bubble");
}

TEST(WhyItLoses, SeveralAxesTogetherHaveAWordToo) {
  EXPECT_EQ(output::why_it_loses(figures(1, 0, {0, 0, 0, 0, 0, 1}), figures(1, 0, {})), "+1.00 s exposed several axes");
  EXPECT_EQ(output::why_it_loses(figures(1, 0, {0, 0, 0, 0.5, 0, 0}), figures(1, 0, {})), "+500.00 ms exposed data");
}

TEST(WhyItLoses, EqualPlansDoNotDiffer) {
  const auto best = figures(0.9, 0.1, {0.1, 0.1, 0, 0, 0, 0});
  EXPECT_EQ(output::why_it_loses(best, best), "");
}

// All parts together are the difference of the steps, so a plan that is slower has at least one that is worth a word.
TEST(WhyItLoses, EverySlowerPlanHasAReason) {
  unsigned state = 1;
  const auto drawn = [&] { return (state = state * 1103515245U + 12345U) / 65536 % 1000 / 1000.0; };
  for (int round = 0; round < 1000; ++round) {
    const auto best = figures(drawn(), drawn(), {drawn(), drawn(), drawn(), drawn(), drawn(), drawn()});
    const auto plan = figures(drawn(), drawn(), {drawn(), drawn(), drawn(), drawn(), drawn(), drawn()});
    if (plan.step_s > best.step_s + 1e-9) {
      EXPECT_NE(output::why_it_loses(plan, best).find('+'), std::string::npos);
    }
  }
}

TEST(PlanRows, AClusterWithoutAPlanSaysWhy) {
  output::PlanRows rows;
  EXPECT_EQ(nlohmann::json::parse(rows.to_string())["rows"], nlohmann::json::array());
  rows.add_none(8, "nothing fits");
  rows.add_none(16, test::hostile_name);
  const auto read = nlohmann::json::parse(rows.to_string())["rows"];
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0], (nlohmann::json{{"chips", 8}, {"best", nullptr}, {"why", "nothing fits"}}));
  EXPECT_EQ(read[1]["why"], test::hostile_name);
}

}  // namespace
}  // namespace lockstep
