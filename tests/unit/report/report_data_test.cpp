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
