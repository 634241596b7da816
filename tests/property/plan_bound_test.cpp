// The bounds by which plans are pruned: never above the simulated step or the simulated peak of memory. And the step
// times of a search, of joined steps on links shared in this process: those of a run.
#include <gtest/gtest.h>

#include <spdlog/logger.h>

#include <cmath>
#include <random>
#include <set>

#include "sim/studies/planning/plan_forest.hpp"
#include "sim/studies/planning/plan_simulator.hpp"
#include "tests/property/plan_spaces.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using test::SpaceCase;

/// So many plans of a space, the same at every run.
std::vector<planning::PlanChoice> some_plans(const planning::PlanSpace& space, std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<planning::PlanChoice> plans;
  while (plans.size() < count) {
    const auto& node = space.nodes()[random() % space.nodes().size()];
    const auto all = space.plans_of(node);
    plans.push_back(all[random() % all.size()]);
  }
  return plans;
}

class PlanBoundTest : public testing::TestWithParam<SpaceCase> {};

TEST_P(PlanBoundTest, IsNeverAboveTheSimulationWhichASearchRepeats) {
  const planning::PlanSpace space(GetParam().load());
  planning::PlanTree tree(space);
  planning::PlanSimulator simulator(space);
  spdlog::logger silent("test");
  int others =
      0;  // where stages contend for a link, rounding decides which of two that are ready at one instant goes first
  for (const auto& plan : test::all_simulated(space, some_plans(space, 200))) {
    std::string which;
    for (const auto& key : space.keys(space.node_of(plan.choice), plan.choice))
      which += key.path + "=" + key.value + " ";
    const double apart =
        std::abs(simulator.step_s(plan.choice, engine::EngineKind::simgrid, silent) / plan.figures.step_s - 1);
    if (apart > 1e-9) ++others;
    EXPECT_LE(apart, 2e-4) << which;
    for (const auto& bound : tree.bounds_of(plan.choice)) {
      EXPECT_LE(bound.seconds * (1 - 1e-9), plan.figures.step_s) << which;
      EXPECT_LE(bound.bytes, plan.figures.peak_bytes) << which;
    }
  }
  EXPECT_LE(others, 3);
}

// Every branch leaves open what the next decides, so its bound is the least over that: in time and in bytes. The last
// bound is another kind of path, along the schedule's actions, which the tree takes only where it is above the others.
TEST_P(PlanBoundTest, NeverFallsOnTheWayToAPlan) {
  const planning::PlanSpace space(GetParam().load());
  planning::PlanTree tree(space);
  for (const auto& plan : some_plans(space, 300)) {
    const auto bounds = tree.bounds_of(plan);
    ASSERT_EQ(bounds.size(), 5u);  // degrees, tokens, step, cost_class, plan
    for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
      EXPECT_LE(bounds[i - 1].seconds, bounds[i].seconds * (1 + 1e-9)) << i;
      EXPECT_LE(bounds[i - 1].bytes, bounds[i].bytes) << i;
    }
  }
}

