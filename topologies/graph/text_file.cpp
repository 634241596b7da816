#include "topologies/graph/text_file.hpp"

#include <algorithm>
#include <fstream>

#include "sim/core/readable_file.hpp"
#include "sim/core/visible_text.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::size_t head_size = 64u << 10;
constexpr std::uintmax_t largest_file = 64u << 20;
constexpr std::uint32_t byte_order_mark = 0xFEFF, escape = 0x1B;

}  // namespace

std::string_view head_of(std::string_view text) { return text.substr(0, head_size); }

bool check_text(std::string_view text, const std::string& file, Problems& problems) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if ((c >= ' ' && c <= '~') || c == '\n' || c == '\t' || c == '\r') {
      ++at;
      continue;
    }
    const auto [length, code] = first_character(text.substr(at));
    if (!code || (steers(*code) && *code != escape && !(at == 0 && *code == byte_order_mark))) {
      const std::string_view before = text.substr(0, at);
      const auto line = 1 + std::count(before.begin(), before.end(), '\n');
      const auto column = at - std::min(before.rfind('\n') + 1, at) + 1;
      problems.add({{file, static_cast<int>(line), static_cast<int>(column)},
                    "",
                    code ? "has the control character " + code_point(*code) : "is not UTF-8 text",
                    "a text file in UTF-8"});
      return false;
    }
    at += length;
  }
  return true;
}

std::optional<std::string> read_text(const std::filesystem::path& file,
                                     const std::function<bool(std::string_view head)>& is_known, Problems& problems) {
  const auto refuse = [&](std::string what, std::string expected) {
    problems.add({{file.empty() ? "''" : file.string(), 0, 0}, "", std::move(what), std::move(expected)});
    return std::nullopt;
  };
  if (const auto why = why_unreadable(file); !why.empty()) return refuse(why, why.starts_with("is ") ? "a file" : "");
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return refuse("the file cannot be read: " + error.message(), "");
  if (size == 0) return refuse("the file is empty", "a file with something in it");
  std::ifstream stream(file, std::ios::binary);
  std::string text(static_cast<std::size_t>(std::min<std::uintmax_t>(size, head_size)), '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream) return refuse("the file cannot be read", "");
  if (!is_known(text)) return std::nullopt;
  if (size > largest_file) return refuse("the file is too large", "at most 64 MiB");
  const std::size_t have = text.size();
  text.resize(static_cast<std::size_t>(size));
  stream.read(text.data() + have, static_cast<std::streamsize>(text.size() - have));
  if (!stream && text.size() > have) return refuse("the file cannot be read", "");
  if (!check_text(text, file.string(), problems)) return std::nullopt;
  return text;
}

}  // namespace lockstep::topologies
