#include "sim/core/yaml_view.hpp"

#include <gtest/gtest.h>

#include "tests/unit/core/yaml_reading.hpp"

namespace lockstep {
namespace {

using Lines = std::vector<std::string>;

TEST(YamlView, KnowsTheKindPlaceAndPathOfEveryValue) {
  const Reading reading("chip:\n  name: v5p\n  links: [1, {a: 2}]\n  note:\n");
  const YamlView chip = reading.root["chip"];
  EXPECT_TRUE(reading.root.is_map() && chip.is_map());
  EXPECT_TRUE(chip["name"].is_scalar());
  EXPECT_TRUE(chip["links"].is_list());
  EXPECT_TRUE(chip["note"].is_null() && chip["note"].exists());
  EXPECT_FALSE(chip["colour"].exists());
  EXPECT_EQ(chip["name"].where().to_string(), "f.yaml:2:9");
  EXPECT_EQ(chip["note"].where().to_string(), "f.yaml:4:3");
  const YamlView second = chip["links"].items()[1];
  EXPECT_EQ(second["a"].path(), "chip.links[1].a");
  EXPECT_EQ(second["a"].where().to_string(), "f.yaml:3:18");
  EXPECT_EQ(chip.keys(), (Lines{"name", "links", "note"}));
  EXPECT_TRUE(reading.problems.empty());
}

TEST(YamlView, RequireReportsAMissingKeyAtItsMap) {
  const Reading reading("chip:\n  name: v5p\n");
  EXPECT_FALSE(reading.root["chip"].require("memory", "a size such as 80 GiB").exists());
  EXPECT_EQ(reading.root["chip"].require("name", "a name").text(), "v5p");
  EXPECT_EQ(reading.message(), "f.yaml:2:3: chip.memory: missing; expected a size such as 80 GiB");
}

TEST(YamlView, ReportsOnlyTheOutermostMissingKey) {
  const Reading reading("a: 1\n");
  (void)reading.root.require("chip", "the chip").require("memory", "a size").bytes();
  EXPECT_EQ(reading.message(), "f.yaml:1:1: chip: missing; expected the chip");
}

TEST(YamlView, RefusesUnknownKeysWithTheNearestKnownOne) {
  const Reading reading("links: 3\nlnks: 4\nbanana: 5\nlatency: 6\n");
  for (const char* key : {"links", "latency", "bandwidth", "links"}) (void)reading.root[key];
  reading.root.refuse_unknown_keys();
  EXPECT_EQ(reading.messages(), (Lines{"f.yaml:2:1: lnks: unknown key; did you mean `links`",
                                       "f.yaml:3:1: banana: unknown key; expected one of links, latency, bandwidth"}));
}

TEST(YamlView, AnUnknownKeyOfAMapWithoutKeysIsUnexpected) {
  const Reading reading("a:\n  b: 1\n");
  reading.root["a"].refuse_unknown_keys();
  EXPECT_EQ(reading.message(), "f.yaml:2:3: a.b: unknown key; expected no key here");
}

TEST(YamlView, ALookUpInWhatIsNoMapIsAProblem) {
  const Reading reading("a: torus\nb: [1]\nc:\n");
  EXPECT_FALSE(reading.root["a"]["kind"].exists());
  EXPECT_FALSE(reading.root["b"].expect_map("a map of axes"));
  EXPECT_TRUE(reading.root["c"].keys().empty());
  EXPECT_EQ(reading.messages(),
            (Lines{"f.yaml:1:4: a: `torus` is a single value; expected a map",
                   "f.yaml:2:4: b: is a list; expected a map of axes", "f.yaml:3:1: c: is null; expected a map"}));
}

TEST(YamlView, ItemsOfWhatIsNoListAreAProblem) {
  const Reading reading("a: 4\nb: {c: 1}\n");
  EXPECT_TRUE(reading.root["a"].items().empty());
  EXPECT_TRUE(reading.root["b"].items().empty());
  EXPECT_TRUE(reading.root["absent"].items().empty());
  EXPECT_EQ(reading.messages(), (Lines{"f.yaml:1:4: a: `4` is a single value; expected a list",
                                       "f.yaml:2:4: b: is a map; expected a list"}));
}

TEST(YamlView, ProblemNamesThePlaceAndThePath) {
  const Reading reading("a:\n  - 5\n");
  reading.root["a"].items()[0].problem("is odd", "an even number");
  EXPECT_EQ(reading.message(), "f.yaml:2:5: a[0]: is odd; expected an even number");
}

TEST(YamlView, AViewOfNothingIsSilent) {
  const YamlView nothing;
  EXPECT_FALSE(nothing.exists());
  EXPECT_FALSE(nothing["a"].require("b", "c").exists());
  EXPECT_EQ(nothing.where().to_string(), "");
  nothing.problem("a", "b");
  nothing.refuse_unknown_keys();
  EXPECT_FALSE(nothing.with_override("a", "1").exists());
}

// A reader that knows what a view holds need not read it again: places do not matter, quotes and order do.
TEST(YamlView, SameValueWhereverItStands) {
  const Reading reading(
      "a: {x: 1, y: [2, {z: ~}]}\nb:\n  x: 1\n  y:\n    - 2\n    - z:\nc: {y: [2, {z: ~}], x: 1}\n"
      "d: {x: '1', y: [2, {z: ~}]}\ne: {x: 1, y: [2]}\n");
  const auto& root = reading.root;
  EXPECT_TRUE(root["a"].same_value(root["b"]));
  for (const char* other : {"c", "d", "e"}) EXPECT_FALSE(root["a"].same_value(root[other])) << other;
  EXPECT_FALSE(root["a"].same_value(root["missing"]));
  EXPECT_TRUE(YamlView().same_value(root["missing"]));
  root["a"].refuse_unknown_keys();  // to compare is not to ask for
  EXPECT_EQ(reading.messages().size(), 2u);
}

TEST(YamlView, ReadingTwiceReportsOnce) {
  const Reading reading("a: x\n");
  (void)reading.root["a"].integer();
  (void)reading.root["a"].integer();
  EXPECT_EQ(reading.problems.size(), 2u);
  EXPECT_EQ(reading.messages().size(), 1u);
}

}  // namespace
}  // namespace lockstep
