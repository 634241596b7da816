// Designed orders: closed forms, published schedules, memory, bounds, pairs, refusals.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "tests/unit/schedules/small_request.hpp"
#include "workloads/pipeline/csv/pytorch_csv.hpp"
#include "workloads/pipeline/design/design.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

using workloads::Design;
using workloads::design_pipeline;
using workloads::PipelineWork;
using workloads::ScheduleRequest;
using workloads::StagePlacement;

/// Less than a user waits for, so that hundreds of cases take seconds.
constexpr workloads::DesignEffort little{400'000, 500};

/// Most activations of each rank, with those of a pair's forward before its backward lets go: forward 2, gradients 1
/// each.
std::vector<double> held_microbatches(const workloads::PipelineOrder& order) {
  std::vector<double> result;
  for (const auto& cells : order.ranks) {
    double held = 0, most = 0;
    for (const auto& cell : cells) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        held += action.work == PipelineWork::forward ? 2 : action.work == PipelineWork::backward ? -2 : -1;
        most = std::max(most, held);
      });
    }
    result.push_back(most / 2 / order.shape.chunks);
  }
  return result;
}

void expect_sound(const Design& design, const ScheduleRequest& request) {
  const auto problems = verify_order(design.order);
  EXPECT_TRUE(problems.empty()) << problems[0].what << "; " << problems[0].expected;
  EXPECT_NEAR(time_order(design.order, request.times).makespan, design.makespan, 1e-9 * design.makespan);
  EXPECT_LE(design.lower_bound, design.makespan * (1 + 1e-12));
  const auto held = held_microbatches(design.order);
  for (std::size_t rank = 0; rank < held.size(); ++rank) EXPECT_LE(held[rank], design.limits[rank] + 1e-6);
  for (const auto& published : design.published)
    EXPECT_LE(design.makespan, published.makespan * (1 + 1e-9)) << published.name;
}

// F = I = W = 1, M >= 2P. A line with a limit of P: ZB-H1 idles (P-1)(F+I-W) = P-1 beside 3M of work, and no order is
// shorter, since the last rank waits P-1 forwards for its first. On a V of two chunks, 6M + P-1 by the same argument.
TEST(Design, EqualTimesReachTheClosedForms) {
  for (const std::int32_t ranks : {1, 2, 3, 4, 6, 8}) {
    for (const std::int32_t microbatches : {2 * ranks, 2 * ranks + 3}) {
      SCOPED_TRACE(testing::Message() << "P " << ranks << " M " << microbatches);
      auto line = test::request_of("design", ranks, microbatches);
      line.memory_limit = {1.0 * ranks};
      const auto on_line = design_pipeline(line, little);
      expect_sound(on_line, line);
      EXPECT_NEAR(on_line.makespan, 3 * microbatches + ranks - 1, 1e-9);
      EXPECT_LT(on_line.gap(), 1e-9);
      auto on_v = line;
      on_v.chunks = 2;
      const auto v = design_pipeline(on_v, little);
      EXPECT_EQ(v.order.shape.placement, StagePlacement::v);
      EXPECT_NEAR(v.makespan, 6 * microbatches + ranks - 1, 1e-9);
      EXPECT_LT(v.gap(), 1e-9);
    }
  }
}

// The limits of V-Half, (P+2)/2, and of V-Min, ceil((P-1)/3) + 1: their closed forms are (3P-7) and (4P-5) or (4P-7)
// of bubble, and an order under the same memory takes no longer.
TEST(Design, NoLongerThanTheClosedFormsOfLessMemory) {
  for (const std::int32_t ranks : {4, 6, 8}) {
    const std::int32_t microbatches = 3 * ranks;
    auto request = test::request_of("design", ranks, microbatches);
    request.chunks = 2;
    request.memory_limit = {(ranks + 2) / 2.0};
    const auto half = design_pipeline(request, little);
    expect_sound(half, request);
    EXPECT_LE(half.makespan, 6 * microbatches + 3 * ranks - 7 + 1e-9) << ranks;
    request.memory_limit = {std::ceil((ranks - 1) / 3.0) + 1};
    const auto least = design_pipeline(request, little);
    expect_sound(least, request);
    EXPECT_LE(least.makespan, 6 * microbatches + 4 * ranks - (ranks % 3 == 0 ? 7 : 5) + 1e-9) << ranks;
  }
}

