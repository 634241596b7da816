// The Perfetto form holds what the timeline and the Chrome form hold, and nothing that a viewer would stumble over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/metrics/link_loads.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/trace/perfetto_reader.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tests/unit/trace/trace_reader.hpp"

namespace lockstep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Perfetto : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Trace, Perfetto,
                         testing::Values("trace_fsdp.yaml", "trace_two_axes.yaml", "trace_transformer.yaml",
                                         "pipeline_alike.yaml"),
                         [](const auto& file) {
                           return std::string(file.param).substr(0, std::string(file.param).size() - 5);
                         });

// Process by process and lane by lane: the same names in the same order, and the same spans with the same words.
TEST_P(Perfetto, IsTheChromeTraceInAnotherForm) {
  const Simulated run(GetParam());
  const auto perfetto = read_perfetto(run.perfetto_trace());
  const auto chrome = read_trace(run.trace());
  EXPECT_THAT(perfetto.faults, IsEmpty());
  EXPECT_TRUE(perfetto.orders_processes);
  const auto processes = perfetto.processes();
  ASSERT_EQ(processes.size(), chrome.processes.size());
  std::size_t spans = 0;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    EXPECT_EQ(processes[i]->order, number);
    EXPECT_EQ(processes[i]->name, chrome.processes.at(number));
    EXPECT_TRUE(processes[i]->orders_children);
    std::vector<const PerfettoTrack*> lanes = perfetto.below(number);
    std::size_t lane = 0;
    for (const auto& [thread, name] : chrome.threads) {  // by number, which is their order
      if (thread.first != number) continue;
      ASSERT_LT(lane, lanes.size());
      const auto& track = *lanes[lane++];
      EXPECT_EQ(track.name, name);
      static const std::vector<ReadSpan> none;
      const auto& expected = chrome.lanes.contains(thread) ? chrome.lanes.at(thread) : none;
      ASSERT_EQ(track.spans.size(), expected.size());
      for (std::size_t at = 0; at < expected.size(); ++at) {
        const auto& span = track.spans[at];
        EXPECT_EQ(span.start_ns, expected[at].start_ns);
        EXPECT_EQ(span.end_ns, expected[at].end_ns);
        EXPECT_EQ(span.name, expected[at].begin.at("name"));
        std::string categories;
        for (const auto& category : span.categories) categories += (categories.empty() ? "" : ",") + category;
        EXPECT_EQ(categories, expected[at].begin.at("cat"));
        auto words = nlohmann::json::object();
        for (const auto& [key, value] : span.arguments)
          std::visit([&, name = key](const auto& it) { words[name] = it; }, value);
        auto args = expected[at].begin.at("args");
        for (const char* told : {"kind", "layer", "axes"}) args.erase(told);  // name and categories say it
        EXPECT_EQ(words, args);
        ++spans;
      }
    }
    EXPECT_EQ(lane, lanes.size());
  }
  EXPECT_GT(spans, 30U);
}

TEST_P(Perfetto, IsTheSameToTheByteWhenWrittenTwice) {
  const Simulated run(GetParam()), again(GetParam());
  EXPECT_EQ(bytes_of(run.perfetto_trace({16, true})), bytes_of(again.perfetto_trace({16, true})));
}

// Each arrow once from the span that ends to the one that waited for it, and the same ones as the Chrome form has.
TEST_P(Perfetto, FlowsArePairedAndAreTheDependencies) {
  const Simulated run(GetParam());
  const auto perfetto = read_perfetto(run.perfetto_trace({16, true}));
  const auto chrome = read_trace(run.trace({16, true}));
  EXPECT_THAT(perfetto.faults, IsEmpty());
  std::map<std::uint64_t, const PerfettoSpan*> from, to;
  for (const auto& [uuid, track] : perfetto.tracks) {
    for (const auto& span : track.spans) {
      for (const auto flow : span.leaving) EXPECT_TRUE(from.emplace(flow, &span).second);
      for (const auto flow : span.arriving) EXPECT_TRUE(to.emplace(flow, &span).second);
    }
  }
  EXPECT_GT(from.size(), 20U);
  ASSERT_EQ(from.size(), to.size());
  std::multiset<std::pair<int, int>> edges, expected;
  for (const auto& [flow, span] : from) {
    ASSERT_TRUE(to.contains(flow));
    EXPECT_LE(span->end_ns, to.at(flow)->start_ns);
    edges.emplace(span->op(), to.at(flow)->op());
  }
  for (const auto& [flow, ends] : chrome.departures)
    expected.emplace(ends.front().op, chrome.arrivals.at(flow).front().op);
  EXPECT_EQ(edges, expected);
}

