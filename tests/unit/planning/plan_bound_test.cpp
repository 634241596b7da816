// Bounds of plans made by hand: 8 equal layers of f = 1 s forward and b = 2 s backward, of which i = 1.25 s are for the
// gradient of the input and w = 0.75 s for those of weights. A stage of P has 8 / P of them: F = 8 f / P, B = 8 b / P.
#include "sim/studies/planning/plan_bound.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/planning/small_space.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::test {
namespace {

constexpr int layers = 8;
constexpr double f = 1, i = 1.25, w = 0.75, b = i + w;

planning::PassSummary computes(double seconds) { return {{{seconds, -1, false, false, {-1}}}, {0}, seconds, {}}; }

/// A space for its schedules and options, and the numbers of a plan.
struct HandPlan {
  explicit HandPlan(const std::string& schedules = "1f1b", const std::string& more = "",
                    const std::string& cluster = "tpu-v5p:4")
      : space(SmallSpace{
            .layers = layers,
            .cluster = cluster,
            .search = "tensor: 1, pipeline: [1, 2, 4], zero: 0, recompute: none, chunks: 2, schedules: " + schedules,
            .more = more}
                  .load()) {
    planning::BlockPasses block;
    block.forward = computes(f);
    block.backward = computes(b);
    block.input_gradient = computes(i);
    block.weight_gradient = computes(w);
    summary.kinds = {block};
    state.kinds.resize(1);
  }

  [[nodiscard]] planning::BlockPasses& block() { return summary.kinds.front(); }
  [[nodiscard]] planning::TimedState::Kind& weights() { return state.kinds.front(); }

  [[nodiscard]] planning::LowerBound in_closed_form(std::int32_t pipeline, std::int64_t microbatches,
                                                    const planning::ScheduleChoice& choice) const {
    const auto passes = timed(summary, {costs});
    return planning::PlanBounds(space, {summary, passes, state, norm, stages}).of(pipeline, microbatches, choice);
  }
  [[nodiscard]] planning::LowerBound under_any_schedule(std::int32_t pipeline, std::int64_t microbatches) const {
    const auto passes = timed(summary, {costs});
    return planning::PlanBounds(space, {summary, passes, state, norm, stages}).of(pipeline, microbatches);
  }
  [[nodiscard]] planning::LowerBound in_order(std::int32_t pipeline, std::int64_t microbatches,
                                              const planning::ScheduleChoice& choice) const {
    const auto passes = timed(summary, {costs});
    return planning::PlanBounds(space, {summary, passes, state, norm, stages})
        .in_order(planning::sequence_of(order(pipeline, microbatches, choice)), choice);
  }
  [[nodiscard]] workloads::PipelineOrder order(std::int32_t pipeline, std::int64_t microbatches,
                                               const planning::ScheduleChoice& choice) const {
    if (pipeline == 1) return workloads::single_stage(1, microbatches).order;
    workloads::ScheduleRequest request;
    request.name = space.schedule(choice).name;
    request.ranks = pipeline;
    request.microbatches = static_cast<std::int32_t>(microbatches);
    request.chunks = choice.chunks;
    return make_order(request);
  }

