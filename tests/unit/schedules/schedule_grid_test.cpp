// What must hold of the linear and looped schedules for any stages P, microbatches M, chunks V and group size N,
// enumerated over a grid with odd sizes and fewer microbatches than stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "workloads/pipeline/schedules/schedules.hpp"
#include "workloads/pipeline/verify_order.hpp"

namespace lockstep {
namespace {

using enum workloads::PipelineWork;

constexpr const char* linear_and_looped[] = {"naive", "gpipe", "1f1b",  "interleaved",    "bfs",
                                             "zb-h1", "zb-h2", "zb-1p", "interleaved-zb", "overlap-1f1b"};

std::string text(const workloads::ScheduleRequest& request) {
  return request.name + " P" + std::to_string(request.ranks) + " M" + std::to_string(request.microbatches) + " V" +
         std::to_string(*request.chunks) + (request.group ? " N" + std::to_string(*request.group) : "");
}

bool takes_group(const workloads::ScheduleRequest& request) {
  return request.name == "interleaved" || request.name == "overlap-1f1b";
}

// Megatron takes P <= N <= M with M mod N = 0 or M mod N >= P; where no N is named PyTorch's interleaved schedules take
// M in max(1, floor(M / P)) equal rounds, and Megatron's overlap takes groups of P only. Overlap needs a second chunk,
// unless P = 1.
bool legal(const workloads::ScheduleRequest& request) {
  const auto p = request.ranks;
  const auto m = request.microbatches;
  if (request.name == "overlap-1f1b" && p > 1 && *request.chunks == 1) return false;
  const bool in_rounds =
      request.name == "zb-1p" || request.name == "interleaved-zb" || (request.name == "interleaved" && !request.group);
  if (in_rounds) return m % std::max(1, m / p) == 0;
  if (!takes_group(request)) return true;
  if (!request.group) return m % p == 0;
  const auto n = *request.group;
  return p <= n && n <= m && (m % n == 0 || m % n >= p);
}

template <class Visit>
void for_each_request(const std::string& name, Visit visit) {
  workloads::ScheduleRequest request;
  request.name = name;
  const auto most_chunks = workloads::find_schedule(name)->usual_chunks == 1 ? 1 : 4;
  for (request.ranks = 1; request.ranks <= 9; ++request.ranks) {
    for (request.microbatches = 1; request.microbatches <= 20; ++request.microbatches) {
      for (std::int32_t chunks = 1; chunks <= most_chunks; ++chunks) {
        request.chunks = chunks;
        request.group.reset();
        visit(request);
        if (!takes_group(request)) continue;
        for (std::int32_t group = 0; group <= request.microbatches + 1; group += 1 + chunks / 2) {
          request.group = group;
          visit(request);
        }
      }
    }
  }
}

// Every forward once, every backward once whole or once in two parts, all on the rank that holds the stage.
void expect_every_action_once(const workloads::PipelineOrder& order) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> done;
  for (std::int32_t rank = 0; rank < order.shape.ranks; ++rank) {
    for (const auto& cell : order.ranks[static_cast<std::size_t>(rank)]) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        EXPECT_EQ(order.shape.rank_of(action.stage, action.microbatch), rank);
        done[{action.stage, action.microbatch}] += name(action.work);
      });
    }
  }
  EXPECT_EQ(done.size(), static_cast<std::size_t>(order.shape.virtual_stages()) *
                             static_cast<std::size_t>(order.shape.microbatches));
  for (const auto& [where, works] : done) EXPECT_TRUE(works == "FB" || works == "FIW") << works;
}

/// Stages that differ, so that no bound holds by symmetry.
workloads::PipelineTimes uneven_times(const workloads::PipelineShape& shape) {
  workloads::PipelineTimes times{{}, 0.25, std::nullopt};
  for (std::int32_t stage = 0; stage < shape.virtual_stages(); ++stage) {
    times.stages.push_back({1.0 + stage % 3, 2.0 - 0.5 * (stage % 2), 0.5 + 0.25 * (stage % 4)});
  }
  return times;
}

