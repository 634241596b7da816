#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/program/lower.hpp"
#include "tests/unit/trace/simulated.hpp"
#include "tests/unit/trace/trace_reader.hpp"
#include "tools/trace/lanes.hpp"

namespace lockstep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Edges = std::multiset<std::pair<int, int>>;

/// Dependencies between operations that take time, as the program has them.
Edges of_program(const Simulation& simulation, std::int32_t rank) {
  auto visible = [&](std::int32_t op) {
    const auto span = simulation.run.timeline.span(op, rank);
    return trace::nanoseconds(span.start) < trace::nanoseconds(span.end);
  };
  Edges edges;
  for (std::size_t after = 0; after < simulation.program.ops.size(); ++after) {
    for (const auto before : program::all_predecessors(simulation.preparation.step, simulation.program.ops[after])) {
      if (visible(before) && visible(static_cast<std::int32_t>(after))) edges.insert({before, static_cast<int>(after)});
    }
  }
  return edges;
}

class Flows : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Trace, Flows,
                         testing::Values("trace_fsdp.yaml", "trace_two_axes.yaml", "trace_transformer.yaml"),
                         [](const auto& file) {
                           return std::string(file.param).substr(6, std::string(file.param).size() - 11);
                         });

TEST_P(Flows, ArrowsArePairedAndAreTheDependencies) {
  const Simulated run(GetParam());
  const auto trace = read_trace(run.trace({16, true}));
  EXPECT_THAT(trace.faults, IsEmpty());
  Edges edges;
  ASSERT_EQ(trace.departures.size(), trace.arrivals.size());
  for (const auto& [id, from] : trace.departures) {
    ASSERT_THAT(from, SizeIs(1));
    ASSERT_TRUE(trace.arrivals.contains(id));
    const auto& to = trace.arrivals.at(id);
    ASSERT_THAT(to, SizeIs(1));
    EXPECT_LE(from[0].time_ns, to[0].time_ns);
    const auto& timeline = run.simulation.run.timeline;  // from the end of the one to the start of the other
    EXPECT_EQ(from[0].time_ns, std::llround(timeline.span(from[0].op, 0).end.value() * 1e9));
    EXPECT_EQ(to[0].time_ns, std::llround(timeline.span(to[0].op, 0).start.value() * 1e9));
    EXPECT_EQ(from[0].thread.first, to[0].thread.first);
    edges.insert({from[0].op, to[0].op});
  }
  EXPECT_GT(edges.size(), 20u);
  EXPECT_EQ(edges, of_program(run.simulation, 0));
}

TEST(Flows, IdsOfSeveralProcessesAreDistinct) {
  Simulated run("trace_fsdp.yaml", false);
  run.simulation.program.slowdown_of_rank[1] = 2;
  run.run_again();
  const auto trace = read_trace(run.trace({16, true}));
  ASSERT_THAT(trace.processes, SizeIs(2));
  EXPECT_THAT(trace.faults, IsEmpty());
  EXPECT_EQ(trace.departures.size(), 2 * of_program(run.simulation, 0).size());
  for (const auto& [id, from] : trace.departures) EXPECT_THAT(from, SizeIs(1));
}

TEST(Flows, ThereAreNoneUnlessAskedFor) {
  const auto trace = read_trace(Simulated("trace_fsdp.yaml").trace());
  EXPECT_THAT(trace.departures, IsEmpty());
  EXPECT_THAT(trace.arrivals, IsEmpty());
}

}  // namespace
}  // namespace lockstep
