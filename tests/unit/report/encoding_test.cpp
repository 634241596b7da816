#include "tools/report/encoding.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

// RFC 4648, section 10.
TEST(Encoding, Base64OfTheStandardsExamples) {
  EXPECT_EQ(report::base64(""), "");
  EXPECT_EQ(report::base64("f"), "Zg==");
  EXPECT_EQ(report::base64("fo"), "Zm8=");
  EXPECT_EQ(report::base64("foo"), "Zm9v");
  EXPECT_EQ(report::base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(report::base64("\xff\xff\xfe"), "///+");
}

TEST(Encoding, GzipComesBackAndIsTheSameEachTime) {
  std::string text;
  for (std::int64_t i = 0; i < 100'000; ++i) text += static_cast<char>(i * i % 251);
  const auto packed = report::gzipped(text);
  EXPECT_EQ(packed, report::gzipped(text));
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));  // RFC 1952: MTIME, 0 is "no time stamp"
  EXPECT_EQ(report::gunzipped(std::vector<unsigned char>(packed.begin(), packed.end())), text);
}

TEST(Encoding, WhatIsCutOffIsNotTakenForWhole) {
  const auto packed = report::gzipped("a page that was cut off somewhere");
  EXPECT_THROW((void)report::gunzipped(std::vector<unsigned char>(packed.begin(), packed.end() - 9)), InternalError);
}

}  // namespace
}  // namespace lockstep
