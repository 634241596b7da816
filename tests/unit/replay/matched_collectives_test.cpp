// Which rank's collective is which other's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/matched_collectives.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using replay::MatchedCollective;
using testing::ElementsAre;
using workloads::CollectiveKind;

std::vector<MatchedCollective> matched(const Job& made) {
  std::vector<replay::RankWork> works;
  for (const auto& rank : made.job.ranks) works.push_back(replay::work_of(rank, made.job.dated));
  return replay::matched_collectives(made.job, works);
}

std::vector<std::pair<std::int32_t, replay::WorkId>> parts(const MatchedCollective& collective) {
  std::vector<std::pair<std::int32_t, replay::WorkId>> list;
  for (const auto& part : collective.parts) list.emplace_back(part.rank, part.operation);
  return list;
}

// Position k on one rank is position k on the others, whatever else they do between; recorded = min over members.
TEST(MatchedCollectives, InTheOrderOfTheirGroup) {
  Job made(3);
  for (const std::size_t rank : {0U, 1U, 2U}) {
    if (rank == 1) made.kernel(rank, 1);
    made.collective(rank, 5.0 - static_cast<double>(rank));
    made.collective(rank, 7.0 + static_cast<double>(rank));
  }
  const auto list = matched(made);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_THAT(parts(list[0]), ElementsAre(std::pair(0, 0), std::pair(1, 1), std::pair(2, 0)));
  EXPECT_THAT(parts(list[1]), ElementsAre(std::pair(0, 1), std::pair(1, 2), std::pair(2, 1)));
  EXPECT_DOUBLE_EQ(list[0].recorded.value(), 3);
  EXPECT_DOUBLE_EQ(list[1].recorded.value(), 7);
}

// Two groups count apart: rank 0 begins with the one, rank 1 with the other.
TEST(MatchedCollectives, GroupsCountApart) {
  Job made(2);
  made.job.groups.push_back({"other", "", {0, 1}, 2});
  made.collective(0, 1);
  made.collective(0, 2);
  made.last(0).group = 1;
  made.collective(1, 4);
  made.last(1).group = 1;
  made.collective(1, 3);
  const auto list = matched(made);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_THAT(parts(list[0]), ElementsAre(std::pair(0, 0), std::pair(1, 1)));
  EXPECT_THAT(parts(list[1]), ElementsAre(std::pair(0, 1), std::pair(1, 0)));
  EXPECT_DOUBLE_EQ(list[1].recorded.value(), 2);
}

// The k-th send 0 -> 1 meets the k-th receive of rank 1 from 0; a send back counts apart from both.
TEST(MatchedCollectives, SendsMeetReceivesInOrder) {
  Job made(2);
  made.sends(0, 1, 10);
  made.receives(0, 1, 20);
  made.sends(0, 1, 30);
  made.receives(1, 0, 11);
  made.receives(1, 0, 29);
  made.sends(1, 0, 19);
  const auto list = matched(made);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_THAT(parts(list[0]), ElementsAre(std::pair(0, 0), std::pair(1, 0)));
  EXPECT_THAT(parts(list[1]), ElementsAre(std::pair(0, 1), std::pair(1, 2)));
  EXPECT_THAT(parts(list[2]), ElementsAre(std::pair(0, 2), std::pair(1, 1)));
  EXPECT_DOUBLE_EQ(list[0].recorded.value(), 10);
  EXPECT_DOUBLE_EQ(list[1].recorded.value(), 19);
  EXPECT_DOUBLE_EQ(list[2].recorded.value(), 29);
}

// Peers are named by rank, parts by position: of ranks 4 and 6 of a job, 4 is at position 0.
TEST(MatchedCollectives, PeersAreRanksAndPartsPositions) {
  Job made(2);
  made.job.ranks[0].rank = 4;
  made.job.ranks[1].rank = 6;
  made.sends(0, 6, 1);
  made.receives(1, 4, 1);
  const auto list = matched(made);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_THAT(parts(list[0]), ElementsAre(std::pair(0, 0), std::pair(1, 0)));
}