// The tree itself, from its root to the branch in which a plan lies: each plan in one branch of each level.
TEST_P(PlanBoundTest, TreeHoldsEveryPlanOnce) {
  auto scenario = GetParam().load();
  scenario.search.memory = Bytes(1'000'000'000'000'000);  // nothing is too large
  const planning::PlanSpace space(scenario);
  planning::PlanForest forest(space, 3);
  auto branches = forest.roots();
  while (branches.front().level != planning::PlanBranch::Level::cost_class) {
    std::int64_t plans = 0;
    std::vector<planning::PlanBranch> next;
    const auto below = forest.below(branches);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      EXPECT_EQ(below[i].too_large, 0);
      for (const auto& branch : below[i].branches) {
        EXPECT_GE(branch.bound_s, branches[i].bound_s);
        plans += branch.plans;
        next.push_back(branch);
      }
    }
    EXPECT_EQ(plans, space.size());
    branches = std::move(next);
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, PlanBoundTest, testing::ValuesIn(test::wide_spaces()), test::name_of_space);

/// `documents`: attention in the shared summary is that of the sequence with the least.
void expect_same(const planning::PassSummary& shared, const planning::PassSummary& own,
                 const planning::PassesSummary& of_shared, const planning::PassesSummary& of_own, bool documents) {
  ASSERT_EQ(shared.steps.size(), own.steps.size());
  for (std::size_t i = 0; i < own.steps.size(); ++i) {
    EXPECT_LE(shared.steps[i].compute, own.steps[i].compute);
    if (!documents) EXPECT_EQ(shared.steps[i].compute, own.steps[i].compute);
    EXPECT_EQ(shared.steps[i].after, own.steps[i].after);
    EXPECT_EQ(shared.steps[i].beside, own.steps[i].beside);
    EXPECT_EQ(shared.steps[i].weights, own.steps[i].weights);
    ASSERT_EQ(shared.steps[i].collective < 0, own.steps[i].collective < 0);
    if (own.steps[i].collective < 0) continue;
    EXPECT_EQ(of_shared.collectives[static_cast<std::size_t>(shared.steps[i].collective)],
              of_own.collectives[static_cast<std::size_t>(own.steps[i].collective)]);
  }
  EXPECT_EQ(shared.output, own.output);
  ASSERT_EQ(shared.gathers.size(), own.gathers.size());
  for (std::size_t i = 0; i < own.gathers.size(); ++i) {
    const auto& less = of_shared.collectives[static_cast<std::size_t>(shared.gathers[i])];
    const auto& whole = of_own.collectives[static_cast<std::size_t>(own.gathers[i])];
    EXPECT_EQ(less.axes, whole.axes);
    EXPECT_LE(less.size, whole.size);  // padding
    EXPECT_GE(static_cast<double>(less.size.value()), 0.99 * static_cast<double>(whole.size.value()));
  }
}

// What is derived once for many plans is what each of them derives.
TEST_P(PlanBoundTest, SharesWhatPlansHaveInCommon) {
  const planning::PlanSpace space(GetParam().load());
  planning::SummaryBook book(space);
  const bool documents = !space.base().lengths.documents.empty();
  for (const auto& plan : some_plans(space, 300)) {
    const auto scenario = space.scenario(plan, space.base().batch.sequences);
    const auto model = preparation::sharded_model(scenario);
    const auto passes = planning::summarize_passes(scenario, model);
    const auto state = planning::summarize_state(scenario, model);
    const auto& shared = book.passes(plan);
    const auto& of_weights = book.state(plan);
    ASSERT_EQ(shared.kinds.size(), passes.kinds.size());
    for (std::size_t kind = 0; kind < passes.kinds.size(); ++kind) {
      const auto& one = shared.kinds[kind];
      const auto& own = passes.kinds[kind];
      expect_same(one.forward, own.forward, shared, passes, documents);
      expect_same(one.backward, own.backward, shared, passes, documents);
      expect_same(one.input_gradient, own.input_gradient, shared, passes, documents);
      expect_same(one.weight_gradient, own.weight_gradient, shared, passes, documents);
      EXPECT_EQ(std::tie(one.kept, one.input, one.sent, one.keeps_input, one.keeps_output),
                std::tie(own.kept, own.input, own.sent, own.keeps_input, own.keeps_output));
      EXPECT_EQ(std::tie(one.kept_for_weights, one.between), std::tie(own.kept_for_weights, own.between));
      EXPECT_LE(one.forward_most, own.forward_most);
      EXPECT_LE(one.backward_most, own.backward_most);
      EXPECT_LE(one.input_gradient_most, own.input_gradient_most);
      const auto& weights = of_weights.kinds[kind];
      const auto& same = state.kinds[kind];
      EXPECT_EQ(std::tie(weights.each_microbatch, weights.last_microbatch, weights.publish),
                std::tie(same.each_microbatch, same.last_microbatch, same.publish));
      EXPECT_EQ(std::tie(weights.update, weights.held, weights.gradients),
                std::tie(same.update, same.held, same.gradients));
    }
    EXPECT_EQ(of_weights.collectives, state.collectives);
  }
}

// A product of 3 s, then a collective of 2 s on its result, then 1 s on that: from the free stream 6 s. What arrives is
// read by the collective alone: 2 + 1 s from the input, but the stream's own 3 s come first.
TEST(PassPathTest, FollowsTheStreamAndTheData) {
  planning::PassSummary pass;
  pass.steps = {{3, -1, false, false, {}}, {0, 0, false, false, {0, -1}}, {1, -1, false, false, {1}}};
  pass.output = {2};
  const auto path = path_of(pass, std::vector<double>{2});
  EXPECT_DOUBLE_EQ(path.free_free, 6);
  EXPECT_DOUBLE_EQ(path.data_data, 3);
  const auto twice = path.then(path).after({0, 10});
  EXPECT_DOUBLE_EQ(twice.data, 19);  // 10 + 3 = 13, when the stream is free again too: 13 + 6
}

// What stands in a space can be made: of every schedule that a search knows, on sizes of the pipeline that some refuse.
TEST(PlanSpaceTest, HoldsSchedulesThatCanBeMade) {
  std::string names;
  std::size_t known = 0;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if ((schedule.chooses_by_time && !schedule.designs) || schedule.takes_slices) continue;
    names += (names.empty() ? "" : ", ") + std::string(schedule.name);
    ++known;
  }
  const auto scenario = scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 40, d_model: 64, heads: 1, d_ff: 64, vocabulary: 128}\ncluster: h100:3\nbatch: "
      "{sequences: 96, sequence_length: 128}\n"
      "search: {schedules: [" +
          names + "], chunks: [1, 2, 3], tensor: [1], zero: [1], recompute: [none]}\n",
      "space", ".");
  const planning::PlanSpace space(scenario);
  std::set<std::string> found;
  for (const auto& node : space.nodes()) {
    for (const auto microbatches : node.microbatches) {
      for (const auto& choice : space.schedules(node.degrees.pipeline, microbatches)) {
        if (choice.schedule < 0) continue;
        workloads::ScheduleRequest request;
        request.name = space.schedule(choice).name;
        request.ranks = node.degrees.pipeline;
        request.microbatches = static_cast<std::int32_t>(microbatches);
        request.chunks = choice.chunks;
        EXPECT_NO_THROW((void)make_order(request))
            << request.name << " " << request.ranks << " " << microbatches << " " << choice.chunks;
        found.insert(request.name);
      }
    }
  }
  EXPECT_EQ(found.size(), known);
}

}  // namespace
}  // namespace lockstep
