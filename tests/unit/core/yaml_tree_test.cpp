// What the parser refuses before anybody asks for a value.
#include <gtest/gtest.h>

#include "tests/unit/core/yaml_reading.hpp"

namespace lockstep {
namespace {

std::string refusal(const std::string& text) {
  const Reading reading(text);
  EXPECT_FALSE(reading.root.exists()) << text;
  return reading.message();
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(YamlTree, RefusesDuplicateKeysAndKeepsTheFirst) {
  const Reading reading("a:\n  b: 1\n  c: 2\n  b: 3\n");
  EXPECT_EQ(reading.root["a"]["b"].integer(), 1);
  EXPECT_EQ(reading.message(), "f.yaml:4:3: a.b: duplicate key; expected each key once, and line 2 has it already");
}

TEST(YamlTree, RefusesDuplicateKeysInFlowMapsAndLists) {
  EXPECT_EQ(Reading("a: [{b: 1, b: 2}]").message(),
            "f.yaml:1:12: a[0].b: duplicate key; expected each key once, and line 1 has it already");
}

TEST(YamlTree, EqualKeysOfDifferentMapsAreFine) { EXPECT_TRUE(Reading("a: {x: 1}\nb: {x: 1}\n").problems.empty()); }

TEST(YamlTree, RefusesAnchorsAndAliases) {
  const std::string end = "anchors and aliases are not supported; expected the value written out";
  EXPECT_EQ(refusal("a: &x 1\nb: *x\n"), "f.yaml:1:4: a: " + end);
  EXPECT_EQ(refusal("a: &x [1]\n"), "f.yaml:1:4: a: " + end);
  EXPECT_EQ(refusal("a: &x {b: 1}\n"), "f.yaml:1:4: a: " + end);
  EXPECT_EQ(refusal("a: &x\n"), "f.yaml:1:4: a: " + end);
  EXPECT_EQ(refusal("a: *x\n"), "f.yaml:1:4: malformed YAML: the referenced anchor is not defined");
}

TEST(YamlTree, RefusesTags) {
  EXPECT_EQ(refusal("a: !!int 3\n"), "f.yaml:1:4: a: tags are not supported; expected a value without a tag");
  EXPECT_EQ(refusal("a: !x [3]\n"), "f.yaml:1:4: a: tags are not supported; expected a value without a tag");
}

TEST(YamlTree, RefusesASecondDocument) {
  EXPECT_EQ(refusal("a: 1\n---\nb: 2\n"), "f.yaml:2:1: a second document starts here; expected one document per file");
  EXPECT_TRUE(Reading("---\na: 1\n...\n").problems.empty());
}

TEST(YamlTree, RefusesAnEmptyFile) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"}) {
    EXPECT_EQ(refusal(text), "f.yaml: the file is empty; expected a YAML document") << text;
  }
}

TEST(YamlTree, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(refusal("? [a]\n: 1\n"),
            "f.yaml:1:3: a list or a map is used as a key; expected a word as a key and every bracket closed");
  EXPECT_EQ(refusal("~: 1\n"), "f.yaml:1:1: the key is empty; expected a word");
}

TEST(YamlTree, GivesMalformedTextAPlace) {
  EXPECT_EQ(refusal("a: {b: 1"), "f.yaml:1:1: malformed YAML: end of map flow not found");
  EXPECT_EQ(refusal("a: 1\n\tb: 2\n"), "f.yaml:2:1: a tab indents this line; expected spaces");
}

TEST(YamlTree, LimitsTheDepth) {
  EXPECT_TRUE(Reading(repeated("[", 64) + repeated("]", 64)).problems.empty());
  EXPECT_EQ(
      refusal(repeated("[", 65) + repeated("]", 65)),
      "f.yaml:1:65: " + repeated("[0]", 64) + ": lists and maps are nested too deeply; expected at most 64 levels");
  EXPECT_NE(refusal(repeated("[", 100'000)), "0 problems");  // yaml-cpp sees an unclosed key first
  EXPECT_NE(refusal(repeated("- ", 100'000)).find("nested too deeply"), std::string::npos);
}

TEST(YamlTree, LimitsTheNumberOfValues) {
  // A list of n values counts n + 1.
  EXPECT_TRUE(Reading("[" + repeated("1,", 99'999) + "]").problems.empty());
  EXPECT_EQ(refusal("[" + repeated("1,", 100'000) + "]"),
            "f.yaml:1:200000: [99999]: the file has too many values; expected at most 100000 values");
}

TEST(YamlTree, RefusesBytesThatAreNoText) {
  const std::string end = "; expected a text file in UTF-8";
  EXPECT_EQ(refusal(std::string("a: 1\nb: \0", 9)), "f.yaml:2:4: has a control character" + end);
  EXPECT_EQ(refusal("a: \x04"), "f.yaml:1:4: has a control character" + end);  // yaml-cpp's end of file
  EXPECT_EQ(refusal("a: \xff"), "f.yaml:1:4: is not UTF-8 text" + end);
  EXPECT_EQ(refusal("a: \xc0\xaf"), "f.yaml:1:4: is not UTF-8 text" + end);      // longer than needed
  EXPECT_EQ(refusal("a: \xed\xa0\x80"), "f.yaml:1:4: is not UTF-8 text" + end);  // a surrogate
  EXPECT_EQ(refusal("a: \xe2\x82"), "f.yaml:1:4: is not UTF-8 text" + end);      // cut off
  EXPECT_EQ(Reading("a: \xe2\x82\xac\n").root["a"].text(), "\xe2\x82\xac");
}

// Escapes in quotes make characters that the file itself may not hold.
TEST(YamlTree, RefusesCharactersThatSteer) {
  const std::string raw = "; expected a text file in UTF-8", made = "; expected text that shows what it holds";
  EXPECT_EQ(refusal("a: \xe2\x80\xae"
                    "b"),
            "f.yaml:1:4: has the control character U+202E" + raw);
  EXPECT_EQ(refusal("# \xe2\x80\x8b"), "f.yaml:1:3: has the control character U+200B" + raw);
  EXPECT_EQ(refusal(R"(a: {b: [x, "\e[2J"]})"), "f.yaml:1:12: a.b[1]: has the control character U+001B" + made);
  EXPECT_EQ(refusal(R"("\u202E": 1)"), "f.yaml:1:1: has the control character U+202E" + made);
  for (const std::string escape : {"0", "a", "b", "v", "f", "r", "e", "L", "P", "x7f", "u2066", "uFEFF", "U000E0041"}) {
    EXPECT_NE(refusal("a: \"\\" + escape + "\"").find("has the control character U+"), std::string::npos) << escape;
  }
  EXPECT_EQ(Reading(R"(a: "x\ty\nz\u20ac")").root["a"].text(), "x\ty\nz\xe2\x82\xac");
  EXPECT_EQ(Reading("\xef\xbb\xbf"
                    "a: 1\n")
                .root["a"]
                .integer(),
            1);  // a byte order mark
  EXPECT_TRUE(Reading("a: |\r\n  x\r\n  y\r\nb: 1\r\n").problems.empty());
}

}  // namespace
}  // namespace lockstep
