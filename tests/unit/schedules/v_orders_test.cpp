// Orders of the V-shaped, wave and bidirectional schedules: cell by cell against what the published code gives
// (tests/data/pipeline/index.json), and what must hold of them for any number of ranks P and microbatches M.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/unit/schedules/golden_orders.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using enum workloads::PipelineWork;

workloads::ScheduleRequest request_of(const std::string& name, std::int32_t ranks, std::int32_t microbatches) {
  workloads::ScheduleRequest request;
  request.name = name;
  request.ranks = ranks;
  request.microbatches = microbatches;
  return request;
}

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

struct Golden {
  const char* schedule;
  const char* prefix;
  std::size_t files;  ///< how many there are, so that none goes missing
};

class GoldenVOrders : public testing::TestWithParam<Golden> {};

// Every rank runs the cells of the golden file, in its order.
TEST_P(GoldenVOrders, SameCells) {
  const auto files = golden_files(GetParam().prefix);
  ASSERT_EQ(files.size(), GetParam().files);
  for (const auto& [file, sizes] : files) {
    SCOPED_TRACE(file);
    const auto order = make_order(request_of(GetParam().schedule, sizes.at('P'), sizes.at('M')));
    EXPECT_EQ(order.to_string(), golden_order(file, order.shape.placement).to_string());
  }
}

INSTANTIATE_TEST_SUITE_P(VAndBothWays, GoldenVOrders,
                         testing::Values(Golden{"zb-v", "zbv_torch", 6}, Golden{"v-half", "vhalf", 6},
                                         Golden{"v-min", "vmin", 2}, Golden{"v-1f1b", "v1f1b", 2},
                                         Golden{"dualpipe", "dualpipe", 3}, Golden{"dualpipe-v", "dualpipev", 4}),
                         [](const auto& golden) { return std::string(golden.param.prefix); });

TEST(GoldenWave, SameCells) {
  for (const std::int32_t waves : {1, 2}) {
    for (const std::int32_t ranks : {2, 4, 8}) {
      auto request = request_of("wave", ranks, ranks);
      request.chunks = 2 * waves;
      const auto p = std::to_string(ranks);
      const auto file =
          "derived_wave/wave" + std::to_string(waves) + "_P" + p + "_M" + p + "_V" + std::to_string(2 * waves) + ".csv";
      SCOPED_TRACE(file);
      const auto order = make_order(request);
      EXPECT_EQ(order.to_string(), golden_order(file, workloads::StagePlacement::wave).to_string());
    }
  }
}

// Every forward once, every backward once whole or once in two parts, all on the rank that holds the stage;
// time_order throws if anything comes before what it waits for.
void expect_whole_step(const workloads::PipelineOrder& order, const workloads::ScheduleRequest& request) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> done;
  for (std::int32_t rank = 0; rank < order.shape.ranks; ++rank) {
    for (const auto& cell : order.ranks[at(rank)]) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        EXPECT_EQ(order.shape.rank_of(action.stage, action.microbatch), rank);
        done[{action.stage, action.microbatch}] += name(action.work);
      });
    }
  }
  EXPECT_EQ(order.shape.microbatches, request.microbatches);
  EXPECT_EQ(done.size(), at(order.shape.virtual_stages()) * at(request.microbatches));
  for (const auto& [where, works] : done) EXPECT_TRUE(works == "FB" || works == "FIW") << works;
  EXPECT_EQ(static_cast<std::int64_t>(time_order(order, {}).by_start.size()), order.cells());
}

bool legal(const workloads::ScheduleRequest& request) {
  const auto p = request.ranks;
  const auto m = request.microbatches;
  if (request.name == "dualpipe") return p % 2 == 0 && m % 2 == 0 && m >= 2 * p;
  if (request.name == "dualpipe-v") return m >= 2 * p;
  return true;
}

class VGrid : public testing::TestWithParam<const char*> {};

