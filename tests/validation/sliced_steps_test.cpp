// Steps whose passes are slices of sequences. A causal sequence of T tokens has attention of T^2 / 2 whatever it is cut
// into: a slice of l tokens behind s others has l (s + l / 2) of it.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>

#include "sim/core/errors.hpp"
#include "sim/preparation/slices_private.hpp"
#include "sim/simulate.hpp"

namespace lockstep {
namespace {

struct Sliced {
  std::string schedule = "seq1f1b", lengths = "equal";
  std::int32_t slices = 4;
  std::int64_t tokens = 32768;
  std::int32_t microbatches = 4;
  std::string more = "";
};

scenario::Scenario scenario_of(const Sliced& of) {
  const auto slices =
      of.schedule.starts_with("s") ? ", slices: " + std::to_string(of.slices) + ", slice_lengths: " + of.lengths : "";
  return scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 16, d_model: 4096, heads: 32, kv_heads: 8, d_ff: 14336, vocabulary: 32000}\n"
      "cluster: h100:1\nparallel: {tensor: 2, pipeline: 4}\nmodel_of_time: ideal\nbatch: {sequences: " +
          std::to_string(of.microbatches) + ", sequence_length: " + std::to_string(of.tokens) + ", microbatches: " +
          std::to_string(of.microbatches) + "}\npipeline: {schedule: " + of.schedule + slices + "}\n" + of.more,
      "sliced", ".");
}

Simulation simulated(const scenario::Scenario& scenario, bool fold = true) {
  spdlog::logger silent("test");
  return simulate(scenario, {engine::EngineKind::reference, fold, {}}, silent);
}

std::int64_t peak(const Simulation& simulation) { return simulation.metrics.memory.peak.value(); }

double flops_of(const workloads::StepGraph& step) {
  double flops = 0;
  for (workloads::OpId id = 0; id < step.size(); ++id) {
    if (step.op(id).pass != workloads::StepPass::update) flops += step.op(id)->flops.value();
  }
  return flops;
}

// One slice is the whole microbatch.
TEST(SlicedSteps, OneSliceIs1F1B) {
  const auto whole = simulated(scenario_of({.schedule = "1f1b"})), sliced = simulated(scenario_of({.slices = 1}));
  EXPECT_EQ(sliced.metrics.step_time, whole.metrics.step_time);
  EXPECT_EQ(peak(sliced), peak(whole));
}

TEST(SlicedSteps, FlopsAreThoseOfTheWholeSequence) {
  const double whole = flops_of(preparation::prepare_step(scenario_of({.schedule = "1f1b"})).step);
  for (const std::int32_t slices : {2, 4, 8}) {
    for (const std::string lengths : {"equal", "equal_work"}) {
      const auto step = preparation::prepare_step(scenario_of({.lengths = lengths, .slices = slices})).step;
      EXPECT_NEAR(flops_of(step) / whole, 1, 1e-12) << slices << " " << lengths;
    }
  }
}

// The FLOPs of the first s tokens are s (a + b s / 2), of which every slice has a share of 1/n, to a token of rounding.
TEST(SlicedSteps, LengthsOfEqualWork) {
  for (const std::int32_t slices : {2, 3, 8}) {
    const auto scenario = scenario_of({.lengths = "equal_work", .slices = slices, .tokens = 131072});
    const auto lengths = preparation::lengths_of_slices(scenario, 2);
    ASSERT_EQ(std::ssize(lengths), slices);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), 131072);
    const auto work = [&](std::int64_t tokens) {
      return static_cast<double>(tokens) * forward_flops_per_token(scenario.model, tokens, true);
    };
    std::int64_t before = 0;
    for (const auto length : lengths) {
      EXPECT_NEAR((work(before + length) - work(before)) / work(131072) * slices, 1, 1e-3);
      EXPECT_EQ(length % 2, 0);
      before += length;
    }
    EXPECT_TRUE(std::is_sorted(lengths.rbegin(), lengths.rend()));
  }
}

