// Broken traces are refused in one line with the place; nothing half read comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;

// One or several members of gzip are the text itself; a part of one is refused, wherever it is cut.
TEST(Refusals, TruncatedGzip) {
  const auto text = trace_bytes("kineto_rank0.json");
  const auto whole = packed(text);
  EXPECT_EQ(refusal(whole), "");
  EXPECT_EQ(refusal(packed(text.substr(0, 1000)) + packed(text.substr(1000))), "");
  for (const std::size_t left : {whole.size() - 1, whole.size() - 9, whole.size() / 2, std::size_t{30}})
    EXPECT_THAT(refusal(whole.substr(0, left)), HasSubstr("the gzip data end in the middle")) << left;
  auto broken = whole;
  broken[whole.size() / 2] = static_cast<char>(broken[whole.size() / 2] ^ 0x55);
  EXPECT_THAT(refusal(broken), testing::Not(testing::IsEmpty()));
}

// The third line of this trace is its events' first; it is cut in the fourth.
TEST(Refusals, JsonCutInTheMiddle) {
  const std::string text =
      "{\"schemaVersion\": 1,\n\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 1,\n";
  EXPECT_EQ(refusal(text + "\"dur\""),
            "t:4:6: the JSON ends in the middle; expected a file that was written and copied whole");
  EXPECT_THAT(refusal(text + "\"dur\" 5}]}"), HasSubstr("t:4:8: malformed JSON"));
}

TEST(Refusals, DurationsAndTimes) {
  const auto event = [](const std::string& rest) {
    return "{\"traceEvents\": [\n  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", " + rest +
           ", \"args\": {\"stream\": 7}}]}";
  };
  EXPECT_EQ(refusal(event("\"ts\": 5, \"dur\": -3")),
            "t:2:3: traceEvents.dur: a negative duration; expected microseconds from 0 up");
  EXPECT_THAT(refusal(event("\"ts\": \"x\", \"dur\": 3")), HasSubstr("t:2:3: traceEvents.ts: the event has no time"));
  EXPECT_THAT(refusal(event("\"ts\": 1e30, \"dur\": 3")), HasSubstr("traceEvents.ts"));
  EXPECT_EQ(refusal(event("\"ts\": 5, \"dur\": 3")), "");
}

