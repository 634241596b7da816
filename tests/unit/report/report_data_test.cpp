#include "tools/report/report_data.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Json = report::ReportData::Json;

// 300 = 2 x 128 + 44: 44 with the top bit, then 2.
TEST(ReportData, WholeNumbersTakeSevenBitsAByte) {
  report::ReportData data;
  EXPECT_EQ(data.whole(std::vector<std::uint64_t>{0, 127, 300}), Json::parse(R"({"whole": [0, 3]})"));
  EXPECT_EQ(data.real(std::vector<double>{1.0}), Json::parse(R"({"real": [4, 1]})"));
  using namespace std::string_literals;
  EXPECT_EQ(data.packed({{"a", 1}}),
            "\x07\0\0\0{\"a\":1}"s + "\0\x7f\xac\x02"s + "\0\0\0\0\0\0\xf0\x3f"s);  // 1.0 is 0x3ff0...
}

// Forty sevens: one is new, 39 (0x27) repeat what was there 1 before. 0, 2, 4 ... 78 grow by 2, which is 4 without
// sign: 0 and the first 4 are new, 38 (0x26) repeat it.
TEST(ReportData, WhatComesAgainIsWrittenOnce) {
  using namespace std::string_literals;
  report::ReportData data;
  EXPECT_EQ(data.repeating(std::vector<std::uint64_t>(40, 7)), Json::parse(R"({"repeating": [0, 40]})"));
  std::vector<std::uint64_t> even;
  for (std::uint64_t i = 0; i < 40; ++i) even.push_back(2 * i);
  EXPECT_EQ(data.growing(even), Json::parse(R"({"growing": [4, 40]})"));
  EXPECT_EQ(data.packed(1), "\x01\0\0\0"s + "1\x01\x07\x27\x01"s + "\x02\0\x04\x26\x01"s);
}

TEST(ReportData, OneObjectFitsIntoAnother) {
  report::ReportData inner, outer;
  const auto list = inner.whole(std::vector<std::uint64_t>{5});
  const auto packed = inner.packed(list);
  (void)outer.whole(std::vector<std::uint64_t>{1, 2});
  EXPECT_EQ(outer.nested(packed), (Json{{"nested", {2, packed.size()}}}));
}

TEST(ReportData, SignedNumbersNearZeroStaySmall) {
  EXPECT_EQ(report::without_sign(0), 0u);
  EXPECT_EQ(report::without_sign(-1), 1u);
  EXPECT_EQ(report::without_sign(1), 2u);
  EXPECT_EQ(report::without_sign(-300), 599u);
}

TEST(ReportData, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(report::ReportData().packed("a\xff").substr(4), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace lockstep
