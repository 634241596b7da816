// Groups of a recorded job on a cluster: a line of chips (links of 100 GB/s and 1 us), where a transfer of b bytes over
// h links takes h us + b / 100 GB/s, and tori.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collectives/collective_model.hpp"
#include "tests/unit/replay/hand_job.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;

constexpr Bytes hundred_megabytes(100'000'000);  // 1 ms on a link

replay::ReplayOptions on_cluster(const topologies::Cluster& cluster, std::int64_t data = 0) {
  replay::ReplayOptions options;
  options.cluster = &cluster;
  options.data = data;
  return options;
}

/// One transfer, by position of its ranks.
void add_transfer(Job& made, std::int32_t from, std::int32_t to, Bytes bytes) {
  made.sends(static_cast<std::size_t>(from), to, 1);
  made.last(static_cast<std::size_t>(from)).buffer = bytes;
  made.receives(static_cast<std::size_t>(to), from, 1);
  made.last(static_cast<std::size_t>(to)).buffer = bytes;
}

// h us + 1 ms for h = 1, 2, 3 links, up the line and down.
TEST(JobGroups, ATransferTakesItsRoute) {
  const auto line = torus({4}, never);
  for (const std::int32_t to : {1, 2, 3}) {
    for (const bool down : {false, true}) {
      Job made(4);
      add_transfer(made, down ? to : 0, down ? 0 : to, hundred_megabytes);
      EXPECT_NEAR(made.run(on_cluster(line)).step.value(), to * 1e-6 + 1e-3, 1e-12) << to << down;
    }
  }
}

// 0 -> 2 goes over links 0 -> 1 -> 2, and 3 -> 1 over 3 -> 2 -> 1: no link of theirs is the same, so both take 2 us +
// 1 ms. 0 -> 2 and 1 -> 3 share 1 -> 2, and both take 2 us + 2 ms.
TEST(JobGroups, TransfersThatMeetAndThatPass) {
  const auto line = torus({4}, never);
  Job pass(4);
  add_transfer(pass, 0, 2, hundred_megabytes);
  add_transfer(pass, 3, 1, hundred_megabytes);
  EXPECT_NEAR(pass.run(on_cluster(line)).step.value(), 2e-6 + 1e-3, 1e-12);
  Job meet(4);
  add_transfer(meet, 0, 2, hundred_megabytes);
  add_transfer(meet, 1, 3, hundred_megabytes);
  EXPECT_NEAR(meet.run(on_cluster(line)).step.value(), 2e-6 + 2e-3, 1e-12);
}

// Two that send each other the whole array do so at once: 1 us + 1 ms.
TEST(JobGroups, AnExchangeGoesBothWaysAtOnce) {
  const auto line = torus({2}, never);
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) {
    made.collective(rank, 9);
    made.last(rank).exchange = true;
    made.last(rank).full_size = hundred_megabytes;
  }
  const auto replay = made.run(on_cluster(line));
  EXPECT_NEAR(replay.step.value(), 1e-6 + 1e-3, 1e-12);
  EXPECT_EQ(replay.collectives[0].algorithm, "exchange");
}

// A send whose receiver was not recorded keeps the 3 s that it took, and the replay says so.
TEST(JobGroups, HalfATransferKeepsItsTime) {
  const auto line = torus({2}, never);
  Job made(1);
  made.job.world = 2;
  made.sends(0, 1, 3);
  const auto replay = made.run(on_cluster(line));
  EXPECT_DOUBLE_EQ(replay.step.value(), 3);
  EXPECT_THAT(replay.notes,
              testing::Contains("Sends and receives whose other rank was not recorded keep their times."));
}

// A collective of unknown bytes and one of an unknown kind keep the least time of their members: 2 + 5 s.
TEST(JobGroups, WhatTheTraceDoesNotTellKeepsItsTime) {
  const auto line = torus({2}, never);
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) {
    made.collective(rank, 2 + static_cast<double>(rank));
    made.last(rank).buffer.reset();
    made.collective(rank, 5);
    made.last(rank).kind.reset();
  }
  const auto replay = made.run(on_cluster(line));
  EXPECT_DOUBLE_EQ(replay.step.value(), 7);
  for (const auto& row : replay.collectives) EXPECT_EQ(row.algorithm, "as recorded");
}

