#include "sim/core/yaml_text.hpp"

#include <gtest/gtest.h>

#include "tests/unit/core/yaml_reading.hpp"

namespace lockstep {
namespace {

/// What a text becomes as a value, and that it reads back, by itself and in a list and a map.
std::string written(const std::string& text) {
  std::string quoted;
  for (const char c : text)
    quoted += c == '"' || c == '\\' ? std::string("\\") + c
              : c == '\n'           ? std::string("\\n")
              : c == '\t'           ? std::string("\\t")
                                    : std::string(1, c);
  const Reading reading("a: \"" + quoted + "\"\n");
  const auto line = in_one_line(reading.root["a"]);
  EXPECT_EQ(Reading(line + "\n").root.text(), text) << line;
  EXPECT_EQ(Reading("[1, " + line + ", 2]").root.items()[1].text(), text) << line;
  EXPECT_EQ(Reading("{k: " + line + "}").root["k"].text(), text) << line;
  EXPECT_EQ(in_one_line(Reading("a: " + line).root["a"]), line);
  return line;
}

TEST(YamlText, WhatReadsBackStaysPlain) {
  for (const std::string text :
       {"llama-3-8b", "tpu-v5p:2x2", "80 GiB", "-1.5", "1e-3", "a/b.json", "x y", "a-b", "infiniband, not"}) {
    const auto line = written(text);
    if (text.find(',') == std::string::npos) {
      EXPECT_EQ(line, text);
    }
  }
}

TEST(YamlText, WhatDoesNotIsQuoted) {
  for (const std::string text :
       {"@x/m.json", "`a`", "%a", "*a",   "&a", "!a",  "|",  ">",  "? a",  "- a", ": a", "a: b", "a:",  "a #b", "#a",
        "[a",        "{a",  "a]", "a, b", "'a", "\"a", " a", "a ", "null", "~",   "",    "a\nb", "---", "\t"}) {
    const auto line = written(text);
    EXPECT_TRUE(line.starts_with('"')) << line;
  }
}

TEST(YamlText, ListsMapsAndNothing) {
  const Reading reading("a: {b: [1, '@x'], 'c: d': null, e: {}}\n");
  EXPECT_EQ(in_one_line(reading.root["a"]), "{b: [1, \"@x\"], \"c: d\": null, e: {}}");
  EXPECT_EQ(in_one_line(reading.root["none"]), "null");
}

}  // namespace
}  // namespace lockstep
