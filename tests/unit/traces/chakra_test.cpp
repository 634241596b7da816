// Chakra's .et: what each field of a node means.
#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "tests/unit/traces/chakra_traces.hpp"

namespace lockstep::test::chakra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using workloads::RecordedEvent;
using Role = workloads::RecordedCollective::Role;

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

}  // namespace
}  // namespace lockstep::test::chakra
