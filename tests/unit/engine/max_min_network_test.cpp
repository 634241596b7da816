// Rates r are max-min fair if no link carries more than its capacity, sum over flows of (times it crosses l) r <= C(l),
// and every flow has a bottleneck: a full link on which nobody is faster. There is exactly one such set of rates.
#include "sim/engine/max_min/max_min_network.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <random>

#include "sim/engine/engine.hpp"
#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

engine::EngineResult run_max_min(const program::Program& program, bool phases = false) {
  spdlog::logger silent("test");
  return engine::run(program, {engine::EngineKind::max_min, {}, phases}, silent);
}

double end(const engine::EngineResult& result, std::int32_t op, std::int32_t rank) {
  return result.timeline.span(op, rank).end.value();
}

// Two flows of 1 and 2 bytes on one link of 1 B/s: half each until the first ends at 2 s, then the other's last byte.
TEST(MaxMinNetwork, WhatEndsLeavesItsShareToTheOthers) {
  program::Program program = ranks(2);
  add_link(program, 1);
  for (const std::int32_t rank : {0, 1})
    add_collective(program, add_lone_flow(program, rank, {0}), {{Seconds(0), {1.0 + rank}}});
  const engine::EngineResult result = run_max_min(program, true);
  EXPECT_DOUBLE_EQ(end(result, 0, 0), 2);
  EXPECT_DOUBLE_EQ(end(result, 1, 1), 3);
  ASSERT_EQ(result.phases.size(), 2U);
  EXPECT_EQ(result.phases[1].op, 1);
  EXPECT_EQ(result.phases[1].flows, (timeline::Interval{Seconds(0), Seconds(3)}));
  EXPECT_EQ(result.statistics.flows, 2);
}

// Links of 1 and 9 B/s: flow 0 on both, flow 1 on the second gets 9 - 1 = 8. When flow 0 ends at 1 s, flow 1 has 10 of
// 18 bytes left, now at 9 B/s.
TEST(MaxMinNetwork, TheBottleneckElsewhereLeavesTheRest) {
  program::Program program = ranks(2);
  add_link(program, 1);
  add_link(program, 9);
  add_collective(program, add_lone_flow(program, 0, {0, 1}), {{Seconds(0), {1}}});
  add_collective(program, add_lone_flow(program, 1, {1}), {{Seconds(0), {18}}});
  const engine::EngineResult result = run_max_min(program);
  EXPECT_DOUBLE_EQ(end(result, 0, 0), 1);
  EXPECT_DOUBLE_EQ(end(result, 1, 1), 1 + 10 / 9.0);
}

/// Levels of flows, the fastest first. All flows of a level share a link; so do, at random, slower ones, some of them
/// twice. Its capacity is what they carry, so that it is full and nobody on it is faster than its level.
struct Answered {
  program::Program program;
  std::vector<double> rates;
};
Answered made_from_its_answer(unsigned seed) {
  std::mt19937 random(seed);
  const int levels = 1 + static_cast<int>(random() % 4);
  Answered made;
  std::vector<int> level_of_flow;
  std::vector<double> rate_of_level(static_cast<std::size_t>(levels), 0);
  double rate = 1e9 * static_cast<double>(1 + random() % 100);
  for (int level = 0; level < levels; ++level) {
    rate_of_level[static_cast<std::size_t>(level)] = rate;
    for (std::size_t flow = 0; flow < 1 + random() % 3; ++flow) level_of_flow.push_back(level);
    rate /= 1 + static_cast<double>(random() % 4) / 3;  // the next level may be as fast
  }
  made.program = ranks(static_cast<std::int32_t>(level_of_flow.size()));
  std::vector<std::vector<std::int32_t>> routes(level_of_flow.size());
  for (int level = 0; level < levels; ++level) {
    double carried = 0;
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      if (level_of_flow[flow] < level) continue;
      const std::size_t times = level_of_flow[flow] == level ? 1 + (random() % 4 == 0 ? 1 : 0) : random() % 3;
      routes[flow].insert(routes[flow].end(), times, level);
      carried += static_cast<double>(times) * rate_of_level[static_cast<std::size_t>(level_of_flow[flow])];
    }
    add_link(made.program, carried);
  }
  for (std::size_t flow = 0; flow < routes.size(); ++flow) {
    made.rates.push_back(rate_of_level[static_cast<std::size_t>(level_of_flow[flow])]);
    std::shuffle(routes[flow].begin(), routes[flow].end(), random);
    add_collective(made.program, add_lone_flow(made.program, static_cast<std::int32_t>(flow), routes[flow]),
                   {{Seconds(0), {made.rates.back()}}});
  }
  return made;
}

