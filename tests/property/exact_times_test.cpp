// Timed at the same time or one after the other: the same times, each plan once.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <map>

#include "sim/studies/planning/exact_times.hpp"
#include "tests/property/plan_spaces.hpp"

namespace lockstep {
namespace {

class ExactTimesTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<planning::PlanBranch> plans() const {
    std::vector<planning::PlanBranch> plans;
    for (const auto& node : space_.nodes()) {
      for (const auto& choice : space_.plans_of(node))
        plans.push_back({0, planning::PlanBranch::Level::plan, choice, 0, 1});
    }
    return plans;
  }

  std::map<planning::PlanChoice, double> timed_with(int jobs) {
    planning::ExactTimes times(space_, jobs, engine::EngineKind::simgrid, silent_);
    std::map<planning::PlanChoice, double> result;
    const auto all = plans();
    for (auto next = all.begin(); next != all.end() || !times.none_runs();) {
      while (next != all.end() && times.has_room()) times.start(*next++);
      for (const auto& [plan, step_s] : times.wait()) EXPECT_TRUE(result.emplace(plan.choice, step_s).second);
    }
    EXPECT_EQ(result.size(), all.size());
    return result;
  }

  planning::PlanSpace space_{test::small_spaces().front().load()};
  spdlog::logger silent_{"test"};
};

TEST_F(ExactTimesTest, AreThoseOfOneSimulatorAlone) {
  planning::PlanSimulator alone(space_);
  std::map<planning::PlanChoice, double> expected;
  for (const auto& plan : plans())
    expected.emplace(plan.choice, alone.step_s(plan.choice, engine::EngineKind::simgrid, silent_));
  ASSERT_GT(expected.size(), 4u);
  for (const int jobs : {1, 3, 100}) EXPECT_EQ(timed_with(jobs), expected) << jobs;
}

TEST_F(ExactTimesTest, TellOfAPlanThatCannotBeTimedAndGoOn) {
  const auto all = plans();
  planning::PlanBranch elsewhere;
  elsewhere.choice.degrees = {1, 1, 1, 1, 1};
  planning::ExactTimes times(space_, 1, engine::EngineKind::simgrid, silent_);
  times.start(elsewhere);
  EXPECT_FALSE(times.has_room());
  EXPECT_THROW((void)times.wait(), InternalError);
  EXPECT_TRUE(times.none_runs());
  times.start(all.front());
  const auto timed = times.wait();
  ASSERT_EQ(timed.size(), 1u);
  EXPECT_EQ(timed.front().plan.choice, all.front().choice);
}

// Plans that nobody waits for are simulated on what goes with the times.
TEST_F(ExactTimesTest, EndWithWhatStillRuns) {
  const auto all = plans();
  planning::ExactTimes times(space_, 4, engine::EngineKind::simgrid, silent_);
  for (auto next = all.begin(); next != all.end() && times.has_room(); ++next) times.start(*next);
  EXPECT_FALSE(times.none_runs());
}

}  // namespace
}  // namespace lockstep
