// Each reader finds in a small trace, written by hand, what stands in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/traces/trace_files.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;
using workloads::RecordedEvent;

// Two steps of two ranks; of each step three kernels and an all-reduce of 1,000,000 floats. Rank 1's first kernel takes
// 600 us instead of 500.
TEST(Kineto, TwoRanks) {
  const auto job = workloads::read_traces({trace_file("kineto_rank1.json"), trace_file("kineto_rank0.json")});
  EXPECT_EQ(job.format, "Kineto");
  EXPECT_EQ(job.world, 2);
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(job.ranks[0].rank, 0) << "by number, not in the order of the files";
  for (const auto& rank : job.ranks) {
    const auto counts = workloads::counts(rank);
    EXPECT_EQ(counts.kernels, 6);
    EXPECT_EQ(counts.collectives, 2);
    EXPECT_EQ(counts.communicated, Bytes(2 * 4'000'000));
    EXPECT_NEAR(counts.kernel_time.value(), 2 * (900e-6 + rank.rank * 100e-6), 1e-12);
    EXPECT_NEAR(counts.collective_time.value(), 2 * (400e-6 - rank.rank * 100e-6), 1e-12);
    EXPECT_EQ(rank.streams.count(), 2);
    EXPECT_EQ(rank.steps.size(), 2u);
    EXPECT_EQ(rank.waits.size(), 2u);
    ASSERT_EQ(rank.collectives.count(), 2);
    EXPECT_EQ(rank.collectives[1].kind, CollectiveKind::all_reduce);
    EXPECT_EQ(rank.collectives[1].sequence, 1);
    const auto& group = job.groups[rank.collectives[1].group];
    EXPECT_THAT(group.ranks, testing::ElementsAre(0, 1));
    EXPECT_EQ(group.description, "default_pg");
  }
  const auto& first = job.ranks[0].events.front();
  EXPECT_EQ(job.names[first.name], "gemm");
  EXPECT_NEAR(first.start->value(), 20e-6, 1e-12) << "since the mark of the first step";
  EXPECT_NEAR(first.launched->value(), 10e-6, 1e-12);
}

// Microseconds since 1970 with a fraction need more digits than a double has: .25 and .5 us are kept.
TEST(Kineto, TimesKeepTheirNanoseconds) {
  const auto job = workloads::read_trace_bytes(
      R"({"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "ts": 1712195495505583.251, "dur": 4.928, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "b", "ts": 1712195495505593.502, "dur": 1e0, "args": {"stream": 7}}]})",
      "kineto.json");
  EXPECT_NEAR(job.ranks[0].events[1].start->value(), 10.251e-6, 1e-15);
  EXPECT_NEAR(job.ranks[0].events[0].duration.value(), 4.928e-6, 1e-15);
  EXPECT_NEAR(job.ranks[0].events[1].duration.value(), 1e-6, 1e-15);
}

// Older kernels of NCCL say nothing of their size; the annotation around the launch does: 6144 floats.
TEST(Kineto, SizesOfAnnotations) {
  const auto job = workloads::read_trace_bytes(
      R"({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "nccl:all_to_all", "tid": 5, "ts": 100, "dur": 50, "args": {"Input Dims": [[6144]], "Input type": ["float"]}},
{"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "tid": 6, "ts": 100, "dur": 50, "args": {"Input Dims": [[7]], "Input type": ["double"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 5, "ts": 120, "dur": 5, "args": {"correlation": 9}},
{"ph": "X", "cat": "kernel", "name": "ncclKernel_SendRecv_RING", "ts": 130, "dur": 40, "args": {"stream": 20, "correlation": 9}}]})",
      "kineto.json");
  ASSERT_EQ(job.ranks[0].collectives.count(), 1);
  const auto& collective = job.ranks[0].collectives[0];
  EXPECT_EQ(collective.kind, CollectiveKind::all_to_all);
  EXPECT_EQ(collective.buffer, Bytes(4 * 6144));
  EXPECT_EQ(job.groups[collective.group].size, 8);
  EXPECT_THAT(job.guessed, testing::ElementsAre(testing::HasSubstr("which ranks")));
}

// An event that one stream recorded and another waits for.
TEST(Kineto, WaitsBetweenStreams) {
  const auto job = workloads::read_trace_bytes(
      R"({"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "ts": 100, "dur": 50, "args": {"stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "later", "ts": 150, "dur": 50, "args": {"stream": 7, "correlation": 5}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "ts": 104, "dur": 1, "args": {"cuda_sync_kind": "Stream Wait Event", "stream": 20, "correlation": 3, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2}},
{"ph": "X", "cat": "kernel", "name": "b", "ts": 160, "dur": 40, "args": {"stream": 20, "correlation": 4}}]})",
      "kineto.json");
  const auto& events = job.ranks[0].events;
  ASSERT_EQ(events.count(), 3);
  EXPECT_EQ(job.names[events[2].name], "b");
  EXPECT_THAT(events[2].after, testing::ElementsAre(0)) << "not the kernel launched after the event";
}

