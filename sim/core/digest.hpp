#pragma once
/// 128 bits that tell texts apart: FNV-1a, h <- (h xor byte) * (2^88 + 0x13b) mod 2^128. It is not a
/// cryptographic hash.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

class Digest {
 public:
  using Bytes16 = std::array<std::uint8_t, 16>;

  /// A field: texts that are parted otherwise give other digests.
  void add(std::string_view text) {
    take(text);
    take({"\0", 1});
  }
  void take(std::string_view text) {
    for (const char c : text) {
      low_ ^= static_cast<std::uint8_t>(c);
      const auto first = (low_ & 0xffffffff) * 0x13b;
      const auto second = (low_ >> 32) * 0x13b + (first >> 32);
      high_ = high_ * 0x13b + (second >> 32) + (low_ << 24);
      low_ = (second << 32) | (first & 0xffffffff);
    }
  }
  [[nodiscard]] Bytes16 bytes() const {
    Bytes16 result{};
    for (std::size_t i = 0; i < 8; ++i) {
      result[i] = static_cast<std::uint8_t>(high_ >> (56 - 8 * i));
      result[8 + i] = static_cast<std::uint8_t>(low_ >> (56 - 8 * i));
    }
    return result;
  }
  [[nodiscard]] std::string hex() const {
    std::string text;
    for (const auto byte : bytes()) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }

 private:
  std::uint64_t high_ = 0x6c62272e07bb0142, low_ = 0x62b821756295c58d;
};

}  // namespace lockstep
