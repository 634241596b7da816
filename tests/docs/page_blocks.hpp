#pragma once
/// The blocks of a Markdown page that hold commands, what these print, and files that they read.
#include <string>
#include <vector>

namespace lockstep::test {

struct PageBlock {
  enum class Kind { commands, output, file };
  Kind kind;
  int line = 0;                    ///< of the page, its first
  std::string name;                ///< of a file
  std::vector<std::string> lines;  ///< of commands: one each, without comments, continued lines joined
};

/// A block is fenced, or indented by four spaces after an empty line. It holds
/// - commands, if its first line calls lockstep (or ./tools/lockstep, written here as lockstep); what follows an empty
///   line in it is their output;
/// - output, if a sentence ending with "prints", or with "prints" and an explanation in parentheses, stands before it;
/// - a file, if its first line is a comment with the file's name: "# sweep.yaml".
/// All other blocks are left out.
[[nodiscard]] std::vector<PageBlock> blocks_of(const std::string& page);

}  // namespace lockstep::test