class ScheduleGrid : public testing::TestWithParam<const char*> {};

// Makespan >= what any rank computes, and >= the way of one microbatch: forward through all S stages and back, the
// weight gradient of stage 0, and 2 (S - 1) hops if there is more than one rank.
TEST_P(ScheduleGrid, WholeStepsWithinTheirBounds) {
  int made = 0;
  for_each_request(GetParam(), [&](const workloads::ScheduleRequest& request) {
    if (!legal(request)) return;
    SCOPED_TRACE(text(request));
    ++made;
    const auto order = make_order(request);
    expect_every_action_once(order);
    const auto times = uneven_times(order.shape);
    const auto timing = time_order(order, times);
    const auto hops = request.ranks == 1 ? 0 : 2 * (order.shape.virtual_stages() - 1);
    double way = times.of(0).weight_gradient + times.latency * hops;
    for (const auto& stage : times.stages) way += stage.forward + stage.input_gradient;
    EXPECT_GE(timing.makespan, way - 1e-9);
    for (std::int32_t rank = 0; rank < request.ranks; ++rank) {
      double busy = 0;
      for (const auto stage : order.shape.virtual_stages_of(rank)) {
        const auto& of = times.of(stage);
        busy += request.microbatches * (of.forward + of.input_gradient + of.weight_gradient);
      }
      EXPECT_NEAR(timing.busy[static_cast<std::size_t>(rank)], busy, 1e-9 * busy);
      EXPECT_GE(timing.makespan, busy - 1e-9 * busy);
    }
  });
  EXPECT_GT(made, 100);
}

// The error is about the number to change: the chunks if one more is needed, else the group size if one is named.
TEST_P(ScheduleGrid, RefusesWhatThePublishedCodeRefuses) {
  for_each_request(GetParam(), [&](const workloads::ScheduleRequest& request) {
    if (legal(request)) return;
    SCOPED_TRACE(text(request));
    try {
      (void)make_order(request);
      ADD_FAILURE() << "taken";
    } catch (const workloads::ScheduleError& error) {
      const bool lacks_chunks = request.name == "overlap-1f1b" && request.ranks > 1 && *request.chunks == 1;
      EXPECT_EQ(error.about(), lacks_chunks ? "chunks" : request.group ? "group" : "microbatches");
    }
  });
}

// P = 64, M = 1024, V = 4: 2 P V M actions, or half as many again where backwards are split.
TEST_P(ScheduleGrid, LargeStepIsComplete) {
  workloads::ScheduleRequest request;
  request.name = GetParam();
  request.ranks = 64;
  request.microbatches = 1024;
  const auto& schedule = *workloads::find_schedule(request.name);
  if (schedule.usual_chunks > 1) request.chunks = 4;
  const auto order = make_order(request);
  std::int64_t forwards = 0, backwards = 0, input_gradients = 0, weight_gradients = 0;
  for (const auto& cells : order.ranks) {
    for (const auto& cell : cells) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        forwards += action.work == forward;
        backwards += action.work == backward;
        input_gradients += action.work == input_gradient;
        weight_gradients += action.work == weight_gradient;
      });
    }
  }
  const auto each = std::int64_t{64} * request.chunks.value_or(1) * 1024;
  EXPECT_EQ(forwards, each);
  EXPECT_EQ(backwards + input_gradients, each);
  EXPECT_EQ(backwards + weight_gradients, each);
  EXPECT_EQ(input_gradients > 0, schedule.splits_backward);
  EXPECT_EQ(static_cast<std::int64_t>(time_order(order, {}).by_start.size()), order.cells());
}

