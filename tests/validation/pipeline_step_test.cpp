// Schedules in the full step against what is known of them: stages all alike, transfers that vanish beside the compute,
// so that bubbles and activations in flight can be told by hand. t = 4 B D F / C is a layer's forward, and as long take
// the gradients of its input (I) and of its weights (W).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/validation/validated.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

constexpr double tokens = 8 * 512, d = 1024, f = 4096, rate = 100e12;  // of a microbatch
constexpr double layer = 4 * tokens * d * f / rate;
constexpr double negligible = 1e-4;  // of the step: hundreds of transfers of 10 to 20 ns in tens of ms

std::string text(int number) { return std::to_string(number); }

struct Size {
  std::string schedule;
  int ranks = 4, microbatches = 8;
  int layers = 8;
};

scenario::Scenario alike(const Size& size, const std::vector<scenario::KeyOverride>& more = {}) {
  std::vector<scenario::KeyOverride> overrides{{"pipeline.schedule", size.schedule},
                                               {"parallel.pipeline", text(size.ranks)},
                                               {"cluster.shape", "[" + text(size.ranks) + "]"},
                                               {"model.layers", text(size.layers)},
                                               {"batch.sequences", text(8 * size.microbatches)},
                                               {"batch.microbatches", text(size.microbatches)}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return test::validation("pipeline_alike.yaml", overrides);
}

/// Without contention: transfers do not meet here.
Simulation simulated(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  return simulate(scenario, {engine::EngineKind::reference, true, {}}, silent);
}

/// What time_order says of the step's own order when a stage of n layers takes n t for each of F, I and W.
double by_order(const Simulation& simulation) {
  const auto& pipeline = simulation.preparation.pipeline;
  workloads::PipelineTimes times{{}, 0, std::nullopt};
  for (std::int32_t stage = 0; stage < pipeline.order.shape.virtual_stages(); ++stage) {
    const double each = layer * pipeline.blocks_of(stage);
    times.stages.push_back({each, each, each});
  }
  return time_order(pipeline.order, times).makespan;
}

double busiest(const Simulation& simulation) {
  double most = 0;
  for (const auto& stage : simulation.metrics.stages) most = std::max(most, stage.breakdown.compute.value());
  return most;
}

// Orders with times (workloads/pipeline) and whole steps (engine) are two simulators; they must agree. Even stages, and
// every third with a layer more. Halves of an overlapped pair do not wait for each other in the step, as they do in an
// order with times, so there it may only be shorter, but not shorter than all compute of the busiest rank.
TEST(PipelineStep, TakesWhatItsOrderTakes) {
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (schedule.takes_slices) continue;  // these models have no sequence to cut
    for (const int ranks : {2, 4, 8}) {
      const int stages = ranks * schedule.usual_chunks;
      std::string uneven;
      for (int stage = 0; stage < stages; ++stage) uneven += (stage == 0 ? "[" : ", ") + text(stage % 3 == 0 ? 2 : 1);
      const Size even_size{std::string(schedule.name), ranks, 2 * ranks, 2 * stages};
      const Size uneven_size{std::string(schedule.name), ranks, 2 * ranks, stages + (stages + 2) / 3};
      for (const auto& scenario : {alike(even_size), alike(uneven_size, {{"pipeline.layers", uneven + "]"}})}) {
        SCOPED_TRACE(even_size.schedule + " on " + text(ranks));
        const auto simulation = simulated(scenario);
        const double ratio = simulation.metrics.step_time.value() / by_order(simulation);
        EXPECT_LE(ratio, 1 + negligible);
        if (!schedule.overlaps) {
          EXPECT_GE(ratio, 1);
        }
        EXPECT_GE(simulation.metrics.step_time.value(), busiest(simulation));
      }
    }
  }
}

double bubble_in_layers(const std::string& schedule) {
  const auto metrics = simulated(alike({schedule})).metrics;
  return metrics.bubble_fraction_step() * metrics.step_time.value() / layer;
}

