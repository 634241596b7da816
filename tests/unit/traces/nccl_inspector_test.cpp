// NCCL's inspector: one collective in a line.
#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;

/// A line of NCCL's inspector: rank 1 of 4 unless it says another.
std::string line(const std::string& collective, const std::string& header = R"("id": "0x1", "rank": 1, "n_ranks": 4)") {
  return "{\"header\": {" + header + "}, \"coll_perf\": {" + collective + "}}\n";
}

// Kinds, bytes and microseconds of each line; parts of all-gathers and reduce-scatters are one rank's. A line without a
// time is refused.
TEST(NcclInspectorReader, Lines) {
  struct Expected {
    std::string word;
    std::optional<CollectiveKind> kind;
    bool shard;
  };
  for (const auto& [word, kind, shard] :
       {Expected{"AllReduce", CollectiveKind::all_reduce, false},
        Expected{"AllGather", CollectiveKind::all_gather, true},
        Expected{"ReduceScatter", CollectiveKind::reduce_scatter, true},
        Expected{"Reduce", CollectiveKind::reduce, false}, Expected{"Broadcast", CollectiveKind::broadcast, false},
        Expected{"Send", std::nullopt, false}, Expected{"Unheard", std::nullopt, false}}) {
    const auto job = workloads::read_trace_bytes(
        line("\"coll\": \"" + word + R"(", "coll_exec_time_us": 2.5, "coll_msg_size_bytes": 96)"), "t");
    EXPECT_EQ(first(job).kind, kind) << word;
    EXPECT_EQ(first(job).buffer_is_shard, shard) << word;
    EXPECT_EQ(first(job).buffer, Bytes(96));
    EXPECT_NEAR(job.ranks[0].events[0].duration.value(), 2.5e-6, 1e-18);
    EXPECT_EQ(job.ranks[0].rank, 1);
    EXPECT_EQ(job.groups[first(job).group].name, "0x1");
  }
}

// The rank's number is that in the largest communicator, whatever the order of the lines; sequences count within each.
TEST(NcclInspectorReader, LargestCommunicator) {
  const std::string time = R"("coll": "AllReduce", "coll_exec_time_us": 1)";
  const auto small = line(time, R"("id": "0x2", "rank": 0, "n_ranks": 2)");
  const auto large = line(time, R"("id": "0x3", "rank": 6, "n_ranks": 8)");
  for (const auto& text : {small + large + small, large + small + small}) {
    const auto job = workloads::read_trace_bytes(text, "t");
    EXPECT_EQ(job.ranks[0].rank, 6);
    EXPECT_EQ(job.world, 8);
    EXPECT_EQ(job.ranks[0].collectives[2].sequence, 1);
  }
}

// Each refusal stands at the end of its object; here that of the second line.
TEST(NcclInspectorReader, Refusals) {
  const std::string good = line(R"("coll": "AllReduce", "coll_exec_time_us": 1)");
  const auto refused = [&](const std::string& bad, const std::string& why) {
    EXPECT_EQ(refusal(good + bad), "t:2:" + std::to_string(bad.size() - 1) + ": " + why);
  };
  const std::string time = R"("coll": "AllReduce", "coll_exec_time_us": 1)";
  refused(line(time, "\"rank\": 0"), "header.n_ranks: the communicator has 0 ranks; expected at least 1");
  refused(line(time, "\"rank\": 0, \"n_ranks\": 1048577"),
          "header.n_ranks: the communicator has 1048577 ranks; expected at least 1");
  refused(line(time, "\"rank\": 4, \"n_ranks\": 4"), "header.rank: rank 4 of 4; expected one of its ranks");
  refused(line(time, "\"n_ranks\": 4"), "header.rank: rank -1 of 4; expected one of its ranks");
  for (const std::string wrong : {"-1", "1.1e15", "\"1\"", "null"})
    refused(line(R"("coll": "AllReduce", "coll_exec_time_us": )" + wrong),
            "coll_perf.coll_exec_time_us: is no duration; expected microseconds from 0 up");
  refused(line(time + ", \"coll_msg_size_bytes\": -1"),
          "coll_perf.coll_msg_size_bytes: a negative size; expected bytes from 0 up");
}

// Two lines cut after each byte: only after the first line, with or without its end, is it a whole trace.
TEST(NcclInspectorReader, CutAtEveryByte) {
  const auto one = line(R"("coll": "AllReduce", "coll_exec_time_us": 1)");
  const auto whole = one + one;
  EXPECT_EQ(refused_cuts(whole), whole.size() - 3) << "of the three the last has no end of line";
  EXPECT_EQ(refusal(whole + " \t\r\n"), "");
}

}  // namespace
}  // namespace lockstep::test
