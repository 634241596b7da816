// What goes between stages, by hand: queues of sends, links used both ways, weights that stand on two stages.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;
using test::SimulatedStep;

std::vector<OpId> between_stages(const StepGraph& step, CollectiveKind kind) {
  std::vector<OpId> found;
  for (OpId id = 0; id < step.size(); ++id) {
    const auto& op = step.op(id);
    if (op->kind == StepOp::Kind::collective && op->collective == kind && op.other_stage >= 0) found.push_back(id);
  }
  return found;
}

// Stage 0 has four layers, stages 1 and 2 have one; a layer's F takes t, its B 2 t; transfers take nothing.
//   own streams   0F0 0-4  0F1 4-8;  1F0 4-5  2F0 5-6  2B0 6-8  1B0 8-10;  0B0 10-18;  1F1 10-11  2F1 11-12  2B1 12-14
//                 1B1 14-16;  0B1 18-26
//   in order      stage 1 asked for 0F1's result, which comes at 8, before it had its own of 1F0 at 5: that leaves at 8,
//                 and all after it is 3 t later.
TEST(PipelineByHand, AnEarlyReceiveBlocksASharedQueue) {
  constexpr double t = 4.0 * (8 * 512) * 1024 * 4096 / 100e12;
  for (const auto& [sends, makespan] : {std::pair{"own_streams", 26 * t}, std::pair{"in_order", 29 * t}}) {
    const SimulatedStep step(Case{"pipeline_early_receive.yaml", {{"pipeline.sends", sends}}}.load());
    for (const auto* timeline : {&step.simgrid, &step.reference}) EXPECT_NEAR(timeline->makespan().value() / makespan, 1, 1e-4) << sends;
  }
}

// Two stages of one layer; X = B D 2 bytes / W = 8.39 MB / 3 GB/s is a transfer, about four times t.
//   0F0 0-t  send t-(t+X);  0F1 t-2t  send (t+X)-(t+2X);  1F0 and 1B0 (t+X)-(4t+X)  send (4t+X)-(4t+2X)
// From 4t+X to t+2X one goes up and the other down: both keep the link's rate.
TEST(PipelineByHand, LinksCarryBothDirectionsAtOnce) {
  constexpr double t = 4.0 * (8 * 512) * 1024 * 4096 / 100e12;
  constexpr double X = 8.0 * 512 * 1024 * 2 / 3e9;
  const SimulatedStep step(Case{"pipeline_alike.yaml",
                                {{"cluster.shape", "[2]"}, {"parallel.pipeline", "2"}, {"model.layers", "2"}, {"batch.sequences", "16"},
                                 {"batch.microbatches", "2"}, {"cluster.chip.torus.link", "3 GB/s"}}}
                               .load());
  const auto sends = between_stages(step.preparation.step, CollectiveKind::point_to_point);
  ASSERT_EQ(sends.size(), 4U);
  std::vector<Interval> up, down;
  for (const auto id : sends) (step.preparation.step.op(id).pass == StepPass::forward ? up : down).push_back(step.simgrid.span(id, 0));
  const auto expect = [](const Interval& span, double start, double end) {
    EXPECT_NEAR(span.start.value() / start, 1, 1e-4);
    EXPECT_NEAR(span.end.value() / end, 1, 1e-4);
  };
  expect(up[0], t, t + X);
  expect(up[1], t + X, t + 2 * X);
  expect(down[0], 4 * t + X, 4 * t + 2 * X);
  EXPECT_LT(down[0].start, up[1].end);
}

// Half the rate from stage 0 to stage 1 only: activations take 2 X, gradients X, the other way.
TEST(PipelineByHand, ADegradedLinkSlowsOneDirection) {
  constexpr double X = 8.0 * 512 * 1024 * 2 / 3e9;
  const auto scenario = Case{"pipeline_alike.yaml",
                             {{"cluster.shape", "[2]"}, {"parallel.pipeline", "2"}, {"model.layers", "2"}, {"cluster.chip.torus.link", "3 GB/s"},
                              {"perturbations", "[{link: [[0], [1]], bandwidth: 0.5}]"}}}
                            .load();
  const auto preparation = prepare(scenario);
  const auto timeline = test::timeline_of(lower_with_perturbations(scenario, preparation), EngineKind::simgrid);
  for (const auto id : between_stages(preparation.step, CollectiveKind::point_to_point)) {
    const auto span = timeline.span(id, 0);
    const double alone = preparation.step.op(id).pass == StepPass::forward ? 2 * X : X;
    EXPECT_NEAR((span.end - span.start).value() / alone, 1, 1e-4);
  }
}

constexpr const char* tied = "{layers: 8, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 2048, tied_embeddings: true}";

Case with_embeddings(const std::string& schedule, const std::vector<KeyOverride>& more = {}) {
  Case one{"pipeline_alike.yaml", {{"model", tied}, {"pipeline.schedule", schedule}}};
  one.overrides.insert(one.overrides.end(), more.begin(), more.end());
  return one;
}

