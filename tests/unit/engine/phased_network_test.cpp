// A collective on a network is phases one after the other: a latency, then flows that start together, of which the last
// ends the phase. With flow i of phase p taking t(p, i) on its links:
//   T = sum over p of ( latency(p) + max over i of t(p, i) )
#include "sim/engine/runtime/phased_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

/// Every flow has the network to itself and carries a byte a second.
class ByteASecond final : public engine::PhasedNetwork {
 public:
  explicit ByteASecond(const program::Program& program, std::vector<timeline::PhaseSpan>* phases = nullptr)
      : engine::PhasedNetwork(program, phases) {}

  void run(const TakeIn& take_in) override {
    take_in({});
    while (!dates_.empty() || !flows_.empty()) {
      now_s_ = std::min(dates_.empty() ? 1e300 : dates_.next_date_s(), flows_.empty() ? 1e300 : flows_.begin()->first);
      completed_.clear();
      while (!flows_.empty() && flows_.begin()->first <= now_s_) {
        const std::int32_t collective = flows_.begin()->second;
        flows_.erase(flows_.begin());
        flow_ended(collective);
      }
      take_due_dates();
      if (!completed_.empty()) take_in(completed_);
    }
  }
  [[nodiscard]] std::size_t flow_count() const { return flow_count_; }

  std::vector<std::pair<std::size_t, double>> started;  ///< number of the flow, bytes

 private:
  void start_flow(std::size_t flow, double bytes, std::int32_t collective) override {
    started.emplace_back(flow, bytes);
    flows_.emplace(now_s_ + bytes, collective);
  }
  std::multimap<double, std::int32_t> flows_;  // end, collective
};

constexpr engine::Work work{0, 0};

/// When the one collective of a program ends in its first group; -1 if it takes no time.
double end_of_first(const program::Program& program, std::vector<timeline::PhaseSpan>* phases = nullptr) {
  ByteASecond network(program, phases);
  double end = -1;
  network.run([&](std::span<const engine::Work> completed) {
    if (network.now() == Seconds(0) && completed.empty()) {
      EXPECT_EQ(network.start_collective(work, 0, 0), !program.ops[0].phases.empty());
      return;
    }
    EXPECT_THAT(completed, ElementsAre(work));
    end = network.now().value();
  });
  return end;
}

program::Program two_slots(std::vector<collectives::Phase> phases) {
  program::Program program = ranks(2);
  add_link(program, 1);
  add_link(program, 1);
  add_collective(program, add_communicator(program, 2, {{{0, 1}, {{0, {0}}, {1, {1}}}}}), std::move(phases));
  return program;
}

// (1 + max(2, 3)) + (0.5 + max(4, 0)) = 8.5; the flows of the first phase are under way from 1 to 4, those of the
// second from 4.5 to 8.5: latencies are no part of that.
TEST(PhasedNetwork, PhasesFollowOneAnother) {
  std::vector<timeline::PhaseSpan> spans;
  EXPECT_DOUBLE_EQ(end_of_first(two_slots({{Seconds(1), {2, 3}}, {Seconds(0.5), {4, 0}}}), &spans), 8.5);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].phase, 0);
  EXPECT_EQ(spans[0].flows, (timeline::Interval{Seconds(1), Seconds(4)}));
  EXPECT_EQ(spans[1].phase, 1);
  EXPECT_EQ(spans[1].flows, (timeline::Interval{Seconds(4.5), Seconds(8.5)}));
}

// A phase without bytes is its latency, wherever it stands, and has no span: 0.25 + (0 + 2) + 0.5.
TEST(PhasedNetwork, APhaseWithoutBytesIsItsLatency) {
  std::vector<timeline::PhaseSpan> spans;
  EXPECT_DOUBLE_EQ(
      end_of_first(two_slots({{Seconds(0.25), {0, 0}}, {Seconds(0), {0, 2}}, {Seconds(0.5), {0, 0}}}), &spans), 2.75);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].phase, 1);
}

TEST(PhasedNetwork, ACollectiveThatTakesNoTimeIsNotReported) {
  for (const auto& phases : {std::vector<collectives::Phase>{}, {{Seconds(0), {0, 0}}, {Seconds(0), {0, 0}}}}) {
    const program::Program program = two_slots(phases);
    ByteASecond network(program);
    int instants = 0;
    network.run([&](std::span<const engine::Work>) {
      ++instants;
      EXPECT_FALSE(network.start_collective(work, 0, 0));
    });
    EXPECT_EQ(instants, 1);
    EXPECT_EQ(network.flows(), 0);
  }
}