  planning::PlanSpace space;
  planning::PassesSummary summary;
  planning::TimedState state;
  std::vector<double> costs;  ///< of the summary's collectives
  double norm = 0;
  const planning::StagesAlong* stages = nullptr;
};

const planning::ScheduleChoice none{}, first{0, 1};
const std::string every_schedule =
    "[1f1b, gpipe, interleaved, bfs, zb-h1, zb-h2, zb-1p, interleaved-zb, zb-v, v-half, v-min, v-1f1b, wave, dualpipe, "
    "dualpipe-v, overlap-1f1b]";

// One rank: M (8 f + 8 b), and the overhead of a step.
TEST(PlanBoundByHandTest, OneRankComputesOneMicrobatchAfterTheOther) {
  const HandPlan plan("1f1b", "training: {step_overhead: 250 ms}\n");
  for (const int m : {1, 3, 8}) {
    EXPECT_DOUBLE_EQ(plan.in_closed_form(1, m, none).seconds, m * layers * (f + b) + 0.25);
    EXPECT_DOUBLE_EQ(plan.in_order(1, m, none).seconds, m * layers * (f + b) + 0.25);
  }
}

// 1F1B of P even stages: (M + P - 1) (F + B), and the overhead of a step.
TEST(PlanBoundByHandTest, EvenStagesOf1F1BFillAndDrain) {
  const HandPlan plan("1f1b", "training: {step_overhead: 250 ms}\n");
  for (const int p : {2, 4}) {
    for (const int m : {1, 2, 4, 7}) {
      const double expected = (m + p - 1) * layers * (f + b) / p + 0.25;
      EXPECT_DOUBLE_EQ(plan.in_closed_form(p, m, first).seconds, expected);
      EXPECT_DOUBLE_EQ(plan.in_order(p, m, first).seconds, expected);
    }
  }
}

// In each forward a collective of c = 0.2 s runs beside the second of three products of f / 3, which does not wait for
// it. On an H100 collectives take 30 % of the memory's bandwidth and 20 of 132 multiprocessors, so beside them products
// do max(0.3, 20/132) = 0.3 s less work a second: M (8 f + 8 b) + 0.3 M 8 c on one rank. On P ranks the last one begins
// with its first input, after P - 1 forwards of F = 8 f / P, and computes M (F + B) from then on.
TEST(PlanBoundByHandTest, CollectivesTakeSpeedFromWhatRunsBesideThem) {
  constexpr double c = 0.2;
  HandPlan plan("1f1b", "model_of_time: calibrated\n", "h100:1");
  EXPECT_NEAR(plan.space.lost_beside_collectives(), 0.3, 1e-12);
  plan.summary.collectives = {{workloads::CollectiveKind::all_gather, 1, Bytes(1), {}}};  // along tensor
  plan.costs = {c};
  plan.block().forward = {{{f / 3, -1, false, false, {-1}},
                           {0, 0, false, false, {0}},
                           {f / 3, -1, false, false, {0}},
                           {f / 3, -1, false, false, {1, 2}}},
                          {3},
                          f,
                          {}};
  tell_when(plan.block().forward);
  for (const int m : {1, 3, 8}) {
    const double alone = m * layers * (f + b), lost = 0.3 * m * layers * c;
    EXPECT_NEAR(plan.in_closed_form(1, m, none).seconds, alone + lost, 1e-9);
    EXPECT_NEAR(plan.in_order(1, m, none).seconds, alone + lost, 1e-9);
    for (const int p : {2, 4}) {
      const double as_if_alone = (m + p - 1) * layers * (f + b) / p;
      const double with_loss = (p - 1) * layers * f / p + (alone + lost) / p;
      EXPECT_NEAR(plan.in_closed_form(p, m, first).seconds, std::max(as_if_alone, with_loss), 1e-9);
      EXPECT_GE(plan.in_order(p, m, first).seconds, std::max(as_if_alone, with_loss) - 1e-9);
    }
  }
}

// Transfers of t a hop besides: the first microbatch comes through P - 1 of them and the last goes back through as
// many, (M + P - 1) (F + B) + 2 (P - 1) t. Actions wait for transfers in between, too.
TEST(PlanBoundByHandTest, TransfersFillAndDrainToo) {
  HandPlan plan;
  plan.block().sent = 90'000'000;
  bool compared = false;
  const double t = 1e-6 + 1e-3;  // one link of 90 GB/s
  for (const auto& node : plan.space.nodes()) {
    if (node.degrees.pipeline != 4) continue;
    const planning::StagesAlong stages(plan.space, node.placements.front());
    plan.stages = &stages;
    compared = true;
    for (const int m : {1, 2, 5, 8}) {
      EXPECT_NEAR(plan.in_closed_form(4, m, first).seconds, (m + 3) * 2 * (f + b) + 6 * t, 1e-9);
      const auto order = plan.order(4, m, first);
      EXPECT_NEAR(plan.in_order(4, m, first).seconds,
                  time_order(order, {{{2 * f, 2 * i, 2 * w}}, t, std::nullopt}).makespan, 1e-9);
    }
  }
  EXPECT_TRUE(compared);
}

// Without communication the longest path through a schedule's actions is its makespan, and the closed form no more.
// The halves of a pair may hand on before the pair ends, so that schedules with pairs may take less.
TEST(PlanBoundByHandTest, ActionsInOrderTakeTheSchedulesMakespan) {
  const HandPlan plan(every_schedule);
  std::set<std::int32_t> seen;
  for (const int p : {2, 4}) {
    for (int m = 1; m <= 12; ++m) {
      for (const auto& choice : plan.space.schedules(p, m)) {
        SCOPED_TRACE(std::string(plan.space.schedule(choice).name) + " P" + std::to_string(p) + " M" +
                     std::to_string(m));
        seen.insert(choice.schedule);
        const double of_stage = static_cast<double>(layers) / (p * choice.chunks);
        const auto makespan =
            time_order(plan.order(p, m, choice), {{{of_stage * f, of_stage * i, of_stage * w}}, 0, std::nullopt})
                .makespan;
        const double bound = plan.in_order(p, m, choice).seconds;
        if (plan.space.schedule(choice).overlaps) {
          EXPECT_LE(bound, makespan + 1e-9);
          EXPECT_GE(bound, m * layers * (f + b) / p - 1e-9);
        } else {
          EXPECT_NEAR(bound, makespan, 1e-9);
        }
        EXPECT_LE(plan.in_closed_form(p, m, choice).seconds, makespan + 1e-9);
        EXPECT_LE(plan.under_any_schedule(p, m).seconds, plan.in_closed_form(p, m, choice).seconds + 1e-9);
      }
    }
  }
  EXPECT_EQ(seen.size(), plan.space.base().search.schedules.size());
}

// 8 layers' gradients are reduced one after the other, r = 5 s each, the first at the earliest when its layer's last
// backward begins: 8 M f + 8 (M - 1) b + 8 r, as r > b.
TEST(PlanBoundByHandTest, GradientsAreReducedOneAfterTheOther) {
  HandPlan plan;
  plan.weights().reduced = 5;
  for (const int m : {1, 4}) {
    const double expected = layers * (m * f + (m - 1) * b + 5);
    EXPECT_DOUBLE_EQ(plan.in_closed_form(1, m, none).seconds, expected);
    EXPECT_DOUBLE_EQ(plan.in_order(1, m, none).seconds, expected);
  }
  plan.weights().reduced = b / 2;  // hidden behind the backward
  EXPECT_DOUBLE_EQ(plan.in_order(1, 4, none).seconds, 4 * layers * (f + b));
  // Those of every microbatch, 4 s each: the stream is busy from the first backward on, 8 f + 4 x 8 x 4 = 136.
  plan.weights().reduced = plan.weights().reduced_each = 4;
  EXPECT_DOUBLE_EQ(plan.in_order(1, 4, none).seconds, layers * f + 4 * layers * 4);
}

// ZeRO-3: every forward and backward of a layer waits for its weights, gathered in g = 10 s, one layer after the other.
// Gathers never wait for room, as a layer computes for less than g: 16 g, and the last backward.
TEST(PlanBoundByHandTest, APassWaitsForItsWeights) {
  HandPlan plan;
  constexpr double g = 10;
  plan.summary.collectives = {{workloads::CollectiveKind::all_gather, 1U << planning::data_axis, Bytes(8), {}}};
  plan.costs = {g};
  for (auto* pass : {&plan.block().forward, &plan.block().backward}) {
    pass->gathers = {0};
    pass->steps.front().weights = true;
  }
  EXPECT_DOUBLE_EQ(plan.in_order(1, 1, none).seconds, 2 * layers * g + b);
  EXPECT_DOUBLE_EQ(plan.in_closed_form(1, 1, none).seconds, 2 * layers * g);  // the stream along data
}

// A stream along an axis that is busy for longer than all else.
TEST(PlanBoundByHandTest, AStreamIsBusyForEveryMicrobatch) {
  HandPlan plan;
  plan.weights().each[0] = 10;
  plan.weights().once[0] = 3;
  plan.weights().published[0] = 2;
  EXPECT_DOUBLE_EQ(plan.in_closed_form(1, 4, none).seconds, layers * (4 * 10 + 3 + 2));
  EXPECT_DOUBLE_EQ(plan.in_closed_form(2, 4, first).seconds, layers / 2 * (4 * 10 + 3 + 2));
}

// After the barrier every layer of a stage updates its weights, u, and publishes them, v, each on its own stream: with
// 2 layers u + max(u, v) + v. Between is the sum of gradient norms over the stages, n.
TEST(PlanBoundByHandTest, UpdatesAndPublishedWeightsFollowTheBarrier) {
  const double passes = (4 + 4 - 1) * 2 * (f + b), n = 0.5;
  for (const auto& [u, v] : {std::pair{1.0, 3.0}, std::pair{3.0, 1.0}}) {
    const auto set = [u = u, v = v, n](HandPlan& plan) {
      plan.norm = n;
      plan.weights().update = u;
      plan.weights().published_along_data = plan.weights().published[planning::data_axis] = v;
    };
    HandPlan plan;
    set(plan);
    EXPECT_DOUBLE_EQ(plan.in_order(4, 4, first).seconds, passes + n + u + std::max(u, v) + v);
    EXPECT_DOUBLE_EQ(plan.in_closed_form(4, 4, first).seconds, passes + n + 2 * std::max(u, v));
    HandPlan ahead("1f1b", "communication: {updated_weights: ahead}\n");  // published in the next step
    set(ahead);
    EXPECT_DOUBLE_EQ(ahead.in_order(4, 4, first).seconds, passes + n + 2 * u);
    EXPECT_DOUBLE_EQ(ahead.in_closed_form(4, 4, first).seconds, passes + n + 2 * u);
    HandPlan free("1f1b", "training: {optimizer_barrier: false}\n");
    set(free);
    EXPECT_DOUBLE_EQ(free.in_order(4, 4, first).seconds, passes);
    EXPECT_DOUBLE_EQ(free.in_closed_form(4, 4, first).seconds, passes);
    // One stage has no norms to add up over stages: 8 layers.
    EXPECT_DOUBLE_EQ(plan.in_order(1, 1, none).seconds, layers * (f + b) + u + 7 * std::max(u, v) + v);
  }
}

/// Weights of 1000 bytes a layer, 100 kept of a microbatch, 7 more while a backward runs, gradients of 10.
struct HandPlanWithBytes : HandPlan {
  explicit HandPlanWithBytes(const std::string& schedules, const std::string& more = "") : HandPlan(schedules, more) {
    block().kept = 100;
    block().forward_most = 100;
    block().backward_most = 107;
    block().input_gradient_most = 107;
    weights().held = 1000;
    weights().gradients = 10;
  }
};

// 2 layers to a stage. The first stage of 1F1B has min(P, M) microbatches in flight. A backward begins with all of them
// and 7 bytes; from the second on, gradients are there besides.
TEST(PlanBoundByHandTest, HoldsWhatIsInFlight) {
  const HandPlanWithBytes plan("[1f1b, gpipe]");
  const planning::ScheduleChoice one_f_one_b{0, 1}, gpipe{1, 1};
  EXPECT_EQ(plan.in_closed_form(4, 8, one_f_one_b).bytes, 2 * (1000 + 100));
  for (const int m : {5, 8, 20}) {
    EXPECT_EQ(plan.in_order(4, m, one_f_one_b).bytes, 2 * (1000 + 4 * 100 + 10) + 7) << m;
  }
  EXPECT_EQ(plan.in_order(4, 2, one_f_one_b).bytes, 2 * (1000 + 2 * 100) + 7);
  // GPipe keeps all M until the first backward, before there are gradients.
  for (const int m : {1, 5, 8}) EXPECT_EQ(plan.in_order(4, m, gpipe).bytes, 2 * (1000 + m * 100) + 7) << m;
  EXPECT_EQ(plan.in_order(1, 3, none).bytes, 8 * (1000 + 100 + 10) + 7);
}

TEST(PlanBoundByHandTest, TheFrameworksMemoryIsHeldToo) {
  const HandPlanWithBytes plan("1f1b"), more("1f1b", "training: {memory_overhead: 1 MB}\n");
  EXPECT_EQ(more.in_closed_form(2, 2, first).bytes, plan.in_closed_form(2, 2, first).bytes + 1'000'000);
  EXPECT_EQ(more.in_order(2, 2, first).bytes, plan.in_order(2, 2, first).bytes + 1'000'000);
}

// A block's input is what the block before it leaves. If that one keeps its output, the input is there already.
TEST(PlanBoundByHandTest, AnInputIsKeptOnce) {
  HandPlanWithBytes plan("1f1b");
  plan.block().keeps_input = true;
  plan.block().input = 40;
  EXPECT_EQ(plan.in_closed_form(1, 1, none).bytes, layers * (1000 + 100 + 40));
  plan.block().keeps_output = true;
  EXPECT_EQ(plan.in_closed_form(1, 1, none).bytes, layers * (1000 + 100) + 40);
}

// After an input gradient, what gradients of weights read stays: 30 of the 100 kept, and 5 that it leaves. Of a
// schedule that runs all input gradients of 1 rank first, M x 35 a layer stay; here one of P = 2 ranks with M = 1:
// I holds 100 + 7 a backward, W reads 35.
TEST(PlanBoundByHandTest, WeightGradientsKeepWhatTheyRead) {
  HandPlanWithBytes plan("zb-h1");
  plan.block().kept_for_weights = 30;
  plan.block().between = 5;
  // 4 layers to a stage. The last layer runs its I first: 4 x 100 + 7; the first layer last: 100 + 7 + 3 x 35 < that.
  EXPECT_EQ(plan.in_order(2, 1, first).bytes, 4 * (1000 + 100) + 7);
  plan.block().between = 200;  // 100 + 7 + 3 x 230; then 4 x 230 = 920 until W
  EXPECT_EQ(plan.in_order(2, 1, first).bytes, 4 * (1000 + 230));
}

}  // namespace
}  // namespace lockstep::test