// The embedding stands on the first stage and, as the head's, on the last: one exchange of its gradient, V D 2 bytes =
// 2048 x 512 x 2. With ZeRO-1 over two ranks each has its half of the reduced gradient: half of it.
TEST(PipelineByHand, TiedEmbeddingsAreExchangedOnce) {
  const std::vector<KeyOverride> sharded{{"cluster.shape", "[4, 2]"}, {"mesh", "{pipeline: [x], data: [y]}"}, {"parallel", "{pipeline: 4, data: 2, zero: 1}"}};
  for (const auto& [one, bytes] : {std::pair{with_embeddings("1f1b"), 2048 * 512 * 2}, std::pair{with_embeddings("1f1b", sharded), 2048 * 512}}) {
    const auto preparation = prepare(one.load());
    const auto exchanges = between_stages(preparation.step, CollectiveKind::all_reduce);
    ASSERT_EQ(exchanges.size(), 1U);
    const auto& op = preparation.step.op(exchanges.front());
    EXPECT_EQ(std::min(op.stage, op.other_stage), 0);
    EXPECT_EQ(std::max(op.stage, op.other_stage), 3);
    EXPECT_EQ(op->full_size.value(), bytes);
  }
}

// On a line of four stages with W = 1 GB/s the exchange is 2.1 MB each way over three hops of 1 ns: 2.1 ms, when the
// links are free. Without the barrier's norm nothing else is on its way at the end.
TEST(PipelineByHand, AnExchangeTakesOneTransferEachWay) {
  const SimulatedStep step(with_embeddings("gpipe", {{"cluster.chip.torus.link", "1 GB/s"}, {"cluster.chip.torus.wrap", "{exactly: 16}"}}).load());
  const auto exchanges = between_stages(step.preparation.step, CollectiveKind::all_reduce);
  ASSERT_EQ(exchanges.size(), 1U);
  const auto exchange = exchanges.front();
  for (const auto* timeline : {&step.simgrid, &step.reference}) {
    const auto span = timeline->span(exchange, 0);
    EXPECT_NEAR((span.end - span.start).value(), 3e-9 + 2048.0 * 512 * 2 / 1e9, 1e-12);
  }
}

// A V puts the first and the last part of the model on one rank, a pipeline from both ends puts both on both ends' ranks:
// there the embedding and the head add to one gradient.
TEST(PipelineByHand, AVNeedsNoExchange) {
  for (const char* schedule : {"zb-v", "v-half", "wave", "dualpipe-v"}) {
    EXPECT_TRUE(between_stages(prepare(with_embeddings(schedule).load()).step, CollectiveKind::all_reduce).empty()) << schedule;
  }
}

// DualPipe: stage r and its mirror P-1-r hold the same weights, and both see half of the microbatches. Every weight's
// gradient is exchanged once, so 2 bytes x parameters in all, half of them between ranks 0 and 3 on even models.
TEST(PipelineByHand, DualPipeExchangesEveryWeightOnce) {
  for (const bool with_head : {true, false}) {
    auto one = with_embeddings("dualpipe");
    if (!with_head) one.overrides.front().value = "{type: two-matmul, layers: 8, d_model: 1024, d_ff: 4096}";
    const auto preparation = prepare(one.load());
    std::int64_t all = 0, outer = 0;
    for (const auto id : between_stages(preparation.step, CollectiveKind::all_reduce)) {
      const auto& op = preparation.step.op(id);
      EXPECT_EQ(op.stage + op.other_stage, 3);
      all += op->full_size.value();
      if (std::min(op.stage, op.other_stage) == 0) outer += op->full_size.value();
    }
    EXPECT_EQ(all, 2 * preparation.step.parameters);
    if (!with_head) {
      EXPECT_EQ(2 * outer, all);
    }
  }
}

// Two tensor ranks hold the same X = B D 2 bytes: each sends half of it, and the stage that gets it gathers both.
TEST(PipelineByHand, RanksThatHoldTheSameSendAPartEach) {
  constexpr std::int64_t X = 8 * 512 * 1024 * 2;
  const Case alike{"pipeline_alike.yaml",
                   {{"cluster.shape", "[2, 2]"}, {"mesh", "{pipeline: [x], tensor: [y]}"}, {"parallel", "{pipeline: 2, tensor: 2, sequence_parallel: false}"},
                    {"model.layers", "2"}, {"batch.sequences", "16"}, {"batch.microbatches", "2"}, {"pipeline.scatter_gather", "true"}}};
  const SimulatedStep simulated(alike.load());
  const auto& step = simulated.preparation.step;
  const auto sends = between_stages(step, CollectiveKind::point_to_point);
  ASSERT_EQ(sends.size(), 4U);
  for (const auto id : sends) {
    const auto& send = step.op(id);
    EXPECT_EQ(send->full_size.value(), X / 2);
    const auto reader = std::find_if(step.buffers.begin(), step.buffers.end(), [&](const auto& buffer) { return buffer.producer == id; })->readers;
    ASSERT_EQ(reader.size(), 1U);
    const auto& gather = step.op(reader.front());
    EXPECT_EQ(gather->collective, CollectiveKind::all_gather);
    EXPECT_EQ(gather.stage, send.other_stage);
    EXPECT_EQ(gather->axes, AxisNames{"tensor"});
    EXPECT_EQ(gather->full_size.value(), X);
  }
}

}  // namespace
}  // namespace lockstep