// What the trace says too little of stays with its rank; what one member says of the bytes holds for all.
TEST(MatchedCollectives, UnknownKindsAndBytes) {
  Job unknown(2);
  for (const std::size_t rank : {0U, 1U}) {
    unknown.collective(rank, 1);
    unknown.last(rank).kind.reset();
  }
  EXPECT_EQ(matched(unknown).size(), 2u);
  EXPECT_EQ(replay::kind_text(matched(unknown)[0].what), "unknown");
  Job bytes(2);
  bytes.collective(0, 1);
  bytes.last(0).buffer.reset();
  bytes.collective(1, 1);
  bytes.last(1).buffer = Bytes(77);
  ASSERT_EQ(matched(bytes).size(), 1u);
  EXPECT_EQ(matched(bytes)[0].what.buffer, Bytes(77));
  EXPECT_EQ(replay::kind_text(matched(bytes)[0].what), "all_reduce");
}

TEST(MatchedCollectives, RanksThatDisagreeOnTheKind) {
  Job made(2);
  made.collective(0, 1);
  made.collective(1, 1, CollectiveKind::all_gather);
  EXPECT_EQ(made.refusal(),
            "rank1: collective 0 of group 'all dp' is all_gather, on rank 0 it is all_reduce; expected ranks of one "
            "job");
  made.job.groups[0].description.clear();
  EXPECT_EQ(made.refusal(),
            "rank1: collective 0 of group 'all' is all_gather, on rank 0 it is all_reduce; expected ranks of one job");
  made.job.groups[0].name.clear();
  EXPECT_EQ(made.refusal(),
            "rank1: collective 0 of the group of all ranks is all_gather, on rank 0 it is all_reduce; expected ranks "
            "of one job");
}

// 30 collectives that disagree are told 21 times.
TEST(MatchedCollectives, NotEveryDisagreementIsTold) {
  Job made(2);
  for (int i = 0; i < 30; ++i) {
    made.collective(0, 1);
    made.collective(1, 1, CollectiveKind::all_gather);
  }
  try {
    (void)matched(made);
    FAIL() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.problems().size(), 21u);
  }
}

// The first rank with fewer collectives of a group is told, and how many it has.
TEST(MatchedCollectives, RanksWithFewerCollectives) {
  Job made(3);
  for (const std::size_t rank : {0U, 0U, 0U, 1U, 1U, 2U}) made.collective(rank, 1);
  EXPECT_EQ(made.refusal(),
            "rank1: has 2 collectives of group 'all dp', other ranks have 3; expected ranks of one job");
  Job none(2);
  none.collective(0, 1);
  EXPECT_EQ(none.refusal(),
            "rank1: has 0 collectives of group 'all dp', other ranks have 1; expected ranks of one job");
}

// The members of an all-reduce have arrays of one size; in an all-to-all each may send another number of bytes, and the
// largest counts.
TEST(MatchedCollectives, Bytes) {
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) made.collective(rank, 1);
  made.last(1).buffer = lockstep::Bytes(2000);
  EXPECT_EQ(made.refusal(),
            "rank1: collective 0 of group 'all dp' has 2000 bytes, on rank 0 it has 1000; expected ranks of one job");
  for (const std::size_t rank : {0U, 1U}) made.last(rank).kind = workloads::CollectiveKind::all_to_all;
  const auto replay = made.run();
  ASSERT_EQ(replay.collectives.size(), 1u);
  EXPECT_EQ(replay.collectives[0].bytes, lockstep::Bytes(2000));
}

// Both ranks were recorded, so each send has its receive.
TEST(MatchedCollectives, TransfersOfRecordedRanks) {
  Job made(2);
  made.sends(0, 1, 1);
  made.receives(1, 0, 1);
  EXPECT_EQ(made.refusal(), "");
  made.sends(0, 1, 1);
  EXPECT_EQ(made.refusal(), "rank0: rank 0 sends more to rank 1 than that one receives; expected ranks of one job");
}

}  // namespace
}  // namespace lockstep::test
