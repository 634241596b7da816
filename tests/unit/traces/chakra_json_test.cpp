// Chakra's graph as JSON, whose words have changed with its converters, and the refusals with the place of the node.
#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using workloads::RecordedEvent;

/// The node stands on line 2 from column 1.
std::string graph(const std::string& node) { return "{\"workload_graph\": [\n{" + node + "}]}"; }

workloads::RecordedJob read(const std::string& node) { return workloads::read_trace_bytes(graph(node), "t"); }

// Old words and new ones, numbers plain and in quotes: the same job.
TEST(ChakraJson, OldAndNewWords) {
  const auto old_words = read(R"("Id": 5, "Name": "a", "NodeType": 7, "runtime": 12, "comm_type": 0, "comm_size": 64)");
  const auto new_words =
      read(R"("id": "5", "name": "a", "type": "7", "duration_micros": "12", "comm_type": "0", "comm_size": "64")");
  EXPECT_EQ(told(old_words), told(new_words));
  const auto& rank = old_words.ranks[0];
  EXPECT_EQ(old_words.format, "Chakra JSON");
  EXPECT_EQ(rank.events[0].number, 5);
  EXPECT_NEAR(rank.events[0].duration.value(), 12e-6, 1e-18);
  EXPECT_EQ(rank.collectives[0].kind, CollectiveKind::all_reduce);
  EXPECT_EQ(rank.collectives[0].buffer, Bytes(64));
}

// The four words for dependences, in lists and in texts that are lists, are one list.
TEST(ChakraJson, WordsForDependences) {
  const auto job = workloads::read_trace_bytes(
      R"({"workload_graph": [{"Id": 1, "NodeType": 4}, {"Id": 2, "NodeType": 4}, {"Id": 3, "NodeType": 4},
{"Id": 4, "NodeType": 4}, {"Id": 9, "NodeType": 4, "data_deps": [4], "dataDeps": "[3]", "ctrl_deps": 2, "ctrlDeps": [[1]]}]})",
      "t");
  EXPECT_THAT(job.ranks[0].events[4].after, testing::UnorderedElementsAre(0, 1, 2, 3));
}

// Peers, groups, streams and the host's operations as in .et.
TEST(ChakraJson, AttributesOfNodes) {
  const auto sent = read(R"("Id": 1, "NodeType": 5, "comm_dst": 3, "comm_src": 2, "comm_size": 8, "stream": 20)");
  EXPECT_EQ(sent.ranks[0].collectives[0].peer, 3);
  EXPECT_THAT(sent.ranks[0].streams, ElementsAre("stream 20"));
  EXPECT_THAT(sent.missing, IsEmpty());
  const auto grouped = read(R"("Id": 1, "NodeType": 7, "comm_type": 2, "comm_size": 8, "pg_name": "tp")");
  EXPECT_EQ(grouped.groups[grouped.ranks[0].collectives[0].group].name, "tp");
  EXPECT_TRUE(grouped.ranks[0].collectives[0].buffer_is_shard);
  EXPECT_EQ(read(R"("Id": 1, "NodeType": 4, "is_cpu_op": true)").ranks[0].events[0].kind, RecordedEvent::Kind::host);
}

// Every refusal with the place where the node begins.
TEST(ChakraJson, Refusals) {
  const auto refused = [](const std::string& node, const std::string& why) {
    EXPECT_EQ(refusal(graph(node)), "t:2:1: workload_graph." + why) << node;
  };
  refused(R"("NodeType": 4)", "Id: the node has no number; expected a whole number");
  refused(R"("Id": 1.5, "NodeType": 4)", "Id: the node has no number; expected a whole number");
  refused(R"("Id": 9223372036854775808, "NodeType": 4)", "Id: the node has no number; expected a whole number");
  refused(R"("Id": [1], "NodeType": 4)", "Id: the node has no number; expected a whole number");
  refused(R"("Id": 1, "NodeType": 8)", "NodeType: a node of unknown type 8; expected 0 to 7");
  refused(R"("Id": 1, "NodeType": -1)", "NodeType: a node of unknown type -1; expected 0 to 7");
  refused(R"("Id": 1, "NodeType": 4, "runtime": -1)", "runtime: a negative duration; expected microseconds from 0 up");
  refused(R"("Id": 1, "NodeType": 4, "runtime": 9000000000000001)",
          "runtime: a duration of more than 285 years; expected microseconds");
  refused(R"("Id": 1, "NodeType": 7, "comm_size": -1)", "comm_size: a negative size; expected bytes from 0 up");
}

// What is no list of objects, with the place of the value.
TEST(ChakraJson, RefusedLists) {
  EXPECT_EQ(refusal(R"({"workload_graph": [1]})"),
            "t:1:22: a plain value stands where an object should; expected a list of objects");
  EXPECT_EQ(refusal(R"({"workload_graph": [[]]})"),
            "t:1:21: a list stands where an object should; expected a list of objects");
  EXPECT_EQ(refusal(R"({"workload_graph": {}})"),
            "t: the trace has neither kernels nor collectives; expected a trace of the device's work");
  EXPECT_EQ(refusal(R"(["workload_graph"])"), "t:1:1: the document is a list; expected an object");
  EXPECT_EQ(refusal(R"("\"workload_graph\"")").substr(0, 2), "t:");
}

// 4,096 fields are read and 4,097 refused.
TEST(ChakraJson, FieldsOfAnObject) {
  const auto node = [](int count) {
    std::string fields = R"("Id": 1, "NodeType": 4)";
    for (int i = 2; i < count; ++i) fields += ", \"x" + std::to_string(i) + "\": 0";
    return graph(fields);
  };
  EXPECT_EQ(refusal(node(4096)), "");
  EXPECT_THAT(refusal(node(4097)), testing::EndsWith(": an object has too many fields; expected at most 4096"));
}

// Fields that are unknown, nested or behind the list change nothing.
TEST(ChakraJson, UnknownFields) {
  const std::string node = R"("Id": 1, "Name": "a", "NodeType": 4, "runtime": 3)";
  const auto plain = told(read(node));
  EXPECT_EQ(told(read(R"("x": {"Id": 7, "runtime": 9, "y": [{"Id": 3}]}, )" + node + R"(, "z": [[], {}, null, 1e9])")),
            plain);
  EXPECT_EQ(
      told(workloads::read_trace_bytes(
          R"({"meta": {"workload_graph": [{"Id": 4}]}, "workload_graph": [{)" + node + R"(}], "end": {"a": 1}})", "t")),
      plain);
}

// Cut after each of its bytes it is refused.
TEST(ChakraJson, CutAtEveryByte) {
  const auto whole = graph(R"("Id": 1, "Name": "\u00e9", "NodeType": 7, "data_deps": [1, 2], "x": {"y": [true]})");
  EXPECT_EQ(refused_cuts(whole), whole.size());
  const std::string end = "the JSON ends in the middle; expected a file that was written and copied whole";
  for (const std::string begin :
       {R"({"Id": 1, "Na)", R"({"Id": 1, "x": tr)", R"({"Id": 1.)", R"({"Id": 1, "x": "\u00)"}) {
    const auto column = std::to_string(begin.size() + 1);  // behind its last byte
    EXPECT_EQ(refusal("{\"workload_graph\": [\n" + begin), "t:2:" + column + ": " + end);
  }
  EXPECT_THAT(refusal(graph("\"Id\": 1, \"Name\": \"\xff\"")), HasSubstr("t:2:20: malformed JSON: "));
}

}  // namespace
}  // namespace lockstep::test
