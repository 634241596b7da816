#include "tools/trace/json_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace lockstep::trace {
namespace {

bool plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

template <class Number>
void append_digits(std::string& out, Number value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), plain)) {  // rare, so it may be slow
    out += nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_json(std::string& out, std::int64_t value) { append_digits(out, value); }
void append_json(std::string& out, double value) { append_digits(out, value); }

void append_microseconds(std::string& out, std::int64_t nanoseconds) {
  append_digits(out, nanoseconds / 1000);
  const auto fraction = nanoseconds % 1000;
  out += '.';
  for (const std::int64_t place : {100, 10, 1}) out += static_cast<char>('0' + fraction / place % 10);
}

}  // namespace lockstep::trace