// gemm, all_reduce of 4 MB, all_gather of 1 MB from each, send or receive, adam: node 77 of it is no field of Chakra's.
TEST(Chakra, MessagesBehindTheirLengths) {
  const auto job = workloads::read_traces({trace_file("chakra.0.et"), trace_file("chakra.1.et")});
  ASSERT_EQ(job.ranks.size(), 2u);
  EXPECT_FALSE(job.dated);
  const auto& rank = job.ranks[1];
  EXPECT_EQ(rank.rank, 1);
  const auto counts = workloads::counts(rank);
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(counts.collectives, 3);
  EXPECT_EQ(counts.host, 1);
  EXPECT_EQ(counts.dependences, 1 + 1 + 1 + 1 + 2);
  EXPECT_NEAR(counts.kernel_time.value(), 800e-6, 1e-15);
  ASSERT_EQ(rank.collectives.count(), 3);
  EXPECT_EQ(rank.collectives[0].buffer, Bytes(4'000'000));
  EXPECT_EQ(job.groups[rank.collectives[0].group].name, "0");
  EXPECT_TRUE(rank.collectives[1].buffer_is_shard);
  EXPECT_EQ(rank.collectives[2].role, workloads::RecordedCollective::Role::receives);
  EXPECT_EQ(rank.collectives[2].peer, 0);
  EXPECT_THAT(job.missing, testing::Contains(testing::HasSubstr("1 field is unknown and passed over")));
  EXPECT_THAT(rank.events[5].after, testing::UnorderedElementsAre(4, 2));
}

TEST(Chakra, GroupsBesideIt) {
  auto job = workloads::read_traces({trace_file("chakra.0.et"), trace_file("chakra.1.et")});
  workloads::read_trace_groups(trace_file("chakra_groups.json"), job);
  EXPECT_THAT(job.groups[job.ranks[0].collectives[0].group].ranks, testing::ElementsAre(0, 1));
}

// Node 3 stands before node 2, which it waits for; its event comes after.
TEST(Chakra, JsonInAnyOrder) {
  const auto job = workloads::read_traces({trace_file("chakra_graph.json")});
  const auto& rank = job.ranks[0];
  ASSERT_EQ(rank.events.count(), 3);
  EXPECT_EQ(job.names[rank.events[1].name], "gemm");
  EXPECT_EQ(rank.events[2].kind, RecordedEvent::Kind::collective);
  EXPECT_THAT(rank.events[2].after, testing::ElementsAre(1));
  EXPECT_EQ(rank.events[0].kind, RecordedEvent::Kind::host);
  EXPECT_EQ(rank.collectives[0].buffer, Bytes(4096));
}

// An all-gather of 4 x 1024 elements of 2 bytes among ranks 1, 3, 5, 7; waiting for it is no collective.
TEST(ExecutionTrace, ArgumentsOfCollectives) {
  const auto job = workloads::read_traces({trace_file("execution_trace.json")});
  ASSERT_EQ(job.ranks[0].collectives.count(), 1);
  const auto& collective = job.ranks[0].collectives[0];
  EXPECT_EQ(collective.kind, CollectiveKind::all_gather);
  EXPECT_EQ(collective.buffer, Bytes(8192));
  EXPECT_THAT(job.groups[collective.group].ranks, testing::ElementsAre(1, 3, 5, 7));
  EXPECT_FALSE(job.kernels);
}

TEST(ExecutionTrace, ShapesOfOlderOnes) {
  const auto job = workloads::read_traces({trace_file("execution_trace_old.json")});
  ASSERT_EQ(job.ranks[0].collectives.count(), 1);
  EXPECT_EQ(job.ranks[0].collectives[0].kind, CollectiveKind::all_to_all);
  EXPECT_EQ(job.ranks[0].collectives[0].buffer, Bytes(4 * 6144));
}

// 1024 x 256 floats; 1024 BFloat16 as the larger side; a send of 16 halves from 0 to 2.
TEST(FlightRecorder, Entries) {
  const auto job = workloads::read_traces({trace_file("flight_recorder_rank0.json")});
  const auto& rank = job.ranks[0];
  ASSERT_EQ(rank.collectives.count(), 3);
  EXPECT_EQ(rank.collectives[0].buffer, Bytes(4 * 1024 * 256));
  EXPECT_NEAR(rank.events[0].duration.value(), 0.75e-3, 1e-15);
  EXPECT_THAT(job.groups[rank.collectives[0].group].ranks, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(rank.collectives[1].buffer, Bytes(2048));
  EXPECT_EQ(job.groups[rank.collectives[1].group].description, "tp");
  EXPECT_EQ(rank.collectives[2].kind, CollectiveKind::point_to_point);
  EXPECT_EQ(rank.collectives[2].peer, 2);
  EXPECT_EQ(job.world, 4);
}

// The inspector's size of a reduce-scatter is one rank's part: its published sample has 65,536 B among 32 ranks in 110
// us at 19.07 GB/s, which is 32 x 65,536 B / 110 us.
TEST(NcclInspector, Lines) {
  const auto job = workloads::read_traces({trace_file("nccl_inspector.log")});
  const auto& rank = job.ranks[0];
  EXPECT_EQ(rank.rank, 3);
  ASSERT_EQ(rank.collectives.count(), 2);
  EXPECT_EQ(rank.collectives[0].buffer, Bytes(1048576));
  EXPECT_FALSE(rank.collectives[0].buffer_is_shard);
  EXPECT_TRUE(rank.collectives[1].buffer_is_shard);
  EXPECT_NEAR(rank.events[1].duration.value(), 110.5e-6, 1e-15);
  EXPECT_EQ(job.groups[rank.collectives[0].group].size, 4);
}

}  // namespace
}  // namespace lockstep::test
