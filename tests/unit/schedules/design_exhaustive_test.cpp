// Designed orders of small pipelines against every order there is.
//
// A search of its own walks through time: it puts one work after the other, in the order of their starts, wherever a
// rank may run it, and looks whether any order ends before the designed one. It gives up a beginning only where what a
// rank has still to do, or the way back of its last gradient, is too long; states that are equally far and nowhere
// earlier are looked at once.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tests/unit/schedules/small_request.hpp"
#include "workloads/pipeline/design/design.hpp"
#include "workloads/pipeline/design/lower_bound.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

using workloads::StagePlacement;

constexpr double tiny = 1e-9;

/// Every order of a request, microbatches in turn on each stage (which loses nothing, since they are all alike).
class EveryOrder {
 public:
  EveryOrder(const workloads::ScheduleRequest& request, const workloads::PipelineShape& shape)
      : request_(request),
        shape_(shape),
        stages_(shape.virtual_stages()),
        free_(static_cast<std::size_t>(shape.ranks), 0.0) {
    for (auto& done : ends_) done.assign(static_cast<std::size_t>(stages_), {});
    for (std::int32_t stage = 0; stage < stages_; ++stage) ranks_.push_back(shape.rank_of(stage, 0));
    for (std::int32_t f = 0; f < stages_; ++f) {
      for (std::int32_t b = 0; b < stages_; ++b) {
        const double apart = time(forward, f) + time(input_gradient, b) + time(weight_gradient, b);
        const bool together = ranks_[static_cast<std::size_t>(f)] == ranks_[static_cast<std::size_t>(b)];
        if (!together || !request.times.pair || *request.times.pair >= apart) continue;
        pairs_.emplace_back(f, b);
        share_ = std::min(share_, *request.times.pair / apart);
      }
    }
  }

  /// Whether some order ends before `makespan`. Nothing if there are more than `most` states.
  std::optional<bool> any_before(double makespan, std::int64_t most) {
    makespan_ = makespan;
    left_ = most;
    const bool found = walk(0);
    if (!found && left_ < 0) return std::nullopt;
    return found;
  }

