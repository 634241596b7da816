// Chakra's .et: what each field of a node means, how numbers are written, and the refusal of each broken writing. The
// traces are written here by an encoder of ten lines (small_traces.hpp), so that byte offsets can be counted by hand:
// metadata takes bytes 0 to 7, the length of the first node byte 8, the node starts at byte 9.
#include <gmock/gmock.h>

#include <bit>
#include <limits>
#include <random>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using workloads::RecordedEvent;
using Role = workloads::RecordedCollective::Role;

constexpr int metadata_type = 1, load = 2, store = 3, compute = 4, send = 5, receive = 6, collective = 7;

std::string node(std::int64_t id, int type, const std::string& rest = "") {
  return proto::message(proto::number(1, id) + proto::text(2, "n" + std::to_string(id)) + proto::number(3, type) +
                        rest);
}

workloads::RecordedJob read(const std::string& nodes) {
  return workloads::read_trace_bytes(proto::metadata() + nodes, "t");
}

/// A node with one attribute, a collective of which the test looks at one property.
workloads::RecordedJob with(const std::string& attributes, int type = collective) {
  return read(node(1, type, attributes));
}

// A compute node of 318 us: its id, name, kind and duration in seconds; microseconds are the file's unit. The graph has
// no dates and the order of its streams means nothing.
TEST(Chakra, FieldsOfANode) {
  const auto job = read(node(41, compute, proto::number(7, 318)));
  EXPECT_EQ(job.format, "Chakra");
  EXPECT_FALSE(job.dated);
  EXPECT_TRUE(job.kernels);
  const auto& rank = job.ranks[0];
  EXPECT_FALSE(rank.streams_in_order);
  ASSERT_EQ(rank.events.count(), 1);
  const auto& event = rank.events[0];
  EXPECT_EQ(event.kind, RecordedEvent::Kind::kernel);
  EXPECT_EQ(event.number, 41);
  EXPECT_EQ(job.names[event.name], "n41");
  EXPECT_NEAR(event.duration.value(), 318e-6, 1e-18);
  EXPECT_FALSE(event.start);
  EXPECT_EQ(rank.streams[event.stream], "compute");
}

// Each of the eight types is one kind of event, on the stream that its kind has when no attribute names one.
TEST(Chakra, TypesOfNodes) {
  struct Expected {
    int type;
    RecordedEvent::Kind kind;
    std::string stream;
  };
  using Kind = RecordedEvent::Kind;
  for (const auto& [type, kind, stream] :
       {Expected{0, Kind::host, "host"}, Expected{metadata_type, Kind::host, "host"},
        Expected{load, Kind::copy, "memory"}, Expected{store, Kind::copy, "memory"},
        Expected{compute, Kind::kernel, "compute"}, Expected{send, Kind::collective, "communication"},
        Expected{receive, Kind::collective, "communication"},
        Expected{collective, Kind::collective, "communication"}}) {
    const auto job = read(node(1, type));
    const auto& rank = job.ranks[0];
    EXPECT_EQ(rank.events[0].kind, kind) << type;
    EXPECT_EQ(rank.streams[rank.events[0].stream], stream) << type;
  }
  const auto on_host = with(proto::attribute("is_cpu_op", proto::number(27, 1)), compute);
  EXPECT_EQ(on_host.ranks[0].events[0].kind, Kind::host);
  const auto on_device = with(proto::attribute("is_cpu_op", proto::number(27, 0)), compute);
  EXPECT_EQ(on_device.ranks[0].events[0].kind, Kind::kernel);
}

