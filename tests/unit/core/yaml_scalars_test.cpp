#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/core/yaml_reading.hpp"

namespace lockstep {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What reading `x: <text>` as a whole number from 1 to 8 complains about.
std::string integer_problem(const std::string& text) {
  const Reading reading("x: " + text);
  EXPECT_EQ(reading.root["x"].integer(1, 8), 1) << text;  // the fallback
  return reading.message();
}

TEST(YamlInteger, ReadsWholeNumbers) {
  const Reading reading("a: 7\nb: -3\nc: 9223372036854775807\nd: 0\n");
  EXPECT_EQ(reading.root["a"].integer(), 7);
  EXPECT_EQ(reading.root["b"].integer(-5, 5), -3);
  EXPECT_EQ(reading.root["c"].integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(reading.root["d"].integer(0), 0);
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlInteger, RefusesEverythingElse) {
  const std::string end = "; expected a whole number from 1 to 8";
  EXPECT_EQ(integer_problem("0"), "f.yaml:1:4: x: `0` is too small" + end);
  EXPECT_EQ(integer_problem("9"), "f.yaml:1:4: x: `9` is too large" + end);
  EXPECT_EQ(integer_problem("9223372036854775808"), "f.yaml:1:4: x: `9223372036854775808` is too large" + end);
  EXPECT_EQ(integer_problem("-9223372036854775809"), "f.yaml:1:4: x: `-9223372036854775809` is too small" + end);
  EXPECT_EQ(integer_problem("010"), "f.yaml:1:4: x: `010` has a leading zero" + end);
  EXPECT_EQ(integer_problem("0x8"), "f.yaml:1:4: x: `0x8` is not a whole number" + end);
  EXPECT_EQ(integer_problem("+5"), "f.yaml:1:4: x: `+5` is not a whole number" + end);
  EXPECT_EQ(integer_problem("5.0"), "f.yaml:1:4: x: `5.0` is not a whole number" + end);
  EXPECT_EQ(integer_problem("1e0"), "f.yaml:1:4: x: `1e0` is not a whole number" + end);
  EXPECT_EQ(integer_problem("1_0"), "f.yaml:1:4: x: `1_0` is not a whole number" + end);
  EXPECT_EQ(integer_problem("5 chips"), "f.yaml:1:4: x: `5 chips` is not a whole number" + end);
  EXPECT_EQ(integer_problem("five"), "f.yaml:1:4: x: `five` is not a whole number" + end);
  EXPECT_EQ(integer_problem("\"5\""), "f.yaml:1:4: x: \"5\" is a quoted text" + end + " without quotes");
  EXPECT_EQ(integer_problem("[5]"), "f.yaml:1:4: x: is a list" + end);
  EXPECT_EQ(integer_problem("{a: 5}"), "f.yaml:1:4: x: is a map" + end);
  EXPECT_EQ(integer_problem("~"), "f.yaml:1:1: x: is null" + end);
}

TEST(YamlInteger, NamesOnlyTheBoundsThatExist) {
  const Reading reading("x: a\n");
  (void)reading.root["x"].integer();
  EXPECT_EQ(reading.message(), "f.yaml:1:4: x: `a` is not a whole number; expected a whole number of at least 1");
}

std::string number_problem(const std::string& text, double least, double most) {
  const Reading reading("x: " + text);
  EXPECT_EQ(reading.root["x"].number(least, most), least) << text;
  return reading.message();
}

TEST(YamlNumber, ReadsPlainNumbers) {
  const Reading reading("a: 0.5\nb: 1e3\nc: -2\nd: 1.5E-2\n");
  EXPECT_EQ(reading.root["a"].number(0, 1), 0.5);
  EXPECT_EQ(reading.root["b"].number(0, infinity), 1000.0);
  EXPECT_EQ(reading.root["c"].number(-infinity, 0), -2.0);
  EXPECT_EQ(reading.root["d"].number(0, 1), 0.015);
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlNumber, RefusesEverythingElse) {
  const std::string end = "; expected a number from 0 to 1.5";
  EXPECT_EQ(number_problem("-0.1", 0, 1.5), "f.yaml:1:4: x: `-0.1` is too small" + end);
  EXPECT_EQ(number_problem("1.6", 0, 1.5), "f.yaml:1:4: x: `1.6` is too large" + end);
  EXPECT_EQ(number_problem(".nan", 0, 1.5), "f.yaml:1:4: x: `.nan` is not a plain number" + end);
  EXPECT_EQ(number_problem("nan", 0, 1.5), "f.yaml:1:4: x: `nan` is not a plain number" + end);
  EXPECT_EQ(number_problem("inf", 0, 1.5), "f.yaml:1:4: x: `inf` is not a plain number" + end);
  EXPECT_EQ(number_problem("+1", 0, 1.5), "f.yaml:1:4: x: `+1` is not a plain number" + end);
  EXPECT_EQ(number_problem(".5", 0, 1.5), "f.yaml:1:4: x: `.5` is not a plain number" + end);
  EXPECT_EQ(number_problem("1.", 0, 1.5), "f.yaml:1:4: x: `1.` is not a plain number" + end);
  EXPECT_EQ(number_problem("0x1p0", 0, 1.5), "f.yaml:1:4: x: `0x1p0` is not a plain number" + end);
  EXPECT_EQ(number_problem("01.5", 0, 1.5), "f.yaml:1:4: x: `01.5` has a leading zero" + end);
  EXPECT_EQ(number_problem("1e999", 0, 1.5), "f.yaml:1:4: x: `1e999` is out of range" + end);
  EXPECT_EQ(number_problem("50%", 0, 1.5), "f.yaml:1:4: x: `50%` is not a plain number" + end);
  EXPECT_EQ(number_problem("'1'", 0, 1.5), "f.yaml:1:4: x: \"1\" is a quoted text" + end + " without quotes");
}

TEST(YamlNumber, NamesOnlyTheBoundsThatExist) {
  EXPECT_EQ(number_problem("x", 2, infinity),
            "f.yaml:1:4: x: `x` is not a plain number; expected a number of at least 2");
  EXPECT_EQ(number_problem("x", -infinity, 3),
            "f.yaml:1:4: x: `x` is not a plain number; expected a number of at most 3");
}

TEST(YamlBoolean, IsTrueOrFalseAndNothingElse) {
  const Reading good("a: true\nb: false\n");
  EXPECT_TRUE(good.root["a"].boolean());
  EXPECT_FALSE(good.root["b"].boolean());
  EXPECT_TRUE(good.problems.empty());
  for (const std::string text : {"yes", "on", "True", "1"}) {
    const Reading bad("x: " + text);
    EXPECT_FALSE(bad.root["x"].boolean());
    EXPECT_EQ(bad.message(), "f.yaml:1:4: x: `" + text + "` is not a boolean; expected true or false");
  }
  const Reading quoted("x: \"true\"");
  EXPECT_FALSE(quoted.root["x"].boolean());
  EXPECT_EQ(quoted.message(), "f.yaml:1:4: x: \"true\" is a quoted text; expected true or false without quotes");
}

TEST(YamlText, IsAnyScalarAsWritten) {
  const Reading reading("a: hello\nb: 007\nc: 'a b'\nd: |\n  two\n  lines\n");
  EXPECT_EQ(reading.root["a"].text(), "hello");
  EXPECT_EQ(reading.root["b"].text(), "007");
  EXPECT_EQ(reading.root["c"].text(), "a b");
  EXPECT_EQ(reading.root["d"].text(), "two\nlines\n");
  EXPECT_TRUE(reading.problems.empty());
  const Reading list("x: [a]");
  EXPECT_EQ(list.root["x"].text(), "");
  EXPECT_EQ(list.message(), "f.yaml:1:4: x: is a list; expected a text");
}

TEST(YamlChoice, GivesTheIndexOfTheWord) {
  const Reading good("x: tree\n");
  EXPECT_EQ(good.root["x"].choice({"ring", "tree"}), 1u);
  EXPECT_TRUE(good.problems.empty());
  const Reading near("x: rign\n");
  EXPECT_EQ(near.root["x"].choice({"tree", "ring"}), 0u);
  EXPECT_EQ(near.message(), "f.yaml:1:4: x: `rign` is not known; expected one of tree, ring; did you mean `ring`");
  const Reading far("x: banana\n");
  EXPECT_EQ(far.root["x"].choice({"tree", "ring"}), 0u);
  EXPECT_EQ(far.message(), "f.yaml:1:4: x: `banana` is not known; expected one of tree, ring");
}

TEST(YamlQuantities, ReadTextWithAUnit) {
  const Reading reading("a: 80 GiB\nb: \"2 us\"\nc: 400 Gbps\nd: 989 TFLOP/s\ne: 0 B\nf: 0 s\n");
  EXPECT_EQ(reading.root["a"].bytes(), Bytes(std::int64_t{80} << 30));
  EXPECT_EQ(reading.root["b"].seconds(), Seconds(2e-6));
  EXPECT_EQ(reading.root["c"].bytes_per_second(), BytesPerSecond(50e9));
  EXPECT_EQ(reading.root["d"].flops_per_second(), FlopsPerSecond(989e12));
  EXPECT_EQ(reading.root["e"].bytes(true), Bytes(0));
  EXPECT_EQ(reading.root["f"].seconds(true), Seconds(0));
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlQuantities, ReportTheirPlaceAndFallBackToOne) {
  const Reading reading("a: 80\nb: 0 us\nc: -1 GB/s\nd: 989 TFLOPs\ne: 0 B\nf: [1 B]\n");
  EXPECT_EQ(reading.root["a"].bytes(), Bytes(1));
  EXPECT_EQ(reading.root["b"].seconds(), Seconds(1));
  EXPECT_EQ(reading.root["c"].bytes_per_second(), BytesPerSecond(1));
  EXPECT_EQ(reading.root["d"].flops_per_second(), FlopsPerSecond(1));
  EXPECT_EQ(reading.root["e"].bytes(), Bytes(1));
  EXPECT_EQ(reading.root["f"].bytes(), Bytes(1));
  EXPECT_EQ(reading.messages(),
            (std::vector<std::string>{
                "f.yaml:1:4: a: `80` has no unit; expected a size such as 80 GiB",
                "f.yaml:2:4: b: `0 us` is zero; expected a time such as 2 us",
                "f.yaml:3:4: c: `-1 GB/s` is negative; expected a bandwidth such as 90 GB/s or 400 Gbps",
                "f.yaml:4:4: d: `989 TFLOPs` is a count of operations, not a compute rate; "
                "expected a compute rate such as 989 TFLOP/s",
                "f.yaml:5:4: e: `0 B` is zero; expected a size such as 80 GiB",
                "f.yaml:6:4: f: is a list; expected a size such as 80 GiB",
            }));
}

TEST(YamlGetters, AnswerForAnAbsentValueInSilence) {
  const Reading reading("a: 1\n");
  const YamlView absent = reading.root["b"];
  EXPECT_EQ(absent.integer(2, 3), 2);
  EXPECT_EQ(absent.number(0.5, 1), 0.5);
  EXPECT_EQ(absent.text(), "");
  EXPECT_FALSE(absent.boolean());
  EXPECT_EQ(absent.choice({"x"}), 0u);
  EXPECT_EQ(absent.bytes(), Bytes(1));
  EXPECT_EQ(absent.seconds(), Seconds(1));
  EXPECT_EQ(absent.bytes_per_second(), BytesPerSecond(1));
  EXPECT_EQ(absent.flops_per_second(), FlopsPerSecond(1));
  EXPECT_TRUE(reading.problems.empty());
}

}  // namespace
}  // namespace lockstep
