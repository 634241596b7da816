#include <gtest/gtest.h>

#include "tests/unit/core/yaml_reading.hpp"

namespace lockstep {
namespace {

TEST(YamlOverride, ReplacesAValueInACopy) {
  const Reading reading("a:\n  b: 1\n  c: 2\n");
  const YamlView changed = reading.root.with_override("a.b", "7");
  EXPECT_EQ(changed["a"]["b"].integer(), 7);
  EXPECT_EQ(changed["a"]["c"].integer(), 2);
  EXPECT_EQ(reading.root["a"]["b"].integer(), 1);
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlOverride, AddsWhatIsNotThere) {
  const Reading reading("a: 1\nn:\n");
  const YamlView changed = reading.root.with_override("b.c.d", "80 GiB").with_override("n.x", "2");
  EXPECT_EQ(changed["b"]["c"]["d"].bytes(), Bytes(std::int64_t{80} << 30));
  EXPECT_EQ(changed["n"]["x"].integer(), 2);
  EXPECT_EQ(changed.keys(), (std::vector<std::string>{"a", "n", "b"}));
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlOverride, TakesAnyYamlValue) {
  const Reading reading("a: 1\n");
  EXPECT_EQ(reading.root.with_override("a", "[4, 5]")["a"].items()[1].integer(), 5);
  EXPECT_EQ(reading.root.with_override("a", "{x: 3}")["a"]["x"].integer(), 3);
  EXPECT_TRUE(reading.root.with_override("a", "null")["a"].is_null());
  EXPECT_TRUE(reading.root.with_override("a", "")["a"].is_null());
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlOverride, NamesTheOptionAsThePlaceOfItsValue) {
  const Reading reading("a: 1\n");
  (void)reading.root.with_override("b.c", "x")["b"]["c"].integer();
  (void)reading.root.with_override("a", "[x]")["a"].items()[0].integer();
  EXPECT_EQ(reading.messages(), (std::vector<std::string>{
                                    "--set a: a[0]: `x` is not a whole number; expected a whole number of at least 1",
                                    "--set b.c: b.c: `x` is not a whole number; expected a whole number of at least 1",
                                }));
}

/// What `--set path=value` complains about, on a document with a scalar s and a list l.
std::string refusal(const std::string& path, const std::string& value) {
  const Reading reading("s: 1\nl: [1]\n");
  const YamlView changed = reading.root.with_override(path, value);
  EXPECT_EQ(changed.keys(), (std::vector<std::string>{"s", "l"}));  // unchanged
  return reading.message();
}

TEST(YamlOverride, RefusesToSetBelowAScalarOrAList) {
  EXPECT_EQ(refusal("s.x", "1"), "--set s.x: s: is a single value and holds no key `x`; expected the path of a map");
  EXPECT_EQ(refusal("l.x", "1"), "--set l.x: l: is a list and holds no key `x`; expected the path of a map");
}

TEST(YamlOverride, RefusesPathsThatNameNothing) {
  const std::string end = "a key of the path is empty; expected keys separated by dots, such as a.b";
  EXPECT_EQ(refusal("", "1"), "--set : " + end);
  EXPECT_EQ(refusal("a..b", "1"), "--set a..b: " + end);
  EXPECT_EQ(refusal("a.", "1"), "--set a.: " + end);
  std::string deep = "a";
  for (int i = 0; i < 64; ++i) deep += ".a";
  EXPECT_EQ(refusal(deep, "1"), "--set " + deep + ": the key path is too long; expected at most 64 keys");
}

TEST(YamlOverride, RefusesMalformedValues) {
  EXPECT_EQ(refusal("s", "{a: 1"),
            "--set s: a list or a map is used as a key; expected a word as a key and every bracket closed");
  EXPECT_EQ(refusal("s", "\x01"), "--set s: has a control character; expected a text file in UTF-8");
  EXPECT_EQ(refusal("s", "&a 1"), "--set s: anchors and aliases are not supported; expected the value written out");
}

}  // namespace
}  // namespace lockstep
