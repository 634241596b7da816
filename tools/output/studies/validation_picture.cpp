#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/validation_report.hpp"

namespace lockstep::output {
namespace {

constexpr double side = 520, left = 80, top = 44, legend = 300, bottom = 60;

// Colours, then shapes: every table has its own pair.
constexpr double radius = 3.2;

std::string mark(double x, double y, std::size_t table, const std::string& title) {
  const std::string colour = colour_of_line(table);
  const std::string inside = "><title>" + svg::escaped(title) + "</title>";
  const std::string style = " fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.3\"";
  switch (table / line_colours()) {
    case 0:
      return "<circle cx=\"" + fixed(x, 1) + "\" cy=\"" + fixed(y, 1) + "\" r=\"" + fixed(radius, 1) + "\"" + style +
             inside + "</circle>\n";
    case 1:
      return "<rect x=\"" + fixed(x - radius, 1) + "\" y=\"" + fixed(y - radius, 1) + "\" width=\"" +
             fixed(2 * radius, 1) + "\" height=\"" + fixed(2 * radius, 1) + "\"" + style + inside + "</rect>\n";
    default:
      return "<path d=\"M" + fixed(x, 1) + " " + fixed(y - radius, 1) + "l" + fixed(radius, 1) + " " +
             fixed(2 * radius, 1) + "h" + fixed(-2 * radius, 1) + "z\"" + style + inside + "</path>\n";
  }
}

}  // namespace

std::string validation_picture(const std::vector<validation::ValidatedRun>& runs, const std::string& title) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<std::string> tables;
  for (const auto& run : runs) {
    if (!run.counts()) continue;
    if (std::find(tables.begin(), tables.end(), run.run.table) == tables.end()) tables.push_back(run.run.table);
    for (const double value : {run.measured_s, run.predicted_s}) {
      low = std::min(low, std::log10(value) - 0.1);
      high = std::max(high, std::log10(value) + 0.1);
    }
  }
  if (tables.empty()) low = 0, high = 1;
  const auto x_of = [&](double value) { return left + (value - low) / (high - low) * side; };
  const auto y_of = [&](double value) { return top + side - (value - low) / (high - low) * side; };
  std::string out = svg::open(left + side + legend, top + side + bottom);
  out += svg::text_at(left + side / 2, 22, "middle", title, " font-size=\"15\"");
  for (int decade = static_cast<int>(std::ceil(low)); decade <= high; ++decade) {
    const auto text = fixed(std::pow(10.0, decade), std::max(0, -decade));
    out += "<path d=\"M" + fixed(x_of(decade), 1) + " " + fixed(top + side, 1) + "v" + fixed(-side, 1) + "M" +
           fixed(left, 1) + " " + fixed(y_of(decade), 1) + "h" + fixed(side, 1) + "\" stroke=\"#8884\"/>\n";
    out += svg::text_at(x_of(decade), top + side + 18, "middle", text) +
           svg::text_at(left - 8, y_of(decade) + 4, "end", text);
  }
  for (const double factor : {1.0, 0.9, 1.1}) {
    const double shift = std::log10(factor), from = std::max(low, low - shift), to = std::min(high, high - shift);
    out += "<path d=\"M" + fixed(x_of(from), 1) + " " + fixed(y_of(from + shift), 1) + "L" + fixed(x_of(to), 1) + " " +
           fixed(y_of(to + shift), 1) + "\" stroke=\"#888\"" + (factor == 1.0 ? "" : " stroke-dasharray=\"5 4\"") +
           "/>\n";
  }
  for (const auto& run : runs) {
    if (!run.counts()) continue;
    const auto table =
        static_cast<std::size_t>(std::find(tables.begin(), tables.end(), run.run.table) - tables.begin());
    const auto text = run.run.table + " " + run.run.name + ", " + run.run.family + ": " +
                      format(Seconds(run.predicted_s)) + ", measured " + format(Seconds(run.measured_s));
    out += mark(x_of(std::log10(run.measured_s)), y_of(std::log10(run.predicted_s)), table, text);
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const double y = top + 14 + 22 * static_cast<double>(i);
    out += mark(left + side + 24, y - 4, i, tables[i]) + svg::text_at(left + side + 36, y, "start", tables[i]);
  }
  out += svg::text_at(left + side / 2, top + side + 44, "middle", "measured, s");
  out += svg::text_at(0, 0, "middle", "predicted, s",
                      " transform=\"translate(22 " + fixed(top + side / 2, 1) + ") rotate(-90)\"");
  return out + "</svg>\n";
}

}  // namespace lockstep::output