 private:
  enum Work { forward, input_gradient, weight_gradient };
  [[nodiscard]] std::size_t run(int work, std::int32_t stage) const {
    return ends_[static_cast<std::size_t>(work)][static_cast<std::size_t>(stage)].size();
  }
  [[nodiscard]] double time(int work, std::int32_t stage) const {
    const auto& times = request_.times.of(stage);
    return work == forward ? times.forward : work == input_gradient ? times.input_gradient : times.weight_gradient;
  }
  /// When the next work of its kind could start on its stage; negative: it has no input yet or none is left.
  [[nodiscard]] double start(int work, std::int32_t stage) const {
    const auto k = run(work, stage);
    if (k == static_cast<std::size_t>(shape_.microbatches)) return -1;
    double ready = free_[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(stage)])];
    if (work != forward && run(work - 1, stage) <= k) return -1;
    const auto from = work == forward ? stage - 1 : stage + 1;
    if (work == weight_gradient || from < 0 || from == stages_) return ready;
    if (run(work, from) <= k) return -1;
    const bool same = ranks_[static_cast<std::size_t>(from)] == ranks_[static_cast<std::size_t>(stage)];
    return std::max(ready, ends_[static_cast<std::size_t>(work)][static_cast<std::size_t>(from)][k] +
                               (same ? 0 : request_.times.latency));
  }
  /// Activations as a forward of 2 of which each gradient frees 1.
  [[nodiscard]] bool has_room(std::int32_t rank) const {
    double held = 2;
    for (std::int32_t stage = 0; stage < stages_; ++stage) {
      if (ranks_[static_cast<std::size_t>(stage)] != rank) continue;
      held += 2.0 * static_cast<double>(run(forward, stage)) - static_cast<double>(run(input_gradient, stage)) -
              static_cast<double>(run(weight_gradient, stage));
    }
    const auto& limits = request_.memory_limit;
    const double limit = limits.size() == 1 ? limits[0] : limits[static_cast<std::size_t>(rank)];
    return held <= 2 * limit * shape_.chunks + tiny;
  }

  [[nodiscard]] bool seen(double last) {
    std::vector<std::size_t> far;
    std::vector<double> state{last};
    for (std::int32_t stage = 0; stage < stages_; ++stage) {
      for (const int work : {forward, input_gradient, weight_gradient}) far.push_back(run(work, stage));
      for (auto k = stage + 1 < stages_ ? run(forward, stage + 1) : run(forward, stage); k < run(forward, stage); ++k)
        state.push_back(std::max(last, ends_[forward][static_cast<std::size_t>(stage)][k]));
      for (auto k = stage > 0 ? run(input_gradient, stage - 1) : run(input_gradient, stage);
           k < run(input_gradient, stage); ++k)
        state.push_back(std::max(last, ends_[input_gradient][static_cast<std::size_t>(stage)][k]));
    }
    for (const double free : free_) state.push_back(std::max(last, free));
    auto& known = states_[far];
    for (const auto& other : known) {
      bool nowhere_later = true;
      for (std::size_t i = 0; i < state.size() && nowhere_later; ++i)
        nowhere_later = other[i] <= state[i] + tiny * 1e-3;
      if (nowhere_later) return true;
    }
    known.push_back(std::move(state));
    return false;
  }

  bool walk(double last) {
    if (--left_ < 0) return false;
    bool done = true;
    std::vector<double> work_left(free_.size(), 0.0);
    for (std::int32_t stage = 0; stage < stages_; ++stage) {
      for (const int work : {forward, input_gradient, weight_gradient}) {
        const auto still = static_cast<std::size_t>(shape_.microbatches) - run(work, stage);
        done &= still == 0;
        work_left[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(stage)])] +=
            static_cast<double>(still) * time(work, stage);
      }
    }
    for (std::size_t rank = 0; rank < free_.size(); ++rank) {
      const double least = share_ * work_left[rank];
      if (std::max(free_[rank], least > 0 ? last : 0) + least >= makespan_ - 1e-6) return false;
    }
    if (done) return true;
    // One stage a rank: after its last input gradient come those of the stages before, and a weight gradient.
    double back = 0;
    for (std::int32_t stage = 0; stage < stages_ && shape_.chunks == 1 && pairs_.empty(); ++stage) {
      const auto left = [&](int work) {
        return static_cast<double>(static_cast<std::size_t>(shape_.microbatches) - run(work, stage)) *
               time(work, stage);
      };
      if (run(input_gradient, stage) < static_cast<std::size_t>(shape_.microbatches)) {
        const double from = std::max(last, free_[static_cast<std::size_t>(stage)]);
        if (from + left(forward) + left(input_gradient) + back + time(weight_gradient, 0) >= makespan_ - 1e-6)
          return false;
      }
      back += time(input_gradient, stage) + request_.times.latency;
    }
    if (seen(last)) return false;
    for (std::int32_t stage = 0; stage < stages_; ++stage) {
      for (const int work : {input_gradient, forward, weight_gradient}) {
        const double at = start(work, stage);
        if (work == forward && !has_room(ranks_[static_cast<std::size_t>(stage)])) continue;
        if (goes_on(at, last, time(work, stage), {{work, stage}})) return true;
      }
    }
    for (const auto& [f, b] : pairs_) {
      if (start(forward, f) < 0 || start(input_gradient, b) < 0 || !has_room(ranks_[static_cast<std::size_t>(f)]))
        continue;
      const double at = std::max(start(forward, f), start(input_gradient, b));
      if (goes_on(at, last, *request_.times.pair, {{forward, f}, {input_gradient, b}, {weight_gradient, b}}))
        return true;
    }
    return false;
  }

  /// Puts works that run together at an instant, and all that may come after them.
  bool goes_on(double at, double last, double takes, const std::vector<std::pair<int, std::int32_t>>& together) {
    if (at < 0 || at < last - tiny) return false;
    auto& free = free_[static_cast<std::size_t>(ranks_[static_cast<std::size_t>(together.front().second)])];
    const double before = std::exchange(free, at + takes);
    for (const auto& [work, stage] : together)
      ends_[static_cast<std::size_t>(work)][static_cast<std::size_t>(stage)].push_back(at + takes);
    const bool found = walk(at);
    for (const auto& [work, stage] : together)
      ends_[static_cast<std::size_t>(work)][static_cast<std::size_t>(stage)].pop_back();
    free = before;
    return found;
  }

  const workloads::ScheduleRequest& request_;
  workloads::PipelineShape shape_;
  std::int32_t stages_;
  std::vector<std::int32_t> ranks_;
  std::array<std::vector<std::vector<double>>, 3> ends_;  ///< by work and stage
  std::vector<double> free_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;  ///< stages of the forward and the backward
  double share_ = 1;                                          ///< of the time of their works, that the best pair takes
  std::map<std::vector<std::size_t>, std::vector<std::vector<double>>> states_;
  double makespan_ = 0;
  std::int64_t left_ = 0;
};

