#pragma once
/// Text that shows what it holds. A control character of a name would move a terminal's cursor, end an XML document or
/// turn the reading direction of what follows; here it becomes its code.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// A character of UTF-8 text; `code` is nothing where its bytes are malformed (RFC 3629: shortest form, no surrogates,
/// up to U+10FFFF), and `length` is then 1.
struct Utf8Character {
  std::size_t length = 1;
  std::optional<std::uint32_t> code;
};
/// The first character of a text that is not empty.
[[nodiscard]] Utf8Character first_character(std::string_view text);

/// Characters that steer and show nothing: controls (C0 but tab and line feed, DEL, C1), separators of lines and
/// paragraphs, marks, embeddings, overrides and isolates of the reading direction (Unicode Technical Report 36, 3.1;
/// "Trojan Source", CVE-2021-42574), those of no width, tags, and what no XML document may hold. Joiners (U+200C,
/// U+200D) belong to letters.
[[nodiscard]] bool steers(std::uint32_t code);
/// "U+202E".
[[nodiscard]] std::string code_point(std::uint32_t code);

enum class LineFeeds { kept, shown };
/// The text with `\x1b` in place of controls and of bytes that are not UTF-8, and with `\u202e`, as JSON writes it, in
/// place of the other characters that steer. `shown`: line feeds and tabs too, for a text within one line.
[[nodiscard]] std::string visible(std::string_view text, LineFeeds line_feeds = LineFeeds::shown);

}  // namespace lockstep
