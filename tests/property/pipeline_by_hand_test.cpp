// What goes between stages, by hand: queues of sends, links used both ways, weights that stand on two stages.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;
using test::SimulatedStep;

std::vector<workloads::OpId> between_stages(const workloads::StepGraph& step, workloads::CollectiveKind kind) {
  std::vector<workloads::OpId> found;
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    const auto& op = step.op(id);
    if (op->kind == workloads::StepOp::Kind::collective && op->collective == kind && op.other_stage >= 0)
      found.push_back(id);
  }
  return found;
}

// Stage 0 has six layers, stages 1 and 2 have one; a layer's F takes t, its B 2 t; transfers take nothing.
//   own streams   0F0 0-6  0F1 6-12;  1F0 6-7  2F0 7-8  2B0 8-10  1B0 10-12;  0B0 12-24;  1F1 12-13  2F1 13-14  2B1
//   14-16
//                 1B1 16-18;  0B1 24-36
//   in order      turn 0: 0F0, 1F0, 2F0; turn 1: 0F1, 2B0; so stage 1 has asked for 0F1's result, which comes at 12,
//   before
//                 2B0's gradient, there at 10: 1B0 12-14, and all after it is 2 t later.
TEST(PipelineByHand, AnEarlyReceiveBlocksASharedQueue) {
  constexpr double t = 4.0 * (8 * 512) * 1024 * 4096 / 100e12;
  for (const auto& [sends, makespan] : {std::pair{"own_streams", 36 * t}, std::pair{"in_order", 38 * t}}) {
    const SimulatedStep step(Case{"pipeline_early_receive.yaml", {{"pipeline.sends", sends}}}.load());
    for (const auto* timeline : {&step.simgrid, &step.reference})
      EXPECT_NEAR(timeline->makespan().value() / makespan, 1, 1e-4) << sends;
  }
}

// GPipe on three stages of one layer, M = 4 microbatches, over links so slow that a transfer X is 40 times F = t. Each
// rank's program has receive, F, send of a microbatch after the other, so stage 1 sends microbatch m before it receives
// m + 1: both take its queue, 2 X + t a microbatch. The last F ends at t + (M - 1) (2 X + t) + 2 (X + t); backwards
// alike with B = 2 t. In the order of estimated times stage 1 would receive all M before it sends one.
TEST(PipelineByHand, SlowLinksDoNotChangeTheOrderOfSends) {
  constexpr double t = 4.0 * (8 * 512) * 1024 * 4096 / 100e12;
  constexpr double X = 40 * t;
  constexpr int M = 4;
  constexpr double bytes = 8.0 * 512 * 1024 * 2;
  const SimulatedStep step(Case{"pipeline_alike.yaml",
                                {{"cluster.shape", "[3]"},
                                 {"parallel.pipeline", "3"},
                                 {"model.layers", "3"},
                                 {"batch.sequences", "32"},
                                 {"batch.microbatches", "4"},
                                 {"pipeline", "{schedule: gpipe, sends: in_order}"},
                                 {"cluster.chip.torus.link", std::to_string(bytes / X / 1e9) + " GB/s"}}}
                               .load());
  const auto pass = [&](double computing) { return 3 * computing + (M - 1) * (2 * X + computing) + 2 * X; };
  for (const auto* timeline : {&step.simgrid, &step.reference})
    EXPECT_NEAR(timeline->makespan().value() / (pass(t) + pass(2 * t)), 1, 1e-4);
}

// Two stages of one layer; X = B D 2 bytes / W = 8.39 MB / 3 GB/s is a transfer, about four times t.
//   0F0 0-t  send t-(t+X);  0F1 t-2t  send (t+X)-(t+2X);  1F0 and 1B0 (t+X)-(4t+X)  send (4t+X)-(4t+2X)
// From 4t+X to t+2X one goes up and the other down: both keep the link's rate.
TEST(PipelineByHand, LinksCarryBothDirectionsAtOnce) {
  constexpr double t = 4.0 * (8 * 512) * 1024 * 4096 / 100e12;
  constexpr double X = 8.0 * 512 * 1024 * 2 / 3e9;
  const SimulatedStep step(Case{
      "pipeline_alike.yaml",
      {{"cluster.shape", "[2]"},
       {"parallel.pipeline", "2"},
       {"model.layers", "2"},
       {"batch.sequences", "16"},
       {"batch.microbatches", "2"},
       {"cluster.chip.torus.link",
        "3 GB/s"}}}.load());
  const auto sends = between_stages(step.preparation.step, workloads::CollectiveKind::point_to_point);
  ASSERT_EQ(sends.size(), 4U);
  std::vector<timeline::Interval> up, down;
  for (const auto id : sends)
    (step.preparation.step.op(id).pass == workloads::StepPass::forward ? up : down).push_back(step.simgrid.span(id, 0));
  const auto expect = [](const timeline::Interval& span, double start, double end) {
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
                             {{"cluster.shape", "[2]"},
                              {"parallel.pipeline", "2"},
                              {"model.layers", "2"},
                              {"cluster.chip.torus.link", "3 GB/s"},
                              {"perturbations", "[{link: [[0], [1]], bandwidth: 0.5}]"}}}
                            .load();
  const auto preparation = preparation::prepare_step(scenario);
  const auto timeline = test::timeline_of(lower_with_perturbations(scenario, preparation), engine::EngineKind::simgrid);
  for (const auto id : between_stages(preparation.step, workloads::CollectiveKind::point_to_point)) {
    const auto span = timeline.span(id, 0);
    const double alone = preparation.step.op(id).pass == workloads::StepPass::forward ? 2 * X : X;
    EXPECT_NEAR((span.end - span.start).value() / alone, 1, 1e-4);
  }
}