// With as many bytes as its rate each flow takes one second, and nobody's share ever changes.
TEST(MaxMinNetwork, RatesAreTheOnlyOnesThatAreFair) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Answered made = made_from_its_answer(seed);
    const engine::EngineResult result = run_max_min(made.program);
    for (std::int32_t flow = 0; flow < made.program.ranks(); ++flow)
      ASSERT_NEAR(end(result, flow, flow), 1, 1e-9) << "seed " << seed << " flow " << flow;
  }
}

// The sharing of links that have nothing to do with one another is independent: beside a second program on links and
// ranks of its own, everything ends to the bit when it does alone.
TEST(MaxMinNetwork, WhatSharesNoLinkDoesNotInterfere) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const program::Program alone = made_from_its_answer(seed).program;
    program::Program beside = alone;
    const program::Program other = made_from_its_answer(seed + 1000).program;
    const auto first_link = static_cast<std::int32_t>(alone.links.size());
    beside.links.insert(beside.links.end(), other.links.begin(), other.links.end());
    for (std::int32_t rank = 0; rank < other.ranks(); ++rank) {
      const auto& theirs = other.communicators[static_cast<std::size_t>(rank)].groups[0].flows[0].links;
      std::vector<std::int32_t> links;
      for (const std::int32_t link : theirs) links.push_back(first_link + link);
      beside.stage_of_rank.push_back(0);
      beside.slowdown_of_rank.push_back(1);
      const double bytes = other.ops[static_cast<std::size_t>(rank)].phases[0].slot_bytes[0];
      add_collective(beside, add_lone_flow(beside, alone.ranks() + rank, links), {{Seconds(0.3), {bytes / 3}}});
    }
    const engine::EngineResult one = run_max_min(alone), both = run_max_min(beside);
    for (std::int32_t op = 0; op < alone.ranks(); ++op) EXPECT_EQ(end(one, op, op), end(both, op, op)) << seed;
  }
}

// No link carries more than its capacity over the whole run, and no flow goes faster than its slowest link:
//   sum over flows of times x bytes <= C x makespan.
TEST(MaxMinNetwork, NoLinkCarriesMoreThanItsCapacity) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const program::Program program = seed % 2 == 0 ? contended(seed) : entangled(seed);
    const engine::EngineResult result = run_max_min(program, true);
    std::vector<double> carried(program.links.size(), 0);
    for (const timeline::PhaseSpan& span : result.phases) {
      const program::ProgramOp& op = program.ops[static_cast<std::size_t>(span.op)];
      const auto& group =
          program.communicators[static_cast<std::size_t>(op.communicator)].groups[static_cast<std::size_t>(span.group)];
      const double lasts = (span.flows.end - span.flows.start).value();
      for (const collectives::Flow& flow : group.flows) {
        const double bytes =
            op.phases[static_cast<std::size_t>(span.phase)].slot_bytes[static_cast<std::size_t>(flow.slot)];
        for (const std::int32_t link : flow.links) {
          const double capacity_of = program.links[static_cast<std::size_t>(link)].value();
          EXPECT_LE(bytes, capacity_of * (lasts + 2e-12));
          carried[static_cast<std::size_t>(link)] += bytes;
        }
      }
    }
    const double makespan = result.timeline.makespan().value();
    for (std::size_t link = 0; link < carried.size(); ++link)
      EXPECT_LE(carried[link], program.links[link].value() * makespan * (1 + 1e-9)) << "seed " << seed;
  }
}

TEST(MaxMinNetwork, RunsAgainAndAgainInOneProcessToTheSameBits) {
  const program::Program program = entangled(1);
  const engine::EngineResult one = run_max_min(program), other = run_max_min(program);
  for (std::int32_t op = 0; op < one.timeline.ops(); ++op) {
    for (std::int32_t rank = 0; rank < one.timeline.ranks(); ++rank) {
      if (one.timeline.took_part(op, rank)) {
        EXPECT_EQ(one.timeline.span(op, rank), other.timeline.span(op, rank));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
