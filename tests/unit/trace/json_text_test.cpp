#include "tools/trace/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

template <class Value>
std::string json_of(Value value) {
  std::string out;
  trace::append_json(out, value);
  return out;
}

std::string microseconds(std::int64_t nanoseconds) {
  std::string out;
  trace::append_microseconds(out, nanoseconds);
  return out;
}

TEST(JsonText, StringsReadBackAsTheyWere) {
  for (const std::string text : {"plain", "", "\"", "\\", "a\"b\\c", "tab\tnew\nline", "\x01\x1F\x7F", "<script>",
                                 "\xC3\xA9 \xE2\x86\x92 \xF0\x9F\x98\x80"}) {
    EXPECT_EQ(nlohmann::json::parse(json_of(std::string_view(text))), text);
  }
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(nlohmann::json::parse(json_of(std::string_view(with_zero))), with_zero);
}

TEST(JsonText, PlainTextIsOnlyQuoted) {
  EXPECT_EQ(json_of(std::string_view("AllGather_fsdp Win -> W[D, F]")), "\"AllGather_fsdp Win -> W[D, F]\"");
}

TEST(JsonText, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(nlohmann::json::parse(json_of(std::string_view("a\xFF z"))), "a\xEF\xBF\xBD z");
}

TEST(JsonText, NumbersReadBackAsTheyWere) {
  EXPECT_EQ(json_of(std::int64_t{-9'007'199'254'740'993}), "-9007199254740993");
  for (const double value : {0.0, 0.1, 1.5e300, 68719476736.0, 2.0e22, 1.0 / 3}) {
    EXPECT_EQ(nlohmann::json::parse(json_of(value)).get<double>(), value);
  }
}

TEST(JsonText, MicrosecondsKeepTheirNanosecondsExactly) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(7), "0.007");
  EXPECT_EQ(microseconds(1'000), "1.000");
  EXPECT_EQ(microseconds(123'456), "123.456");
  EXPECT_EQ(microseconds(9'223'372'036'854'775'807), "9223372036854775.807");
}

}  // namespace
}  // namespace lockstep
