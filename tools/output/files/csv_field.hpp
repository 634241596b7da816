#pragma once
#include <string>

namespace lockstep::output {

/// A cell of a CSV file (RFC 4180): in quotes where it holds what separates cells. A text that a spreadsheet would take
/// for a formula, since it begins with = + - @ and is no number, gets an apostrophe in front, which spreadsheets take
/// for "this is text" (OWASP, CSV injection). Characters that steer are shown as their code.
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace lockstep::output
