// The planner bounds a plan by summaries of its layers; the simulator runs the plan's StepGraph. Both must count the
// same work, so that an operation that the step builder learns to write and the summaries do not know of fails here:
//
//   seconds of the compute stream:  sum over operations of a stage  =  sum over its blocks of
//                                   microbatches x (forward + backward) + update
//   bytes of each collective kind along each set of axes, on each stage: likewise.
//
// Left out on purpose, each a reason why a bound is below a step: gathers of weights, sums of gradient norms, sums over
// copies of key and value heads, and reductions of gradients in buckets that reach over layers. Transfers between
// stages and the overhead of a step are bounded apart.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "sim/cost/layer_time.hpp"
#include "sim/studies/planning/plan_bound.hpp"
#include "sim/studies/planning/summary_book.hpp"
#include "tests/property/plan_spaces.hpp"

namespace lockstep {
namespace {

using KindAndAxes = std::pair<workloads::CollectiveKind, std::uint32_t>;

/// The work of one stage of the pipeline.
struct Work {
  double compute_s = 0;
  std::map<KindAndAxes, double> bytes;  ///< that collectives of activations and gradients carry
};

/// What the StepGraph of a plan does, by stage.
std::vector<Work> work_of_graph(const scenario::Scenario& scenario, const preparation::PreparedStep& made) {
  std::vector<Work> stages(static_cast<std::size_t>(made.pipeline.order.shape.ranks));
  const auto rates = preparation::rates_of(scenario);
  for (workloads::OpId id = 0; id < made.step.size(); ++id) {
    const auto& op = made.step.op(id);
    if (op.stage == workloads::StepOp::every_stage || op.other_stage >= 0) continue;
    auto& work = stages[static_cast<std::size_t>(op.stage)];
    if (op->kind == workloads::StepOp::Kind::compute) {
      if (op->given_time && op->given == workloads::GivenTime::overhead) continue;  // a bound adds it as it is
      if (op->stream.empty()) work.compute_s += operation_time(rates, *op.what).value();
      continue;
    }
    const bool of_copies = topologies::axis_part(op->axes.front()).size > 0, of_norms = op->full_size == Bytes(4);
    const bool over_layers = op->role == workloads::CollectiveRole::gradient &&
                             scenario.step.gradient_buckets.unit == workloads::Bucketing::Unit::size;
    if (op->role == workloads::CollectiveRole::weight || of_copies || of_norms || over_layers) continue;
    const KindAndAxes key{op->collective, planning::axis_bits(op->axes)};
    work.bytes[key] += static_cast<double>(op->full_size.value());
  }
  return stages;
}

/// What the planner's summaries count, by stage.
std::vector<Work> work_of_summaries(const planning::PlanSpace& space, const preparation::PreparedStep& made,
                                    const planning::PassesSummary& passes, const planning::StateSummary& state) {
  const auto& order = made.pipeline.order;
  std::vector<Work> stages(static_cast<std::size_t>(order.shape.ranks));
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    auto& work = stages[rank];
    std::map<std::int32_t, double> microbatches;  // by part of the model
    for (const auto& cell : order.ranks[rank]) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        if (action.work == workloads::PipelineWork::forward) ++microbatches[action.stage];
      });
    }
    for (const auto& [part, count] : microbatches) {
      for (int block = made.pipeline.first_block[static_cast<std::size_t>(part)];
           block < made.pipeline.first_block[static_cast<std::size_t>(part) + 1]; ++block) {
        const auto kind = static_cast<std::size_t>(space.kinds()[static_cast<std::size_t>(block)]);
        const auto& own = passes.kinds[kind];
        const auto add = [](std::map<KindAndAxes, double>& to, const planning::PlanCollective& collective,
                            double times) {
          to[{collective.kind, collective.axes}] += times * static_cast<double>(collective.size.value());
        };
        for (const auto* pass : {&own.forward, &own.backward}) {
          work.compute_s += count * pass->compute;
          for (const auto& step : pass->steps) {
            if (step.collective >= 0)
              add(work.bytes, passes.collectives[static_cast<std::size_t>(step.collective)], count);
          }
        }
        const auto& weights = state.kinds[kind];
        work.compute_s += weights.update;
        for (const auto one : weights.each_microbatch)
          add(work.bytes, state.collectives[static_cast<std::size_t>(one)], count);
        for (const auto one : weights.last_microbatch)
          add(work.bytes, state.collectives[static_cast<std::size_t>(one)], 1);
      }
    }
  }
  return stages;
}

class PlanCountsTest : public testing::TestWithParam<test::SpaceCase> {};

// With documents, whose attention a bound takes from the sequence with the least, the step computes no less.
TEST_P(PlanCountsTest, SummariesCountWhatTheStepDoes) {
  const planning::PlanSpace space(GetParam().load());
  planning::SummaryBook book(space);
  const bool documents = !space.base().lengths.documents.empty();
  std::mt19937_64 random(11);
  for (int plan = 0; plan < 40; ++plan) {
    const auto& node = space.nodes()[random() % space.nodes().size()];
    const auto plans = space.plans_of(node);
    const auto& choice = plans[random() % plans.size()];
    const auto scenario = space.scenario(node, choice);
    const auto made = preparation::prepare_step(scenario);
    const auto model = preparation::sharded_model(scenario);
    std::string which;
    for (const auto& key : space.keys(node, choice)) which += key.path + "=" + key.value + " ";
    SCOPED_TRACE(which);
    const auto graph = work_of_graph(scenario, made);
    const auto passes = documents ? book.passes(choice) : planning::summarize_passes(scenario, model);
    const auto counted = work_of_summaries(space, made, passes, planning::summarize_state(scenario, model));
    for (std::size_t stage = 0; stage < graph.size(); ++stage) {
      const double counted_share = counted[stage].compute_s / graph[stage].compute_s;
      EXPECT_LE(counted_share, 1 + 1e-9) << "stage " << stage;
      EXPECT_GE(counted_share, documents ? 0.3 : 1 - 1e-9) << "stage " << stage;
      std::set<KindAndAxes> keys;
      for (const auto* work : {&graph[stage], &counted[stage]}) {
        for (const auto& [key, bytes] : work->bytes) keys.insert(key);
      }
      for (const auto& key : keys) {
        const auto at = [&](const Work& work) {
          const auto found = work.bytes.find(key);
          return found == work.bytes.end() ? 0 : found->second;
        };
        EXPECT_NEAR(at(counted[stage]), at(graph[stage]), 1e-9 * at(graph[stage]))
            << "stage " << stage << " " << name(key.first) << " over axes " << key.second;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, PlanCountsTest, testing::ValuesIn(test::wide_spaces()), test::name_of_space);

}  // namespace
}  // namespace lockstep
