#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/unit/trace/simulated.hpp"
#include "tests/unit/trace/trace_reader.hpp"

namespace lockstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

using Placed = std::tuple<std::string, std::int64_t, std::int64_t, int>;  // stream, start, end, operation

std::multiset<Placed> of_timeline(const Simulation& simulation, std::int32_t rank) {
  std::multiset<Placed> all;
  for (std::int32_t op = 0; op < simulation.run.timeline.ops(); ++op) {
    if (!simulation.run.timeline.took_part(op, rank)) continue;
    const auto span = simulation.run.timeline.span(op, rank);
    for (const auto stream : simulation.program.ops[static_cast<std::size_t>(op)].streams) {
      all.insert({simulation.program.streams[static_cast<std::size_t>(stream)], std::llround(span.start.value() * 1e9),
                  std::llround(span.end.value() * 1e9), op});
    }
  }
  return all;
}

std::multiset<Placed> of_trace(const ReadTrace& trace, int process) {
  std::multiset<Placed> all;
  for (const auto& [thread, spans] : trace.lanes) {
    if (thread.first != process) continue;
    for (const auto& span : spans) all.insert({trace.threads.at(thread), span.start_ns, span.end_ns, span.op()});
  }
  return all;
}

class EveryScenario : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Trace, EveryScenario,
                         testing::Values("trace_fsdp.yaml", "trace_two_axes.yaml", "trace_transformer.yaml"),
                         [](const auto& file) {
                           return std::string(file.param).substr(6, std::string(file.param).size() - 11);
                         });

TEST_P(EveryScenario, ReplaysWithoutFaultsToTheSpansOfTheTimeline) {
  const Simulated run(GetParam());
  const auto trace = read_trace(run.trace());
  EXPECT_THAT(trace.faults, IsEmpty());
  EXPECT_GT(of_timeline(run.simulation, 0).size(), 30u);
  EXPECT_EQ(of_trace(trace, 1), of_timeline(run.simulation, 0));
}

TEST_P(EveryScenario, IsTheSameToTheByteWhenWrittenTwice) {
  const Simulated run(GetParam()), again(GetParam());
  const auto bytes = bytes_of(run.trace({16, true}));
  EXPECT_EQ(bytes, bytes_of(again.trace({16, true})));
  EXPECT_EQ(bytes.substr(4, 4), std::string(4, '\0'));  // RFC 1952: MTIME, 0 is "no time stamp"
}

TEST_P(EveryScenario, EveryLaneIsNamedInStreamOrder) {
  const Simulated run(GetParam());
  const auto trace = read_trace(run.trace());
  const auto& streams = run.simulation.program.streams;
  for (const auto& [thread, spans] : trace.lanes) EXPECT_TRUE(trace.threads.contains(thread));
  std::map<int, std::string> in_order;
  for (const auto& [thread, name] : trace.threads) in_order[trace.thread_order.at(thread)] = name;
  std::vector<std::string> names;
  for (const auto& [index, name] : in_order) names.push_back(name);
  EXPECT_EQ(names, streams);
}

TEST_P(EveryScenario, MemoryIsACounterWithThePeakOfTheMetrics) {
  const Simulated run(GetParam());
  const auto trace = read_trace(run.trace());
  const auto& memory = run.simulation.metrics.memory;
  std::int64_t peak = -1, peak_at = -1, last = -1;
  for (const auto& event : trace.counters) {
    EXPECT_EQ(event.at("pid"), 1);
    EXPECT_GT(time_ns(event), last);
    last = time_ns(event);
    std::int64_t total = 0;
    for (const auto& [kind, size] : event.at("args").items()) total += size.get<std::int64_t>();
    if (total > peak) peak = total, peak_at = last;
  }
  EXPECT_EQ(peak, memory.peak.value());
  EXPECT_EQ(peak_at, std::llround(memory.peak_at.value() * 1e9));
  EXPECT_EQ(trace.counters.front().at("ts"), 0);
  EXPECT_EQ(trace.counters.back().at("args").at("weights"), run.simulation.preparation.step.held[0].weights.value());
  EXPECT_EQ(trace.counters.back().at("args").at("activations"), 0);  // nothing is left when the step is over
}