// 1F1B idles (P-1)/(M+P-1) of the step, slices of equal times (P-1)/(Mn+P-1), and rank 0 holds (P+n-1)/n microbatches
// instead of min(P, M).
TEST(SlicedSteps, TakeLessTimeAndMemory) {
  for (const std::int64_t tokens : {32768, 131072}) {
    const auto whole = simulated(scenario_of({.schedule = "1f1b", .tokens = tokens}));
    for (const std::string lengths : {"equal", "equal_work"}) {
      double time = whole.metrics.step_time.value();
      auto memory = peak(whole);
      for (const std::int32_t slices : {2, 4, 8}) {
        const auto sliced = simulated(scenario_of({.lengths = lengths, .slices = slices, .tokens = tokens}));
        if (lengths == "equal_work") {
          EXPECT_LT(sliced.metrics.step_time.value(), time);
        }
        EXPECT_LT(sliced.metrics.step_time.value(), whole.metrics.step_time.value());
        EXPECT_LT(peak(sliced), memory);
        time = sliced.metrics.step_time.value();
        memory = peak(sliced);
      }
    }
  }
}

// SlimPipe: slices of one length of which each takes as long as the mean. The FLOPs are those of whole sequences, and
// each slice hands over its queries and |i + 1/2 - n/2| slices of keys and values: of 4 slices 3/2, 1/2, 1/2 and 3/2. A
// token has 16 heads of 128 on each of 2 tensor ranks and 4 of keys and of values, 2 bytes each.
TEST(SlicedSteps, SharedAttentionTakesAsLongForEverySlice) {
  const auto scenario = scenario_of({.schedule = "slimpipe", .slices = 4});
  const auto prepared = preparation::prepare_step(scenario);
  const double whole = flops_of(preparation::prepare_step(scenario_of({.schedule = "1f1b"})).step);
  EXPECT_NEAR(flops_of(prepared.step) / whole, 1, 1e-12);
  std::vector<double> attention;
  std::vector<std::int64_t> there, back;
  for (const auto& layer : prepared.model.layers) {
    if (!layer.is_layer) continue;
    for (const auto& step : layer.forward) {
      if (step.work == workloads::ComputeWork::attention) attention.push_back(step.flops.value());
      if (step.axes == workloads::AxisNames{"pipeline"})
        (step.name.ends_with("handed over") ? there : back).push_back(step.full_size.value());
    }
  }
  ASSERT_EQ(attention.size(), 4U);
  for (const double flops : attention) EXPECT_DOUBLE_EQ(flops, attention.front());
  const std::int64_t tokens = 32768 / 4, queries = tokens * 16 * 128 * 2, keys = 2 * tokens * 4 * 128 * 2;
  EXPECT_EQ(there, (std::vector<std::int64_t>{queries + keys * 3 / 2, queries + keys / 2, queries + keys / 2,
                                              queries + keys * 3 / 2}));
  EXPECT_EQ(back, (std::vector<std::int64_t>{queries, queries, queries, queries}));
}

// At 128k tokens attention is most of the work: with equal lengths seq1f1b waits for the last slice, slimpipe does not.
// Its transfers make it no shorter than equal work without them, and it holds no more than seq1f1b with equal lengths
// and what is handed over.
TEST(SlicedSteps, SharedAttentionEvensOutEqualLengths) {
  for (const std::int32_t slices : {4, 8}) {
    const auto shared = simulated(scenario_of({.schedule = "slimpipe", .slices = slices, .tokens = 131072}));
    const auto uneven = simulated(scenario_of({.slices = slices, .tokens = 131072}));
    EXPECT_LT(shared.metrics.step_time, uneven.metrics.step_time) << slices;
    EXPECT_LT(peak(shared), peak(simulated(scenario_of({.schedule = "1f1b", .tokens = 131072})))) << slices;
  }
}

// A long step of slices repeats by microbatches; what is simulated of it stands for the whole.
TEST(SlicedSteps, FoldedStepsAreTheWholeSteps) {
  for (const std::string schedule : {"seq1f1b", "seq1f1b-interleaved"}) {
    const auto scenario = scenario_of({.schedule = schedule, .slices = 4, .tokens = 8192, .microbatches = 48});
    const auto folded = simulated(scenario), whole = simulated(scenario, false);
    EXPECT_NEAR(folded.metrics.step_time / whole.metrics.step_time, 1, 1e-9) << schedule;
    EXPECT_EQ(peak(folded), peak(whole)) << schedule;
    EXPECT_GT(folded.run.timeline.repetition().copies, 0) << schedule;
  }
}

}  // namespace
}  // namespace lockstep
