// Passes as maps in the max-plus algebra: a path p maps (free, data) to
//   free' = max(free + ff, data + df),  data' = max(free + fd, data + dd).
// Times are whole numbers, so that sums are exact.
#include "sim/studies/planning/pass_bound.hpp"

#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

using Step = planning::PassSummary::Step;

bool same(const planning::PassPath& a, const planning::PassPath& b) {
  return a.free_free == b.free_free && a.free_data == b.free_data && a.data_free == b.data_free &&
         a.data_data == b.data_data;
}

planning::PassPath random_path(std::mt19937& random) {
  const auto entry = [&] { return random() % 5 == 0 ? planning::never : static_cast<double>(random() % 100); };
  return {entry(), entry(), entry(), entry()};
}

// A pass of random steps: each computes on the stream, computes beside it or is a collective, and waits for some of the
// steps before it, for the input or for weights.
planning::PassSummary random_pass(std::mt19937& random) {
  planning::PassSummary pass;
  const int count = 1 + static_cast<int>(random() % 8);
  for (int i = 0; i < count; ++i) {
    Step step;
    step.compute = static_cast<double>(random() % 20);
    if (random() % 3 == 0) {
      step.collective = static_cast<std::int32_t>(random() % 3);
    } else {
      step.beside = random() % 4 == 0;
    }
    step.weights = random() % 3 == 0;
    for (int before = -1; before < i; ++before) {
      if (random() % 3 == 0) step.after.push_back(before);
    }
    pass.steps.push_back(step);
  }
  for (int step = -1; step < count; ++step) {
    if (random() % 3 == 0) pass.output.push_back(step);
  }
  return pass;
}

struct Ends {
  planning::Front front;
  double room = planning::never;
};

// The same pass with the clock running, from one moment at which each source is there.
Ends run(const planning::PassSummary& pass, const std::vector<double>& costs, const planning::Front& front,
         double weights) {
  double stream = front.free;
  Ends result{{0, planning::never}, planning::never};
  std::vector<double> ends;
  const auto end_of = [&](std::int32_t step) { return step < 0 ? front.data : ends[static_cast<std::size_t>(step)]; };
  for (const auto& step : pass.steps) {
    const bool on_stream = step.collective < 0 && !step.beside;
    double start = on_stream ? stream : planning::never;
    for (const auto before : step.after) start = std::max(start, end_of(before));
    if (step.weights) start = std::max(start, weights);
    ends.push_back(start + (step.collective < 0 ? step.compute : costs[static_cast<std::size_t>(step.collective)]));
    if (on_stream) stream = ends.back();
    if (step.weights) result.room = std::max(result.room, ends.back());
  }
  for (const auto step : pass.output) result.front.data = std::max(result.front.data, end_of(step));
  result.front.free = stream;
  return result;
}

TEST(PassBoundTest, ThenIsOneAfterTheOther) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto first = random_path(random), second = random_path(random);
    const planning::Front front{static_cast<double>(random() % 50), static_cast<double>(random() % 50)};
    const auto together = first.then(second).after(front), in_turn = second.after(first.after(front));
    EXPECT_EQ(together.free, in_turn.free);
    EXPECT_EQ(together.data, in_turn.data);
  }
}

TEST(PassBoundTest, ThenIsAssociativeWithAUnit) {
  std::mt19937 random(2);
  const planning::PassPath unit;
  for (int i = 0; i < 2000; ++i) {
    const auto a = random_path(random), b = random_path(random), c = random_path(random);
    EXPECT_TRUE(same(a.then(b).then(c), a.then(b.then(c))));
    EXPECT_TRUE(same(unit.then(a), a));
    EXPECT_TRUE(same(a.then(unit), a));
  }
}

TEST(PassBoundTest, APathIsThePassFromAnyMoment) {
  std::mt19937 random(3);
  const std::vector<double> costs{7, 1, 30};
  for (int i = 0; i < 3000; ++i) {
    const auto pass = random_pass(random);
    const auto path = path_of(pass, costs);
    const planning::Front front{static_cast<double>(random() % 60), static_cast<double>(random() % 60)};
    const auto weights = static_cast<double>(random() % 60);
    const auto expected = run(pass, costs, front, weights);
    EXPECT_EQ(path.after(front, weights).free, expected.front.free);
    EXPECT_EQ(path.after(front, weights).data, expected.front.data);
    EXPECT_EQ(path.room_after(front, weights), expected.room);
  }
}

