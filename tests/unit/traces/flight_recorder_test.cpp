// PyTorch's flight recorder: what its entries and its list of groups say.
#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using Role = workloads::RecordedCollective::Role;

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
  EXPECT_EQ(refusal(R"({"pg_config": {"2": {"name": "2", "ranks": "[1, 1]"}}, )" + entries + "}"),
            "t: pg_config.2.ranks: is no list of ranks; expected different numbers from 0 up");
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

}  // namespace
}  // namespace lockstep::test
