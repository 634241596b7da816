#pragma once
/// How a program ends.
#include <string>
#include <string_view>

namespace lockstep::output {

/// Prints to stderr, without control characters that a terminal would obey.
void tell(std::string_view text);

/// Thrown by a command that has answered, where a question that its exit code shall answer has the answer no.
struct AnsweredNo {};

/// To call where an exception is handled: tells on stderr what it means and returns the exit code. 1: AnsweredNo,
/// of which it tells nothing, 2: the user's error, 70: our bug, 71: no memory, process or thread left on this machine,
/// 74: no room on the disk.
[[nodiscard]] int exit_code_of_error(const std::string& program);

}  // namespace lockstep::output
