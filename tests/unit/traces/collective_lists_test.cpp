// Traces that list what was communicated: PyTorch's flight recorder and execution traces, NCCL's inspector.
#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using Role = workloads::RecordedCollective::Role;

workloads::RecordedCollective first(const workloads::RecordedJob& job) { return job.ranks[0].collectives[0]; }

/// The entry stands on line 2 from column 1.
std::string flight(const std::string& entry, const std::string& groups = "") {
  return "{\"pg_config\": {" + groups + "}, \"entries\": [\n{" + entry + "}]}";
}

workloads::RecordedJob fly(const std::string& entry, const std::string& groups = "") {
  return workloads::read_trace_bytes(flight(entry, groups), "t");
}

// 1.5 ms; 3 x 4 + 5 elements of 2 bytes go in and 40 come out, so the buffer is the larger 80 bytes. Only what was
// communicated is told, without dates.
TEST(FlightRecorderReader, FieldsOfAnEntry) {
  const auto job = fly(R"("profiling_name": "nccl:_reduce_scatter_base", "process_group": ["7", "tp"],
    "input_sizes": [[3, 4], [5]], "input_dtypes": ["Half"], "output_sizes": [[40]], "output_dtypes": ["BFloat16"],
    "duration_ms": 1.5, "frames": [{"name": "x"}])");
  EXPECT_EQ(job.format, "flight recorder");
  EXPECT_FALSE(job.dated);
  EXPECT_FALSE(job.kernels);
  const auto made = first(job);
  EXPECT_EQ(made.kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(made.buffer, Bytes(80));
  EXPECT_EQ(job.groups[made.group].name, "7");
  EXPECT_EQ(job.groups[made.group].description, "tp");
  EXPECT_NEAR(job.ranks[0].events[0].duration.value(), 1.5e-3, 1e-15);
  EXPECT_EQ(job.names[job.ranks[0].events[0].name], "nccl:_reduce_scatter_base");
  EXPECT_THAT(job.ranks[0].streams, ElementsAre("communication"));
}

// A size needs numbers, a type and a product that fits: 17 floats are 68 bytes; one type as a text is as good as a
// list.
TEST(FlightRecorderReader, Sizes) {
  const auto size = [](const std::string& sizes, const std::string& type) {
    return first(fly(R"("profiling_name": "nccl:all_reduce", "input_sizes": )" + sizes + ", \"input_dtypes\": " + type))
        .buffer;
  };
  EXPECT_EQ(size("[[3, 4], [5]]", "[\"Float\"]"), Bytes(68));
  EXPECT_EQ(size("[[17]]", "\"Float\""), Bytes(68));
  EXPECT_EQ(size("[[0, 9]]", "[\"Float\"]"), Bytes(0));
  EXPECT_FALSE(size("[[17]]", "[\"Quaternion\"]"));
  EXPECT_FALSE(size("[[17]]", "[]"));
  EXPECT_FALSE(size("[[-17]]", "[\"Float\"]"));
  EXPECT_FALSE(size("[[4611686018427387904, 4]]", "[\"Byte\"]"));
  EXPECT_FALSE(size("[[1152921504606846976], [1]]", "[\"Byte\"]")) << "a sum above 2^60";
  EXPECT_TRUE(first(fly(R"("profiling_name": "nccl:all_gather", "input_sizes": [[4]], "input_dtypes": ["Char"])"))
                  .buffer_is_shard);
  EXPECT_THAT(fly(R"("profiling_name": "nccl:all_reduce")").missing, ElementsAre(HasSubstr("does not tell the size")));
}

// PyTorch writes "nccl:send 0->1" and "nccl:recv 0<-1", the rank's own place in its group first: both transfers are
// with place 1, whose rank is 6 in the group of ranks 4 and 6, and 1 where the trace does not list the ranks.
TEST(FlightRecorderReader, PeersOfTransfers) {
  const std::string groups = R"("3": {"name": "5", "desc": "pp", "ranks": "[4, 6]"})";
  for (const auto& [name, role] :
       {std::pair<std::string, Role>{"nccl:send 0->1", Role::sends}, {"nccl:recv 0<-1", Role::receives}}) {
    const auto entry = "\"profiling_name\": \"" + name + "\", \"process_group\": [\"5\", \"pp\"]";
    const auto placed = first(fly(entry, groups)), unplaced = first(fly(entry));
    EXPECT_EQ(placed.kind, CollectiveKind::point_to_point) << name;
    EXPECT_EQ(placed.role, role);
    EXPECT_EQ(placed.peer, 6);
    EXPECT_EQ(unplaced.peer, 1);
  }
}

// A peer that is not told, is the rank itself (0), or has no place in its group of two is none; a transfer without a
// peer keeps its time.
TEST(FlightRecorderReader, PeersThatAreNone) {
  const std::string groups = R"("3": {"name": "5", "ranks": "[0, 1]"})";
  for (const std::string name : {"send", "send 0->", "send 1->0", "send 0->2", "recv 0<-1048576", "recv 0<--1",
                                 "send 0->-9223372036854775808", "send 0->99999999999999999999"}) {
    const auto job = fly("\"profiling_name\": \"nccl:" + name + "\", \"process_group\": [\"5\"]", groups);
    EXPECT_FALSE(first(job).kind) << name;
    EXPECT_EQ(first(job).peer, -1) << name;
    EXPECT_THAT(job.missing, testing::Not(IsEmpty())) << name;
  }
}

// The list of groups may stand before the entries or behind them; a list that is none (a rank twice) is left out.
TEST(FlightRecorderReader, PlaceOfTheGroups) {
  const std::string entries = R"("entries": [{"profiling_name": "nccl:all_reduce", "process_group": ["2", "dp"]}])";
  const std::string groups = R"("pg_config": {"x": {"name": "2", "ranks": "[3, 1]"}})";
  const auto before = workloads::read_trace_bytes("{" + groups + ", " + entries + "}", "t");
  const auto behind = workloads::read_trace_bytes("{" + entries + ", " + groups + "}", "t");
  EXPECT_EQ(told(before), told(behind));
  EXPECT_THAT(before.groups[0].ranks, ElementsAre(3, 1));
  EXPECT_EQ(before.groups[0].size, 2);
  EXPECT_EQ(before.world, 4) << "ranks 0 to 3";
  EXPECT_THAT(
      fly(R"("profiling_name": "nccl:all_reduce", "process_group": ["2"])", R"("2": {"name": "2", "ranks": "[1, 1]"})")
          .groups[0]
          .ranks,
      IsEmpty());
}

// Coalesced entries are passed over, since their parts stand beside them.
TEST(FlightRecorderReader, CoalescedEntries) {
  for (const std::string name : {"nccl:coalesced", "nccl:ALLGATHER_COALESCED"})
    EXPECT_EQ(refusal(flight("\"profiling_name\": \"" + name + "\"")),
              "t: the trace has neither kernels nor collectives; expected a trace of the device's work");
}

TEST(FlightRecorderReader, Refusals) {  // each with the place where its entry begins
  EXPECT_EQ(refusal(flight("\"duration_ms\": 1")), "t:2:1: entries.profiling_name: is missing; expected a text");
  EXPECT_EQ(refusal(flight("\"profiling_name\": 5")), "t:2:1: entries.profiling_name: is missing; expected a text");
  for (const std::string wrong : {"-0.5", "1.1e12"})
    EXPECT_EQ(refusal(flight(R"("profiling_name": "nccl:all_reduce", "duration_ms": )" + wrong)),
              "t:2:1: entries.duration_ms: a negative or endless duration; expected milliseconds from 0 up");
  const auto whole = flight(R"("profiling_name": "nccl:all_reduce", "input_sizes": [[1]])");
  EXPECT_EQ(refused_cuts(whole), whole.size());
}

/// A node of an execution trace with these attributes of a collective, on line 2 from column 1.
std::string execution(const std::string& attributes) {
  return "{\"schema\": \"1.1.0\", \"nodes\": [\n"
         R"({"id": 3, "name": "record_param_comms", "attrs": [)" +
         attributes + "]}]}";
}

std::string attribute(const std::string& name, const std::string& value) {
  return "{\"name\": \"" + name + "\", \"type\": \"x\", \"value\": " + value + "}";
}

workloads::RecordedJob execute(const std::string& attributes) {
  return workloads::read_trace_bytes(execution(attribute("collective_name", "\"allreduce\"") + attributes), "t");
}

// max(10, 6) doubles are 80 bytes; group "4" is ranks 2 + 3 i, i from 0 to 2.
TEST(ExecutionTraceReader, Attributes) {
  const auto job = execute(", " + attribute("dtype", "\"Double\"") + ", " + attribute("in_msg_nelems", "10") + ", " +
                           attribute("out_msg_nelems", "6") + ", " + attribute("pg_name", "\"4\"") + ", " +
                           attribute("pg_desc", "\"dp\"") + ", " + attribute("pg_size", "3") + ", " +
                           attribute("global_rank_start", "2") + ", " + attribute("global_rank_stride", "3") +
                           R"(, 5, {"name": "x"}, {"value": 1}, {"name": 7, "value": 8})");
  EXPECT_EQ(job.format, "PyTorch execution trace");
  EXPECT_EQ(first(job).kind, CollectiveKind::all_reduce);
  EXPECT_EQ(first(job).buffer, Bytes(80));
  const auto& group = job.groups[first(job).group];
  EXPECT_EQ(group.name, "4");
  EXPECT_EQ(group.description, "dp");
  EXPECT_THAT(group.ranks, ElementsAre(2, 5, 8));
  EXPECT_THAT(job.missing, ElementsAre("An execution trace has the host's operations, not the device's kernels."));
}

// Ranks are listed only when all of them are below 2^20; a stride of 0 and products beyond 64 bits tell only the size,
// and a size or a start that is none not even that.
TEST(ExecutionTraceReader, GroupsBeyondMeasure) {
  const auto group = [](const std::string& size, const std::string& start, const std::string& stride) {
    const auto job = execute(", " + attribute("pg_size", size) + ", " + attribute("global_rank_start", start) + ", " +
                             attribute("global_rank_stride", stride));
    return job.groups[first(job).group];
  };
  EXPECT_THAT(group("2", "0", "1048575").ranks, ElementsAre(0, 1048575));
  for (const std::string stride : {"1048576", "9223372036854775807", "0", "-1", "\"1\""}) {
    EXPECT_THAT(group("2", "0", stride).ranks, IsEmpty()) << stride;
    EXPECT_EQ(group("2", "0", stride).size, 2) << stride;
  }
  for (const std::string size : {"0", "-1", "1048577", "1e3", "null"}) EXPECT_EQ(group(size, "0", "1").size, 0) << size;
  EXPECT_EQ(group("2", "-1", "1").size, 0);
}

// Collectives are in the order of their nodes' numbers, not of the file; waits, inits and other operations are none.
TEST(ExecutionTraceReader, OrderOfNodes) {
  const auto node = [](int id, const std::string& name) {
    return "{\"id\": " + std::to_string(id) + R"(, "name": "record_param_comms", "attrs": [)" +
           attribute("collective_name", "\"" + name + "\"") + "]}";
  };
  const auto job = workloads::read_trace_bytes(
      R"({"schema": "1", "nodes": [)" + node(9, "broadcast") + ", " + node(2, "allreduce") + ", " + node(1, "wait") +
          ", " + node(4, "init") + R"(, {"id": 3, "name": "aten::add"}, {"id": 5, "name": "record_param_comms"}]})",
      "t");
  ASSERT_EQ(job.ranks[0].collectives.count(), 2);
  EXPECT_EQ(job.ranks[0].collectives[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(job.ranks[0].collectives[1].kind, CollectiveKind::broadcast);
  EXPECT_EQ(job.ranks[0].collectives[1].sequence, 1);
}

// Older traces: 6 x 2 longs are 96 bytes, under either of two words.
TEST(ExecutionTraceReader, ShapesOfOlderOnes) {
  const std::vector<std::string> writings{
      R"-("input_shapes": [[[6, 2]]], "input_types": ["GenericList[Tensor(long int)]"])-",
      R"-("inputs": {"shapes": [[6, 2]], "types": ["Tensor(long int)"]})-"};
  for (const auto& writing : writings) {
    const auto job = workloads::read_trace_bytes(
        R"({"schema": "1", "nodes": [{"id": 1, "name": "nccl:broadcast", )" + writing + "}]}", "t");
    EXPECT_EQ(first(job).buffer, Bytes(96));
    EXPECT_EQ(first(job).kind, CollectiveKind::broadcast);
  }
}

// A node without a number is refused at its place; a cut trace everywhere.
TEST(ExecutionTraceReader, Refusals) {
  EXPECT_EQ(refusal("{\"schema\": \"1\", \"nodes\": [{\"id\": 1, \"name\": \"x\"},\n {\"name\": \"y\"}]}"),
            "t:2:2: nodes.id: the node has no number; expected a whole number");
  const auto whole = execution(attribute("collective_name", "\"allreduce\""));
  EXPECT_EQ(refusal(whole), "");
  EXPECT_EQ(refused_cuts(whole), whole.size());
}

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
