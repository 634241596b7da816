// Chakra's .et: messages of protocol buffers, each behind its length. Field numbers are those of et_def.proto; fields
// that it does not have are passed over and counted.
#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/core/counted.hpp"
#include "workloads/traces/chakra_graph_private.hpp"
#include "workloads/traces/json_lists_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::uint64_t largest_message = 64u << 20;
constexpr std::size_t most_nodes = 20'000'000, most_dependences = 1'000'000;

/// The fields of one message, whose bytes are there.
class Message {
 public:
  Message(std::string_view bytes, std::uint64_t offset, const std::string& file)
      : bytes_(bytes), offset_(offset), file_(file) {}

  std::uint64_t field = 0, wire = 0, number = 0;
  std::string_view content;

  bool next() {
    if (at_ == bytes_.size()) return false;
    const auto key = varint();
    field = key >> 3;
    wire = key & 7;
    content = {};
    number = 0;
    switch (wire) {
      case 0: number = varint(); return true;
      case 1: number = fixed(8); return true;
      case 2: content = taken(varint()); return true;
      case 5: number = fixed(4); return true;
      default: refuse("a field of unknown wire type " + std::to_string(wire), "0, 1, 2 or 5");
    }
  }
  [[nodiscard]] Message inside() const {
    return {content, offset_ + static_cast<std::uint64_t>(content.data() - bytes_.data()), file_};
  }
  /// All numbers of a field that comes packed or one by one.
  template <class Use>
  void numbers(Use use) {
    if (wire != 2) return use(number);
    auto list = inside();
    while (list.at_ < list.bytes_.size()) use(list.varint());
  }
  [[nodiscard]] double as_double() const { return std::bit_cast<double>(number); }
  [[nodiscard]] std::int64_t as_signed() const { return static_cast<std::int64_t>(number); }
  [[noreturn]] void refuse(const std::string& what, const std::string& expected) const {
    throw ConfigError({{{file_, 0, 0}, "byte " + std::to_string(offset_ + at_), what, expected}});
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) refuse("the message ends in the middle of a number", "");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    refuse("a number of more than 64 bits", "protocol buffers");
  }
  std::string_view taken(std::uint64_t count) {
    if (count > bytes_.size() - at_)
      refuse("a field of " + std::to_string(count) + " bytes",
             "at most the " + std::to_string(bytes_.size() - at_) + " that its message has left");
    const auto part = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }
  std::uint64_t fixed(std::size_t count) {
    std::uint64_t value = 0;
    const auto part = taken(count);
    for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(part[i])} << (8 * i);
    return value;
  }

  std::string_view bytes_;
  std::uint64_t offset_;
  const std::string& file_;
  std::size_t at_ = 0;
};

bool recognises(std::string_view head) {
  // A length, then field 1 of GlobalMetadata or of a Node (a string or a number), or the attributes of either.
  std::size_t at = 0;
  while (at < head.size() && at < 5 && (static_cast<unsigned char>(head[at]) & 0x80u) != 0) ++at;
  if (at + 1 >= head.size() || head[0] == '{' || head[0] == '[') return false;
  const auto key = static_cast<unsigned char>(head[at + 1]);
  return key == 0x0A || key == 0x08 || key == 0x12;
}

class Reading {
 public:
  Reading(TraceText& text, JobWriter& writer) : text_(text), writer_(writer), graph_(writer) {}

  void run() {
    std::string bytes;
    bool first = true;
    while (next_message(bytes)) {
      const auto offset = text_.offset() - bytes.size();
      if (first && is_metadata(Message(bytes, offset, text_.name()))) {
        first = false;
        continue;
      }
      first = false;
      if (graph_.size() == most_nodes) refuse("has too many nodes", "at most 20 million");
      graph_.add(node(Message(bytes, offset, text_.name())));
    }
    if (unknown_fields_ > 0)
      writer_.missing(counted(unknown_fields_, "field is", "fields are") + " unknown and passed over.");
    graph_.write(text_.name());
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& expected) const {
    throw ConfigError({{{text_.name(), 0, 0}, "byte " + std::to_string(text_.offset()), what, expected}});
  }

