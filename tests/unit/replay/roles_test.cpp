// Ranks that do the same with others that do the same are one role: the coarsest partition for which that holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/roles.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using replay::RolePart;
using testing::ElementsAre;

replay::Roles roles_of(const Job& made) {
  std::vector<replay::RankWork> works;
  for (const auto& rank : made.job.ranks) works.push_back(replay::work_of(rank, made.job.dated));
  return replay::roles_of(works, replay::matched_collectives(made.job, works));
}

/// A job whose ranks r and r + 1, with r even, form groups of two.
Job pairs(std::int32_t ranks) {
  Job made(ranks);
  made.job.groups.clear();
  for (std::int32_t first = 0; first < ranks; first += 2)
    made.job.groups.push_back({"pair" + std::to_string(first), "", {first, first + 1}, 2});
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    made.collective(static_cast<std::size_t>(rank), 1);
    made.last(static_cast<std::size_t>(rank)).group = rank / 2;
  }
  return made;
}

// Four equal ranks, one all-reduce: one role, and a collective that joins it with itself.
TEST(Roles, EqualRanks) {
  Job made(4);
  for (const std::size_t rank : {0U, 1U, 2U, 3U}) made.collective(rank, 1);
  const auto roles = roles_of(made);
  EXPECT_THAT(roles.role_of_rank, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(roles.representative, ElementsAre(0));
  ASSERT_EQ(roles.collectives.size(), 1u);
  EXPECT_THAT(roles.collectives[0].parts, ElementsAre(RolePart{0, 0}));
  EXPECT_THAT(roles.collectives[0].matched, ElementsAre(0));
}

// Odd ranks have another kernel before the collectives of two pairs: roles 0, 1, 0, 1, whose two collectives are one.
TEST(Roles, PairsOfDifferentRanks) {
  auto made = pairs(4);
  for (const std::size_t rank : {0U, 1U, 2U, 3U}) made.kernel(rank, rank % 2 == 0 ? 1 : 2);
  const auto roles = roles_of(made);
  EXPECT_THAT(roles.role_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(roles.representative, ElementsAre(0, 1));
  ASSERT_EQ(roles.collectives.size(), 1u);
  EXPECT_THAT(roles.collectives[0].parts, ElementsAre(RolePart{0, 0}, RolePart{1, 0}));
  EXPECT_THAT(roles.collectives[0].matched, ElementsAre(0, 1));
}

// All do the same for as long, but the second pair's array is another one: two roles of two ranks.
TEST(Roles, BytesTellRanksApart) {
  auto made = pairs(4);
  EXPECT_THAT(roles_of(made).role_of_rank, ElementsAre(0, 0, 0, 0));
  for (const std::size_t rank : {2U, 3U}) made.last(rank).buffer = Bytes(2000);
  const auto roles = roles_of(made);
  EXPECT_THAT(roles.role_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(roles.collectives.size(), 2u);
}

// Equal ranks whose partners differ are not of one role: rank 3 of the second pair is slower, so its partner is another
// than rank 0 although both do the same.
TEST(Roles, PartnersTellRanksApart) {
  auto made = pairs(4);
  made.kernel(3, 9);
  for (const std::size_t rank : {0U, 1U, 2U}) made.kernel(rank, 1);
  EXPECT_THAT(roles_of(made).role_of_rank, ElementsAre(0, 0, 1, 2));
}

// Rank r sends to r + 1 for r even: senders and receivers are two roles, however alike their operations are.
TEST(Roles, SendersAndReceivers) {
  Job made(4);
  for (const std::size_t rank : {0U, 2U}) {
    made.sends(rank, static_cast<std::int32_t>(rank) + 1, 1);
    made.receives(rank + 1, static_cast<std::int32_t>(rank), 1);
  }
  EXPECT_THAT(roles_of(made).role_of_rank, ElementsAre(0, 1, 0, 1));
}

// Rank 0 sends to rank 2, and rank 3 to rank 1: 1 and 2 receive, 0 and 3 send. A transfer up and one down are not one
// collective, since its groups would all send the same way.
TEST(Roles, TransfersUpAndDownAreApart) {
  Job made(4);
  made.sends(0, 2, 1);
  made.receives(2, 0, 1);
  made.sends(3, 1, 1);
  made.receives(1, 3, 1);
  const auto roles = roles_of(made);
  ASSERT_EQ(roles.collectives.size(), 2u);
  EXPECT_THAT(roles.collectives[0].matched, ElementsAre(0));
  EXPECT_THAT(roles.collectives[1].matched, ElementsAre(1));
  EXPECT_NE(roles.role_of_rank[0], roles.role_of_rank[1]) << "one sends, the other receives";
}

// Streams of other names, other orders and other predecessors are other work.
TEST(Roles, AllThatTellsWorkApart) {
  for (const int what : {0, 1, 2, 3, 4}) {
    Job made(2);
    for (const std::size_t rank : {0U, 1U}) {
      made.kernel(rank, 1);
      made.kernel(rank, 1).stream = 1;
    }
    EXPECT_THAT(roles_of(made).role_of_rank, ElementsAre(0, 0));
    auto& other = made.job.ranks[1];
    if (what == 0) other.streams[1] = "third";
    if (what == 1) other.events[1].number = 5;
    if (what == 2) other.events[1].after = {0};
    if (what == 3) other.events[1].priority = 1;
    if (what == 4) other.events[1].kind = workloads::RecordedEvent::Kind::copy;
    EXPECT_THAT(roles_of(made).role_of_rank, ElementsAre(0, 1)) << what;
  }
}

}  // namespace
}  // namespace lockstep::test