// comm_type 0 to 9 in the order of et_def.proto: all-reduce, reduce, all-gather, gather, scatter, broadcast,
// all-to-all, reduce-scatter, reduce-scatter by blocks, barrier. Gather, scatter and others are not simulated.
TEST(Chakra, KindsOfCollectives) {
  const std::vector<std::optional<CollectiveKind>> kinds{CollectiveKind::all_reduce,
                                                         CollectiveKind::reduce,
                                                         CollectiveKind::all_gather,
                                                         std::nullopt,
                                                         std::nullopt,
                                                         CollectiveKind::broadcast,
                                                         CollectiveKind::all_to_all,
                                                         CollectiveKind::reduce_scatter,
                                                         CollectiveKind::reduce_scatter,
                                                         CollectiveKind::all_reduce,
                                                         std::nullopt};
  for (std::size_t type = 0; type < kinds.size(); ++type) {
    const auto job =
        with(proto::attribute("comm_type", static_cast<std::int64_t>(type)) + proto::attribute("comm_size", 64));
    const auto& one = job.ranks[0].collectives[0];
    EXPECT_EQ(one.kind, kinds[type]) << type;
    EXPECT_EQ(one.buffer_is_shard, one.kind == CollectiveKind::all_gather) << type;
    if (!one.kind)
      EXPECT_THAT(job.missing, ElementsAre(HasSubstr("does not tell the kind"))) << type;
    else
      EXPECT_THAT(job.missing, IsEmpty()) << type;
  }
  EXPECT_FALSE(with(proto::attribute("comm_type", -1)).ranks[0].collectives[0].kind);
}

// Without comm_type the name tells the kind.
TEST(Chakra, KindOfAName) {
  const auto job = read(
      proto::message(proto::number(1, 1) + proto::text(2, "nccl:_reduce_scatter_base") + proto::number(3, collective)));
  EXPECT_EQ(job.ranks[0].collectives[0].kind, CollectiveKind::reduce_scatter);
}

// 3,000,000,000 bytes, more than 31 bits, in every type of number of an attribute: int64, uint32, uint64, sint64
// (zigzag: twice the number), fixed64 and sfixed64.
TEST(Chakra, TypesOfAttributes) {
  constexpr std::int64_t size = 3'000'000'000;
  for (const auto& value :
       {proto::number(9, size), proto::number(11, size), proto::number(13, size), proto::number(17, 2 * size),
        proto::fixed(19, size, 4), proto::fixed(21, size, 8), proto::fixed(25, size, 8)}) {
    const auto job = with(proto::attribute("comm_size", value));
    EXPECT_EQ(job.ranks[0].collectives[0].buffer, Bytes(size)) << testing::PrintToString(value);
  }
  EXPECT_EQ(with(proto::attribute("comm_size", proto::number(7, 12))).ranks[0].collectives[0].buffer, Bytes(12));
  EXPECT_EQ(with(proto::attribute("comm_size", proto::number(15, 24))).ranks[0].collectives[0].buffer, Bytes(12));
  EXPECT_FALSE(with("").ranks[0].collectives[0].buffer);
}

// -3 as int32 (ten bytes), int64, sint32, sint64 (zigzag 5), sfixed32 and sfixed64: a size cannot be negative, in
// whatever type it is. An attribute "comm_size" of -3 as int64 is 11 + 11 bytes; its message starts at byte 9 + 8 + 2.
TEST(Chakra, NegativeSizes) {
  const auto minus = static_cast<std::uint64_t>(-3);
  for (const auto& value : {proto::number(7, -3), proto::number(9, -3), proto::number(15, 5), proto::number(17, 5),
                            proto::fixed(23, minus, 4), proto::fixed(25, minus, 8)}) {
    const auto trace = proto::metadata() + node(1, collective, proto::attribute("comm_size", value));
    EXPECT_EQ(refusal(trace),
              "t: byte " + std::to_string(trace.size()) + ": 'comm_size' is negative; expected bytes from 0 up");
  }
}

// A send has its peer in comm_dst, a receive in comm_src; a peer that is the rank itself, negative or above the most
// ranks is none, and then the transfer keeps only its time.
TEST(Chakra, SendsAndReceives) {
  const auto both = proto::attribute("comm_src", 5) + proto::attribute("comm_dst", 6);
  const auto sent = with(both, send).ranks[0].collectives[0];
  EXPECT_EQ(sent.kind, CollectiveKind::point_to_point);
  EXPECT_EQ(sent.role, Role::sends);
  EXPECT_EQ(sent.peer, 6);
  const auto received = with(both, receive).ranks[0].collectives[0];
  EXPECT_EQ(received.role, Role::receives);
  EXPECT_EQ(received.peer, 5);
  for (const std::int64_t peer : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 20, std::int64_t{1} << 40}) {
    const auto job = with(proto::attribute("comm_dst", peer), send);
    EXPECT_FALSE(job.ranks[0].collectives[0].kind) << peer;
    EXPECT_THAT(job.missing, testing::Contains(HasSubstr("does not tell the other rank"))) << peer;
  }
}