TEST(ChromeTrace, AWeightGatherHidesBehindTheComputeOfTheLayerBefore) {
  // With prefetch 1 the gather of layer i + 1 waits for the end of layer i - 1, whose weights it replaces:
  // start(gather i + 1) = start(compute i), and it is exposed only where it outlasts that compute. Here
  //   compute = 4 x 2048 tokens x 8192 x 32768 FLOP / 459 TFLOP/s = 4.79 ms a layer
  //   gather  = 63/64 x 2 x 2 x 8192 x 32768 B / (3 rings x 180 GB/s) + 6 hops x 1 us = 1.96 ms
  const Simulated run("trace_fsdp.yaml");
  const auto trace = read_trace(run.trace());
  auto forward = [&](const std::string& thread, const std::string& prefix) {
    auto spans = trace.spans(thread);
    std::erase_if(spans, [&](const auto& span) {
      return span.begin.at("args").at("pass") != "forward" ||
             !span.begin.at("name").template get<std::string>().starts_with(prefix);
    });
    return spans;
  };
  for (int layer = 1; layer + 1 < 8; ++layer) {
    const auto gathers = forward("fsdp", "layer " + std::to_string(layer + 1) + " | AllGather_fsdp");
    const auto compute = forward("compute", "layer " + std::to_string(layer) + " | ");
    ASSERT_THAT(gathers, SizeIs(1));
    ASSERT_THAT(compute, SizeIs(2));
    EXPECT_EQ(gathers[0].start_ns, compute[0].start_ns);
    EXPECT_LT(gathers[0].end_ns, compute[1].end_ns);
    EXPECT_NEAR(static_cast<double>(compute[1].end_ns - compute[0].start_ns), 4.79e6, 0.01e6);
    EXPECT_NEAR(static_cast<double>(gathers[0].end_ns - gathers[0].start_ns), 1.96e6, 0.01e6);
  }
}

TEST(ChromeTrace, ACollectiveOverTwoAxesIsShownOnBothLanes) {
  const Simulated run("trace_two_axes.yaml");
  const auto trace = read_trace(run.trace());
  const auto fsdp = trace.spans("fsdp"), data = trace.spans("data");
  // Two microbatches: a gather per layer and pass, and the gradients of a layer; 3 layers.
  ASSERT_GE(fsdp.size(), 2u * (2 * 3));
  EXPECT_EQ(fsdp.size(), data.size());
  for (std::size_t i = 0; i < fsdp.size(); ++i) {
    EXPECT_EQ(std::tuple(fsdp[i].start_ns, fsdp[i].end_ns, fsdp[i].op()),
              std::tuple(data[i].start_ns, data[i].end_ns, data[i].op()));
    EXPECT_EQ(fsdp[i].begin.at("args").at("axes"), "fsdp+data");
    EXPECT_EQ(fsdp[i].begin.at("cat"), "comm,fsdp,data");
  }
  std::set<int> microbatches;
  for (const auto& span : fsdp) microbatches.insert(span.begin.at("args").at("microbatch").get<int>());
  EXPECT_THAT(microbatches, ElementsAre(0, 1));
}

TEST(ChromeTrace, ArgumentsSayWhatAnOperationIs) {
  const Simulated run("trace_transformer.yaml");
  const auto trace = read_trace(run.trace());
  const auto& step = run.simulation.preparation.step;
  std::set<std::string> tensor_colours, fsdp_colours, compute_colours;
  for (const auto& [thread, spans] : trace.lanes) {
    for (const auto& span : spans) {
      const auto& op = step.op(span.op());
      const auto& args = span.begin.at("args");
      const auto& layer = step.block_names[static_cast<std::size_t>(op.block)];
      EXPECT_EQ(span.begin.at("name"), layer + " | " + op->name);
      EXPECT_EQ(args.at("layer"), layer);
      EXPECT_EQ(args.at("pass"), name(op.pass));
      EXPECT_EQ(args.at("microbatch"), 0);
      EXPECT_EQ(args.at("detail"), op->detail);
      if (op->kind == workloads::StepOp::Kind::compute) {
        EXPECT_EQ(span.begin.at("cat"), "compute");
        EXPECT_EQ(args.at("kind"), "compute");
        EXPECT_EQ(args.at("flops"), op->flops.value());
        compute_colours.insert(span.begin.at("cname").get<std::string>());
      } else {
        ASSERT_THAT(op->axes, SizeIs(1));
        EXPECT_EQ(span.begin.at("cat"), "comm," + op->axes.front());
        EXPECT_EQ(args.at("kind"), name(op->collective));
        EXPECT_EQ(args.at("axes"), op->axes.front());
        EXPECT_EQ(args.at("full_size_bytes"), op->full_size.value());
        EXPECT_EQ(args.at("reason"), op->reason);
        const auto label = run.simulation.preparation.machine.mesh->dimensions(op->axes).front().label;
        EXPECT_THAT(args.at("algorithm").get<std::string>(), StartsWith(label));
        (op->axes.front() == "tensor" ? tensor_colours : fsdp_colours)
            .insert(span.begin.at("cname").get<std::string>());
      }
    }
  }
  EXPECT_THAT(tensor_colours, SizeIs(1));  // an axis is one colour, whatever the collective
  EXPECT_THAT(fsdp_colours, SizeIs(1));
  EXPECT_NE(tensor_colours, fsdp_colours);
  EXPECT_THAT(compute_colours, SizeIs(3));  // forward, backward, update
  EXPECT_FALSE(compute_colours.contains(*tensor_colours.begin()) || compute_colours.contains(*fsdp_colours.begin()));
}