/// Ranks of a 2 x 4 torus that are all in one of the groups.
Job grouped(const std::vector<std::vector<std::int32_t>>& groups, CollectiveKind kind) {
  Job made(8);
  made.job.groups.clear();
  for (const auto& group : groups) {
    for (const auto rank : group) {
      made.collective(static_cast<std::size_t>(rank), 1, kind);
      made.last(static_cast<std::size_t>(rank)).group = made.job.groups.count();
      made.last(static_cast<std::size_t>(rank)).buffer = hundred_megabytes;
    }
    made.job.groups.push_back({"", "", group, static_cast<std::int32_t>(group.size())});
  }
  return made;
}

// Rows of four and columns of two are axes of the torus: each kind takes what the collective model says of that axis,
// an all-to-all of V = members x buffer.
TEST(JobGroups, GroupsThatAreAxes) {
  const auto cluster = torus({2, 4}, always);
  const auto& axes = cluster.axes();
  ASSERT_EQ(axes.size(), 2u);
  const auto mesh = placed(cluster, {on("rows", {axes[0].name}), on("columns", {axes[1].name})});
  collectives::CollectiveModel model(cluster, mesh);
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                          CollectiveKind::all_to_all}) {
    const int factor = kind == CollectiveKind::all_to_all ? 1 : 0;
    const auto rows = grouped({{0, 1, 2, 3}, {4, 5, 6, 7}}, kind).run(on_cluster(cluster));
    const auto four = model.cost(kind, {"columns"}, hundred_megabytes * (factor == 1 ? 4 : 1));
    EXPECT_NEAR(rows.step / four, 1, 1e-9) << name(kind);
    EXPECT_NEAR(rows.collectives[0].simulated / (four * 2.0), 1, 1e-9) << "of two groups";
    const auto columns = grouped({{0, 4}, {1, 5}, {2, 6}, {3, 7}}, kind).run(on_cluster(cluster));
    const auto two = model.cost(kind, {"rows"}, hundred_megabytes * (factor == 1 ? 2 : 1));
    EXPECT_NEAR(columns.step / two, 1, 1e-9) << name(kind);
  }
}

// One rank of eight stands for all. With 8 instead of 2 data-parallel ranks the job has 8 / 2 x 8 = 32 ranks; the
// data-parallel group has 8 of them, the tensor-parallel one its 4.
TEST(JobGroups, MoreDataParallelRanks) {
  Job made(1);
  made.job.world = 8;
  made.job.groups = {{"1", "tp", {0, 1, 2, 3}, 4}, {"2", "dp", {0, 4}, 2}};
  made.collective(0, 1);
  made.collective(0, 2);
  made.last(0).group = 1;
  replay::ReplayOptions options;
  options.data = 8;
  const auto wider = made.run(options);
  EXPECT_EQ(wider.world, 32);
  const auto cluster = torus({8, 4}, always);
  const auto replay = made.run(on_cluster(cluster, 8));
  EXPECT_EQ(replay.world, 32);
  ASSERT_EQ(replay.collectives.size(), 2u);
  for (const auto& row : replay.collectives) EXPECT_EQ(row.members, row.group == "dp" ? 8 : 4);
  EXPECT_THAT(replay.notes,
              testing::ElementsAre("Data parallel over 8 instead of 2 ranks, each with the batch that it had; arrays "
                                   "of gradients and weights keep their sizes.",
                                   "One rank's trace stands for all 32 ranks; waiting for slower ranks cannot be told "
                                   "from it."));
}

// --data doubles the groups of gradients on a ring of chips: 2 to 4 ranks, each time what the model says of such a
// ring.
TEST(JobGroups, DataDoublesGradientCollectives) {
  const auto cluster = torus({4}, always);
  const auto mesh = placed(cluster, {on("all", {cluster.axes()[0].name})});
  collectives::CollectiveModel model(cluster, mesh);
  Job made(1);
  made.job.world = 2;
  made.job.groups = {{"", "dp", {0, 1}, 2}};
  made.kernel(0, 0.25);
  made.collective(0, 1).after = {0};
  made.last(0).buffer = hundred_megabytes;
  const auto four = model.cost(CollectiveKind::all_reduce, {"all"}, hundred_megabytes);
  EXPECT_NEAR(made.run(on_cluster(cluster, 4)).step.value(), 0.25 + four.value(), 1e-12);
}