// Bubbles in units of t, for stages of two layers, or chunks of one: F = I = W = 2 on a rank.
//   1F1B, GPipe (P-1)(F+B) = 3 x 6;   interleaved by two chunks (P-1)(F+B)/2 = 9;   ZB-H1 (P-1)(F+I-W) = 6;
//   ZB-V keeps (P-1)F of a chunk = 3;   DualPipe (P/2-1)(F&B + B - 3W) with F&B = F+B: 6 + 4 - 6 = 4, and less where
//   the halves of a pair need not wait for each other.
TEST(PipelineStep, HasTheBubblesOfTheLiterature) {
  for (const auto& [schedule, bubble] :
       {std::pair{"1f1b", 18.0}, {"gpipe", 18.0}, {"interleaved", 9.0}, {"zb-h1", 6.0}, {"zb-v", 3.0}}) {
    EXPECT_NEAR(bubble_in_layers(schedule), bubble, 1e-3) << schedule;
  }
  EXPECT_LE(bubble_in_layers("dualpipe"), 4 + 1e-3);
}

/// Most activations that each stage holds, in units of B D 2 bytes.
std::vector<double> peaks(const std::string& schedule, int ranks, int microbatches) {
  std::vector<double> result;
  for (const auto& stage : simulated(alike({schedule, ranks, microbatches, 2 * ranks})).metrics.stages) {
    result.push_back(static_cast<double>(stage.memory.activations.value()) / (tokens * d * 2));
  }
  return result;
}

// What a microbatch leaves on a stage of two layers until its backward, in the same units: two hidden layers of F = 4 D
// and what is between the layers are 9; all stages but the first keep what arrived, the last its output, where its
// backward begins.
constexpr double of_stage[] = {9, 10, 10, 11};

// 1F1B has P - r microbatches in flight on stage r, however many there are in the step, and less than one more for the
// pass that runs; GPipe has all M.
TEST(PipelineStep, HoldsTheActivationsOfItsMicrobatchesInFlight) {
  for (const int microbatches : {8, 16}) {
    const auto one_forward_one_backward = peaks("1f1b", 4, microbatches);
    const auto gpipe = peaks("gpipe", 4, microbatches);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(std::floor(one_forward_one_backward[stage] / of_stage[stage]), 4 - static_cast<double>(stage)) << stage;
      EXPECT_EQ(std::floor(gpipe[stage] / of_stage[stage]), microbatches) << stage;
    }
  }
  const auto few = peaks("gpipe", 4, 8);
  const auto many = peaks("gpipe", 4, 16);
  for (std::size_t stage = 0; stage < 4; ++stage) EXPECT_EQ(many[stage] - few[stage], 8 * of_stage[stage]) << stage;
  const auto falling = peaks("1f1b", 4, 8);
  EXPECT_EQ(falling[1] - falling[2], of_stage[1]);
  EXPECT_GT(falling[0], falling[1]);
  EXPECT_GT(falling[2], falling[3]);
}

/// Most that a rank's order leaves in memory at once, with chunks of one layer: F keeps the hidden layer and the input
/// (not on the first part; on the last also the output), and I, until W, as much for the gradients of what F made.
double held_by_order(const workloads::PipelineOrder& order, std::int32_t rank) {
  double held = 0, most = 0;
  for (const auto& cell : order.ranks[static_cast<std::size_t>(rank)]) {
    for_each_action(cell, [&](const workloads::PipelineAction& action) {
      const bool last = action.stage + 1 == order.shape.virtual_stages();
      const double kept = 4 + (action.stage > 0 ? 1 : 0) + (last ? 1 : 0);
      const double of_gradients = 4 + (last ? 0 : 1);
      switch (action.work) {
        case workloads::PipelineWork::forward: held += kept; break;
        case workloads::PipelineWork::backward: held -= kept; break;
        case workloads::PipelineWork::input_gradient: held += of_gradients; break;
        case workloads::PipelineWork::weight_gradient: held -= kept + of_gradients; break;
      }
      most = std::max(most, held);
    });
  }
  return most;
}

// What an action needs besides for itself is at most 2. Of many stages, V-Half holds less than three
// quarters of 1F1B and V-Min less than half (a half and a third would need gradients that wait for W to cost nothing).
TEST(PipelineStep, VShapesHoldLess) {
  std::map<std::string, double> worst;
  for (const char* schedule : {"v-half", "v-min", "zb-v", "1f1b"}) {
    const bool chunks = workloads::find_schedule(schedule)->usual_chunks == 2;
    const auto stages = peaks(schedule, 16, 48);
    worst[schedule] = *std::max_element(stages.begin(), stages.end());
    const auto order = simulated(alike({schedule, 16, 48, 32})).preparation.pipeline.order;
    for (std::int32_t rank = 0; rank < 16 && chunks; ++rank) {
      const double held = held_by_order(order, rank);
      EXPECT_GE(stages[static_cast<std::size_t>(rank)], held) << schedule << " rank " << rank;
      EXPECT_LT(stages[static_cast<std::size_t>(rank)], held + 3) << schedule << " rank " << rank;
    }
  }
  EXPECT_LT(worst["v-half"], 0.75 * worst["1f1b"]);
  EXPECT_LT(worst["v-min"], 0.5 * worst["1f1b"]);
}

