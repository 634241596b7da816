#pragma once
/// A line plot on logarithmic axes as SVG, readable on light and dark pages.
#include <string>
#include <utility>
#include <vector>

namespace lockstep::output {

struct PlotLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< positive
  bool dashed = false;
};

struct LinePlot {
  std::string title, x_title, y_title;
  std::vector<PlotLine> lines;
};

[[nodiscard]] std::string draw(const LinePlot& plot);  ///< SVG

}  // namespace lockstep::output
