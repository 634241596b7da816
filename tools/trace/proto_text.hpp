#pragma once
/// Protocol buffers by hand: fields appended to a string. Traces use few kinds of them, and millions.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::trace::proto {

inline void append_varint(std::string& out, std::uint64_t value) {
  std::array<char, 10> digits;  // 64 bits, 7 in each
  std::size_t count = 0;
  for (; value >= 0x80; value >>= 7) digits[count++] = static_cast<char>(value | 0x80);
  digits[count++] = static_cast<char>(value);
  out.append(digits.data(), count);
}

enum class WireType : std::uint64_t { varint = 0, fixed64 = 1, bytes = 2 };
inline void append_key(std::string& out, std::uint64_t field, WireType type) {
  append_varint(out, field << 3 | static_cast<std::uint64_t>(type));
}

/// Numbers, enumerations and booleans.
inline void append_number(std::string& out, std::uint64_t field, std::uint64_t value) {
  append_key(out, field, WireType::varint);
  append_varint(out, value);
}

inline void append_fixed64(std::string& out, std::uint64_t field, std::uint64_t value) {
  append_key(out, field, WireType::fixed64);
  for (int byte = 0; byte < 8; ++byte) out += static_cast<char>(value >> (8 * byte));
}

inline void append_double(std::string& out, std::uint64_t field, double value) {
  append_fixed64(out, field, std::bit_cast<std::uint64_t>(value));
}

/// Strings, and messages that are complete.
inline void append_bytes(std::string& out, std::uint64_t field, std::string_view value) {
  append_key(out, field, WireType::bytes);
  append_varint(out, value.size());
  out += value;
}

}  // namespace lockstep::trace::proto