// Two collectives of group "3" (one as a text, one as a number), one of no group: positions 0 and 1 within the group.
TEST(Chakra, GroupsAndSequences) {
  const auto job = read(node(1, collective, proto::attribute("pg_name", proto::text(29, "3"))) + node(2, collective) +
                        node(3, collective, proto::attribute("pg_name", 3)));
  const auto& made = job.ranks[0].collectives;
  ASSERT_EQ(made.count(), 3);
  EXPECT_EQ(made[0].group, made[2].group);
  EXPECT_NE(made[0].group, made[1].group);
  EXPECT_EQ(job.groups[made[0].group].name, "3");
  EXPECT_EQ(made[0].sequence, 0);
  EXPECT_EQ(made[2].sequence, 1);
  EXPECT_EQ(made[1].sequence, 0);
  EXPECT_THAT(job.guessed, ElementsAre(HasSubstr("does not say which ranks")));
}

// What Lockstep writes besides: seconds replace the microseconds, and streams, sizes, copies and priorities are kept.
TEST(Chakra, AttributesOfLockstep) {
  const auto seconds = proto::attribute("lockstep_seconds", proto::fixed(3, std::bit_cast<std::uint64_t>(1.5e-7), 8));
  const auto job =
      read(node(1, collective,
                proto::number(7, 99) + seconds + proto::attribute("stream", 4) +
                    proto::attribute("lockstep_streams", proto::text(29, "4,9,2")) +
                    proto::attribute("comm_type", std::int64_t{0}) + proto::attribute("lockstep_exchange", 1) +
                    proto::attribute("lockstep_full_size", 77) + proto::attribute("lockstep_priority", -5) +
                    proto::attribute("lockstep_copies", proto::text(29, "8 2 4"))));
  const auto& rank = job.ranks[0];
  const auto& event = rank.events[0];
  EXPECT_DOUBLE_EQ(event.duration.value(), 1.5e-7);
  EXPECT_EQ(event.priority, -5);
  EXPECT_THAT(rank.streams, ElementsAre("stream 4", "stream 9", "stream 2"));
  EXPECT_EQ(event.stream, 0);
  EXPECT_THAT(event.more_streams, ElementsAre(1, 2)) << "not its own stream again";
  const auto& one = rank.collectives[0];
  EXPECT_TRUE(one.exchange);
  EXPECT_EQ(one.copies.each, 8);
  EXPECT_EQ(one.copies.groups, 2);
  EXPECT_EQ(one.copies.groups_per_token, 4);
  EXPECT_EQ(one.full_size, Bytes(77));
  EXPECT_THAT(job.missing, IsEmpty()) << "the full size is a size";
  EXPECT_EQ(with(proto::attribute("lockstep_priority", 1'000'000)).ranks[0].events[0].priority, 1000);
  EXPECT_FALSE(with(proto::attribute("comm_type", 2) + proto::attribute("lockstep_exchange", 1))
                   .ranks[0]
                   .collectives[0]
                   .exchange)
      << "only all-reduces are exchanges";
}

