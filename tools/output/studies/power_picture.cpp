#include <algorithm>
#include <cmath>

#include "sim/core/price_and_power.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/cost_report.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1000, height = 420, left = 90, right = 30, top = 50, bottom = 60;

/// The site's power while the chips draw this much.
Watts at_site(const economics::RunCost& cost, Watts chips) {
  const auto parts = cost.power.mean + cost.hosts + cost.network_power;
  return (chips + cost.hosts + cost.network_power) * (cost.site / parts);
}

/// A round number at or above the value.
double rounded_up(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

/// Windows of a period that repeats are drawn once, as wide as all of its repetitions: their mean is what shows.
std::string line_of(const economics::RunCost& cost, double per_second, double per_watt, const std::string& colour) {
  std::string points;
  double x = left;
  for (const auto& window : cost.power.windows) {
    const double y = height - bottom - at_site(cost, window.power).value() * per_watt;
    const double end = x + window.in_step.value() * per_second;
    points += fixed(x, 2) + "," + fixed(y, 1) + " " + fixed(end, 2) + "," + fixed(y, 1) + " ";
    x = end;
  }
  return "<polyline fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.5\" points=\"" + points + "\"/>\n";
}

}  // namespace

std::string power_picture(const std::vector<CostedScenario>& runs) {
  double longest = 0, most = 0;
  for (const auto& run : runs) {
    longest = std::max(longest, run.cost.step.value());
    most = std::max(most, run.cost.site_most.value());
  }
  const double full = rounded_up(most > 0 ? most : 1);
  const double per_second = (width - left - right) / longest, per_watt = (height - top - bottom) / full;
  std::string text = svg::open(width, height + 18.0 * static_cast<double>((runs.size() - 1) / 2));
  text += svg::text_at(left, 28, "start", "Power of the site over one step", " font-weight=\"bold\"");
  for (int i = 0; i <= 4; ++i) {
    const double y = height - bottom - i * (height - top - bottom) / 4;
    text += "<line x1=\"" + fixed(left, 0) + "\" x2=\"" + fixed(width - right, 0) + "\" y1=\"" + fixed(y, 1) +
            "\" y2=\"" + fixed(y, 1) + "\" stroke=\"#999999\" stroke-opacity=\"0.3\"/>\n";
    text += svg::text_at(left - 8, y + 4, "end", i == 0 ? "0" : format(Watts(full * i / 4)));
    const double x = left + i * (width - left - right) / 4;
    text += svg::text_at(x, height - bottom + 20, "middle", i == 0 ? "0" : format(Seconds(longest * i / 4)));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto colour = colour_of_line(i);
    text += line_of(runs[i].cost, per_second, per_watt, colour);
    const double x = left + 440.0 * static_cast<double>(i % 2), y = height - 18 + 18.0 * static_cast<double>(i / 2);
    text += "<rect x=\"" + fixed(x, 0) + "\" y=\"" + fixed(y - 10, 0) + "\" width=\"12\" height=\"12\" fill=\"" +
            colour + "\"/>\n" + svg::text_at(x + 18, y, "start", runs[i].name);
  }
  return text + "</svg>\n";
}

}  // namespace lockstep::output
