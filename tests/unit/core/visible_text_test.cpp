#include "sim/core/visible_text.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(VisibleText, LeavesLettersAsTheyAre) {
  for (const std::string text : {"", "plain ~ text", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
                                 "\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7"}) {  // the last with a joiner
    EXPECT_EQ(visible(text), text);
    EXPECT_EQ(visible(text, LineFeeds::kept), text);
  }
}

TEST(VisibleText, ShowsWhatSteersATerminal) {
  EXPECT_EQ(visible("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(visible(std::string("\0\a\r", 3)), "\\x00\\x07\\x0d");
  EXPECT_EQ(visible("\x7f"), "\\u007f");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\u009b31m");  // CSI of one character
  EXPECT_EQ(visible("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(visible("a\nb\tc", LineFeeds::kept), "a\nb\tc");
}

TEST(VisibleText, ShowsWhatTurnsOrHidesLetters) {
  EXPECT_EQ(visible("\xe2\x80\xae"
                    "evil"),
            "\\u202eevil");                                            // right-to-left override
  EXPECT_EQ(visible("\xe2\x81\xa6x\xe2\x81\xa9"), "\\u2066x\\u2069");  // isolates
  EXPECT_EQ(visible("a\xe2\x80\x8b"
                    "b"),
            "a\\u200bb");                                    // no width
  EXPECT_EQ(visible("\xf3\xa0\x80\x81"), "\\udb40\\udc01");  // a tag, as JSON writes it
}

TEST(VisibleText, ShowsBytesThatAreNoText) {
  EXPECT_EQ(visible("a\xff"
                    "b"),
            "a\\xffb");
  EXPECT_EQ(visible("\xc0\xaf"), "\\xc0\\xaf");                    // longer than needed
  EXPECT_EQ(visible("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(visible("\xe2\x82"), "\\xe2\\x82");                    // cut off
  EXPECT_EQ(visible("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

}  // namespace
}  // namespace lockstep
