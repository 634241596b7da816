// DeepSeek-V3's published training profile replayed: 4 MoE layers forwards beside 4 backwards, then a whole DualPipe
// step. tests/data/deepseek/segments.csv holds the trace in runs of kernels: start, end and sum of the kernels' own
// times.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <fstream>
#include <map>
#include <sstream>

#include "sim/studies/roofline/study.hpp"
#include "tests/source_dir.hpp"
#include "tests/validation/validated.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"

namespace lockstep {
namespace {

struct Segment {
  double start = 0, end = 0, busy = 0;  // ms
};
using Segments = std::map<std::pair<std::string, int>, Segment>;  // name, layer in order of time

double overlap(const Segment& a, const Segment& b) {
  return std::max(0.0, std::min(a.end, b.end) - std::max(a.start, b.start));
}

Segments of_trace() {
  std::ifstream file(std::filesystem::path(source_dir) / "tests/data/deepseek/segments.csv");
  Segments segments;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string name, layer, start, end, busy;
    for (auto* cell : {&name, &layer, &start, &end, &busy}) std::getline(cells, *cell, ',');
    segments[{name, std::stoi(layer)}] = {std::stod(start) / 1e3, std::stod(end) / 1e3, std::stod(busy) / 1e3};
  }
  return segments;
}

/// The trace's name of an operation of the scenario.
const std::map<std::pair<workloads::StepPass, std::string>, std::string>& trace_names() {
  static const std::map<std::pair<workloads::StepPass, std::string>, std::string> names = {
      {{workloads::StepPass::forward, "attention"}, "attention F"},
      {{workloads::StepPass::forward, "dispatch"}, "dispatch F"},
      {{workloads::StepPass::forward, "MLP"}, "MLP F"},
      {{workloads::StepPass::forward, "combine"}, "combine F"},
      {{workloads::StepPass::backward, "combine"}, "combine B"},
      {{workloads::StepPass::backward, "MLP inputs"}, "MLP I"},
      {{workloads::StepPass::backward, "MLP casts"}, "W casts 1"},
      {{workloads::StepPass::backward, "MLP weights"}, "W gemm 1"},
      {{workloads::StepPass::backward, "MLP weights beside"}, "W second 1"},
      {{workloads::StepPass::backward, "more MLP casts"}, "W casts 2"},
      {{workloads::StepPass::backward, "more MLP weights"}, "W gemm 2"},
      {{workloads::StepPass::backward, "more MLP weights beside"}, "W second 2"},
      {{workloads::StepPass::backward, "last MLP weights"}, "W rest"},
      {{workloads::StepPass::backward, "dispatch"}, "dispatch B"},
      {{workloads::StepPass::backward, "attention inputs"}, "attention I"},
      {{workloads::StepPass::backward, "attention weights"}, "attention W"}};
  return names;
}

Simulation replayed(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  return simulate(scenario, {engine::EngineKind::reference, true, {}}, silent);
}

/// Spans of one forward and one backward, by the trace's names; layers in order of time: a backward begins with the
/// last.
Segments spans(const Simulation& simulation, std::int32_t forward, std::int32_t backward) {
  Segments segments;
  for (std::int32_t id = 0; id < simulation.run.timeline.ops(); ++id) {
    const auto& op = simulation.preparation.step.op(simulation.program.ops[static_cast<std::size_t>(id)].vertex);
    const auto name = trace_names().find({op.pass, op->name});
    if (name == trace_names().end() || op.microbatch != (op.pass == workloads::StepPass::forward ? forward : backward))
      continue;
    const auto span = simulation.run.timeline.span(id, 0);
    const double start = span.start.value() * 1e3, end = span.end.value() * 1e3;
    segments[{name->second, op.pass == workloads::StepPass::forward ? op.block : 3 - op.block}] = {start, end,
                                                                                                   end - start};
  }
  return segments;
}

Segment hull(const Segments& segments) {
  Segment all{1e9, 0, 0};
  for (const auto& [key, one] : segments) all = {std::min(all.start, one.start), std::max(all.end, one.end), 0};
  return all;
}

class DeepSeekReplay : public testing::Test {
 protected:
  Segments trace = of_trace();
  scenario::Scenario scenario = test::shipped("deepseek-v3-pair.yaml");
  Simulation simulation = replayed(scenario);
  Segments pair = spans(simulation, 1, 0);