// Stages P up to 4 and microbatches M up to 6, ten draws each of times from 1 to 4 by halves, latency and limits by
// halves of a microbatch: no order ends before the designed one, and the design says so (gap 0).
TEST(DesignExhaustive, NoOrderOfASmallPipelineIsShorter) {
  std::mt19937 draw(26);
  const auto half = [&](int least, int most) {
    return 0.5 * (least + static_cast<int>(draw() % static_cast<unsigned>(most - least + 1)));
  };
  int cases = 0, whole = 0;
  for (std::int32_t ranks = 1; ranks <= 4; ++ranks) {
    for (std::int32_t microbatches = 1; microbatches <= 6; ++microbatches) {
      for (int round = 0; round < 10; ++round) {
        auto request = test::request_of("design", ranks, microbatches);
        request.times.stages.clear();
        for (std::int32_t stage = 0; stage < ranks; ++stage)
          request.times.stages.push_back({half(2, 8), half(2, 8), half(2, 8)});
        request.times.latency = half(0, 2);
        for (std::int32_t rank = 0; rank < ranks; ++rank) request.memory_limit.push_back(half(2, 2 * ranks + 2));
        SCOPED_TRACE(testing::Message() << "P " << ranks << " M " << microbatches << " round " << round);
        const auto design = workloads::design_pipeline(request);
        ++cases;
        EXPECT_TRUE(verify_order(design.order).empty());
        EXPECT_NEAR(time_order(design.order, request.times).makespan, design.makespan, 1e-9);
        const auto shorter = EveryOrder(request, design.order.shape).any_before(design.makespan, 400'000);
        if (!shorter) continue;
        ++whole;
        EXPECT_FALSE(*shorter) << design.makespan;
        EXPECT_LT(design.gap(), 1e-6) << design.lower_bound << " of " << design.makespan;
      }
    }
  }
  EXPECT_EQ(cases, 240);
  EXPECT_GE(whole, 200) << "cases that were gone through to their end";
}

// The same on a V and a loop of two chunks, which have twice as many works.
TEST(DesignExhaustive, NoOrderOfTwoChunksIsShorter) {
  std::mt19937 draw(2);
  const auto half = [&](int least, int most) {
    return 0.5 * (least + static_cast<int>(draw() % static_cast<unsigned>(most - least + 1)));
  };
  int whole = 0;
  for (const auto placement : {StagePlacement::v, StagePlacement::loop}) {
    for (std::int32_t ranks = 1; ranks <= 3; ++ranks) {
      for (std::int32_t microbatches = 1; microbatches <= 3; ++microbatches) {
        auto request = test::request_of("design", ranks, microbatches);
        request.chunks = 2;
        request.placements = {placement};
        request.times.stages.clear();
        for (std::int32_t stage = 0; stage < 2 * ranks; ++stage)
          request.times.stages.push_back({half(2, 6), half(2, 6), half(2, 6)});
        request.times.latency = half(0, 1);
        request.memory_limit = {half(2, 2 * ranks + 2)};
        SCOPED_TRACE(testing::Message() << name(placement) << " P " << ranks << " M " << microbatches);
        const auto design = workloads::design_pipeline(request);
        const auto shorter = EveryOrder(request, design.order.shape).any_before(design.makespan, 400'000);
        if (!shorter) continue;
        ++whole;
        EXPECT_FALSE(*shorter) << design.makespan;
      }
    }
  }
  EXPECT_GE(whole, 12);
}

// Pairs of a forward and a whole backward that take from their longest part on, so also less than the backward alone.
// No order ends before the bound, which counts overlap only where a rank has something to overlap.
TEST(DesignExhaustive, NoOrderWithPairsBeatsTheBound) {
  std::mt19937 draw(5);
  const auto half = [&](int least, int most) {
    return 0.5 * (least + static_cast<int>(draw() % static_cast<unsigned>(most - least + 1)));
  };
  int whole = 0, proven = 0;
  for (std::int32_t ranks = 1; ranks <= 3; ++ranks) {
    for (std::int32_t microbatches = 2; microbatches <= 4; ++microbatches) {
      for (int round = 0; round < 20; ++round) {
        auto request = test::request_of("design", ranks, microbatches);
        request.times.stages.clear();
        double longest = 0;
        for (std::int32_t stage = 0; stage < ranks; ++stage) {
          request.times.stages.push_back({half(2, 8), half(2, 8), half(1, 6)});
          const auto& times = request.times.stages.back();
          longest = std::max({longest, times.forward, times.input_gradient, times.weight_gradient});
        }
        request.times.latency = half(0, 1);
        request.times.pair = longest + half(0, 6);
        request.memory_limit = {half(2, 2 * ranks + 4)};
        SCOPED_TRACE(testing::Message() << "P " << ranks << " M " << microbatches << " round " << round);
        const auto design = workloads::design_pipeline(request);
        const auto problem = workloads::design_problem(request, StagePlacement::linear, 1);
        const double bound = workloads::LeastTimes(problem).bound().makespan;
        EXPECT_LE(bound, design.makespan * (1 + 1e-9));
        const auto shorter = EveryOrder(request, design.order.shape).any_before(bound, 400'000);
        if (!shorter) continue;
        ++whole;
        EXPECT_FALSE(*shorter) << bound;
        if (design.gap() < 1e-6) ++proven;
      }
    }
  }
  EXPECT_GE(whole, 150);
  EXPECT_GE(proven, whole / 2);
}

// The walk itself: one stage, one microbatch takes F + I + W = 6, so that nothing ends before 6 and something before 7;
// two stages and a latency of 1 end at F + 1 + F + I + 1 + I + W = 14.
TEST(DesignExhaustive, TheWalkFindsWhatThereIs) {
  auto request = test::request_of("design", 1, 1);
  request.times.stages = {{1, 2, 3}};
  request.memory_limit = {1};
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 1, 1, 1}).any_before(6, 1000), false);
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 1, 1, 1}).any_before(7, 1000), true);
  request.ranks = 2;
  request.times.latency = 1;
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 2, 1, 1}).any_before(11, 1000), false);
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 2, 1, 1}).any_before(11.1, 1000), true);
  // One stage, two microbatches, pairs of 4: F 1, the pair of F and B 4, B 5.
  request.ranks = 1;
  request.times.pair = 4;
  request.memory_limit = {2};
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 1, 1, 2}).any_before(10, 1000), false);
  EXPECT_EQ(EveryOrder(request, {StagePlacement::linear, 1, 1, 2}).any_before(10.1, 1000), true);
}

}  // namespace
}  // namespace lockstep
