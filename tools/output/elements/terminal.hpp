#pragma once
/// Text that fits the terminal on which it is printed. Text that goes into a file or a pipe stays as it is.
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::output {

/// Columns of the terminal that stdout is; 0: it is none.
[[nodiscard]] std::size_t text_width();

/// Letters of UTF-8 text.
[[nodiscard]] std::size_t letters(const std::string& text);
/// The text in lines of at most `widest` letters (0: one line), broken after spaces, otherwise after a sign within a
/// word, otherwise anywhere. The lines after the first begin below the text of the first, also of "1. text".
[[nodiscard]] std::vector<std::string> folded(std::string text, std::size_t widest);

/// The text with lines that are wider than the terminal broken, and what follows indented by two more.
[[nodiscard]] std::string fitted(const std::string& text, std::size_t width = text_width());

}  // namespace lockstep::output