// Published for profiled times on 8 ranks, M = 24 (Qi et al.): with a limit of P, ZB-1p has a bubble rate of 0.1585,
// (cost - M(F+I+W)) / cost. The bound proves that nothing shorter exists; with 2P the design has none but the first
// forwards' way to the last rank.
TEST(Design, ProfiledTimes) {
  auto request = test::request_of("design", 8, 24);
  request.times.stages = {{18.522, 18.086, 9.337}};
  request.times.latency = 0.601;
  request.memory_limit = {8};
  const auto one = design_pipeline(request, little);
  const double work = 24 * (18.522 + 18.086 + 9.337);
  EXPECT_NEAR((one.makespan - work) / one.makespan, 0.1585, 0.5e-4);
  EXPECT_LT(one.gap(), 1e-9);
  request.memory_limit = {16};
  const auto two = design_pipeline(request);
  EXPECT_NEAR(two.makespan, work + 7 * (18.522 + 0.601), 1e-6);
}

// P = 4, M = 8, F = I = W = 1. 1F1B has whole backwards: (M + P - 1) 3 = 33, as `lockstep schedule 1f1b` says; ZB-H1
// and zb-auto have the same order here, 3M + P - 1 = 27, and both are named.
TEST(Design, PublishedSchedulesAreThoseOfTheirNames) {
  const auto design = design_pipeline(test::request_of("design", 4, 8), little);
  const auto makespan = [&](const std::string& name) {
    for (const auto& one : design.published) {
      if (one.name == name) return one.makespan;
    }
    return -1.0;
  };
  EXPECT_NEAR(makespan("1f1b"), 33, 1e-9);
  EXPECT_NEAR(makespan("zb-h1"), 27, 1e-9);
  EXPECT_NEAR(makespan("zb-auto"), 27, 1e-9);
}