  /// A message grows with what is read, not with what its length promises.
  bool next_message(std::string& bytes) {
    constexpr std::size_t step = 1u << 16;
    std::uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = text_.sbumpc();
      if (byte == std::char_traits<char>::eof()) {
        if (shift == 0) return false;
        refuse("the trace ends in the middle of a length", "a file that was copied whole");
      }
      if (shift > 28) refuse("a length of more than 32 bits", "Chakra's execution trace");
      length |= std::uint64_t{static_cast<unsigned>(byte) & 0x7Fu} << shift;
      if ((static_cast<unsigned>(byte) & 0x80u) == 0) break;
    }
    if (length > largest_message)
      refuse("a message of " + std::to_string(length) + " bytes", "at most " + std::to_string(largest_message));
    bytes.clear();
    while (bytes.size() < length) {
      const std::size_t have = bytes.size();
      const auto wanted = std::min<std::size_t>(step, static_cast<std::size_t>(length) - have);
      bytes.resize(have + wanted);
      const auto got = text_.sgetn(bytes.data() + have, static_cast<std::streamsize>(wanted));
      if (got < static_cast<std::streamsize>(wanted))
        refuse("the trace ends in the middle of a message", "a file that was copied whole");
    }
    return true;
  }

  /// GlobalMetadata has a version (field 1, a string) or only attributes (field 2, messages); a Node has an id, a
  /// number.
  static bool is_metadata(Message message) {
    while (message.next()) {
      if (message.wire != 2 || message.field > 2) return false;
      if (message.field == 2) return message.content.starts_with('\x0A');  // a message whose field 1 is a string
    }
    return true;
  }

  /// Numbers are numbers, dependences may be packed, all else is a string or a message.
  static bool as_declared(const Message& message) {
    switch (message.field) {
      case 1:
      case 3:
      case 6:
      case 7: return message.wire == 0;
      case 4:
      case 5: return message.wire == 0 || message.wire == 2;
      case 2:
      case 8:
      case 9:
      case 10: return message.wire == 2;
      default: return false;
    }
  }

  static void depend(Message& message, std::vector<std::int64_t>& on) {
    message.numbers([&](std::uint64_t id) {
      if (on.size() == most_dependences) message.refuse("a node waits for too many", "at most a million");
      on.push_back(static_cast<std::int64_t>(id));
    });
  }

  ChakraNode node(Message message) {
    ChakraNode made;
    while (message.next()) {
      if (!as_declared(message)) {
        ++unknown_fields_;
        continue;
      }
      switch (message.field) {
        case 1: made.id = message.as_signed(); break;
        case 2: made.name = message.content; break;
        case 3: made.type = message.number; break;
        case 4: depend(message, made.after_control); break;
        case 5: depend(message, made.after); break;
        case 6: break;  // start_time_micros: graphs are ordered by what nodes wait for
        case 7:
          if (message.number > 9'000'000'000'000'000ull)
            message.refuse("a duration of " + std::to_string(message.as_signed()) + " us", "at most 285 years");
          made.duration_micros = message.as_signed();
          break;
        case 8:
        case 9: break;  // inputs and outputs
        case 10: attribute(message.inside(), made); break;
      }
    }
    if (made.type >= ChakraNode::count) message.refuse("a node of unknown type " + std::to_string(made.type), "0 to 7");
    return made;
  }

  void attribute(Message message, ChakraNode& node) {
    std::string_view name, text;
    std::int64_t number = 0;
    double real = 0;
    while (message.next()) {
      switch (message.field) {
        case 1: name = message.content; break;
        case 3: real = message.as_double(); break;
        case 7:
        case 9:
        case 11:
        case 13:
        case 19:
        case 21:
        case 25:
        case 27: number = message.as_signed(); break;
        case 23: number = static_cast<std::int32_t>(message.number); break;  // of four bytes, the highest bit its sign
        case 15:
        case 17:  // zigzag
          number = static_cast<std::int64_t>((message.number >> 1) ^ (~(message.number & 1) + 1));
          break;
        case 29: text = message.content; break;
        default:
          if (message.field > 32) ++unknown_fields_;
      }
    }
    const auto size = [&]() -> std::optional<std::int64_t> {
      if (number < 0) message.refuse("'" + std::string(name) + "' is negative", "bytes from 0 up");
      return number;
    };
    if (name == "is_cpu_op") node.of_host = number != 0;
    if (name == "comm_type") node.communication = number;
    if (name == "comm_size") node.size = size();
    if (name == "comm_src") node.source = number;
    if (name == "comm_dst") node.destination = number;
    if (name == "stream") node.stream = number;
    if (name == "pg_name") node.group = text.empty() ? std::to_string(number) : std::string(text);
    if (name == "lockstep_full_size") node.full_size = size();
    if (name == "lockstep_priority") node.priority = number;
    if (name == "lockstep_exchange") node.exchange = number != 0;
    if (name == "lockstep_copies") {
      node.copies = integers_in(text);
      if (node.copies.size() != 3 || std::any_of(node.copies.begin(), node.copies.end(),
                                                 [](std::int64_t count) { return count < 1 || count > 1'000'000; }))
        message.refuse("is no copies of tokens", "three numbers from 1 up");
    }
    if (name == "lockstep_streams") node.streams = integers_in(text);
    if (name == "lockstep_seconds") {
      if (!std::isfinite(real) || real < 0 || real > 1e9) message.refuse("is no duration", "seconds from 0 up");
      node.seconds = real;
    }
  }

  TraceText& text_;
  JobWriter& writer_;
  ChakraGraph graph_;
  std::int64_t unknown_fields_ = 0;
};

void read(TraceText& text, JobWriter& writer) { Reading(text, writer).run(); }

}  // namespace

extern const TraceFormat chakra_format;
const TraceFormat chakra_format{"Chakra", recognises, read, true};

}  // namespace lockstep::workloads
