// Predicted over measured steps on logarithmic axes: an exact prediction stands on the diagonal, one that is a tenth
// too long on a dashed line beside it. The square is 80..600 by 44..564; the axes have 0.1 decades of room.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/picture_reading.hpp"
#include "tests/unit/output/validation_runs.hpp"
#include "tools/output/studies/validation_report.hpp"

namespace lockstep {
namespace {

using test::Element;
using test::elements_of;
using test::run;

/// How far a mark stands to the right of the square's left side, and above its lower one.
std::pair<double, double> place_of(const Element& mark) { return {mark.number("cx") - 80, 564 - mark.number("cy")}; }

// 1 s to 100 s with a tenth of a decade of room: 2.2 decades in 520 pixels.
TEST(ValidationPicture, AnExactPredictionStandsOnTheDiagonal) {
  const auto svg = output::validation_picture(
      {run("t", "f", "a", 0, 1), run("t", "f", "b", 0, 100), run("t", "f", "c", 1, 10)}, "title");
  const auto marks = elements_of(svg, "circle");
  ASSERT_EQ(marks.size(), 4U) << "three rows and the legend's";
  for (const std::size_t exact : {0U, 1U})
    EXPECT_NEAR(place_of(marks[exact]).first, place_of(marks[exact]).second, 0.15);
  EXPECT_NEAR(place_of(marks[0]).first, 520 * 0.1 / 2.2, 0.1);
  EXPECT_NEAR(place_of(marks[1]).first, 520 * 2.1 / 2.2, 0.1);
  const auto [x, y] = place_of(marks[2]);
  EXPECT_NEAR(y - x, 520 * std::log10(2) / 2.2, 0.15) << "twice too long";
  EXPECT_EQ(marks[2].title, "t c, f: 20.00 s, measured 10.00 s");
}

// A row that is a tenth too long lies on the upper of the dashed lines.
TEST(ValidationPicture, ATenthOnEitherSide) {
  const auto svg = output::validation_picture({run("t", "f", "a", 0.1, 1), run("t", "f", "b", -0.1, 50)}, "title");
  const auto marks = elements_of(svg, "circle");
  auto dashed = elements_of(svg, "path");
  std::erase_if(dashed, [](const Element& path) { return !path.attributes.contains("stroke-dasharray"); });
  ASSERT_EQ(dashed.size(), 2U);
  const auto above = [](const Element& line, double x) {
    const auto points = test::points_of(line);
    return points[0].second +
           (x - points[0].first) * (points[1].second - points[0].second) / (points[1].first - points[0].first);
  };
  EXPECT_NEAR(above(dashed[1], marks[0].number("cx")), marks[0].number("cy"), 0.3);
  EXPECT_NEAR(above(dashed[0], marks[1].number("cx")), marks[1].number("cy"), 0.3);
}

// Six tables have six colours; the seventh has another shape.
TEST(ValidationPicture, TablesAreToldApart) {
  std::vector<validation::ValidatedRun> runs;
  for (int table = 0; table < 7; ++table) runs.push_back(run("t" + std::to_string(table), "f", "a", 0, 1 + table));
  const auto svg = output::validation_picture(runs, "title");
  std::set<std::string> colours;
  for (const auto& mark : elements_of(svg, "circle")) colours.insert(mark.attributes.at("stroke"));
  EXPECT_EQ(colours.size(), 6U);
  EXPECT_EQ(elements_of(svg, "rect").size(), 2U);
}

TEST(ValidationPicture, RowsThatDoNotCountAreNotDrawn) {
  const auto svg = output::validation_picture({test::skipped("t", "f", "because")}, test::hostile_name);
  EXPECT_TRUE(elements_of(svg, "circle").empty());
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_THAT(test::texts_of(svg), testing::Contains(test::hostile_name_shown));
}

}  // namespace
}  // namespace lockstep