INSTANTIATE_TEST_SUITE_P(LinearAndLooped, ScheduleGrid, testing::ValuesIn(linear_and_looped), [](const auto& schedule) {
  std::string name = schedule.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// With F = 1, B = 2 per chunk and no latency every rank computes 3 M V. It idles (P - 1) M V x 3 if microbatches go
// one at a time (V = 1), and 3 (P - 1) if the pipe is filled and drained once: GPipe and 1F1B for any M, interleaved
// for equal rounds of at least P.
TEST(ScheduleBubbles, FillAndDrainOnce) {
  for (const std::string name : {"naive", "gpipe", "1f1b", "interleaved"}) {
    for_each_request(name, [&](const workloads::ScheduleRequest& request) {
      if (!legal(request) || request.group || (name == "interleaved" && request.microbatches < request.ranks)) return;
      SCOPED_TRACE(text(request));
      const auto timing = time_order(make_order(request), {});
      const auto at_a_time = name == "naive" ? request.microbatches : 1;
      const auto idle = 3.0 * (request.ranks - 1) * at_a_time;
      EXPECT_DOUBLE_EQ(timing.makespan, 3.0 * request.microbatches * *request.chunks + idle);
    });
  }
}

// Whoever asks a schedule for why_not knows what make_order does: of every schedule, in sizes and options legal or not,
// one says nothing just where the other makes a sound order, and the same otherwise.
TEST(EverySchedule, SaysBeforehandWhatCannotBeMade) {
  int made = 0, refused = 0;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    for (const std::int32_t ranks : {0, 1, 2, 3, 4, 5, 257}) {
      for (const std::int32_t microbatches : {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 12}) {
        for (std::int32_t chunks = 0; chunks <= 4; ++chunks) {
          for (const auto group : {std::optional<std::int32_t>(), std::optional<std::int32_t>(4)}) {
            workloads::ScheduleRequest request;
            request.name = schedule.name;
            request.ranks = ranks;
            request.microbatches = microbatches;
            request.chunks = chunks;
            request.group = group;
            SCOPED_TRACE(text(request));
            const auto why = schedule.why_not(ranks, microbatches, chunks, group);
            try {
              EXPECT_EQ(verify_order(make_order(request)).size(), 0U);
              EXPECT_FALSE(why) << why->what;
              ++made;
            } catch (const workloads::ScheduleError& error) {
              ASSERT_TRUE(why) << error.what();
              EXPECT_EQ(why->about, error.about());
              EXPECT_EQ(why->what, error.what_is_wrong());
              EXPECT_FALSE(why->expected.empty());
              ++refused;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

// v-half, v-min and v-1f1b search through the slots of all ranks: 256 ranks and no more.
TEST(EverySchedule, LongSearchesHaveALimit) {
  for (const std::string name : {"v-half", "v-min", "v-1f1b"}) {
    EXPECT_FALSE(workloads::find_schedule(name)->why_not(256, 16, 2)) << name;
    EXPECT_EQ(workloads::find_schedule(name)->why_not(512, 16, 2).value().what,
              name + " on 512 ranks takes too long to work out");
  }
  EXPECT_TRUE(workloads::find_schedule("1f1b")->why_not(4, std::int64_t{1} << 40, 1)) << "no number wraps around";
}

// Chunks mean nothing to a linear schedule, a group size nothing to most: refused, not passed over.
TEST(ScheduleOptions, ForeignOptionsAreRefused) {
  for (const std::string name : linear_and_looped) {
    SCOPED_TRACE(name);
    workloads::ScheduleRequest request;
    request.name = name;
    request.ranks = 2;
    request.microbatches = 4;
    request.group = 2;
    if (takes_group(request)) {
      EXPECT_NO_THROW((void)make_order(request));
    } else {
      EXPECT_THROW((void)make_order(request), workloads::ScheduleError);
    }
    request.group.reset();
    request.chunks = 2;
    if (workloads::find_schedule(name)->placement == workloads::StagePlacement::linear) {
      EXPECT_THROW((void)make_order(request), workloads::ScheduleError);
    } else {
      EXPECT_NO_THROW((void)make_order(request));
    }
  }
}

}  // namespace
}  // namespace lockstep
