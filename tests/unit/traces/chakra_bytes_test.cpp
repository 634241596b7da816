// Chakra's .et: how numbers and nodes are written, and the refusal of each broken writing. The traces are written here
// by an encoder of ten lines (small_traces.hpp), so that byte offsets can be counted by hand: metadata takes bytes 0 to
// 7, the length of the first node byte 8, the node starts at byte 9.
#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "tests/unit/traces/chakra_traces.hpp"

namespace lockstep::test::chakra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::RecordedEvent;

// data_deps (field 5) and ctrl_deps (field 4), packed in one field or one by one, are the same: node 3 waits for 1
// and 2.
TEST(ChakraBytes, PackedAndUnpackedDependences) {
  const auto before = node(1, compute) + node(2, compute);
  for (const std::uint64_t field : {4u, 5u}) {
    const auto apart = read(before + node(3, compute, proto::number(field, 1) + proto::number(field, 2)));
    const auto together = read(before + node(3, compute, proto::text(field, proto::varint(1) + proto::varint(2))));
    EXPECT_EQ(told(apart), told(together));
    EXPECT_THAT(together.ranks[0].events[2].after, ElementsAre(0, 1));
  }
  const auto twice = read(before + node(3, compute, proto::number(5, 1) + proto::number(5, 1) + proto::number(4, 1)));
  EXPECT_THAT(twice.ranks[0].events[2].after, ElementsAre(0)) << "each once";
}

// A million dependences of either kind are read and one more refused, before it takes memory.
TEST(ChakraBytes, TooManyDependences) {
  for (const std::uint64_t field : {4u, 5u}) {
    const auto of = [&](std::size_t count) {
      return refusal(proto::metadata() + node(1, compute) +
                     node(2, compute, proto::text(field, std::string(count, 1))));
    };
    EXPECT_EQ(of(1'000'000), "");
    EXPECT_THAT(of(1'000'001), testing::EndsWith(": a node waits for too many; expected at most a million"));
  }
}

// A dependence on a node that is not there is left out and said.
TEST(ChakraBytes, DependencesOnNothing) {
  const auto job = read(node(1, compute, proto::number(5, 99)));
  EXPECT_THAT(job.ranks[0].events[0].after, IsEmpty());
  EXPECT_THAT(job.missing, ElementsAre("Some dependences name nodes that the trace does not have; they are left out."));
}

// Nodes 1 and 2 wait for each other by control; then only data count. By data that is refused, as is a node that waits
// for itself. Of two nodes with one number neither is taken.
TEST(ChakraBytes, CirclesAndTwins) {
  const auto job = read(node(1, compute, proto::number(4, 2)) + node(2, compute, proto::number(5, 1)));
  EXPECT_THAT(job.ranks[0].events[0].after, IsEmpty());
  EXPECT_THAT(job.ranks[0].events[1].after, ElementsAre(0));
  EXPECT_THAT(job.guessed, ElementsAre("Control dependences go round in circles with those of data; only those of data "
                                       "are followed."));
  EXPECT_EQ(refusal(proto::metadata() + node(7, compute, proto::number(5, 7))),
            "t: node 7: nodes wait for each other in a circle; expected dependences without a circle");
  EXPECT_EQ(refusal(proto::metadata() + node(-4, compute) + node(-4, send)),
            "t: node -4: there are two nodes of this number; expected one");
}

