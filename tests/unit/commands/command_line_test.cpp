// The command line: values arrive in their variables, what is wrong is told on stderr with exit 2, and a word that is
// no command is named with the commands that there are.
#include "tools/commands/command_line.hpp"

#include <gmock/gmock.h>

#include "sim/core/errors.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Values {
  std::string file, word = "a";
  std::vector<std::string> set;
  double number = 0;
  std::int32_t count = 0;
  std::int64_t large = 0;
  std::uint64_t seed = 1;
  std::optional<double> maybe;
  std::optional<std::int32_t> whole;
  bool flag = false;
  int ran = 0;
};

struct Ended {
  std::optional<int> code;
  std::string out, errors;
};

/// A program of two commands, `work` with one option of each type.
Ended run(Values& values, std::vector<const char*> words) {
  commands::CommandLine line("Tries the command line.", "tried");
  line.version("tried 1.2");
  auto work = line.command("work", "does nothing");
  work.option("file", values.file, "a file").required();
  work.option("--word", values.word, "one of two").one_of({"a", "b"}).shows_default();
  work.option("--set", values.set, "values").repeatable();
  work.option("--number", values.number, "a number").between(0.5, 2.5);
  work.option("--count", values.count, "a count").between(1, 8);
  work.option("--large", values.large, "a large count").not_negative();
  work.option("--seed", values.seed, "a seed");
  const auto maybe = work.option("--maybe", values.maybe, "a number or none");
  work.option("--whole", values.whole, "a count or none").excludes(maybe);
  work.flag("--flag", values.flag, "a flag").needs("--set");
  work.footer("Example:\n  tried work x");
  work.callback([&] { ++values.ran; });
  line.command("rest", "does less").callback([&] { values.ran += 100; });

  words.insert(words.begin(), "tried");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ended ended;
  try {
    ended.code = line.run(static_cast<int>(words.size()), words.data());
  } catch (...) {
    (void)testing::internal::GetCapturedStdout();
    (void)testing::internal::GetCapturedStderr();
    throw;
  }
  ended.out = testing::internal::GetCapturedStdout();
  ended.errors = testing::internal::GetCapturedStderr();
  return ended;
}

TEST(CommandLineOptions, ArriveInTheirVariables) {
  Values values;
  const auto ended =
      run(values, {"work", "x.yaml", "--word", "b", "--set", "a=1", "--set", "b=2", "--number", "1.5", "--count", "8",
                   "--large", "5000000000", "--seed", "18446744073709551615", "--maybe", "-2", "--flag"});
  EXPECT_FALSE(ended.code) << ended.errors;
  EXPECT_EQ(values.ran, 1);
  EXPECT_EQ(values.file, "x.yaml");
  EXPECT_EQ(values.word, "b");
  EXPECT_THAT(values.set, ElementsAre("a=1", "b=2"));
  EXPECT_EQ(values.number, 1.5);
  EXPECT_EQ(values.count, 8);
  EXPECT_EQ(values.large, 5'000'000'000);
  EXPECT_EQ(values.seed, 18'446'744'073'709'551'615U);
  EXPECT_EQ(values.maybe, -2);
  EXPECT_EQ(values.whole, std::nullopt);
  EXPECT_TRUE(values.flag);
}

TEST(CommandLineOptions, RunOnlyTheCommandThatIsNamed) {
  Values values;
  EXPECT_FALSE(run(values, {"rest"}).code);
  EXPECT_EQ(values.ran, 100);
}

TEST(CommandLineOptions, RefuseWhatIsWrongWithExit2) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> wrong = {
      {{"work", "x", "--word", "c"}, "--word: 'c' is not a choice; expected one of a, b"},
      {{"work", "x", "--number", "3"}, "--number"},
      {{"work", "x", "--number", "nan"}, "'nan' is not a number"},
      {{"work", "x", "--count", "0"}, "--count"},
      {{"work", "x", "--count", "9"}, "--count"},
      {{"work", "x", "--large", "-1"}, "--large"},
      {{"work", "x", "--set", ""}, "the value is empty"},
      {{"work", "x", "--flag"}, "--set"},
      {{"work", "x", "--maybe", "1", "--whole", "1"}, "--maybe"},
      {{}, "no command is given"},
  };
  for (const auto& [words, told] : wrong) {
    Values values;
    const auto ended = run(values, words);
    EXPECT_EQ(ended.code, 2) << told;
    EXPECT_THAT(ended.errors, HasSubstr(told));
    EXPECT_EQ(ended.out, "") << told;
    EXPECT_EQ(values.ran, 0) << told;
  }
}

TEST(CommandLineOptions, SayWhatIsMissing) {
  Values values;
  try {
    (void)run(values, {"work"});
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tried work: file is missing; expected"));
  }
}

// With the option that was meant, if one is near; what follows it is not told too.
TEST(CommandLineOptions, RefuseAnOptionThatThereIsNot) {
  for (const auto& [word, told] : {std::pair{"--unknown", "'--unknown' is not an option; expected one of"},
                                   std::pair{"--numbr", "did you mean `--number`"}}) {
    Values values;
    try {
      (void)run(values, {"work", "x", word, "3"});
      FAIL() << word << " was taken";
    } catch (const ConfigError& error) {
      ASSERT_EQ(error.problems().size(), 1u);
      EXPECT_THAT(error.what(), HasSubstr(told));
    }
  }
}

TEST(CommandLineOptions, RefuseAWordThatIsNoCommand) {
  Values values;
  try {
    (void)run(values, {"wrok", "x"});
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("tried: 'wrok' is not a command"), HasSubstr("work")));
  }
}

TEST(CommandLineOptions, HelpAndVersionGoToStdoutWithExit0) {
  Values values;
  const auto help = run(values, {"work", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--word TEXT:{a,b}=a"), HasSubstr("tried work x"),
                              HasSubstr("FLOAT:from 0.5 to 2.5"), HasSubstr("INT:from 1 to 8")));
  EXPECT_EQ(help.errors, "");
  EXPECT_EQ(run(values, {"--version"}).out, "tried 1.2\n");
  EXPECT_EQ(values.ran, 0);
}

// What a user typed, as a shell takes it: words with spaces in quotes, and no place of results.
TEST(CommandLineWords, AreKeptWithoutThePlaceOfResults) {
  commands::CommandLine line("Tries the command line.", "tried");
  std::string file, out;
  bool ran = false;
  auto work = line.command("work", "does nothing");
  work.option("file", file, "a file");
  work.option("--out", out, "a folder");
  work.callback([&ran, typed = work.typed()] { ran = *typed == "tried work 'my job.yaml'"; });
  for (const auto& words : {std::vector<const char*>{"tried", "work", "--out", "a b", "my job.yaml"},
                            {"tried", "work", "my job.yaml", "--out=a"}}) {
    ran = false;
    EXPECT_FALSE(line.run(static_cast<int>(words.size()), words.data()));
    EXPECT_TRUE(ran);
  }
}

}  // namespace
}  // namespace lockstep::test