// A compute operation is a date. Things within 1e-12 s of one another are one instant.
TEST(PhasedNetwork, WhatEndsAtOneInstantIsTakenInTogether) {
  const program::Program program = two_slots({{Seconds(0.3), {0, 0}}});
  ByteASecond network(program);
  std::vector<std::size_t> completions;
  network.run([&](std::span<const engine::Work> completed) {
    if (network.now() > Seconds(0)) return completions.push_back(completed.size());
    network.start_compute({1, 0}, Seconds(0.1 + 0.2));  // one rounding after 0.3
    network.start_compute({2, 0}, Seconds(1));
    EXPECT_TRUE(network.start_collective(work, 0, 0));
  });
  EXPECT_THAT(completions, ElementsAre(2, 1));
}

// Flows are numbered group by group over the communicators that some operation uses; 0, 1 and 2 here are those of the
// second communicator, 3 that of the third. Flows without bytes are not started.
TEST(PhasedNetwork, FlowsOfUnusedCommunicatorsHaveNoNumbers) {
  program::Program program = ranks(2);
  add_link(program, 1);
  add_communicator(program, 1, {{{0, 1}, {{0, {0}}}}});
  const std::int32_t pairs = add_communicator(program, 2, {{{0}, {{0, {0}}, {1, {0}}}}, {{1}, {{1, {0}}}}});
  const std::int32_t both = add_communicator(program, 1, {{{0, 1}, {{0, {0}}}}});
  const std::int32_t last = add_collective(program, both, {{Seconds(0), {5}}});
  const std::int32_t first = add_collective(program, pairs, {{Seconds(0), {0, 7}}});
  std::size_t flows = 99;
  // The order is that of the operations: what `last` uses is numbered first.
  EXPECT_THAT(engine::first_flows(program, flows), ElementsAre(testing::IsEmpty(), ElementsAre(1, 3), ElementsAre(0)));
  EXPECT_EQ(flows, 4U);

  ByteASecond network(program);
  EXPECT_EQ(network.flow_count(), 4U);
  network.run([&](std::span<const engine::Work> completed) {
    if (!completed.empty()) return;
    EXPECT_TRUE(network.start_collective({0, 0}, first, 0));
    EXPECT_TRUE(network.start_collective({0, 1}, first, 1));
    EXPECT_TRUE(network.start_collective({1, 0}, last, 0));
  });
  EXPECT_EQ(network.started, (std::vector<std::pair<std::size_t, double>>{{2, 7}, {3, 7}, {0, 5}}));
  EXPECT_EQ(network.flows(), 3);
}

// The equation above, for collectives of two groups that are under way at once and again and again, so that places of
// ended ones are taken by later ones.
TEST(PhasedNetwork, TimesAreSumsOfPhasesWhateverElseIsUnderWay) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    program::Program program = ranks(2);
    add_link(program, 1);
    const std::int32_t alone = add_communicator(program, 2, {{{0}, {{0, {0}}, {1, {0}}}}, {{1}, {{1, {0}}, {0, {0}}}}});
    std::vector<double> takes;
    for (int op = 0; op < 5; ++op) {
      std::vector<collectives::Phase> phases(1 + random() % 3);
      takes.push_back(0);
      for (collectives::Phase& phase : phases) {
        phase = {Seconds(static_cast<double>(random() % 3)),
                 {static_cast<double>(random() % 3), static_cast<double>(random() % 4)}};
        takes.back() += phase.latency.value() + std::max(phase.slot_bytes[0], phase.slot_bytes[1]);
      }
      add_collective(program, alone, phases);
    }
    // In each group one collective after the other.
    std::vector<timeline::PhaseSpan> spans;
    ByteASecond network(program, &spans);
    std::vector<double> ends(2, 0), expected(2, 0);
    const auto start_next = [&](std::int32_t group, std::int32_t op) {
      for (; op < 5; ++op) {
        const bool takes_time = takes[static_cast<std::size_t>(op)] > 0;
        ASSERT_EQ(network.start_collective({op, group}, op, group), takes_time);
        if (takes_time) return;
      }
    };
    network.run([&](std::span<const engine::Work> completed) {
      if (completed.empty()) {
        start_next(0, 0);
        start_next(1, 2);
      }
      for (const engine::Work ended : completed) {
        ends[static_cast<std::size_t>(ended.index)] = network.now().value();
        start_next(ended.index, ended.turn + 1);
      }
    });
    for (std::size_t op = 0; op < 5; ++op) expected[0] += takes[op];
    for (std::size_t op = 2; op < 5; ++op) expected[1] += takes[op];
    EXPECT_EQ(ends, expected) << "round " << round;
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_LE(spans[i - 1].flows.end, spans[i].flows.end);
  }
}

}  // namespace
}  // namespace lockstep::test