// 500 requests drawn at random: sizes, uneven times, latency, limits per rank, placements. What fits of the published
// schedules, each made and timed by itself, is never shorter.
TEST(Design, NeverWorseThanThePublishedUnderTheSameMemory) {
  std::mt19937 draw(500);
  const auto below = [&](std::int32_t count) {
    return static_cast<std::int32_t>(draw() % static_cast<unsigned>(count));
  };
  const auto time = [&] { return 0.2 + 0.1 * below(20); };
  int compared = 0, shorter = 0;
  for (int round = 0; round < 500; ++round) {
    const auto ranks = 2 + below(5);
    auto request = test::request_of("design", ranks, 1 + below(2 * ranks));
    request.chunks = 1 + below(2);
    if (*request.chunks == 2 && below(2) == 0) request.placements = {StagePlacement::loop};
    if (*request.chunks == 1 && ranks % 2 == 0 && request.microbatches % 2 == 0 && below(3) == 0)
      request.placements = {StagePlacement::bidirectional};
    request.times.stages.clear();
    for (std::int32_t stage = 0; stage < ranks * *request.chunks; ++stage)
      request.times.stages.push_back({time(), time(), time()});
    request.times.latency = 0.1 * below(4);
    for (std::int32_t rank = 0; rank < ranks; ++rank) request.memory_limit.push_back(1 + 0.5 * below(2 * ranks + 3));
    SCOPED_TRACE(testing::Message() << "round " << round);
    const auto design = design_pipeline(request, little);
    expect_sound(design, request);
    for (const workloads::Schedule& schedule : workloads::schedules()) {
      if (schedule.designs || schedule.takes_slices || schedule.placement != design.order.shape.placement) continue;
      auto other = request;
      other.name = schedule.name;
      other.placements.clear();
      if (!schedule.chooses_by_time) other.memory_limit.clear();
      if (schedule.why_not(other)) continue;
      try {
        const auto order = make_order(other);
        const auto held = held_microbatches(order);
        bool fits = true;
        for (std::size_t rank = 0; rank < held.size(); ++rank) fits &= held[rank] <= design.limits[rank] + 1e-9;
        if (!fits) continue;
        const double makespan = time_order(order, request.times).makespan;
        EXPECT_LE(design.makespan, makespan * (1 + 1e-9)) << schedule.name;
        ++compared;
        shorter += design.makespan < makespan * (1 - 1e-9) ? 1 : 0;
      } catch (const workloads::ScheduleError&) {  // zb-v-auto needs more memory
      }
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(shorter, 400);
}

// A pair that takes 2 instead of F + I + W = 3 lets a rank do three works in two: the bound counts with it, and pairs
// are overlapped cells of the order. Pairs make the way there and back longer, so they need more memory than P.
TEST(Design, PairsThatSaveTimeAreUsed) {
  for (const auto placement : {StagePlacement::linear, StagePlacement::bidirectional}) {
    auto request = test::request_of("design", 4, 12);
    request.placements = {placement};
    request.times.pair = 2;
    request.memory_limit = {8};
    const auto design = design_pipeline(request);
    expect_sound(design, request);
    EXPECT_LT(design.makespan, 3 * 12);
    EXPECT_GE(design.lower_bound, 2 * 12);
    EXPECT_NE(design.order.to_string().find("OVERLAP_F_B"), std::string::npos);
    const auto read = import_pytorch_csv(export_pytorch_csv(design.order, {}), placement);
    EXPECT_TRUE(read.problems.empty());
    EXPECT_EQ(read.order.to_string(), design.order.to_string());
  }
}

// More memory never makes the design longer, and the bound stays below what less memory reached.
TEST(Design, MemoryBuysTime) {
  double before = 1e9;
  for (double limit = 1; limit <= 8; limit += 0.5) {
    auto request = test::request_of("design", 4, 10);
    request.times.stages = {{1, 1.2, 0.8}, {1.4, 1, 0.6}, {0.9, 1.3, 0.7}, {1.2, 1.6, 1}};
    request.times.latency = 0.1;
    request.memory_limit = {limit};
    const auto design = design_pipeline(request);
    expect_sound(design, request);
    EXPECT_LE(design.makespan, before * (1 + 0.01)) << limit;  // the search is not exact at this size
    EXPECT_LE(design.lower_bound, before * (1 + 1e-9)) << "an order with less memory is shorter than the bound";
    before = std::min(before, design.makespan);
  }
  // Chain of one microbatch and the last rank's work: 1 + 1.4 + 0.9 + 0.3 forwards to rank 3, which works 10 x 3.8.
  EXPECT_NEAR(before, 1 + 1.4 + 0.9 + 0.3 + 10 * 3.8, 1e-6);
}

// With one microbatch of memory everywhere, each passes alone: M times the way there and back and the weight gradient
// of whoever comes last. A rank that may hold two lets the bubble fall, which the counterfactual says.
TEST(Design, MoreMemoryIsCounted) {
  auto request = test::request_of("design", 2, 8);
  request.memory_limit = {1, 2};
  const auto design = design_pipeline(request);
  const auto more = with_more_memory(request, design);
  ASSERT_EQ(more.size(), 3U);
  for (const auto& one : more) EXPECT_LE(one.makespan, design.makespan * (1 + 1e-9));
  EXPECT_LT(more.front().makespan, design.makespan - 0.5);
  EXPECT_NE(more.front().rank, 1) << "rank 1 has what it needs";
}

// Rank 1 has twice the work of rank 0 and waits only for its first forward: T = F_0 + M (F + I + W)_1 = 1 + 8 x 6. With
// a tenth less of its work, 1 + 0.9 x 48. More memory does not make either term less, which the bound proves.
TEST(Design, LessWorkOfTheSlowestRankIsCounted) {
  auto request = test::request_of("design", 2, 8);
  request.times.stages = {{1, 1, 1}, {2, 2, 2}};
  const auto design = design_pipeline(request);
  EXPECT_NEAR(design.makespan, 49, 1e-9);
  const auto less = with_less_work(request, design);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->ranks, std::vector<workloads::StageId>{1});
  EXPECT_NEAR(less->makespan, 1 + 0.9 * 48, 1e-9);
  EXPECT_NEAR(less->lower_bound, less->makespan, 1e-9);
  for (const auto& more : with_more_memory(request, design)) EXPECT_NEAR(more.lower_bound, 49, 1e-9) << more.rank;
}

// Where all ranks have the same work, all are the slowest: without latencies every time is a tenth less, and so is T.
TEST(Design, LessWorkOfEqualRanksIsThatOfAll) {
  const auto request = test::request_of("design", 4, 8);
  const auto design = design_pipeline(request, little);
  const auto less = with_less_work(request, design);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->ranks.size(), 4U);
  EXPECT_NEAR(less->makespan, 0.9 * design.makespan, 1e-9);
}