// The total is the sum of its kinds at every instant, and peaks as the metrics say.
TEST_P(Perfetto, MemoryIsCounted) {
  const Simulated run(GetParam());
  const auto perfetto = read_perfetto(run.perfetto_trace());
  double peak = 0;
  for (std::size_t process = 1; process <= perfetto.processes().size(); ++process) {
    const auto counters = perfetto.below(static_cast<std::int64_t>(process), true);
    if (counters.empty()) continue;
    ASSERT_GE(counters.size(), 2U);  // the total, and the kinds that ever hold something
    EXPECT_EQ(counters.front()->name, "memory");
    const auto value_at = [](const PerfettoTrack& track, std::int64_t time) {
      double value = 0;
      for (const auto& [since, count] : track.counts) value = since <= time ? count : value;
      return value;
    };
    for (const auto& [time, total] : counters.front()->counts) {
      double sum = 0;
      for (std::size_t kind = 1; kind < counters.size(); ++kind) sum += value_at(*counters[kind], time);
      ASSERT_EQ(sum, total) << "at " << time;
      peak = std::max(peak, total);
    }
  }
  EXPECT_EQ(peak, static_cast<double>(run.simulation.metrics.memory.peak.value()));
}

// protoc knows our subset of the format; what it does not know it prints by number.
TEST_P(Perfetto, HoldsNoFieldThatTheFormatDoesNotHave) {
  if (std::string(LOCKSTEP_PROTOC).empty()) GTEST_SKIP() << "no protoc: apt-get install protobuf-compiler";
  const Simulated run(GetParam());
  const auto raw = scratch("raw.pftrace");
  std::ofstream(raw, std::ios::binary) << gunzip(run.perfetto_trace({16, true}));
  const auto folder = std::filesystem::path(source_dir) / "tests/data";
  const auto command = std::string(LOCKSTEP_PROTOC) + " -I'" + folder.string() +
                       "' --decode=lockstep_trace.Trace perfetto_subset.proto <'" + raw.string() + "'";
  auto* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 65536> piece;
  for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    text.append(piece.data(), got);
  EXPECT_EQ(::pclose(pipe), 0);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find_first_not_of(' ');
    ASSERT_FALSE(first != std::string::npos && std::isdigit(static_cast<unsigned char>(line[first]))) << line;
  }
  EXPECT_NE(text.find("event_names {"), std::string::npos);
}

// Two ranks share a link in some phases: the counter is in percent of the bandwidth.
TEST(PerfettoLinks, AreCountedIfPhasesWereRecorded) {
  Simulated run("trace_fsdp.yaml");
  EXPECT_THAT(read_perfetto(run.perfetto_trace()).processes(), SizeIs(1));
  const auto& program = run.simulation.program;
  std::int32_t op = 0;
  while (program.ops[static_cast<std::size_t>(op)].kind == program::ProgramOp::Kind::compute) ++op;
  const auto& lowered = program.ops[static_cast<std::size_t>(op)];
  std::int32_t phase = 0;
  const auto bytes_in = [&](std::int32_t of) {
    double most = 0;
    for (const double bytes : lowered.phases[static_cast<std::size_t>(of)].slot_bytes) most = std::max(most, bytes);
    return most;
  };
  while (bytes_in(phase) <= 0) ++phase;
  // Its flows take the first half of the step.
  const auto half = run.simulation.metrics.step_time / 2.0;
  run.simulation.run.phases.push_back({op, 0, phase, {Seconds(0), half}});
  const auto perfetto = read_perfetto(run.perfetto_trace());
  EXPECT_THAT(perfetto.faults, IsEmpty());
  ASSERT_THAT(perfetto.processes(), SizeIs(2));
  EXPECT_EQ(perfetto.processes()[1]->name, "links");
  const auto links = perfetto.below(2, true);
  ASSERT_FALSE(links.empty());
  const auto load = metrics::link_loads(program, run.simulation.run.phases, run.simulation.link_members,
                                        {Seconds(0), run.simulation.metrics.step_time})
                        .front();
  EXPECT_NEAR(links.front()->counts.front().second, 100 * load.bytes / half.value() / load.bandwidth.value(), 1e-9);
  EXPECT_EQ(links.front()->counts.back().second, 0);
  EXPECT_NEAR(static_cast<double>(links.front()->counts.back().first), half.value() * 1e9, half.value() * 1e9 / 400);
}

}  // namespace
}  // namespace lockstep
