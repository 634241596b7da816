#include "sim/core/csv_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const Problems& problems) {
  std::vector<std::string> list;
  for (const auto& problem : problems.list()) list.push_back(problem.to_string());
  return list;
}

// RFC 4180: commas, doubled quotes and line breaks belong to a quoted cell.
TEST(CsvTable, CellsArrive) {
  Problems problems;
  const CsvTable table("a,b,c\n1,\"x, \"\"y\"\"\n z\", 2.5 \r\n\n3,,\n", "t.csv", problems);
  EXPECT_THAT(texts(problems), IsEmpty());
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[0].integer("a"), 1);
  EXPECT_EQ(table.rows()[0].text("b"), "x, \"y\"\n z");
  EXPECT_EQ(table.rows()[0].number("c"), 2.5);
  EXPECT_EQ(table.rows()[1].line(), 5);  // the header, a row of two lines, an empty line
  EXPECT_EQ(table.rows()[1].number("c"), std::nullopt);
  EXPECT_EQ(table.rows()[1].integer("b", 7), 7);
  EXPECT_EQ(table.rows()[1].text("none"), "");
  EXPECT_FALSE(table.has("none"));
}

TEST(CsvTable, EveryProblemHasItsPlace) {
  Problems problems;
  const CsvTable table("a,b,a\n1,2,3\n4,5\n-1,1e3x,0\n", "t.csv", problems);
  (void)table.require({"b", "d"});
  (void)table.rows()[1].integer("b");
  (void)table.rows()[1].number("b");
  (void)table.rows()[1].number("a");
  EXPECT_THAT(texts(problems),
              ElementsAre("t.csv:3:1: has 2 cells; expected 3, as the header",
                          "t.csv:1:5: a: the column appears twice, with other cells; expected each column once",
                          "t.csv:1:1: d: the column is missing; expected a column of this name",
                          "t.csv:4:4: b: '1e3x' is not a count; expected an integer of at least 1",
                          "t.csv:4:4: b: '1e3x' is not a number above 0; expected a plain number without a unit",
                          "t.csv:4:1: a: '-1' is not a number above 0; expected a plain number without a unit"));
}

// A column that stands there twice says the same thing twice as long as its cells are equal.
TEST(CsvTable, EqualTwinsAreOneColumn) {
  Problems problems;
  const CsvTable table("a,source,source\n1,x,x\n2,y,y\n", "t.csv", problems);
  EXPECT_THAT(texts(problems), IsEmpty());
  EXPECT_EQ(table.rows()[1].text("source"), "y");
}

// A row that reports to another sink leaves that of the table alone.
TEST(CsvTable, ARowMayReportElsewhere) {
  Problems problems, of_row;
  const CsvTable table("a\nx\n", "t.csv", problems);
  (void)table.rows()[0].read_loosely(of_row).integer("a");
  EXPECT_THAT(texts(problems), IsEmpty());
  EXPECT_THAT(texts(of_row), ElementsAre("t.csv:2:1: a: 'x' is not a count; expected an integer of at least 1"));
}

// Counts and numbers as people write them, each the same number; words for nothing are empty cells.
TEST(CsvTable, ARowReadLoosely) {
  Problems problems, of_row;
  const CsvTable table("a,b,c,d,e,f,g\n8.0,\"1,024\",8 (default),n/a,\"12,345.50 [1]\",8.5,\"1,02\"\n", "t.csv",
                       problems);
  const auto row = table.rows()[0].read_loosely(of_row);
  EXPECT_EQ(row.integer("a"), 8);
  EXPECT_EQ(row.integer("b"), 1024);
  EXPECT_EQ(row.integer("c"), 8);
  EXPECT_EQ(row.integer("d", 7), 7);
  EXPECT_EQ(row.number("d"), std::nullopt);
  EXPECT_EQ(row.number("e"), 12345.5);
  EXPECT_EQ(row.number("b"), 1024);
  EXPECT_THAT(texts(of_row), IsEmpty());
  (void)row.integer("d");
  (void)row.integer("f");
  (void)row.integer("g");
  EXPECT_THAT(texts(of_row), ElementsAre("t.csv:2:25: d: 'n/a' is not a count; expected an integer of at least 1",
                                         "t.csv:2:45: f: '8.5' is not a count; expected an integer of at least 1",
                                         "t.csv:2:49: g: '1,02' is not a count; expected an integer of at least 1"));
  (void)table.rows()[0].integer("a");
  EXPECT_THAT(texts(problems), ElementsAre("t.csv:2:1: a: '8.0' is not a count; expected an integer of at least 1"));
}

TEST(CsvTable, NothingAndOpenQuotes) {
  Problems problems;
  const CsvTable empty("", "e.csv", problems);
  const CsvTable open("a\n\"x\n", "o.csv", problems);
  const CsvTable missing(std::filesystem::path("no such file.csv"), problems);
  EXPECT_THAT(texts(problems), ElementsAre("e.csv: is empty; expected a header with the names of the columns",
                                           "o.csv:2:1: a quote is open; expected a closing quote",
                                           "no such file.csv: no such file; expected a CSV file"));
}

}  // namespace
}  // namespace lockstep
