#include <algorithm>
#include <array>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/round_axis.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/step_distribution_text.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1000, left = 230, right = 110, top = 76, row = 62, tall = 40;
constexpr std::size_t columns = 110;  // of a histogram over the whole axis

class Picture {
 public:
  explicit Picture(const StepDistribution& distribution)
      : of_(distribution), axis_(values(distribution)), several_(distribution.alone.size() > 1) {}

  std::string draw() {
    for (const auto& cause : of_.alone) add(cause.name + (several_ ? " alone" : ""), cause.steps);
    if (of_.alone.size() != 1) add("all together", of_.steps);
    return svg::open(width, y_ + 44) +
           svg::text_at(20, 24, "start", "Steps drawn, by what varies in them", " font-weight=\"bold\"") + legend() +
           axis() + rows_ + "</svg>\n";
  }

 private:
  [[nodiscard]] static std::vector<double> values(const StepDistribution& distribution) {
    std::vector<double> values{distribution.healthy.value()};
    const auto take = [&](const StepDraws& draws) {
      for (const auto step : draws.in_order()) values.push_back(step.value());
    };
    take(distribution.steps);
    for (const auto& cause : distribution.alone) take(cause.steps);
    return values;
  }
  [[nodiscard]] double x(Seconds step) const { return axis_.at(step.value(), left, width - right); }

  static std::string line(double x0, double y0, double x1, double y1, const std::string& more) {
    return "<path d=\"M" + fixed(x0, 1) + " " + fixed(y0, 1) + "L" + fixed(x1, 1) + " " + fixed(y1, 1) + "\" " + more +
           "/>\n";
  }

  static std::string legend() {
    return svg::text_at(20, 46, "start",
                        "height: how many of the row's steps; line: nine of ten of them; tick: median; right: what the "
                        "mean adds to the healthy step");
  }

  void add(const std::string& what, const StepDraws& draws) {
    const auto colour = colour_of_line(number_++);
    const double base = y_ + tall;
    rows_ += svg::text_at(left - 14, base - 14, "end", what);
    rows_ += svg::text_at(left - 14, base + 2, "end", std::to_string(draws.count()) + " steps", " font-size=\"11\"");
    std::array<std::size_t, columns> counts{};
    for (const auto step : draws.in_order()) {
      const double place = axis_.at(step.value(), 0, static_cast<double>(columns));
      ++counts[std::min(columns - 1, static_cast<std::size_t>(std::max(0.0, place)))];
    }
    const auto most = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
    const double wide = (width - right - left) / static_cast<double>(columns);
    for (std::size_t i = 0; i < columns; ++i) {
      if (counts[i] == 0) continue;
      const double height = tall * static_cast<double>(counts[i]) / most;
      rows_ += svg::rectangle(left + wide * static_cast<double>(i), base - height, wide, height, colour,
                              std::to_string(counts[i]) + " steps");
    }
    const double below = base + 6;
    rows_ += line(x(draws.quantile(0.05)), below, x(draws.quantile(0.95)), below,
                  "stroke=\"" + colour + "\" stroke-width=\"2\"");
    rows_ += line(x(draws.median()), below - 4, x(draws.median()), below + 4, "stroke=\"#777\" stroke-width=\"2\"");
    rows_ += svg::text_at(width - right + 14, base - 6, "start",
                          signed_percent((draws.mean() - of_.healthy) / of_.healthy), " font-weight=\"bold\"");
    y_ += row;
  }

  [[nodiscard]] std::string axis() const {
    std::string text;
    const double bottom = y_ - 4;
    for (int i = 0; axis_.low + i * axis_.tick <= axis_.high + 1e-9 * axis_.tick; ++i) {
      const double value = axis_.low + i * axis_.tick, at = axis_.at(value, left, width - right);
      text += line(at, top, at, bottom, "stroke=\"#999999\" stroke-opacity=\"0.3\"") +
              svg::text_at(at, bottom + 18, "middle", fixed(value, axis_.digits()) + " s");
    }
    const double healthy = x(of_.healthy);
    return text + line(healthy, top - 4, healthy, bottom, "stroke=\"#777\" stroke-dasharray=\"5 4\"") +
           svg::text_at(healthy, top - 8, "start", "healthy " + format(of_.healthy));
  }

  const StepDistribution& of_;
  RoundAxis axis_;
  bool several_;
  std::size_t number_ = 0;
  double y_ = top;
  std::string rows_;
};

}  // namespace

std::string draws_picture(const StepDistribution& distribution) { return Picture(distribution).draw(); }

}  // namespace lockstep::output