constexpr const char* tied =
    "{layers: 8, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 2048, tied_embeddings: true}";

Case with_embeddings(const std::string& schedule, const std::vector<scenario::KeyOverride>& more = {}) {
  Case one{"pipeline_alike.yaml", {{"model", tied}, {"pipeline.schedule", schedule}}};
  one.overrides.insert(one.overrides.end(), more.begin(), more.end());
  return one;
}

// The embedding stands on the first stage and, as the head's, on the last: one exchange of its gradient, V D 2 bytes =
// 2048 x 512 x 2. With ZeRO-1 over two ranks each has its half of the reduced gradient: half of it.
TEST(PipelineByHand, TiedEmbeddingsAreExchangedOnce) {
  const std::vector<scenario::KeyOverride> sharded{{"cluster.shape", "[4, 2]"},
                                                   {"mesh", "{pipeline: [x], data: [y]}"},
                                                   {"parallel", "{pipeline: 4, data: 2, zero: 1}"}};
  for (const auto& [one, bytes] :
       {std::pair{with_embeddings("1f1b"), 2048 * 512 * 2}, std::pair{with_embeddings("1f1b", sharded), 2048 * 512}}) {
    const auto preparation = preparation::prepare_step(one.load());
    const auto exchanges = between_stages(preparation.step, workloads::CollectiveKind::all_reduce);
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
  const SimulatedStep step(
      with_embeddings("gpipe", {{"cluster.chip.torus.link", "1 GB/s"}, {"cluster.chip.torus.wrap", "{exactly: 16}"}})
          .load());
  const auto exchanges = between_stages(step.preparation.step, workloads::CollectiveKind::all_reduce);
  ASSERT_EQ(exchanges.size(), 1U);
  const auto exchange = exchanges.front();
  for (const auto* timeline : {&step.simgrid, &step.reference}) {
    const auto span = timeline->span(exchange, 0);
    EXPECT_NEAR((span.end - span.start).value(), 3e-9 + 2048.0 * 512 * 2 / 1e9, 1e-12);
  }
}

// A V puts the first and the last part of the model on one rank, a pipeline from both ends puts both on both ends'
// ranks: there the embedding and the head add to one gradient.
TEST(PipelineByHand, AVNeedsNoExchange) {
  for (const char* schedule : {"zb-v", "v-half", "wave", "dualpipe-v"}) {
    EXPECT_TRUE(between_stages(preparation::prepare_step(with_embeddings(schedule).load()).step,
                               workloads::CollectiveKind::all_reduce)
                    .empty())
        << schedule;
  }
}

// DualPipe: stage r and its mirror P-1-r hold the same weights, and both see half of the microbatches. Every weight's
// gradient is exchanged once, so 2 bytes x parameters in all, half of them between ranks 0 and 3 on even models.
TEST(PipelineByHand, DualPipeExchangesEveryWeightOnce) {
  for (const bool with_head : {true, false}) {
    auto one = with_embeddings("dualpipe");
    if (!with_head) one.overrides.front().value = "{type: two-matmul, layers: 8, d_model: 1024, d_ff: 4096}";
    const auto preparation = preparation::prepare_step(one.load());
    std::int64_t all = 0, outer = 0;
    for (const auto id : between_stages(preparation.step, workloads::CollectiveKind::all_reduce)) {
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
                   {{"cluster.shape", "[2, 2]"},
                    {"mesh", "{pipeline: [x], tensor: [y]}"},
                    {"parallel", "{pipeline: 2, tensor: 2, sequence_parallel: false}"},
                    {"model.layers", "2"},
                    {"batch.sequences", "16"},
                    {"batch.microbatches", "2"},
                    {"pipeline.scatter_gather", "true"}}};
  const SimulatedStep simulated(alike.load());
  const auto& step = simulated.preparation.step;
  const auto sends = between_stages(step, workloads::CollectiveKind::point_to_point);
  ASSERT_EQ(sends.size(), 4U);
  for (const auto id : sends) {
    const auto& send = step.op(id);
    EXPECT_EQ(send->full_size.value(), X / 2);
    const auto reader = std::find_if(step.buffers.begin(), step.buffers.end(), [&](const auto& buffer) {
                          return buffer.producer == id;
                        })->readers;
    ASSERT_EQ(reader.size(), 1U);
    const auto& gather = step.op(reader.front());
    EXPECT_EQ(gather->collective, workloads::CollectiveKind::all_gather);
    EXPECT_EQ(gather.stage, send.other_stage);
    EXPECT_EQ(gather->axes, workloads::AxisNames{"tensor"});
    EXPECT_EQ(gather->full_size.value(), X);
  }
}

}  // namespace
}  // namespace lockstep
