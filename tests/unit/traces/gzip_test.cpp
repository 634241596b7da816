// The bytes of a trace: members of gzip one after the other, cut and broken ones, and places in texts that are longer
// than the buffers of TraceText (1 MiB of text, 256 KiB of packed bytes).
#include <gmock/gmock.h>

#include <istream>
#include <random>

#include "tests/unit/traces/small_traces.hpp"
#include "workloads/traces/trace_text.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;

const std::string small =
    R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 2, "args": {"stream": 7}}]})";
constexpr const char* cut = "t:1:1: the gzip data end in the middle; expected a file that was copied whole";

std::string all_of(workloads::TraceText& text) {
  return {std::istreambuf_iterator<char>(&text), std::istreambuf_iterator<char>()};
}

std::string unpacked(const std::string& bytes) {
  const auto text = workloads::TraceText::of_bytes(bytes, "t");
  return all_of(*text);
}

/// Random letters, which gzip hardly makes shorter, with a line's end after each 99.
std::string letters(std::size_t count) {
  std::mt19937_64 random(11);
  std::string text(count, '\n');
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 100 != 99) text[i] = static_cast<char>('a' + random() % 26);
  }
  return text;
}

// Three members, one of them of nothing, are the texts one after the other; what is not packed is itself, also where it
// is a single byte or begins with only the first byte of gzip's mark.
TEST(TraceBytes, MembersOfGzip) {
  EXPECT_EQ(unpacked(packed("one ") + packed("") + packed("two")), "one two");
  for (const std::string plain : {"", "x", "\x1f", "\x1fx", "plain"}) EXPECT_EQ(unpacked(plain), plain);
}

// 2.5 MB come back as they are, packed and plain, in one member and in members of 700,001 bytes.
TEST(TraceBytes, LongerThanBuffers) {
  const auto text = letters(2'500'000);
  EXPECT_TRUE(unpacked(text) == text);
  EXPECT_TRUE(unpacked(packed(text)) == text);
  std::string members;
  for (std::size_t at = 0; at < text.size(); at += 700'001) members += packed(text.substr(at, 700'001));
  EXPECT_TRUE(unpacked(members) == text);
}

// A source may give its bytes one at a time.
TEST(TraceBytes, SlowSources) {
  for (const auto& bytes : {std::string("plain text"), packed("plain text")}) {
    std::size_t at = 0;
    workloads::TraceText text(
        [&](char* to, std::size_t /*room*/) -> std::size_t {
          if (at == bytes.size()) return 0;
          *to = bytes[at++];
          return 1;
        },
        "t");
    EXPECT_EQ(all_of(text), "plain text");
    EXPECT_EQ(text.taken(), bytes.size());
    EXPECT_EQ(text.offset(), 10u);
  }
}

// A packed trace cut after each of its bytes is refused: without both bytes of the mark it is no trace, without its
// whole end gzip's data end in the middle.
TEST(TraceBytes, CutAtEveryByte) {
  const auto whole = packed(small);
  EXPECT_EQ(refusal(whole), "");
  EXPECT_EQ(refused_cuts(whole), whole.size());
  for (std::size_t left = 2; left < whole.size(); ++left) EXPECT_EQ(refusal(whole.substr(0, left)), cut) << left;
}

// The second of two members cut after each byte: complete is only the whole, and the first alone is half a text.
TEST(TraceBytes, CutInTheSecondMember) {
  const auto first = packed(small.substr(0, 40)), second = packed(small.substr(40));
  EXPECT_EQ(refusal(first + second), "");
  EXPECT_EQ(refusal(first), "t:1:41: the JSON ends in the middle; expected a file that was written and copied whole");
  for (std::size_t left = 1; left < second.size(); ++left)
    EXPECT_EQ(refusal(first + second.substr(0, left)), cut) << left;
}

// The last eight bytes of a member are a checksum and a length; a wrong bit in either, and anything behind a member
// that is no member, are refused with zlib's reason.
TEST(TraceBytes, BrokenMembers) {
  auto checksum = packed(small), length = checksum;
  checksum[checksum.size() - 8] ^= 1;
  length[length.size() - 4] ^= 1;
  EXPECT_EQ(refusal(checksum), "t:1:1: broken gzip data: incorrect data check; expected a file that was copied whole");
  EXPECT_EQ(refusal(length), "t:1:1: broken gzip data: incorrect length check; expected a file that was copied whole");
  EXPECT_EQ(refusal(packed(small) + "behind"),
            "t:1:1: broken gzip data: incorrect header check; expected a file that was copied whole");
}

// Each byte of a packed trace changed in turn: it is refused or the same job, and nothing else is thrown.
TEST(TraceBytes, EachByteBroken) {
  const auto whole = packed(small);
  const auto job = told(workloads::read_trace_bytes(whole, "t"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto broken = whole;
    broken[at] ^= 0x21;
    const auto message = refusal(broken);
    if (message.empty()) {
      EXPECT_EQ(told(workloads::read_trace_bytes(broken, "t")), job) << at;
    } else {
      EXPECT_EQ(message.substr(0, 2), "t:") << message;
    }
  }
}

// Line and column of each of the first bytes of "ab\n\ncd": a line's end is the last column of its line.
TEST(TraceBytes, PlacesOfBytes) {
  const auto text = workloads::TraceText::of_bytes("ab\n\ncd", "t");
  EXPECT_EQ(text->place().to_string(), "t:1:1") << "nothing is read";
  for (const std::string place : {"t:1:1", "t:1:2", "t:1:3", "t:2:1", "t:3:1", "t:3:2"}) {
    (void)text->sbumpc();
    EXPECT_EQ(text->place().to_string(), place);
  }
}

// Lines of 100 bytes: byte n stands in line n / 100 + 1 and column n % 100 + 1, also behind the first buffer and when
// the place is asked only now and then.
TEST(TraceBytes, PlacesBehindBuffers) {
  const auto bytes = letters(3'500'000);
  const auto text = workloads::TraceText::of_bytes(bytes, "t");
  std::uint64_t at = 0;
  for (const std::uint64_t next : {5u, 99u, 100u, 70'000u, 1'048'575u, 1'048'576u, 1'048'577u, 3'499'999u}) {
    for (; at <= next; ++at) (void)text->sbumpc();
    EXPECT_EQ(text->offset(), next + 1);
    EXPECT_EQ(text->place().to_string(), "t:" + std::to_string(next / 100 + 1) + ":" + std::to_string(next % 100 + 1));
  }
}

// A mistake on the second line behind 2 MB of one line, packed: its place is that in the text.
TEST(TraceBytes, PlacesInPackedText) {
  const std::string text = "{\"traceEvents\": [], \"x\": \"" + std::string(2'000'000, 'x') + "\",\n  ?}";
  const auto message = refusal(packed(text));
  EXPECT_THAT(message, HasSubstr("t:2:3: malformed JSON: "));
  EXPECT_EQ(message, refusal(text));
}

// Three million zeros, packed to three thousand bytes, and a member of nothing are no trace.
TEST(TraceBytes, NothingButZeros) {
  EXPECT_THAT(refusal(packed(std::string(3'000'000, '\0'))), HasSubstr("t: is no trace of a known format"));
  EXPECT_EQ(refusal(packed("")).substr(0, 34), "t: is no trace of a known format; ");
}

}  // namespace
}  // namespace lockstep::test
