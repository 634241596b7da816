#include "tools/output/elements/line_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 800, height = 460, left = 80, right = 200, top = 44, bottom = 58;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] double at(double value, double from, double to) const {
    const double span = std::max(high - low, 1e-9);
    return from + (value - low) / span * (to - from);
  }
};

std::string tick(int decade) {
  if (decade >= -3 && decade <= 4) return fixed(std::pow(10.0, decade), std::max(0, -decade));
  return "1e" + std::to_string(decade);
}

}  // namespace

std::string draw(const LinePlot& plot) {
  Range x, y;
  for (const auto& line : plot.lines) {
    for (const auto& [px, py] : line.points) {
      x.take(std::log10(px));
      y.take(std::log10(py));
    }
  }
  if (x.low > x.high) {  // no points: one decade of each axis
    for (Range* axis : {&x, &y}) *axis = {0, 1};
  }
  const double room = 0.03 * (y.high - y.low);  // a flat line at an end is not an axis
  y.low -= room;
  y.high += room;
  const double x0 = left, x1 = width - right, y0 = height - bottom, y1 = top;
  std::string out = svg::open(width, height);
  out += svg::text_at((x0 + x1) / 2, 22, "middle", plot.title, " font-size=\"15\"");
  for (int decade = static_cast<int>(std::ceil(x.low - 1e-9)); decade <= x.high + 1e-9; ++decade) {
    const double px = x.at(decade, x0, x1);
    out += "<path d=\"M" + fixed(px, 1) + " " + fixed(y0, 1) + "V" + fixed(y1, 1) + "\" stroke=\"#8884\"/>\n" +
           svg::text_at(px, y0 + 18, "middle", tick(decade));
  }
  for (int decade = static_cast<int>(std::ceil(y.low - 1e-9)); decade <= y.high + 1e-9; ++decade) {
    const double py = y.at(decade, y0, y1);
    out += "<path d=\"M" + fixed(x0, 1) + " " + fixed(py, 1) + "H" + fixed(x1, 1) + "\" stroke=\"#8884\"/>\n" +
           svg::text_at(x0 - 8, py + 4, "end", tick(decade));
  }
  out += svg::text_at((x0 + x1) / 2, height - 14, "middle", plot.x_title);
  out += svg::text_at(0, 0, "middle", plot.y_title,
                      " transform=\"translate(18 " + fixed((y0 + y1) / 2, 1) + ") rotate(-90)\"");
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const auto& line = plot.lines[i];
    const std::string colour = colour_of_line(i);
    std::string path;
    for (const auto& [px, py] : line.points) {
      path += (path.empty() ? "M" : "L") + fixed(x.at(std::log10(px), x0, x1), 2) + " " +
              fixed(y.at(std::log10(py), y0, y1), 2);
    }
    out += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\"" +
           (line.dashed ? " stroke-dasharray=\"6 4\"" : "") + "/>\n";
    const double ly = top + 16 + 22 * static_cast<double>(i);
    out += "<path d=\"M" + fixed(x1 + 12, 1) + " " + fixed(ly - 4, 1) + "h24\" stroke=\"" + colour +
           "\" stroke-width=\"2\"" + (line.dashed ? " stroke-dasharray=\"6 4\"" : "") + "/>\n";
    out += svg::text_at(x1 + 42, ly, "start", line.name);
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::output
