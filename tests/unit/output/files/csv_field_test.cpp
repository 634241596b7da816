// A cell as RFC 4180 writes it: text that holds a comma, a quote or a line feed stands in quotes, and a quote in it
// twice. A reader that knows only this gets the text back.
#include "tools/output/files/csv_field.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sim/core/visible_text.hpp"
#include "tests/unit/output/hostile_name.hpp"

namespace lockstep {
namespace {

/// The cells of one record.
std::vector<std::string> cells_of(const std::string& record) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t at = 0; at < record.size(); ++at) {
    const char c = record[at];
    if (quoted) {
      if (c != '"') {
        cells.back() += c;
      } else if (at + 1 < record.size() && record[at + 1] == '"') {
        cells.back() += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  EXPECT_FALSE(quoted) << record;
  return cells;
}

TEST(CsvField, PlainTextStaysAsItIs) {
  for (const std::string text : {"", "adam", "16 GB", "a;b", "it's", "3.5"}) EXPECT_EQ(output::csv_field(text), text);
}

TEST(CsvField, TextThatWouldEndACellIsQuoted) {
  EXPECT_EQ(output::csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(output::csv_field("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(output::csv_field("two\nlines"), "\"two\nlines\"");
}

// A spreadsheet runs what begins with = + - @ or a tab; a number may begin with a sign all the same.
TEST(CsvField, FormulasAreTextAndNumbersAreNumbers) {
  for (const std::string formula : {"=1+2", "@SUM(A1)", "+cmd", "-5 apples", "\t=1", "--1", "+", "-"})
    EXPECT_EQ(output::csv_field(formula), "'" + formula) << formula;
  for (const std::string number : {"-5", "+3.5", "-1e9", "-0.25"}) EXPECT_EQ(output::csv_field(number), number);
  EXPECT_EQ(output::csv_field("=A1,B1"), "\"'=A1,B1\"");
}

TEST(CsvField, NothingInACellSteersATerminal) {
  EXPECT_EQ(output::csv_field("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(output::csv_field("a\rb"), "a\\x0db") << "a lone carriage return would end the record for some readers";
}

// Records of random cells over the characters that matter: as many cells come back as went in, each as its visible
// text, with nothing but the apostrophe of a formula in front.
TEST(CsvField, RecordsReadBack) {
  std::mt19937 random(1);
  const std::string alphabet = ",\"\n=+-@ a1'\t;";
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> texts(1 + random() % 4);
    std::string record;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (auto letters = random() % 6; letters > 0; --letters) texts[i] += alphabet[random() % alphabet.size()];
      record += (i == 0 ? "" : ",") + output::csv_field(texts[i]);
    }
    const auto cells = cells_of(record);
    ASSERT_EQ(cells.size(), texts.size()) << record;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool marked = cells[i] == "'" + texts[i];
      EXPECT_TRUE(cells[i] == texts[i] || marked) << record;
      EXPECT_TRUE(cells[i].empty() || std::string("=@\t").find(cells[i].front()) == std::string::npos) << record;
    }
  }
}

TEST(CsvField, AHostileNameIsOneCell) {
  const auto cells = cells_of(output::csv_field(test::hostile_name) + ",7");
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0], "'" + visible(test::hostile_name, LineFeeds::kept));
  EXPECT_EQ(cells[1], "7");
}

}  // namespace
}  // namespace lockstep
