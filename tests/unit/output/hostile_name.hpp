#pragma once
/// A name that tries everything: markup, quotes, a formula, an escape sequence of terminals, a turn of the reading
/// direction and a second line.
#include <string>

namespace lockstep::test {

inline const std::string hostile_name = "=<b>&\"',;\x1b[31m\xe2\x80\xae\nnext";
/// The same as it may be shown within a line: what steers stands as its code.
inline const std::string hostile_name_shown = "=<b>&\"',;\\x1b[31m\\u202e\\x0anext";

}  // namespace lockstep::test