TEST(ChromeTrace, WhatTakesNoTimeIsAnInstant) {
  const Simulated run("trace_transformer.yaml");
  const auto trace = read_trace(run.trace());
  std::vector<std::string> instants;
  for (const auto& span : trace.lanes.at({1, 1})) {
    if (span.start_ns == span.end_ns)
      instants.push_back(span.begin.at("ph").get<std::string>() + " " + span.begin.at("name").get<std::string>());
  }
  EXPECT_THAT(instants, Contains("i embedding | all gradients ready"));
}

TEST(ChromeTrace, NamesOfAnyKindComeBack) {
  Simulated run("trace_fsdp.yaml");
  const std::string odd = "a \"quoted\" \\ <script>alert(1)</script>\n\x01 \xC3\xA9\xE2\x86\x92";
  run.simulation.preparation.step.block_names[0] = odd;
  run.scenario.name = odd;
  const auto trace = read_trace(run.trace());
  EXPECT_EQ(trace.whole.at("otherData").at("scenario"), odd);
  std::set<std::string> names;
  for (const auto& span : trace.spans("compute")) names.insert(span.begin.at("name").get<std::string>());
  EXPECT_THAT(names, Contains(odd + " | in projection"));
}

TEST(ChromeTrace, RanksThatAreAlikeShareAProcess) {
  const Simulated folded("trace_fsdp.yaml"), whole("trace_fsdp.yaml", false);
  ASSERT_EQ(whole.simulation.program.ranks(), 64);
  for (const auto* run : {&folded, &whole}) {
    const auto trace = read_trace(run->trace());
    EXPECT_THAT(trace.processes, ElementsAre(std::pair(1, "rank 0 (x 64)")));
    EXPECT_THAT(trace.process_labels, ElementsAre(std::pair(1, "64 ranks alike")));
  }
}

TEST(ChromeTrace, RanksThatDifferAreShownEachTheCriticalOneFirst) {
  Simulated run("trace_two_axes.yaml", false);
  run.simulation.program.slowdown_of_rank[3] = 1.5;
  run.simulation.program.slowdown_of_rank[5] = 1.25;
  run.run_again();
  run.simulation.metrics.critical_rank = 5;
  const auto trace = read_trace(run.trace());
  EXPECT_THAT(trace.processes,
              ElementsAre(std::pair(1, "rank 5"), std::pair(2, "rank 0 (x 14)"), std::pair(3, "rank 3")));
  EXPECT_THAT(trace.process_order, ElementsAre(std::pair(1, 1), std::pair(2, 2), std::pair(3, 3)));
  EXPECT_THAT(trace.faults, IsEmpty());
  EXPECT_EQ(of_trace(trace, 1), of_timeline(run.simulation, 5));
  EXPECT_EQ(of_trace(trace, 2), of_timeline(run.simulation, 0));
  EXPECT_EQ(of_trace(trace, 3), of_timeline(run.simulation, 3));
  for (const auto& event : trace.counters) EXPECT_EQ(event.at("pid"), 1);

  const auto shorter = read_trace(run.trace({2, false}));
  EXPECT_THAT(shorter.processes, ElementsAre(std::pair(1, "rank 5"), std::pair(2, "rank 0 (x 14)")));
  EXPECT_EQ(shorter.whole.at("otherData").at("distinct_ranks"), 3);
  EXPECT_EQ(shorter.whole.at("otherData").at("shown_ranks"), 2);
}

}  // namespace
}  // namespace lockstep