// input -> 0: collective -> 1: product -> 2: collective -> 3: product -> 4: collective -> output; 5: a collective that
// waits for nothing, 6: one whose result nobody reads, 7: one beside product 1 that goes to the output at once.
TEST(PassBoundTest, WhatIsCertainAboutWhenCollectivesRun) {
  using When = planning::PassSummary::When;
  planning::PassSummary pass;
  pass.steps = {{0, 0, false, false, {-1}}, {1, -1, false, false, {0}}, {0, 0, false, false, {1}},
                {1, -1, false, false, {2}}, {0, 0, false, false, {3}},  {0, 0, false, false, {}},
                {0, 0, false, false, {3}},  {0, 0, false, false, {-1}}};
  pass.output = {4, 7};
  tell_when(pass);
  EXPECT_TRUE(pass.computes);
  EXPECT_EQ(pass.steps[0].when, When::first);
  EXPECT_EQ(pass.steps[2].when, When::between);
  EXPECT_EQ(pass.steps[4].when, When::last);
  for (const std::size_t unknown : {5u, 6u, 7u}) EXPECT_EQ(pass.steps[unknown].when, When::unknown);
  // A product on a stream of its own is no product of the compute stream.
  planning::PassSummary beside;
  beside.steps = {{1, -1, true, false, {-1}}, {0, 0, false, false, {0}}};
  beside.output = {1};
  tell_when(beside);
  EXPECT_FALSE(beside.computes);
  EXPECT_EQ(beside.steps[1].when, When::unknown);
}

// Without gathered weights, which are there long before, a block's path is that of a pass.
TEST(PassBoundTest, WeightsThatAreThereDoNotCount) {
  std::mt19937 random(4);
  const std::vector<double> costs{7, 1, 30};
  for (int i = 0; i < 500; ++i) {
    const auto path = path_of(random_pass(random), costs);
    const planning::Front front{static_cast<double>(random() % 60), static_cast<double>(random() % 60)};
    EXPECT_EQ(path.after(front, planning::never).free, path.PassPath::after(front).free);
    EXPECT_EQ(path.after(front, planning::never).data, path.PassPath::after(front).data);
  }
}

// Product A (3 s) before the input comes; the input's collective (5 s); product B (2 s) on both. From the stream: A and
// B, 5. From the input: collective and B, 7; A takes no part in that path.
TEST(PassBoundTest, SourcesHaveTheirOwnLongestPaths) {
  const planning::PassSummary pass{
      {{3, -1, false, false, {}}, {0, 0, false, false, {-1}}, {2, -1, false, false, {0, 1}}}, {2}, 5, {}};
  const auto path = path_of(pass, std::vector<double>{5.0});
  EXPECT_TRUE(same(path, {5, 5, 7, 7}));
}

// A kernel beside the stream (9 s) leaves the stream free: 4 s of product, but the output waits for 9.
TEST(PassBoundTest, AKernelBesideDoesNotHoldTheStream) {
  const planning::PassSummary pass{{{9, -1, true, false, {-1}}, {4, -1, false, false, {-1}}}, {0, 1}, 4, {}};
  const auto path = path_of(pass, {});
  EXPECT_TRUE(same(path, {4, 4, 4, 9}));
}

// Product A (3 s) reads the weights, product B (2 s) does not: the weights may go after A, 3 s from when all are there;
// B ends 5 s from then.
TEST(PassBoundTest, RoomComesWhenTheLastReaderEnds) {
  const planning::PassSummary pass{{{3, -1, false, true, {-1}}, {2, -1, false, false, {0}}}, {1}, 5, {}};
  const auto path = path_of(pass, {});
  EXPECT_EQ(path.after({0, 0}, 10).free, 15);
  EXPECT_EQ(path.after({0, 0}, 10).data, 15);
  EXPECT_EQ(path.room_after({0, 0}, 10), 13);
  EXPECT_EQ(path.room_after({20, 0}, 10), 23);
  EXPECT_EQ(path.room_after({0, 30}, 10), 33);
}

TEST(PassBoundTest, WithoutReadersThereIsNoRoomToWaitFor) {
  const planning::PassSummary pass{{{3, -1, false, false, {-1}}}, {0}, 3, {}};
  EXPECT_EQ(path_of(pass, {}).room_after({1, 1}, 1), planning::never);
}

TEST(PassBoundTest, APassWithoutStepsHandsItsInputOn) {
  const planning::PassSummary pass{{}, {-1}, 0, {}};
  EXPECT_TRUE(same(path_of(pass, {}), planning::PassPath{}));
}

}  // namespace
}  // namespace lockstep