TEST(Refusals, JobsThatDoNotFit) {
  const auto two = [](const std::string& one, const std::string& other) -> std::string {
    try {
      (void)workloads::read_traces({trace_file(one), trace_file(other)});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(two("kineto_rank0.json", "kineto_rank0.json"), HasSubstr("is of rank 0, as is "));
  EXPECT_THAT(two("kineto_rank0.json", "chakra.1.et"), HasSubstr("is a Chakra trace, the others are of Kineto"));
  const auto rank5 = R"({"distributedInfo": {"rank": 5, "world_size": 2}, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "args": {"stream": 7}}]})";
  EXPECT_THAT(refusal(rank5), HasSubstr("is of rank 5, but the job has 2 ranks"));
}

// Numbers of ranks, sizes and lists of ranks that cannot be are refused by their key, in the header and at a
// collective.
TEST(Refusals, GroupsThatCannotBe) {
  const auto header = [](const std::string& information) {
    return R"({"distributedInfo": {)" + information + R"(}, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "args": {"stream": 7}}]})";
  };
  EXPECT_EQ(refusal(header(R"("rank": 1, "world_size": 2)")), "");
  EXPECT_EQ(refusal(header(R"("rank": -1)")), "t: distributedInfo.rank: -1 is no such number; expected 0 to 1048575");
  EXPECT_EQ(refusal(header(R"("world_size": "many")")),
            "t: distributedInfo.world_size: many is no such number; expected 0 to 1048576");
  EXPECT_THAT(refusal(header(R"("world_size": 99999999)")), HasSubstr("distributedInfo.world_size: 99999999"));
  EXPECT_THAT(refusal(header(R"("pg_config": [{"pg_name": "0", "pg_size": 2, "ranks": [0, 0]}])")),
              HasSubstr("distributedInfo.pg_config: the ranks of group '0' cannot be"));
  EXPECT_THAT(refusal(header(R"("pg_config": [{"pg_name": "0", "pg_size": -2, "ranks": [0, 1]}])")),
              HasSubstr("the size of group '0' cannot be"));
  const auto kernel = [](const std::string& arguments) {
    return R"({"distributedInfo": {"rank": 3, "world_size": 4}, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, "dur": 1, "args": {"stream": 7, )" +
           arguments + "}}]}";
  };
  EXPECT_EQ(refusal(kernel(R"("Process Group Ranks": "[2, 3]")")), "");
  EXPECT_EQ(refusal(kernel(R"("Process Group Ranks": "[0, 1, ..., 3]", "Group size": 4)")), "") << "shortened";
  EXPECT_EQ(refusal(kernel(R"("Process Group Ranks": "[2, 2]")")),
            "t:2:1: traceEvents.args.Process Group Ranks: is no list of ranks; expected different numbers from 0 up");
  EXPECT_EQ(
      refusal(kernel(R"("Process Group Ranks": "[0, 1, 2]", "Group size": 2)")),
      "t:2:1: traceEvents.args.Process Group Ranks: has more ranks than the group; expected 2, as Group size says");
  EXPECT_EQ(refusal(kernel(R"("Group size": -4)")),
            "t:2:1: traceEvents.args.Group size: -4 is out of range; expected 0 to 1048576");
  EXPECT_THAT(refusal(kernel(R"("In msg nelems": -7)")), HasSubstr("args.In msg nelems: -7 is out of range"));
  EXPECT_EQ(refusal(kernel(R"("Process Group Name": "5", "Process Group Ranks": "[0, 1]")")),
            "t: rank 3 communicates in group '5', which does not have it; expected groups with all ranks that "
            "communicate in them");
  EXPECT_THAT(refusal(R"({"pg_config": {"0": {"name": "0", "ranks": "[1, 1]"}}, "entries": []})"),
              HasSubstr("t: pg_config.0.ranks: is no list of ranks"));
}

// Forms of traces that are not read are called by their names: a pickle begins with 0x80 and its protocol.
TEST(Refusals, OtherForms) {
  EXPECT_THAT(refusal(std::string("\x80\x04\x95\x10\0\0\0\0\0\0\0}", 12)),
              testing::AllOf(HasSubstr("t: is a pickle"), HasSubstr("json.dump(pickle.load(open(sys.argv[1]")));
  EXPECT_THAT(refusal(std::string("\x80\x02}q", 4)), HasSubstr("t: is a pickle"));
  EXPECT_THAT(refusal("SQLite format 3"), HasSubstr("t: is a database, such as nsys exports"));
}

TEST(Refusals, NothingInIt) {
  EXPECT_THAT(refusal("hello"), HasSubstr("no trace of a known format"));
  EXPECT_THAT(refusal("{\"traceEvents\": []}"), HasSubstr("neither kernels nor collectives"));
  EXPECT_THAT(refusal("{\"traceEvents\": [1]}"), HasSubstr("a list of objects"));
}

// A length of 2^32 and more, a length of 64 MiB before nothing, a field longer than its message, and a message cut
// short: nothing of the size that is promised is made.
TEST(Refusals, LengthsOfMessages) {
  const auto whole = trace_bytes("chakra.0.et");
  EXPECT_EQ(refusal(whole), "");
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 1)), HasSubstr("ends in the middle of a message"));
  EXPECT_THAT(refusal(std::string("\x07\x0a\x05"
                                  "0.0.4\xff\xff\xff\xff\xff\xff",
                                  14)),
              HasSubstr("a length of more than 32 bits"));
  EXPECT_THAT(refusal(std::string("\x07\x0a\x05"
                                  "0.0.4\xff\xff\xff\xff\x0f",
                                  13)),
              HasSubstr("t: byte 13: a message of 4294967295 bytes"));
  EXPECT_THAT(refusal(std::string("\x07\x0a\x05"
                                  "0.0.4\x03\x08\x01\x12",
                                  12)),
              testing::AnyOf(HasSubstr("in the middle of a number"), HasSubstr("a field of")));
  EXPECT_THAT(refusal(std::string("\x07\x0a\x05"
                                  "0.0.4\x04\x08\x01\x12\x7f",
                                  13)),
              HasSubstr("t: byte 13: a field of 127 bytes; expected at most the 0 that its message has left"));
}

TEST(Refusals, CirclesAndTwins) {
  const auto graph = [](const std::string& nodes) { return "{\"workload_graph\": [" + nodes + "]}"; };
  EXPECT_THAT(
      refusal(graph(R"({"Id": 1, "NodeType": 4, "data_deps": [2]}, {"Id": 2, "NodeType": 4, "data_deps": [1]})")),
      HasSubstr("t: node 1: nodes wait for each other in a circle"));
  EXPECT_THAT(refusal(graph(R"({"Id": 1, "NodeType": 4}, {"Id": 1, "NodeType": 4})")), HasSubstr("two nodes of this"));
  EXPECT_THAT(refusal(graph(R"({"Id": 1, "NodeType": 4, "runtime": -5})")), HasSubstr("a negative duration"));
  EXPECT_THAT(refusal(graph(R"({"Id": 1, "NodeType": 9})")), HasSubstr("unknown type 9"));
}

}  // namespace
}  // namespace lockstep::test
