// Columns are as wide as their widest cell and two spaces apart; cells that are too long go on in the next line.
#include "tools/output/elements/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/lines_of.hpp"

namespace lockstep {
namespace {

using test::lines_of;

TEST(TableTest, TheFirstColumnIsLeftTheOthersRight) {
  output::Table table({"what", "time", "share"});
  table.add({"a", "1.5 s", "7 %"});
  table.add({"longer", "12 s", "100 %"});
  EXPECT_EQ(table.to_string(),
            "what     time  share\n"
            "a       1.5 s    7 %\n"
            "longer   12 s  100 %\n");
}

TEST(TableTest, OtherColumnsCanBeLeftToo) {
  output::Table table({"a", "why"});
  table.align_left(1);
  table.add({"1", "x"});
  table.add({"22", "longer"});
  EXPECT_EQ(table.to_string("  "),
            "  a   why\n"
            "  1   x\n"
            "  22  longer\n");
}

TEST(TableTest, RowsMayBeShorter) {
  output::Table table({"a", "b"});
  table.add({""});
  table.add({"1", "2"});
  EXPECT_EQ(table.to_string(), "a  b\n\n1  2\n");
}

// A letter of two or three bytes takes one column.
TEST(TableTest, LettersCountNotBytes) {
  output::Table table({"n", "x"});
  table.add({"\xc3\xa9\xe2\x82\xac", "1"});
  table.add({"ab", "1"});
  const auto lines = lines_of(table.to_string());
  for (const auto& line : lines) EXPECT_EQ(test::letters_of(line), 5U) << line;
}

TEST(TableTest, ACellStaysWithinItsLine) {
  output::Table table({"name", "x"});
  table.add({test::hostile_name, "1"});
  const auto lines = lines_of(table.to_string());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], test::hostile_name_shown + "  1");
}

TEST(TableTest, LongCellsBreakAtSpacesAndHangUnderTheirText) {
  output::Table table({"plan", "time"});
  table.fold(12, 0);
  table.add({"1. tensor 8, data 16", "1 s"});
  EXPECT_EQ(table.to_string("", 80),
            "plan          time\n"
            "1. tensor 8,   1 s\n"
            "   data 16\n");
  EXPECT_EQ(table.to_string("", 0),  // into a file or a pipe
            "plan                  time\n"
            "1. tensor 8, data 16   1 s\n");
}

// Random texts in columns of 8 to 20 letters: no line is wider, and nothing but spaces is lost or added.
TEST(TableTest, FoldingLosesNothing) {
  std::mt19937 random(1);
  const std::string alphabet = "abc -_/,+=";
  const auto without_spaces = [](std::string text) {
    std::erase(text, ' ');
    std::erase(text, '\n');
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::string text = round % 3 == 0 ? "7. " : "";
    for (auto letters = 1 + random() % 60; letters > 0; --letters)
      text += random() % 9 == 0 ? "\xc3\xa9" : alphabet.substr(random() % alphabet.size(), 1);
    const std::size_t widest = 8 + random() % 13;
    output::Table table({""});
    table.fold(widest, 0);
    table.add({text});
    const auto shown = table.to_string("", 80);
    EXPECT_LE(test::widest_line(shown), widest) << text;
    EXPECT_EQ(without_spaces(shown), without_spaces(text));
  }
}

// 15 + 2 + 15 letters on 26: the words of a header go below each other first; 15 + 2 + 8 fit.
TEST(TableTest, HeadersFoldBeforeCells) {
  output::Table table({"plan", "pipeline bubble"});
  table.add({"a plan of words", "12 %"});
  EXPECT_EQ(table.to_string("", 26),
            "plan             pipeline\n"
            "                   bubble\n"
            "a plan of words      12 %\n");
  EXPECT_EQ(table.to_string("", 0), "plan             pipeline bubble\na plan of words             12 %\n");
}

// Numbers stay whole: cells of more than 16 letters take the next line, here so that 12 + 2 + 5 are 20 at most.
TEST(TableTest, CellsOfWordsFoldOnANarrowTerminal) {
  output::Table table({"plan", "time"});
  table.add({"tensor 8, data 16, more", "1.5 s"});
  EXPECT_EQ(table.to_string("", 20),
            "plan            time\n"
            "tensor 8,      1.5 s\n"
            "data 16, more\n");
}

// Four columns of 12 and a name of 6 on 40: 6 + 2 (2 + 12) = 34 fit, so two and two.
TEST(TableTest, ATableThatIsStillTooWideGoesOnBelow) {
  output::Table table({"", "a", "b", "c", "d"});
  const std::string number = "123456789.12";
  table.add({"row of", number, number, number, number});
  const auto lines = lines_of(table.to_string("", 40));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1], "row of  " + number + "  " + number);
  EXPECT_EQ(lines[2], "");
  EXPECT_EQ(lines[4], lines[1]);
}

// Whatever is in a table, no line is wider than the terminal and no letter is lost; the first column may come again.
TEST(TableTest, AnyTableFits) {
  std::mt19937 random(2);
  const auto letters_in = [](const std::string& text) { return std::count(text.begin(), text.end(), 'x'); };
  for (int round = 0; round < 500; ++round) {
    const std::size_t columns = 2 + random() % 7, width = 60 + random() % 80;
    const auto words = [&](std::size_t most) {
      std::string text;
      for (auto left = 1 + random() % most; left > 0; --left)
        text += (text.empty() ? "" : " ") + std::string(1 + random() % 12, 'x');
      return text;
    };
    std::vector<std::string> header{"n"};
    for (std::size_t i = 1; i < columns; ++i) header.push_back(words(3));
    output::Table table(header);
    std::int64_t all = 0;
    for (const auto& name : header) all += letters_in(name);
    for (int row = 0; row < 4; ++row) {
      std::vector<std::string> cells{"n"};
      for (std::size_t i = 1; i < columns; ++i) cells.push_back(words(6));
      for (const auto& cell : cells) all += letters_in(cell);
      table.add(cells);
    }
    const auto text = table.to_string("", width);
    EXPECT_LE(test::widest_line(text), width) << text;
    EXPECT_EQ(letters_in(text), all) << text;
  }
}

TEST(Terminal, LinesOfTextFitAndHang) {
  EXPECT_EQ(output::fitted("a note of some words\n  2. why it loses, in words\n", 14),
            "a note of some\n  words\n  2. why it\n    loses, in\n    words\n");
  EXPECT_EQ(output::fitted("a note of some words\n", 0), "a note of some words\n");
}

TEST(Numbers, WithSeparators) {
  EXPECT_EQ(output::with_separators(0), "0");
  EXPECT_EQ(output::with_separators(999), "999");
  EXPECT_EQ(output::with_separators(1000), "1,000");
  EXPECT_EQ(output::with_separators(999.7), "1,000");
  EXPECT_EQ(output::with_separators(1234567), "1,234,567");
  EXPECT_EQ(output::with_separators(-999), "-999");
  EXPECT_EQ(output::with_separators(-1000), "-1,000");
  EXPECT_EQ(output::with_separators(-123456), "-123,456");
}

TEST(Numbers, FractionsAsPercent) {
  EXPECT_EQ(output::percent(0), "0.0 %");
  EXPECT_EQ(output::percent(0.6125), "61.3 %");  // 61.25 is exact in binary, 0.6125 a little above
  EXPECT_EQ(output::percent(1), "100.0 %");
  EXPECT_EQ(output::fixed(3.14159, 2), "3.14");
  EXPECT_EQ(output::fixed(-2.5e9, 0), "-2500000000");
}

}  // namespace
}  // namespace lockstep
