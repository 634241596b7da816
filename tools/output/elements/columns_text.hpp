#pragma once
/// Text in two columns that fits the terminal, such as what --help prints.
#include <string>

#include "tools/output/elements/terminal.hpp"

namespace lockstep::output {

/// Lines that are wider than the terminal are broken; one that reaches the second column, at `column`, goes on below
/// it.
[[nodiscard]] std::string fitted_columns(const std::string& text, std::size_t column, std::size_t width = text_width());

}  // namespace lockstep::output