// Whatever order the nodes have in the file, an event comes after those it waits for: of a chain of five all 120 orders
// give the chain.
TEST(ChakraBytes, OrderOfNodes) {
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    std::string nodes;
    for (const int i : order) nodes += node(i, compute, i == 0 ? "" : proto::number(5, i - 1));
    const auto job = read(nodes);
    const auto& events = job.ranks[0].events;
    ASSERT_EQ(events.count(), 5);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(events[i].number, i);
      EXPECT_EQ(events[i].after, i == 0 ? SmallList<std::int32_t>{} : SmallList<std::int32_t>{i - 1});
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// Ids are any 64 bits: -1 and the least take ten bytes, and dependences find them.
TEST(ChakraBytes, NegativeAndHugeNumbers) {
  const auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const auto job = read(node(-1, compute) + node(least, compute, proto::number(5, -1)) +
                        node(most, compute, proto::text(5, proto::varint(static_cast<std::uint64_t>(least)))));
  const auto& events = job.ranks[0].events;
  EXPECT_EQ(events[1].number, least);
  EXPECT_THAT(events[1].after, ElementsAre(0));
  EXPECT_EQ(events[2].number, most);
  EXPECT_THAT(events[2].after, ElementsAre(1));
}

// 5 may be written in two bytes (0x85 0x00) and in ten; an eleventh byte, and a tenth that has more than the last of 64
// bits, are refused. The node's key is byte 9, so the tenth byte of its number is read when 20 are.
TEST(ChakraBytes, OverlongNumbers) {
  const auto id = [](const std::string& number) {
    return proto::metadata() + proto::message(proto::key(1, 0) + number + proto::number(3, compute));
  };
  for (const std::string& zeros : {std::string("\x85\x00", 2), "\x85" + std::string(8, '\x80') + std::string(1, '\0')})
    EXPECT_EQ(workloads::read_trace_bytes(id(zeros), "t").ranks[0].events[0].number, 5);
  const std::string full = std::string(9, '\xff');
  EXPECT_EQ(workloads::read_trace_bytes(id(full + "\x01"), "t").ranks[0].events[0].number, -1);
  const std::string refused = "t: byte 20: a number of more than 64 bits; expected protocol buffers";
  EXPECT_EQ(refusal(id(full + "\x02")), refused);
  EXPECT_EQ(refusal(id(full + "\x81\x01")), refused);
}

// A duration has at most 9e15 us (285 years); -1 is 2^64 - 1 as protocol buffers write it.
TEST(ChakraBytes, Durations) {
  EXPECT_EQ(refusal(proto::metadata() + node(1, compute, proto::number(7, 9'000'000'000'000'000))), "");
  const auto refused = [](std::int64_t micros) {
    return refusal(proto::metadata() + node(1, compute, proto::number(7, micros)));
  };
  EXPECT_THAT(refused(9'000'000'000'000'001), HasSubstr(": a duration of 9000000000000001 us; expected at most 285"));
  EXPECT_THAT(refused(-1), HasSubstr(": a duration of -1 us; expected at most 285 years"));
}

// A field with another wire type than Chakra's is not that field: a text where the type stands does not take the
// number before it, 4 (compute), but is passed over as unknown.
TEST(ChakraBytes, FieldsOfAnotherWireType) {
  const auto job = read(proto::message(proto::number(1, 4) + proto::text(3, "x") + proto::text(7, "y")));
  EXPECT_EQ(job.ranks[0].events[0].kind, RecordedEvent::Kind::host) << "of type 0";
  EXPECT_EQ(job.ranks[0].events[0].duration, Seconds(0));
  EXPECT_THAT(job.missing, ElementsAre("2 fields are unknown and passed over."));
}

// Unknown fields of every wire type are passed over and counted: two of the node, one of an attribute.
TEST(ChakraBytes, UnknownFields) {
  const auto job =
      read(node(1, compute,
                proto::fixed(40, 1, 8) + proto::fixed(41, 1, 4) + proto::attribute("comm_size", proto::number(99, 5))));
  EXPECT_THAT(job.missing, ElementsAre("3 fields are unknown and passed over."));
}

// Wire types 3, 4 (groups), 6 and 7 do not exist in Chakra; type 8 of a node neither. The key is byte 9.
TEST(ChakraBytes, UnknownWireAndNodeTypes) {
  for (const std::uint64_t wire : {3u, 4u, 6u, 7u}) {
    EXPECT_EQ(refusal(proto::metadata() + proto::message(proto::key(1, wire))),
              "t: byte 10: a field of unknown wire type " + std::to_string(wire) + "; expected 0, 1, 2 or 5");
  }
  const auto trace = proto::metadata() + node(1, 8);
  EXPECT_EQ(refusal(trace), "t: byte " + std::to_string(trace.size()) + ": a node of unknown type 8; expected 0 to 7");
}

// A first node without metadata whose number is 0, which protocol buffers leave out, begins with its name: it is a node
// whatever letters its name has.
TEST(ChakraBytes, FirstNodeWithoutMetadata) {
  const auto trace = proto::message(proto::text(2, "gemm") + proto::number(3, compute));
  const auto job = workloads::read_trace_bytes(trace, "t");
  ASSERT_EQ(job.ranks[0].events.count(), 1);
  EXPECT_EQ(job.names[job.ranks[0].events[0].name], "gemm");
}

// Metadata with attributes instead of a version are no node.
TEST(ChakraBytes, MetadataOfAttributes) {
  const auto metadata = proto::message(proto::text(2, proto::text(1, "schema") + proto::text(29, "1")));
  const auto job = workloads::read_trace_bytes(metadata + node(1, compute), "t");
  EXPECT_EQ(job.ranks[0].events.count(), 1);
}

// A trace of metadata and three nodes, cut after each of its bytes: at the end of a message it is a shorter trace, that
// is after one and after two nodes; everywhere else it is refused.
TEST(ChakraBytes, CutAtEveryByte) {
  const auto whole = proto::metadata() + node(1, compute) + node(2, compute, proto::number(5, 1)) +
                     node(3, collective, proto::attribute("comm_size", 4096));
  EXPECT_EQ(refused_cuts(whole), whole.size() - 2);
  EXPECT_EQ(refusal(whole.substr(0, 9)),
            "t: byte 9: the trace ends in the middle of a message; expected a file that was copied whole");
  EXPECT_EQ(refusal(whole + "\x81"), "t: byte " + std::to_string(whole.size() + 1) +
                                         ": the trace ends in the middle of a length; expected a file that was copied "
                                         "whole");
}

// 3,000 graphs of at most 12 nodes, drawn at random and written by the encoder: read, they have every node's number,
// type, duration and size, and of each dependence the event of its node. Dependences point to lower numbers, so there
// is no circle and the order of the file is kept.
TEST(ChakraBytes, RandomGraphs) {
  std::mt19937_64 random(20240607);
  const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
  for (int graph = 0; graph < 3000; ++graph) {
    struct Drawn {
      std::int64_t id, micros, size;
      int type;
      std::vector<int> after;
    };
    std::vector<Drawn> drawn;
    std::string nodes;
    const auto count = static_cast<int>(1 + below(12));
    for (int i = 0; i < count; ++i) {
      Drawn one{i * 1'000'003 - below(1'000'000),
                below(1 << 30),
                below(std::uint64_t{1} << 40),
                static_cast<int>(2 + below(6)),
                {}};
      std::string rest = proto::number(7, one.micros) + proto::attribute("comm_size", one.size), together;
      for (int j = 0; j < i; ++j) {
        if (below(3) != 0) continue;
        one.after.push_back(j);
        together += proto::varint(static_cast<std::uint64_t>(drawn[static_cast<std::size_t>(j)].id));
      }
      if (!together.empty()) rest += proto::text(5, together);
      nodes += node(one.id, one.type, rest);
      drawn.push_back(std::move(one));
    }
    const auto job = read(nodes);
    const auto& rank = job.ranks[0];
    ASSERT_EQ(rank.events.count(), count);
    for (const auto id : rank.events.ids()) {
      const auto& event = rank.events[id];
      const auto& one = drawn[position_of(id)];
      ASSERT_EQ(event.number, one.id);
      ASSERT_NEAR(event.duration.value(), static_cast<double>(one.micros) * 1e-6, 1e-9);
      ASSERT_THAT(event.after, testing::ElementsAreArray(one.after));
      ASSERT_EQ(event.kind == RecordedEvent::Kind::collective, one.type >= send);
      if (one.type >= send) {
        ASSERT_EQ(rank.collectives[event.collective].buffer, Bytes(one.size));
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test::chakra