TEST(JobGroups, JobsThatDoNotFitTheOptions) {
  replay::ReplayOptions data;
  data.data = 4;
  Job two(2);
  EXPECT_EQ(two.refusal(data),
            "--data: the traces are those of 2 of 2 ranks; expected the trace of one rank, which then stands for all");
  const auto line = torus({4}, never);
  two.job.world = 4;
  EXPECT_EQ(two.refusal(on_cluster(line)),
            "--cluster: there are traces of 2 of 4 ranks; expected the trace of one rank, which then stands for all, "
            "or those of all");
  Job eight(8);
  EXPECT_EQ(eight.refusal(on_cluster(line)),
            "--cluster: the cluster has 4 chips, the job 8 ranks; expected at least as many chips as ranks");
  Job one(2);
  for (const std::size_t rank : {0U, 1U}) one.kernel(rank, 1);
  EXPECT_THAT(one.run(on_cluster(line)).notes,
              testing::ElementsAre("The job takes the first 2 of the cluster's 4 chips."));
}

TEST(JobGroups, GroupsThatCannotBeSpreadOverAllRanks) {
  Job made(1);
  made.job.world = 4;
  made.job.groups = {{"g", "", {0, 1, 3}, 3}};
  EXPECT_EQ(made.refusal(),
            "rank0: the ranks of group 'g' of 3 are not evenly spaced; expected the traces of all ranks");
  made.job.groups = {{"", "", {0, 1, 2}, 3}};
  EXPECT_EQ(made.refusal(),
            "rank0: groups like 'all ranks' of 3 do not make up the 4 ranks of the job; expected the traces of all "
            "ranks");
}

TEST(JobGroups, WhichGroupIsDataParallel) {
  replay::ReplayOptions data;
  data.data = 4;
  Job made(1);
  made.job.world = 4;
  made.kernel(0, 1);
  EXPECT_EQ(made.refusal(data),
            "--data: the trace does not tell which of its groups is data parallel: none; expected one group of that "
            "name, or one group alone");
  made.job.groups = {{"t", "", {0, 1}, 2}, {"u", "", {0, 2}, 2}};
  for (const std::int32_t group : {0, 1}) {
    made.collective(0, 1);
    made.last(0).group = group;
  }
  EXPECT_EQ(made.refusal(data),
            "--data: the trace does not tell which of its groups is data parallel: 't' of 2, 'u' of 2; expected one "
            "group of that name, or one group alone");
  made.job.groups[1].description = "FSDP shards";
  EXPECT_EQ(made.run(data).world, 8);
  data.data = 1'000'000;
  EXPECT_EQ(made.refusal(data), "--data: 1000000 is too many; expected at most a million ranks in all");
}

// Three of four chips of a line are no block of it.
TEST(JobGroups, GroupsThatAreNoBlockOfATorus) {
  Job made(3);
  for (const std::size_t rank : {0U, 1U, 2U}) made.collective(rank, 1);
  EXPECT_EQ(made.refusal(on_cluster(torus({4}, never))),
            "--cluster: a group of 3 ranks that communicate is no block of this torus; expected a cluster of nodes, or "
            "groups that are blocks");
}

// V of an all-to-all is members x buffer: 2 x 6e17 bytes are more than 1e18.
TEST(JobGroups, ArraysThatAreTooLarge) {
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) {
    made.collective(rank, 1, CollectiveKind::all_to_all);
    made.last(rank).buffer = Bytes(600'000'000'000'000'000);
  }
  EXPECT_EQ(made.refusal(on_cluster(torus({2}, never))),
            "rank0: a collective of 600000000000000000 bytes; expected at most 1e18 over all ranks");
}

}  // namespace
}  // namespace lockstep::test
