// What must hold of a file before its text is parsed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sim/core/readable_file.hpp"
#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

constexpr std::uintmax_t size_limit = 4u << 20;

/// The length of the UTF-8 sequence that starts `text`, 0 if it is malformed (RFC 3629: shortest form,
/// no surrogates, up to U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  }
  const unsigned second = byte(1);
  const bool too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool too_high = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return too_long || too_high ? 0 : length;
}

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7F;
}

/// What nlohmann says after its error number or place.
std::string text_after(std::string_view mark, std::string_view message) {
  const std::size_t at = message.find(mark);
  return std::string(at == std::string_view::npos ? message : message.substr(at + mark.size()));
}

}  // namespace

Location location_of(std::string_view text, std::size_t offset, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return {file, static_cast<int>(line), static_cast<int>(column)};
}

std::optional<std::string> read_text_file(const std::string& file, Problems& problems) {
  const auto refuse = [&](std::string what, std::string expected) {
    problems.add({{file.empty() ? "''" : file, 0, 0}, "", std::move(what), std::move(expected)});
    return std::nullopt;
  };
  if (const auto why = why_unreadable(file); !why.empty()) return refuse(why, why.starts_with("is ") ? "a file" : "");
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return refuse("the file cannot be read: " + error.message(), "");
  if (size > size_limit) return refuse("the file is too large", "at most 4 MiB");
  std::ifstream stream(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (!stream) return refuse("the file cannot be read", "");
  return text;
}

bool check_characters(std::string_view text, const std::string& file, Problems& problems) {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = utf8_length(text.substr(offset));
    if (length == 0 || is_control(text[offset])) {
      const std::string what = length == 0 ? "is not UTF-8 text" : "has a control character";
      problems.add({location_of(text, offset, file), "", what, "a text file in UTF-8"});
      return false;
    }
    offset += length;
  }
  return true;
}

bool check_json(std::string_view text, const std::string& file, Problems& problems) {
  using Json = nlohmann::json;
  const auto too_deep = [](int depth, Json::parse_event_t, Json&) { return depth <= yaml_depth_limit; };
  try {
    const Json parsed = Json::parse(text, too_deep);  // drops what is too deep; parse_yaml reports it
    return !parsed.is_discarded();
  } catch (const Json::parse_error& error) {
    // nlohmann counts the bytes read, so the last of them is the culprit; its text repeats the place.
    problems.add({location_of(text, error.byte == 0 ? 0 : error.byte - 1, file), "",
                  "malformed JSON: " + text_after(": ", error.what()), ""});
  } catch (const Json::exception& error) {  // a number that no double holds
    problems.add({{file, 0, 0}, "", "malformed JSON: " + text_after("] ", error.what()), ""});
  }
  return false;
}

}  // namespace lockstep
