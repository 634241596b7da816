#include "sim/core/visible_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep {
namespace {

constexpr std::uint32_t first_of_two_bytes = 0x80;

/// From and to, by code.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 13> steering{{{0x00, 0x08},
                                                                            {0x0B, 0x1F},
                                                                            {0x7F, 0x9F},
                                                                            {0x061C, 0x061C},
                                                                            {0x200B, 0x200B},
                                                                            {0x200E, 0x200F},
                                                                            {0x2028, 0x202E},
                                                                            {0x2060, 0x206F},
                                                                            {0xFEFF, 0xFEFF},
                                                                            {0xFFF9, 0xFFFB},
                                                                            {0xFFFE, 0xFFFF},
                                                                            {0x1FFFE, 0x1FFFF},
                                                                            {0xE0000, 0xE007F}}};

std::string hex(std::uint32_t value, int digits, const char* alphabet) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += alphabet[value >> shift & 15U];
  return text;
}

constexpr const char* lower = "0123456789abcdef";

std::string escaped(std::uint32_t code) {
  constexpr std::uint32_t beyond_16_bits = 0x10000;
  if (code < 0x20) return "\\x" + hex(code, 2, lower);
  if (code < beyond_16_bits) return "\\u" + hex(code, 4, lower);
  const auto rest = code - beyond_16_bits;
  return "\\u" + hex(0xD800U + (rest >> 10U), 4, lower) + "\\u" + hex(0xDC00U + (rest & 0x3FFU), 4, lower);
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const auto lead = byte(0);
  if (lead < first_of_two_bytes) return {1, lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  std::uint32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (too_long || surrogate || code > 0x10FFFF) return {};
  return {length, code};
}

bool steers(std::uint32_t code) {
  return std::any_of(steering.begin(), steering.end(),
                     [&](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string code_point(std::uint32_t code) { return "U+" + hex(code, code > 0xFFFF ? 5 : 4, "0123456789ABCDEF"); }

std::string visible(std::string_view text, LineFeeds line_feeds) {
  std::string result;
  result.reserve(text.size());
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  for (std::size_t at = 0; at < text.size();) {
    const auto end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), plain) - text.begin());
    result += text.substr(at, end - at);
    at = end;
    if (at == text.size()) break;
    const auto [length, code] = first_character(text.substr(at));
    const bool breaks = line_feeds == LineFeeds::shown && (text[at] == '\n' || text[at] == '\t');
    if (!code) {
      result += "\\x" + hex(static_cast<unsigned char>(text[at]), 2, lower);
    } else if (breaks || steers(*code)) {
      result += escaped(*code);
    } else {
      result += text.substr(at, length);
    }
    at += length;
  }
  return result;
}

}  // namespace lockstep
