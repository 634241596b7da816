// Collectives as messages: who sends how much to whom in which step, executed on sets of contributions.
#include "tools/trace/goal_messages.hpp"

#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

using trace::goal_steps;
using workloads::CollectiveKind;

std::vector<std::vector<trace::GoalStep>> all_members(CollectiveKind kind, std::int64_t bytes, std::int32_t members) {
  std::vector<std::vector<trace::GoalStep>> all;
  for (std::int32_t place = 0; place < members; ++place)
    all.push_back(goal_steps(kind, Bytes(bytes), false, members, place));
  return all;
}

// Of V = 24 bytes a ring of n = 2, 3, 4, 6 members sends V (n - 1) / n from each for a gather or a reduce-scatter, and
// twice as much for an all-reduce. An all-to-all sends V / n x (n - 1) / n from each. A tree sends V over n - 1 edges.
TEST(GoalMessages, BytesOfKinds) {
  for (const std::int32_t n : {2, 3, 4, 6}) {
    const std::map<CollectiveKind, std::int64_t> expected{
        {CollectiveKind::all_gather, 24 * (n - 1)},     {CollectiveKind::reduce_scatter, 24 * (n - 1)},
        {CollectiveKind::all_reduce, 2 * 24 * (n - 1)}, {CollectiveKind::broadcast, 24 * (n - 1)},
        {CollectiveKind::reduce, 24 * (n - 1)},         {CollectiveKind::point_to_point, 24 * n}};
    for (const auto& [kind, bytes] : expected) {
      std::int64_t sent = 0;
      for (const auto& steps : all_members(kind, 24, n)) {
        for (const auto& step : steps) sent += step.to >= 0 ? step.sent : 0;
      }
      EXPECT_EQ(sent, bytes) << name(kind) << n;
    }
    std::int64_t sent = 0;
    for (const auto& step : goal_steps(CollectiveKind::all_to_all, Bytes(std::int64_t{12} * n * n), false, n, 0))
      sent += step.sent;
    EXPECT_EQ(sent, 12 * (n - 1));
  }
}

// The k-th message that a member sends to another is the k-th that this one receives from it, and has its bytes, also
// where the array does not divide: 25 bytes, and 1 byte, of which most parts are empty and sent as one byte.
TEST(GoalMessages, SendsMeetReceives) {
  for (const auto kind : workloads::all_collective_kinds) {
    for (const std::int32_t n : {2, 3, 5, 8}) {
      for (const std::int64_t bytes : {25, 1, 0}) {
        std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int64_t>> sent, received;
        const auto all = all_members(kind, bytes, n);
        for (std::int32_t place = 0; place < n; ++place) {
          for (const auto& step : all[static_cast<std::size_t>(place)]) {
            if (step.to >= 0) sent[{place, step.to}].push_back(step.sent);
            if (step.from >= 0) received[{step.from, place}].push_back(step.received);
          }
        }
        EXPECT_EQ(sent, received) << name(kind) << n << ' ' << bytes;
        for (const auto& [pair, messages] : sent) {
          for (const auto message : messages) EXPECT_GE(message, 1);
        }
      }
    }
  }
}

// A tree from member 0 reaches all: each of the others receives once, and sends only after that.
TEST(GoalMessages, TreesReachAll) {
  const std::int32_t n = 7;
  const auto all = all_members(CollectiveKind::broadcast, 8, n);
  EXPECT_EQ(all[0].size(), 3u) << "to 1, 2 and 4";
  for (std::size_t place = 1; place < 7; ++place) {
    EXPECT_GE(all[place].front().from, 0) << place;
    for (std::size_t step = 1; step < all[place].size(); ++step) EXPECT_GE(all[place][step].to, 0);
  }
}

}  // namespace
}  // namespace lockstep
