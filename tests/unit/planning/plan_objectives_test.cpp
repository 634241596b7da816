// The best plan under draws and for a run with failures, against the figures of every plan of a small space.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/goodput/run_facts.hpp"
#include "sim/studies/planning/robust_plans.hpp"
#include "sim/studies/planning/run_plans.hpp"
#include "tests/unit/planning/small_space.hpp"

namespace lockstep::test {
namespace {

spdlog::logger silent("test");
constexpr int draws = 6;

const std::string searched =
    "tensor: [1, 2, 4], pipeline: [1, 2], zero: [0, 3], recompute: none, microbatches: [1, 2], schedules: [1f1b]";

SmallSpace space_with(const std::string& more, const std::string& cluster = "tpu-v5p:4x2") {
  return {.layers = 4, .cluster = cluster, .search = searched, .more = more};
}

planning::SearchOptions options() {
  planning::SearchOptions options;
  options.top = 1000;
  options.jobs = 2;
  options.engine = engine::EngineKind::max_min;
  return options;
}

struct Plan {
  planning::PlanChoice choice;
  double step_s = 0;
  scenario::Scenario scenario;
};

std::vector<Plan> every_plan(const planning::PlanSpace& space) {
  std::vector<Plan> plans;
  for (const auto& node : space.nodes()) {
    for (const auto& choice : space.plans_of(node)) {
      auto scenario = space.scenario(node, choice);
      const auto figures = planning::simulated_figures(scenario, engine::EngineKind::max_min, silent);
      if (figures.peak_bytes <= space.memory().value()) plans.push_back({choice, figures.step_s, std::move(scenario)});
    }
  }
  return plans;
}

struct Variations {
  std::string name, text;
};

class RobustPlansTest : public testing::TestWithParam<Variations> {};

// Equations: median and 95th percentile of the draws; regret_p = max over draws d of t_p(d) - min over plans q of
// t_q(d).
TEST_P(RobustPlansTest, FindsWhatDrawingEveryPlanFinds) {
  const planning::PlanSpace space(space_with("variations: [" + GetParam().text + "]\n").load());
  const auto plans = every_plan(space);
  std::vector<StepDraws> drawn;
  for (const auto& plan : plans) {
    DistributionOptions drawing;
    drawing.draws = draws;
    drawing.engine = engine::EngineKind::max_min;
    drawn.push_back(
        step_distribution(plan.scenario, preparation::prepare(plan.scenario), Seconds(plan.step_s), drawing, silent)
            .steps);
  }
  const auto least = [&](const auto& figure) {
    double best = figure(0);
    for (std::size_t i = 1; i < plans.size(); ++i) best = std::min(best, figure(i));
    return best;
  };
  std::vector<double> fastest(draws, 1e9);
  for (const auto& steps : drawn) {
    for (std::size_t draw = 0; draw < draws; ++draw)
      fastest[draw] = std::min(fastest[draw], steps.in_order()[draw].value());
  }
  const auto regret = [&](std::size_t i) {
    double largest = 0;
    for (std::size_t draw = 0; draw < draws; ++draw)
      largest = std::max(largest, drawn[i].in_order()[draw].value() - fastest[draw]);
    return largest;
  };
  using planning::Objective;
  const auto found = [&](Objective objective) {
    const auto result = search_robust_plans(space, options(), {draws, objective}, silent);
    EXPECT_EQ(result.unproven, "");
    EXPECT_LE(result.plans.size(), plans.size());
    return result.plans.front().figure_s(objective);
  };
  EXPECT_NEAR(found(Objective::median) / least([&](std::size_t i) { return drawn[i].median().value(); }), 1, 1e-9);
  EXPECT_NEAR(found(Objective::p95) / least([&](std::size_t i) { return drawn[i].quantile(0.95).value(); }), 1, 1e-9);
  const double step_s = plans.front().step_s;
  EXPECT_NEAR(found(Objective::regret), least(regret), 1e-9 * step_s);
}

INSTANTIATE_TEST_SUITE_P(Small, RobustPlansTest,
                         testing::Values(Variations{"jitter", "{jitter: 0.05, distribution: exponential}"},
                                         Variations{"stragglers", "{stragglers: 0.1, slowdown: 2}"},
                                         Variations{"links", "{flaky_links: 0.1, bandwidth: 0.2}"},
                                         Variations{"all",
                                                    "{jitter: 0.02}, {stragglers: 0.05, slowdown: 1.5}, "
                                                    "{flaky_links: 0.05, bandwidth: 0.5}"}),
                         [](const auto& of) { return of.param.name; });

// Not every plan is drawn: none whose healthy step is above the best figure.
TEST(RobustPlans, DrawsOnlyPlansThatCanWin) {
  const planning::PlanSpace space(space_with("variations: [{jitter: 0.001}]\n").load());
  const auto result = search_robust_plans(space, options(), {draws, planning::Objective::p95}, silent);
  EXPECT_EQ(result.unproven, "");
  EXPECT_LT(std::ssize(result.plans), space.size());
  EXPECT_NEAR(result.worth_until_s, result.plans.front().figure_s(planning::Objective::p95),
              1e-6 * result.worth_until_s);
  for (const auto& plan : every_plan(space)) {
    const bool drawn = std::any_of(result.plans.begin(), result.plans.end(),
                                   [&](const auto& one) { return one.plan.choice == plan.choice; });
    if (!drawn) {
      EXPECT_GT(plan.step_s * (1 + 1e-8), result.worth_until_s);
    }
  }
}

// With fewer plans than can win, nothing is proven, and it is said.
TEST(RobustPlans, SayWhatIsNotProven) {
  const planning::PlanSpace space(space_with("variations: [{jitter: 20}]\n").load());
  auto few = options();
  few.top = 1;
  const auto result = search_robust_plans(space, few, {draws, planning::Objective::p95}, silent);
  EXPECT_EQ(result.unproven, "no more than 1 plan may be compared, and another one whose healthy step is below " +
                                 format(Seconds(result.worth_until_s)) + " could still be better");
}

// An interrupt ends the drawing too, but not before one plan is known.
TEST(RobustPlans, AnInterruptEndsTheDrawing) {
  const planning::PlanSpace space(space_with("variations: [{jitter: 0.5}]\n").load());
  auto interrupted = options();
  interrupted.interrupted = [] { return true; };
  const auto result = search_robust_plans(space, interrupted, {draws, planning::Objective::p95}, silent);
  EXPECT_EQ(result.plans.size(), 1U);
  EXPECT_EQ(result.unproven, "the search was stopped before it had looked at all plans that could be better");
}

TEST(RobustPlans, RegretIsTheLargestTimeBeyondTheFastest) {
  const StepDraws one({Seconds(1), Seconds(5)}), other({Seconds(2), Seconds(2)});
  EXPECT_EQ(planning::largest_regrets({&one, &other}), (std::vector<double>{3, 1}));
}

const std::string unreliable =
    "reliability:\n  failures: {chip: {of: chip, mtbf: 2000 h}}\n  restart: 3 min\n  repair: 1 day\n  elastic: true\n"
    "  checkpoint: {size: 1 TB, host_bandwidth: 10 GB/s}\n";

class RunPlansTest : public testing::TestWithParam<const char*> {};

// Equation: the useful step is the healthy step over goodput; the least of all plans wins.
TEST_P(RunPlansTest, FindsWhatEveryPlansRunFinds) {
  const planning::PlanSpace space(space_with(unreliable, GetParam()).load());
  double best_s = 1e9;
  for (const auto& plan : every_plan(space)) {
    const auto prepared = preparation::prepare_step(plan.scenario);
    const auto found = goodput::run_facts(plan.scenario, prepared, Seconds(plan.step_s), {}, silent);
    const double goodput = goodput::expected_shares(goodput::run_model(plan.scenario, found.facts)).useful;
    best_s = std::min(best_s, plan.step_s / goodput);
  }
  const auto result = search_plans_for_run(space, options(), silent);
  EXPECT_EQ(result.unproven, "");
  ASSERT_FALSE(result.plans.empty());
  EXPECT_NEAR(result.plans.front().useful_step_s / best_s, 1, 1e-9);
  for (const auto& plan : result.plans) EXPECT_LE(plan.shares.useful, result.most_goodput * (1 + 1e-12));
}

INSTANTIATE_TEST_SUITE_P(Small, RunPlansTest, testing::Values("tpu-v5p:4x2", "h100:2"));

}  // namespace
}  // namespace lockstep::test