// A pair of 2.9 saves time beside F + I + W = 3 and none beside nine tenths of that, so an order with pairs has no time
// then.
TEST(Design, LessWorkIsLeftOutWithPairs) {
  auto request = test::request_of("design", 2, 4);
  request.placements = {StagePlacement::bidirectional};
  request.times.pair = 2.9;
  const auto design = design_pipeline(request, little);
  EXPECT_FALSE(with_less_work(request, design));
}

// A search that was stopped before it began has no answer.
TEST(Design, LessWorkIsLeftOutWhenStopped) {
  const auto request = test::request_of("design", 2, 4);
  const auto design = design_pipeline(request, little);
  const std::function<bool()> stopped = [] { return true; };
  workloads::DesignEffort effort;
  effort.stopped = &stopped;
  EXPECT_FALSE(with_less_work(request, design, effort));
}

std::string refusal(const ScheduleRequest& request) {
  try {
    (void)design_pipeline(request);
  } catch (const workloads::ScheduleError& error) {
    return error.about() + ": " + error.what_is_wrong() + "; " + error.expected();
  }
  return "";
}

// Every microbatch stands once on every rank with all its chunks before its first gradient, so a rank that cannot hold
// one whole microbatch has no order.
TEST(Design, LimitsWithoutAnOrderNameTheRank) {
  auto request = test::request_of("design", 4, 8);
  request.memory_limit = {2, 2, 0.5, 2};
  EXPECT_EQ(
      refusal(request),
      "memory-limit: no order exists with 0.5 microbatches on rank 2, which holds a whole one when its gradient comes "
      "back; at least 1");
  request.memory_limit = {1};
  EXPECT_EQ(refusal(request), "");
  request.chunks = 2;
  EXPECT_EQ(refusal(request), "");
  request.memory_limit = {0.9};
  EXPECT_EQ(
      refusal(request),
      "memory-limit: no order exists with 0.9 microbatches on rank 0, which holds a whole one, on all its chunks, when "
      "its gradient comes back; at least 1");
}

TEST(Design, PlacementsNeedTheirChunks) {
  auto request = test::request_of("design", 4, 8);
  request.placements = {StagePlacement::v};
  EXPECT_EQ(refusal(request), "placement: design on placement v with 1 chunk per rank; 2 chunks per rank");
  request.placements = {StagePlacement::bidirectional};
  request.microbatches = 7;
  EXPECT_THAT(refusal(request), testing::HasSubstr("an even number of ranks and of microbatches"));
  auto other = test::request_of("zb-h1", 4, 8);
  other.placements = {StagePlacement::linear};
  EXPECT_THAT(refusal(other), testing::HasSubstr("has its own placement"));
}

// Steps are counted, not timed, and no order hangs on addresses.
TEST(Design, TheSameEveryTime) {
  auto request = test::request_of("design", 5, 11);
  request.times.stages = {{1, 1.2, 0.8}, {1.4, 1, 0.6}, {0.9, 1.3, 0.7}, {1.2, 1.6, 1}, {1, 1, 1}};
  request.memory_limit = {3};
  EXPECT_EQ(design_pipeline(request, little).order.to_string(), design_pipeline(request, little).order.to_string());
}

}  // namespace
}  // namespace lockstep