  static double sum(const Segments& segments, const std::vector<std::string>& names) {
    double total = 0;
    for (const auto& name : names) {
      for (int layer = 0; layer < 4; ++layer) total += segments.at({name, layer}).busy;
    }
    return total;
  }
};

// The scenario's times are the trace's: from the first kernel's start to the last one's end, but kernels only for what
// shares the SMs with stream 23, whose own time begins with theirs; casts run until, and begin when, what they wait for
// ends.
TEST_F(DeepSeekReplay, TheTimesAreTheTraces) {
  ASSERT_EQ(trace.size(), 17U * 4);
  for (const auto& [key, one] : pair) {
    const auto& measured = trace.at(key);
    double expected = measured.end - measured.start;
    const auto& of = [&](const char* name) -> const Segment& { return trace.at({name, key.second}); };
    if (key.first.starts_with("W gemm")) expected = measured.busy;
    if (key.first == "W second 1") expected = measured.end - of("W gemm 1").start;
    if (key.first == "W second 2") expected = measured.end - of("W gemm 2").start;
    if (key.first == "W casts 2") expected = of("W gemm 2").start - of("W second 1").end;
    if (key.first == "W rest") expected = measured.end - of("W second 2").end;
    EXPECT_NEAR(one.end - one.start, expected, 1e-6) << key.first << " of layer " << key.second;
  }
}

// 129.0 ms from the first kernel to the last. Known to be left out: 0.475 ms before the compute stream's first kernel
// and 0.339 ms in which stream 27 pauses before the last layer's dispatch, together 0.6 %.
TEST_F(DeepSeekReplay, ThePairTakesWhatTheTraceTook) {
  const auto measured = hull(trace), replay = hull(pair);
  EXPECT_NEAR(measured.end - measured.start, 129.012, 1e-9);
  EXPECT_NEAR(replay.end - replay.start, 129.0, 0.01 * 129.0);
  EXPECT_NEAR(replay.end - replay.start, 129.012 - 0.475 - 0.339, 0.2) << "no other time is missing";
}

// Kernels on the compute stream add up to 118.2 ms and on the communication stream to 114.5; the replay's operations
// also hold the gaps between launches, about 2 us for each of 927 + 40 kernels.
TEST_F(DeepSeekReplay, StreamsAreBusyAsLong) {
  const std::vector<std::string> whole = {"attention F", "MLP I", "MLP W", "MLP F", "attention I", "attention W"};
  EXPECT_NEAR(sum(trace, whole), 118.2, 0.05);
  const double computes = sum(pair, {"attention F", "MLP I", "W casts 1", "W gemm 1", "W casts 2", "W gemm 2", "W rest",
                                     "MLP F", "attention I", "attention W"});
  EXPECT_GT(computes, 118.2);
  EXPECT_LT(computes, 118.2 + 927 * 0.0025);
  const std::vector<std::string> network = {"combine B", "dispatch F", "dispatch B", "combine F"};
  EXPECT_NEAR(sum(trace, network), 114.5, 0.05);
  EXPECT_NEAR(sum(pair, network), 114.5, 0.01 * 114.5);
}

// attention F || combine B; MLP I || dispatch F; MLP F || dispatch B; attention I || combine F; attention W || the next
// layer's combine B. Each runs beside its partner as long as in the trace, within a millisecond.
TEST_F(DeepSeekReplay, ComputeRunsBesideTheSameCommunication) {
  const std::vector<std::pair<std::string, std::string>> partners = {
      {"attention F", "combine B"}, {"MLP I", "dispatch F"}, {"MLP F", "dispatch B"}, {"attention I", "combine F"}};
  for (int layer = 0; layer < 4; ++layer) {
    for (const auto& [compute, network] : partners) {
      const double measured = overlap(trace.at({compute, layer}), trace.at({network, layer}));
      EXPECT_GT(measured, 2.0) << compute << " || " << network;
      EXPECT_NEAR(overlap(pair.at({compute, layer}), pair.at({network, layer})), measured, 1.0)
          << compute << " || " << network << ", layer " << layer;
    }
    if (layer == 3) continue;
    EXPECT_GT(overlap(trace.at({"attention W", layer}), trace.at({"combine B", layer + 1})), 2.0);
    EXPECT_GT(overlap(pair.at({"attention W", layer}), pair.at({"combine B", layer + 1})), 2.0);
  }
}

// The communication stream is free to take what is ready first, and takes it as in the trace: layer by layer combine B,
// dispatch F, dispatch B, combine F. The whole order, compute stream included, is the trace's, and no start is off by
// more than 1.5 ms of 129 once the 0.475 ms before the first kernel are taken off.
TEST_F(DeepSeekReplay, EverythingStartsWhenItDid) {
  const double begin = hull(pair).start;
  double before = -1;
  for (int layer = 0; layer < 4; ++layer) {
    for (const auto* name : {"combine B", "dispatch F", "dispatch B", "combine F"}) {
      EXPECT_GT(pair.at({name, layer}).start, before) << name << ", layer " << layer;
      before = pair.at({name, layer}).start;
    }
  }
  for (const auto& [key, one] : pair) {
    if (key.first.starts_with("W ")) continue;  // parts of MLP W
    EXPECT_NEAR(one.start - begin, trace.at(key).start - 0.475, 1.5) << key.first << ", layer " << key.second;
  }
}

// In the trace the compute stream waits for stream 23 with nothing else to do in it, though the forward's MLP has its
// input: kernels run as they were launched. With each half in its own order the replay puts the MLP there.
TEST_F(DeepSeekReplay, WhateverIsReadyIsNotTheTracesOrder) {
  EXPECT_GE(pair.at({"MLP F", 0}).start, pair.at({"W rest", 0}).end);
  for (auto& kind : scenario.replay->kinds) kind.pair_turns.clear();
  const auto as_ready = spans(replayed(scenario), 1, 0);
  EXPECT_LT(as_ready.at({"MLP F", 0}).start, as_ready.at({"W rest", 0}).end);
}

// A step of 16 such stages and 32 microbatches against the schedule timed by itself, with the times of a lone forward
// (F), a lone backward (B), the part of it that only makes weight gradients (W, what attention W adds at its end) and a
// pair, as they come out of one stage; 58.7 MB over 50 GB/s and one hop of 5 us are 1.18 ms between stages. The two
// models differ in what crosses the cells' borders: less than 1 %.
TEST_F(DeepSeekReplay, ADualPipeStepTakesWhatItsScheduleSays) {
  Segments forward, backward;
  for (const auto& [key, one] : spans(simulation, 0, 1)) (key.first.ends_with("F") ? forward : backward)[key] = one;
  const auto f = hull(forward), b = hull(backward), both = hull(pair);
  const double input = backward.at({"attention I", 3}).end - b.start;
  const auto step = replayed(test::shipped("deepseek-v3-dualpipe.yaml"));
  workloads::PipelineTimes times;
  times.stages = {{f.end - f.start, input, b.end - b.start - input}};
  times.pair = both.end - both.start;
  times.latency = 58720256 / 50e9 * 1e3 + 0.005;
  const auto timing = time_order(step.preparation.pipeline.order, times);
  EXPECT_NEAR(step.metrics.step_time.value() * 1e3, timing.makespan, 0.01 * timing.makespan);
}

// Nobody knows the FLOPs of measured operations.
TEST_F(DeepSeekReplay, HasNoParametersAndNoRoofline) {
  EXPECT_EQ(simulation.metrics.parameters, 0);
  EXPECT_EQ(simulation.metrics.mfu(), 0);
  spdlog::logger silent("test");
  EXPECT_THROW((void)roofline::study_roofline(scenario, silent, [](std::string_view, double) {}), ConfigError);
}

}  // namespace
}  // namespace lockstep
