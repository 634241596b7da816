// What a program tells `man` and shells about itself.
#include "tools/commands/command_help.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/commands/command_line.hpp"

namespace lockstep::test {
namespace {

using commands::CommandHelp;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A program with one command that has a positional argument, a word, a number and a flag.
CommandHelp help() {
  commands::CommandLine line("does things", "tool");
  auto work = line.command("work", "works on a file's data");
  std::string file, word = "a";
  std::int32_t count = 1;
  bool quick = false;
  work.option("file", file, "a file").required();
  work.option("--word", word, "one of two").one_of({"a", "b"});
  work.option("--count", count, "how many").between(1, 8);
  work.flag("-q,--quick", quick, "in a hurry");
  work.footer("Example:\n  tool work x");
  return line.help();
}

TEST(CommandHelp, HoldsWhatTheOptionsAre) {
  const auto program = help();
  EXPECT_EQ(program.name, "tool");
  ASSERT_EQ(program.commands.size(), 1U);
  const auto& work = program.commands.front();
  EXPECT_EQ(work.text, "works on a file's data");
  EXPECT_EQ(work.examples, "Example:\n  tool work x");
  ASSERT_EQ(work.options.size(), 5U) << "--help is the first";
  EXPECT_TRUE(work.options[1].positional);
  EXPECT_THAT(work.options[2].names, ElementsAre("--word"));
  EXPECT_THAT(work.options[2].words, ElementsAre("a", "b"));
  EXPECT_EQ(work.options[3].value, "INT");
  EXPECT_THAT(work.options[3].words, ElementsAre());
  EXPECT_THAT(work.options[4].names, ElementsAre("-q", "--quick"));
  EXPECT_EQ(work.options[4].value, "") << "a flag takes no value";
}

/// `make`, which has a command of its own.
CommandHelp nested() {
  commands::CommandLine line("does things", "tool");
  auto make = line.command("make", "makes things");
  auto boat = make.command("boat", "makes a boat");
  std::string wood = "oak";
  boat.option("--wood", wood, "of what").one_of({"oak", "elm"});
  (void)line.command("rest", "does less");
  return line.help();
}

TEST(CommandHelp, HoldsCommandsBelowCommands) {
  const auto program = nested();
  ASSERT_EQ(program.commands.size(), 2U);
  ASSERT_EQ(program.commands[0].commands.size(), 1U);
  EXPECT_EQ(program.commands[0].commands[0].name, "boat");
  const auto page = manual_page(program, "1");
  EXPECT_THAT(page, HasSubstr(".SS tool make boat\nmakes a boat\n"));
  EXPECT_THAT(page, Not(HasSubstr(".SS tool make\n")));
  const auto bash = completion(program, "bash");
  EXPECT_THAT(bash, HasSubstr("if [ \"$command\" = make ]; then"));
  EXPECT_THAT(bash, HasSubstr("make-boat:--wood) words='oak elm' ;;"));
  EXPECT_THAT(completion(program, "fish"),
              HasSubstr("-n '__fish_seen_subcommand_from make; and __fish_seen_subcommand_from boat' -l wood"));
}

// troff takes a line that begins with a dot or a quote as a request, and a bare dash as a hyphen.
TEST(ManualPage, IsTextToTroff) {
  CommandHelp program{"tool", "does things", "", {}, {{"work", ".first\n'second with a \\", "", {}, {}}}};
  const auto page = manual_page(program, "1.0-rc");
  EXPECT_THAT(page, HasSubstr("\n\\&.first\n\\&'second with a \\e\n"));
  EXPECT_THAT(page, HasSubstr(".TH TOOL 1 \"\" \"tool 1.0\\-rc\"\n"));
  EXPECT_THAT(manual_page(help(), "1"), HasSubstr("\\fB\\-\\-word\\fR \\fIa|b\\fR\none of two\n"));
}

TEST(Completion, OffersTheWordsOfAnOption) {
  EXPECT_THAT(completion(help(), "bash"), HasSubstr("work:--word) words='a b' ;;"));
  EXPECT_THAT(completion(help(), "bash"), HasSubstr("work) words='-h --help --word --count -q --quick' ;;"));
  EXPECT_THAT(completion(help(), "zsh"), testing::StartsWith("#compdef tool\n"));
  const auto fish = completion(help(), "fish");
  EXPECT_THAT(fish, HasSubstr("-l word -x -a 'a b' -d 'one of two'\n"));
  EXPECT_THAT(fish, HasSubstr("-a work -d 'works on a file'\\''s data'\n")) << "quotes end no string";
  EXPECT_THAT(fish, Not(HasSubstr("-l file")));
}

TEST(Completion, EveryShellOfTheListHasOne) {
  for (const auto& shell : commands::shells_with_completion()) EXPECT_NE(completion(help(), shell), "") << shell;
}

}  // namespace
}  // namespace lockstep::test