// The refusals of what only Lockstep writes stand at the end of the attribute, here that of the trace.
TEST(Chakra, BrokenAttributesOfLockstep) {
  const auto refused = [](const std::string& attribute, const std::string& why) {
    const auto trace = proto::metadata() + node(1, collective, attribute);
    EXPECT_EQ(refusal(trace), "t: byte " + std::to_string(trace.size()) + ": " + why);
  };
  for (const double seconds :
       {-1e-9, 1.1e9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const auto value = proto::fixed(3, std::bit_cast<std::uint64_t>(seconds), 8);
    refused(proto::attribute("lockstep_seconds", value), "is no duration; expected seconds from 0 up");
  }
  for (const std::string copies : {"1 2", "1 2 3 4", "0 1 1", "1 1 1000001", "", "-1 2 3"})
    refused(proto::attribute("lockstep_copies", proto::text(29, copies)),
            "is no copies of tokens; expected three numbers from 1 up");
  refused(proto::attribute("lockstep_full_size", -1), "'lockstep_full_size' is negative; expected bytes from 0 up");
}

// data_deps (field 5) and ctrl_deps (field 4), packed in one field or one by one, are the same: node 3 waits for 1
// and 2.
TEST(Chakra, PackedAndUnpackedDependences) {
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
TEST(Chakra, TooManyDependences) {
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
TEST(Chakra, DependencesOnNothing) {
  const auto job = read(node(1, compute, proto::number(5, 99)));
  EXPECT_THAT(job.ranks[0].events[0].after, IsEmpty());
  EXPECT_THAT(job.missing, ElementsAre("Some dependences name nodes that the trace does not have; they are left out."));
}

// Nodes 1 and 2 wait for each other by control; then only data count. By data that is refused, as is a node that waits
// for itself. Of two nodes with one number neither is taken.
TEST(Chakra, CirclesAndTwins) {
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
TEST(Chakra, OrderOfNodes) {
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
TEST(Chakra, NegativeAndHugeNumbers) {
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
TEST(Chakra, OverlongNumbers) {
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
TEST(Chakra, Durations) {
  EXPECT_EQ(refusal(proto::metadata() + node(1, compute, proto::number(7, 9'000'000'000'000'000))), "");
  const auto refused = [](std::int64_t micros) {
    return refusal(proto::metadata() + node(1, compute, proto::number(7, micros)));
  };
  EXPECT_THAT(refused(9'000'000'000'000'001), HasSubstr(": a duration of 9000000000000001 us; expected at most 285"));
  EXPECT_THAT(refused(-1), HasSubstr(": a duration of -1 us; expected at most 285 years"));
}

// A field with another wire type than Chakra's is not that field: a text where the type stands does not take the
// number before it, 4 (compute), but is passed over as unknown.
TEST(Chakra, FieldsOfAnotherWireType) {
  const auto job = read(proto::message(proto::number(1, 4) + proto::text(3, "x") + proto::text(7, "y")));
  EXPECT_EQ(job.ranks[0].events[0].kind, RecordedEvent::Kind::host) << "of type 0";
  EXPECT_EQ(job.ranks[0].events[0].duration, Seconds(0));
  EXPECT_THAT(job.missing, ElementsAre("2 fields are unknown and were passed over."));
}

// Unknown fields of every wire type are passed over and counted: two of the node, one of an attribute.
TEST(Chakra, UnknownFields) {
  const auto job =
      read(node(1, compute,
                proto::fixed(40, 1, 8) + proto::fixed(41, 1, 4) + proto::attribute("comm_size", proto::number(99, 5))));
  EXPECT_THAT(job.missing, ElementsAre("3 fields are unknown and were passed over."));
}

// Wire types 3, 4 (groups), 6 and 7 do not exist in Chakra; type 8 of a node neither. The key is byte 9.
TEST(Chakra, UnknownWireAndNodeTypes) {
  for (const std::uint64_t wire : {3u, 4u, 6u, 7u}) {
    EXPECT_EQ(refusal(proto::metadata() + proto::message(proto::key(1, wire))),
              "t: byte 10: a field of unknown wire type " + std::to_string(wire) + "; expected 0, 1, 2 or 5");
  }
  const auto trace = proto::metadata() + node(1, 8);
  EXPECT_EQ(refusal(trace), "t: byte " + std::to_string(trace.size()) + ": a node of unknown type 8; expected 0 to 7");
}

// A first node without metadata whose number is 0, which protocol buffers leave out, begins with its name: it is a node
// whatever letters its name has.
TEST(Chakra, FirstNodeWithoutMetadata) {
  const auto trace = proto::message(proto::text(2, "gemm") + proto::number(3, compute));
  const auto job = workloads::read_trace_bytes(trace, "t");
  ASSERT_EQ(job.ranks[0].events.count(), 1);
  EXPECT_EQ(job.names[job.ranks[0].events[0].name], "gemm");
}

// Metadata with attributes instead of a version are no node.
TEST(Chakra, MetadataOfAttributes) {
  const auto metadata = proto::message(proto::text(2, proto::text(1, "schema") + proto::text(29, "1")));
  const auto job = workloads::read_trace_bytes(metadata + node(1, compute), "t");
  EXPECT_EQ(job.ranks[0].events.count(), 1);
}

// A trace of metadata and three nodes, cut after each of its bytes: at the end of a message it is a shorter trace, that
// is after one and after two nodes; everywhere else it is refused.
TEST(Chakra, CutAtEveryByte) {
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
TEST(Chakra, RandomGraphs) {
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
}  // namespace lockstep::test