TEST_P(VGrid, WholeStepsOrRefusals) {
  for (const std::int32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16}) {
    for (const std::int32_t microbatches : {1, 2, 3, ranks, 2 * ranks - 1, 2 * ranks, 2 * ranks + 1, 5 * ranks}) {
      const auto request = request_of(GetParam(), ranks, microbatches);
      SCOPED_TRACE(request.name + " P" + std::to_string(ranks) + " M" + std::to_string(microbatches));
      if (legal(request)) {
        expect_whole_step(make_order(request), request);
      } else {
        EXPECT_THROW((void)make_order(request), workloads::ScheduleError);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(VAndBothWays, VGrid,
                         testing::Values("zb-v", "v-half", "v-min", "v-1f1b", "wave", "dualpipe", "dualpipe-v"),
                         [](const auto& schedule) {
                           std::string name = schedule.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// With M < 2P - 1 the order is that of 2P - 1 microbatches without those that are not there.
TEST(ZbV, FewMicrobatchesAreThoseOfAFullOrder) {
  for (const std::int32_t ranks : {2, 3, 5, 8}) {
    auto full = make_order(request_of("zb-v", ranks, 2 * ranks - 1));
    for (auto microbatches = 2 * ranks - 2; microbatches > 0; --microbatches) {
      for (auto& cells : full.ranks) {
        erase_if(cells, [&](const workloads::PipelineCell& cell) { return cell.first.microbatch >= microbatches; });
      }
      EXPECT_EQ(make_order(request_of("zb-v", ranks, microbatches)).to_string(), full.to_string());
    }
  }
}

// Both directions are alike: rank P-1-r runs what rank r runs, with the halves of the microbatches exchanged.
TEST(DualPipe, IsItsOwnMirror) {
  for (const std::int32_t ranks : {2, 4, 6, 14}) {
    const auto half = ranks + 3;
    const auto order = make_order(request_of("dualpipe", ranks, 2 * half));
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      auto mirrored = order.ranks[at(ranks - 1 - rank)];
      const auto mirror = [&](workloads::PipelineAction& action) {
        action.microbatch += action.microbatch < half ? half : -half;
      };
      for (auto& cell : mirrored) {
        mirror(cell.first);
        if (cell.second) mirror(*cell.second);
      }
      EXPECT_EQ(order.ranks[at(rank)], mirrored);
    }
  }
}

// The rule of the wave, with F = 1 and B = 2: whatever a rank starts comes before all else that is ready, namely
// backwards before forwards, the oldest backward, the deepest forward; and no rank waits while something is ready.
// (Forwards of stage 0 are ready when they are let in, which the next test holds.)
TEST(Wave, RunsWhatItsRulePrefers) {
  for (const auto& [ranks, microbatches, chunks] :
       {std::tuple{4, 4, 2}, {4, 9, 2}, {3, 5, 4}, {5, 12, 6}, {8, 20, 2}}) {
    auto request = request_of("wave", ranks, microbatches);
    request.chunks = chunks;
    const auto order = make_order(request);
    const auto timing = time_order(order, {});
    std::map<std::tuple<workloads::PipelineWork, std::int32_t, std::int32_t>, double> ends;
    for (const auto& [rank, index] : timing.by_start) {
      const auto& action = order.ranks[at(rank)][at(index)].first;
      ends[{action.work, action.stage, action.microbatch}] = timing.spans[at(rank)][at(index)].end;
    }
    const auto ready = [&](const workloads::PipelineAction& a) {
      if (a.work == forward) return ends.at({forward, a.stage - 1, a.microbatch});
      return a.stage + 1 < order.shape.virtual_stages() ? ends.at({backward, a.stage + 1, a.microbatch})
                                                        : ends.at({forward, a.stage, a.microbatch});
    };
    const auto rule = [](const workloads::PipelineAction& a) {
      return a.work == backward ? std::tuple{0, a.microbatch, -a.stage} : std::tuple{1, -a.stage, a.microbatch};
    };
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const auto& cells = order.ranks[at(rank)];
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const double free = i == 0 ? 0 : timing.spans[at(rank)][i - 1].end;
        const double start = timing.spans[at(rank)][i].start;
        for (std::size_t later = i + 1; later < cells.size(); ++later) {
          const auto& other = cells[later].first;
          if (other.work == forward && other.stage == 0) continue;
          if (ready(other) <= start) {
            EXPECT_LT(rule(cells[i].first), rule(other)) << other.to_string();
          }
          if (start > free) {
            EXPECT_GT(ready(other), free) << other.to_string();
          }
        }
      }
    }
  }
}

// A microbatch is on its way from the start of its forward to the end of its backward on stage 0; P are at once.
TEST(Wave, AtMostPMicrobatchesOnTheirWay) {
  for (const std::int32_t ranks : {1, 2, 3, 4, 8}) {
    const auto order = make_order(request_of("wave", ranks, 4 * ranks));
    std::int32_t on_their_way = 0, most = 0;
    for (const auto& cell : order.ranks[0]) {
      if (cell.first.stage != 0) continue;
      on_their_way += cell.first.work == forward ? 1 : -1;
      most = std::max(most, on_their_way);
    }
    EXPECT_EQ(most, ranks);
  }
}

struct Refused {
  workloads::ScheduleRequest request;
  std::string about;
  std::string rule;  ///< words that must stand in what is expected
};

TEST(VOrders, RefusalsNameTheRule) {
  const auto with_chunks = [](const std::string& name, std::int32_t chunks) {
    auto request = request_of(name, 4, 8);
    request.chunks = chunks;
    return request;
  };
  const std::vector<Refused> cases = {
      {request_of("dualpipe", 3, 8), "stages", "even number of ranks"},
      {request_of("dualpipe", 1, 8), "stages", "even number of ranks"},
      {request_of("dualpipe", 4, 9), "microbatches", "even number of microbatches"},
      {request_of("dualpipe", 4, 6), "microbatches", "at least 2P = 8"},
      {request_of("dualpipe-v", 4, 7), "microbatches", "2P = 8"},
      {with_chunks("zb-v", 1), "chunks", "2 chunks"},
      {with_chunks("zb-v", 4), "chunks", "2 chunks"},
      {with_chunks("v-half", 3), "chunks", "2 chunks"},
      {with_chunks("v-min", 1), "chunks", "2 chunks"},
      {with_chunks("v-1f1b", 4), "chunks", "2 chunks"},
      {with_chunks("dualpipe-v", 1), "chunks", "2 chunks"},
      {with_chunks("dualpipe", 2), "chunks", "1"},
      {with_chunks("wave", 3), "chunks", "even number"},
      // Little is asked for, but much would have to be worked out.
      {request_of("zb-v", 60'000, 1), "stages", "fewer stages"},
      {request_of("v-half", 5'000, 1), "stages", "at most 256"},
      {request_of("v-min", 5'000, 1), "stages", "at most 256"},
      {request_of("v-1f1b", 5'000, 1), "stages", "at most 256"},
  };
  for (const auto& [request, about, rule] : cases) {
    SCOPED_TRACE(request.name + " P" + std::to_string(request.ranks) + " M" + std::to_string(request.microbatches));
    try {
      (void)make_order(request);
      ADD_FAILURE() << "taken";
    } catch (const workloads::ScheduleError& error) {
      EXPECT_EQ(error.about(), about);
      EXPECT_THAT(error.expected(), testing::HasSubstr(rule));
    }
  }
}

}  // namespace
}  // namespace lockstep
