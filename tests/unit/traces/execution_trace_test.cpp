// PyTorch's execution traces: attributes of collectives, and the shapes that older ones have instead.
#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using workloads::CollectiveKind;

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
  for (const std::string size : {"0", "-1", "1e3", "null"}) EXPECT_EQ(group(size, "0", "1").size, 0) << size;
  EXPECT_EQ(group("2", "-1", "1").size, 0);
  const auto refused = [&](const std::string& size, const std::string& start) -> std::string {
    try {
      (void)group(size, start, "1");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [size, start] : {std::pair("1048577", "0"), {"-2", "0"}, {"2", "1048576"}, {"2", "-7"}})
    EXPECT_EQ(refused(size, start), std::string("t:2:1: nodes.attrs: a group of ") + size + " ranks from rank " +
                                        start + " on; expected at most 1048576 ranks from 0 up");
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

}  // namespace
}  // namespace lockstep::test
