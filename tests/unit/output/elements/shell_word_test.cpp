// A shell gives back each word that was quoted for it.
#include "tools/output/elements/shell_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace lockstep::output {
namespace {

/// What /bin/sh makes of a word.
std::string by_shell(const std::string& word) {
  std::string result;
  auto* const shell = ::popen(("printf %s " + word).c_str(), "r");
  std::array<char, 256> part{};
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), shell)) > 0;)
    result.append(part.data(), got);
  ::pclose(shell);
  return result;
}

TEST(ShellWord, IsWhatTheShellGivesBack) {
  for (const std::string text :
       {"a", "scenarios/llama3-70b-h100.yaml", "batch.sequences=64", "my file.yaml", "it's", "", "$HOME", "a;b",
        "{tensor: [1, 2]}", "\"x\"", "back\\slash", "*", "~", "two\nlines"})
    EXPECT_EQ(by_shell(shell_word(text)), text) << shell_word(text);
}

TEST(ShellWord, StaysAsItIsWhereItMay) {
  EXPECT_EQ(shell_word("batch.sequences=64"), "batch.sequences=64");
  EXPECT_EQ(shell_word("search={tensor: 8}"), "'search={tensor: 8}'");
}

}  // namespace
}  // namespace lockstep::output
