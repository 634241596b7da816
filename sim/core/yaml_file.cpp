// Checks of a file before its text is parsed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "sim/core/readable_file.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/core/yaml_tree_private.hpp"

namespace lockstep {
namespace {

constexpr std::uintmax_t size_limit = 4u << 20;

/// The part of nlohmann's message after its error number or place.
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
  constexpr std::uint32_t byte_order_mark = 0xFEFF;
  for (std::size_t offset = 0; offset < text.size();) {
    const auto [length, code] = first_character(text.substr(offset));
    const bool layout = text[offset] == '\r' || (offset == 0 && code == byte_order_mark);
    if (!code || (steers(*code) && !layout)) {
      const std::string what = !code          ? "is not UTF-8 text"
                               : *code < 0x80 ? "has a control character"
                                              : "has the control character " + code_point(*code);
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
