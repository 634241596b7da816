// Lines over logarithmic axes. The plot's area is 80..600 by 402..44 (x to the right, y upwards); y has 3 % of room on
// either side. A value v of lowest..highest stands at (log v - log lowest) / (log highest - log lowest) of it.
#include "tools/output/elements/line_plot.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/output/picture_reading.hpp"

namespace lockstep {
namespace {

using test::Element;
using test::elements_of;
using testing::Contains;
using testing::Not;

/// The drawn lines, without the grid and the legend.
std::vector<Element> lines_in(const std::string& svg) {
  auto paths = elements_of(svg, "path");
  std::erase_if(paths, [](const Element& path) {
    return !path.attributes.contains("fill") || path.attributes.at("fill") != "none";
  });
  return paths;
}

double x_of(const std::vector<Element>& texts, const std::string& text) {
  for (const auto& element : texts) {
    if (element.text == text && element.attributes.at("text-anchor") == "middle") return element.number("x");
  }
  return -1;
}

// x: 1, 10, 100 at 0, 1/2 and 1 of 520 pixels. y: 1 and 100 with 0.06 decades of room, so 1 stands at 0.06 / 2.12 of
// 358 pixels above 402, and 10 in the middle.
TEST(LinePlotTest, PointsStandWhereTheirLogarithmsAre) {
  const auto svg = output::draw({"t", "x", "y", {{"line", {{1, 1}, {10, 10}, {100, 100}}}}});
  const auto lines = lines_in(svg);
  ASSERT_EQ(lines.size(), 1U);
  const auto points = test::points_of(lines[0]);
  ASSERT_EQ(points.size(), 3U);
  EXPECT_NEAR(points[0].first, 80, 0.01);
  EXPECT_NEAR(points[1].first, 340, 0.01);
  EXPECT_NEAR(points[2].first, 600, 0.01);
  EXPECT_NEAR(points[0].second, 402 - 358 * 0.06 / 2.12, 0.01);
  EXPECT_NEAR(points[1].second, 223, 0.01);
  EXPECT_NEAR(points[2].second, 44 + 358 * 0.06 / 2.12, 0.01);
}

// Every power of ten within the axis has its line and its number, below the place of its points.
TEST(LinePlotTest, DecadesAreMarked) {
  const auto texts = elements_of(output::draw({"t", "x", "y", {{"line", {{0.05, 2}, {2e5, 9}}}}}), "text");
  for (const double decade : {0.1, 1.0, 10.0, 1e5}) {
    const std::string name = decade == 0.1 ? "0.1" : decade == 1e5 ? "1e5" : std::to_string(static_cast<int>(decade));
    EXPECT_NEAR(x_of(texts, name), 80 + 520 * std::log10(decade / 0.05) / std::log10(2e5 / 0.05), 0.06) << name;
  }
  std::vector<std::string> all;
  for (const auto& text : texts) all.push_back(text.text);
  EXPECT_THAT(all, Not(Contains("0.01")));
  EXPECT_THAT(all, Not(Contains("1e6")));
}

// y = x^k is a straight line on logarithmic axes: three points of it have one slope.
TEST(LinePlotTest, PowersAreStraight) {
  for (const double k : {-2.0, -0.5, 0.5, 1.0, 3.0}) {
    output::PlotLine line{"power", {}};
    for (const double x : {0.3, 1.7, 12.0, 400.0}) line.points.emplace_back(x, 5 * std::pow(x, k));
    const auto points = test::points_of(lines_in(output::draw({"t", "x", "y", {line}}))[0]);
    ASSERT_EQ(points.size(), 4U);
    const auto slope = [&](std::size_t i) {
      return (points[i].second - points[0].second) / (points[i].first - points[0].first);
    };
    EXPECT_NEAR(slope(1), slope(3), 0.01 * std::abs(slope(3))) << k;
    EXPECT_NEAR(slope(2), slope(3), 0.01 * std::abs(slope(3))) << k;
    EXPECT_EQ(slope(3) < 0, k > 0) << "y grows upwards, its coordinate downwards";
  }
}

TEST(LinePlotTest, SixLinesHaveSixColoursAndDashesWhereAskedFor) {
  output::LinePlot plot{"t", "x", "y", {}};
  for (int i = 0; i < 6; ++i) plot.lines.push_back({"line " + std::to_string(i), {{1, 1.0 + i}, {2, 2.0 + i}}, i == 3});
  const auto svg = draw(plot);
  std::set<std::string> colours;
  const auto lines = lines_in(svg);
  ASSERT_EQ(lines.size(), 6U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    colours.insert(lines[i].attributes.at("stroke"));
    EXPECT_EQ(lines[i].attributes.contains("stroke-dasharray"), i == 3);
  }
  EXPECT_EQ(colours.size(), 6U);
  for (const auto& line : plot.lines) EXPECT_THAT(test::texts_of(svg), Contains(line.name));
}

// A flat line, and a line of one point, have an axis without a length.
TEST(LinePlotTest, LinesWithoutAnExtentHaveAPlace) {
  for (const auto& points : {std::vector<std::pair<double, double>>{{1, 5}, {10, 5}}, {{3, 7}}}) {
    const auto svg = output::draw({"t", "x", "y", {{"line", points}}});
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    for (const auto& [x, y] : test::points_of(lines_in(svg)[0])) {
      EXPECT_TRUE(x >= 80 && x <= 600) << x;
      EXPECT_TRUE(y >= 44 && y <= 402) << y;
    }
  }
}

// Without points the axes show one decade: 1 and 10 at either end of 520 pixels.
TEST(LinePlotTest, NoPointsHaveAxesOfOneDecade) {
  for (const auto& lines : {std::vector<output::PlotLine>{}, {{"nothing", {}}}}) {
    const auto svg = output::draw({"t", "x", "y", lines});
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    const auto texts = elements_of(svg, "text");
    EXPECT_NEAR(x_of(texts, "1"), 80, 0.06);
    EXPECT_NEAR(x_of(texts, "10"), 600, 0.06);
    EXPECT_EQ(lines_in(svg).size(), lines.size());
  }
}

TEST(LinePlotTest, NamesOfAnyKind) {
  const auto texts = test::texts_of(output::draw(
      {test::hostile_name, test::hostile_name, test::hostile_name, {{test::hostile_name, {{1, 1}, {2, 2}}}}}));
  EXPECT_EQ(std::count(texts.begin(), texts.end(), test::hostile_name_shown), 4);
}

}  // namespace
}  // namespace lockstep
