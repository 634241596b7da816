#pragma once
/// The lockstep program as it runs on a terminal of its own.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::test {

struct TerminalRun {
  int exit_code = 0;   ///< -1: ended by a signal
  std::string output;  ///< all that it drew, with the line ends of a terminal
};

/// `interrupt_at`: Ctrl-C is typed once this text has been drawn; empty: never.
[[nodiscard]] TerminalRun on_terminal(const std::filesystem::path& folder, int columns,
                                      const std::vector<std::string>& arguments, const std::string& interrupt_at = "");

}  // namespace lockstep::test