// LLaMA-3 405B: 126 layers, the embedding and the head on 16 stages, or on 128. Compute and sends are all there is, so
// the step lies between its order without transfers and its order with every send's whole time between two cells; and
// the fullest rank's idle time is (P-1)(F+B)/V at the stages' mean, off by no more than the transfers and P
// microbatches of what that rank computes beyond the mean.
TEST(PipelineStep, ExplainsTheBubbleOfLlama405B) {
  for (const auto& [pipeline, chunks] : {std::pair{"{schedule: 1f1b}", 1}, {"{schedule: interleaved, chunks: 8}", 8}}) {
    for (const int microbatches : {16, 64}) {
      SCOPED_TRACE(std::string(pipeline) + " microbatches " + text(microbatches));
      const auto simulation =
          simulated(test::shipped("llama3-405b-pipeline-v5p.yaml", {{"cluster", "tpu-v5p:16"},
                                                                    {"mesh", "{pipeline: [x]}"},
                                                                    {"parallel", "{pipeline: 16}"},
                                                                    {"pipeline", pipeline},
                                                                    {"batch.sequences", text(microbatches)},
                                                                    {"batch.microbatches", text(microbatches)}}));
      const auto& placed = simulation.preparation.pipeline;
      auto times = placed.times;
      const double with_transfers = time_order(placed.order, times).makespan;
      times.latency = 0;
      const double without = time_order(placed.order, times).makespan;
      const double step = simulation.metrics.step_time.value();
      EXPECT_GE(step, without * (1 - 1e-9));
      EXPECT_LE(step, with_transfers * (1 + 1e-6));  // and the norm of the gradients
      double mean = 0;
      for (const auto& stage : simulation.metrics.stages) mean += stage.breakdown.compute.value() / 16;
      const double form = 15 * mean / microbatches / chunks;
      const double fullest = busiest(simulation);
      EXPECT_NEAR(step - fullest, form, with_transfers - without + (fullest - mean) * 16 / microbatches);
    }
  }
}

// 405B's layers on a slice with every axis, tensor 8 x pipeline 16, one layer per stage: one rank of each class stands
// for its like, span by span.
TEST(PipelineStep, FoldsLlama405BExactly) {
  const auto scenario = test::shipped(
      "llama3-405b-pipeline-v5p.yaml",
      {{"model", "{layers: 16, d_model: 16384, d_ff: 53248, heads: 128, kv_heads: 8, vocabulary: 128256}"},
       {"cluster", "tpu-v5p:4x2x16"},
       {"mesh", "{tensor: [x, y], pipeline: [z]}"},
       {"parallel", "{tensor: 8, pipeline: 16}"},
       {"batch", "{sequences: 16, sequence_length: 8192, microbatches: 16}"}});
  spdlog::logger silent("test");
  const auto folded = simulate(scenario, {engine::EngineKind::reference, true, {}}, silent);
  const auto whole = simulate(scenario, {engine::EngineKind::reference, false, {}}, silent);
  EXPECT_EQ(whole.program.ranks(), 128);
  EXPECT_EQ(folded.program.ranks(), 16);
  for (std::int32_t op = 0; op < whole.run.timeline.ops(); ++op) {
    for (std::int32_t rank = 0; rank < 128; ++rank) {
      const auto lane = folded.ranks.class_of_rank[static_cast<std::size_t>(rank)];
      ASSERT_EQ(whole.run.timeline.took_part(op, rank), folded.run.timeline.took_part(op, lane));
      if (!whole.run.timeline.took_part(op, rank)) continue;
      ASSERT_EQ(whole.run.timeline.span(op, rank), folded.run.timeline.span(op, lane))
          << "op " << op << " rank " << rank;
    }
  }
}

}  // namespace
}  // namespace lockstep
