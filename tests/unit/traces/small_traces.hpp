#pragma once
/// What tests of small traces share: a trace in memory, its refusal, a job as text, gzip, and the writing of protocol
/// buffers as their specification has it.
#include <gtest/gtest.h>
#include <zlib.h>

#include <sstream>

#include "tests/unit/traces/trace_files.hpp"

namespace lockstep::test {

/// The message of the ConfigError with which a trace named "t" is refused; empty when it is read.
inline std::string refusal(std::string_view bytes) {
  try {
    (void)workloads::read_trace_bytes(bytes, "t");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// The first collective of the first rank.
inline workloads::RecordedCollective first(const workloads::RecordedJob& job) { return job.ranks[0].collectives[0]; }

/// One member of gzip.
inline std::string packed(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Everything that a job holds, so that two jobs are equal exactly when their texts are.
inline std::string told(const workloads::RecordedJob& job) {
  std::ostringstream out;
  out.precision(17);
  const auto list = [&](const auto& items) {
    out << '[';
    for (const auto& item : items) out << item << ' ';
    out << ']';
  };
  out << job.format << ' ' << job.world << job.dated << job.kernels << '\n';
  for (const auto& group : job.groups) {
    out << "group " << group.name << '|' << group.description << '|' << group.size;
    list(group.ranks);
  }
  for (const auto& rank : job.ranks) {
    out << "\nrank " << rank.rank << ' ' << rank.streams_in_order;
    list(rank.streams);
    for (const auto& event : rank.events) {
      out << "\nevent " << static_cast<int>(event.kind) << ' ' << job.names[event.name] << ' ' << event.number << ' '
          << event.stream << ' ' << event.start.value_or(Seconds(-1)).value() << ' ' << event.duration.value() << ' '
          << event.launched.value_or(Seconds(-1)).value() << ' ' << event.collective << ' ' << event.priority;
      list(event.more_streams);
      list(event.after);
    }
    for (const auto& one : rank.collectives) {
      out << "\ncollective " << (one.kind ? static_cast<int>(*one.kind) : -1) << ' ' << static_cast<int>(one.role)
          << ' ' << one.peer << ' ' << one.buffer.value_or(Bytes(-1)).value() << ' ' << one.buffer_is_shard << ' '
          << one.full_size.value_or(Bytes(-1)).value() << ' ' << one.exchange << ' ' << one.group << ' '
          << one.sequence;
    }
    for (const auto& wait : rank.waits) out << "\nwait " << wait.start.value() << ' ' << wait.end.value();
    for (const auto& wait : rank.stream_waits) out << "\nstream wait " << wait.value();
    for (const auto& step : rank.steps)
      out << "\nstep " << step.name << ' ' << step.start.value() << ' ' << step.end.value();
  }
  list(job.guessed);
  list(job.missing);
  return out.str();
}

/// A trace that is cut after each of its bytes is refused by name, or tells a job; nothing else is thrown. Returns how
/// many of the cuts were refused.
inline std::size_t refused_cuts(const std::string& whole) {
  std::size_t refused = 0;
  for (std::size_t left = 0; left < whole.size(); ++left) {
    const auto message = refusal(std::string_view(whole).substr(0, left));
    if (message.empty()) continue;
    EXPECT_EQ(message.substr(0, 2), "t:") << message;
    ++refused;
  }
  return refused;
}

/// Protocol buffers: seven bits in a byte, the lowest first, the eighth says that more follow.
namespace proto {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out + static_cast<char>(value);
}
inline std::string key(std::uint64_t field, std::uint64_t wire) { return varint(field << 3 | wire); }
inline std::string number(std::uint64_t field, std::int64_t value) {
  return key(field, 0) + varint(static_cast<std::uint64_t>(value));
}
inline std::string text(std::uint64_t field, const std::string& content) {
  return key(field, 2) + varint(content.size()) + content;
}
/// The lowest bytes of a number, the lowest first: wire type 1 has eight, wire type 5 four.
inline std::string fixed(std::uint64_t field, std::uint64_t value, std::size_t bytes) {
  std::string out = key(field, bytes == 8 ? 1 : 5);
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}
/// A message behind its length, as .et files have them.
inline std::string message(const std::string& fields) { return varint(fields.size()) + fields; }

/// The first message of an .et file, 8 bytes with its length: the version "0.0.4".
inline std::string metadata() { return message(text(1, "0.0.4")); }
/// An attribute of a node: its name, and its value under the field of its type.
inline std::string attribute(const std::string& name, const std::string& value) {
  return text(10, text(1, name) + value);
}
inline std::string attribute(const std::string& name, std::int64_t value) { return attribute(name, number(9, value)); }

}  // namespace proto

}  // namespace lockstep::test
