// An output over a swept key as SVG.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/sweep/sweep_table.hpp"

namespace lockstep::sweep {
namespace {

constexpr double width = 800, height = 460, left = 92, right = 190, top = 44, bottom = 62;
constexpr std::size_t most_named_values = 16;  // above that numbers lie on a scale

std::string value_text(double value, const SweepOutput& output) {
  if (output.unit == "s") return format(Seconds(value));
  if (output.unit == "B") return format(Bytes(std::llround(value)));
  if (output.unit == "FLOP") return format(Flops(value));
  if (output.unit == "share") return output::percent(value);
  return std::abs(value) < 10 ? output::fixed(value, 1) : output::with_separators(value);
}

/// 1, 2 or 5 times a power of ten, so that about five of them make up the largest.
double step_of(double largest) {
  if (!(largest > 0)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(largest / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (largest / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

struct Line {
  std::string name;
  std::map<std::size_t, double> best;  ///< by place of x among its values
};

std::vector<Line> lines_of(const SweepTable& table, const SweepAxes& axes) {
  const auto& x = table.keys[axes.x];
  const bool less = less_is_better(sweep_outputs()[axes.y]);
  std::vector<Line> lines;
  if (axes.by) {
    for (const auto& value : table.keys[*axes.by].values) lines.push_back({value, {}});
  } else {
    lines.push_back({"", {}});
  }
  const auto places_of = [](const std::vector<std::string>& values) {
    std::map<std::string, std::size_t> places;
    for (const auto& value : values) places.emplace(value, places.size());
    return places;
  };
  const auto place_of_x = places_of(x.values),
             place_of_line = places_of(axes.by ? table.keys[*axes.by].values : std::vector<std::string>{});
  for (std::size_t i = 0; i < table.points(); ++i) {
    const double value = table.outputs[axes.y][i];
    if (std::isnan(value)) continue;
    auto& line = lines[axes.by ? place_of_line.at(table.keys[*axes.by].cells[i]) : 0];
    const auto [at, is_new] = line.best.emplace(place_of_x.at(x.cells[i]), value);
    if (!is_new && (less ? value < at->second : value > at->second)) at->second = value;
  }
  std::erase_if(lines, [](const Line& line) { return line.best.empty(); });
  return lines;
}

class Frame {
 public:
  Frame(const SweepTable::Key& x, double largest)
      : x_(x),
        named_(!x.numbers || x.values.size() <= most_named_values),
        step_(step_of(largest)),
        most_(std::ceil(largest / step_ * 0.999) * step_) {
    if (!named_) {
      low_ = std::atof(x.values.front().c_str());
      high_ = std::atof(x.values.back().c_str());
    }
  }
  [[nodiscard]] double x(std::size_t place) const {
    const double share = named_ ? (static_cast<double>(place) + 0.5) / static_cast<double>(x_.values.size())
                                : (std::atof(x_.values[place].c_str()) - low_) / (high_ - low_);
    return left + share * (width - left - right);
  }
  [[nodiscard]] double y(double value) const { return height - bottom - value / most_ * (height - bottom - top); }

  [[nodiscard]] std::string drawn(const SweepOutput& output) const {
    std::string out;
    for (double value = 0; value <= most_ * 1.0001; value += step_) {
      out += "<path d=\"M" + output::fixed(left, 1) + " " + output::fixed(y(value), 1) + "H" +
             output::fixed(width - right, 1) + "\" stroke=\"#8884\"/>\n";
      out += output::svg::text_at(left - 8, y(value) + 4, "end", value_text(value, output));
    }
    if (named_) {
      const std::size_t every = 1 + x_.values.size() / 12;
      for (std::size_t i = 0; i < x_.values.size(); i += every)
        out += output::svg::text_at(x(i), height - bottom + 18, "middle", x_.values[i].substr(0, 18));
    } else {
      const double step = step_of(high_ - low_);
      for (double value = std::ceil(low_ / step) * step; value <= high_ * 1.0001; value += step) {
        const double at = left + (value - low_) / (high_ - low_) * (width - left - right);
        out += output::svg::text_at(at, height - bottom + 18, "middle", exact(value));
      }
    }
    return out;
  }

 private:
  const SweepTable::Key& x_;
  bool named_;
  double step_, most_, low_ = 0, high_ = 1;
};

}  // namespace

std::string sweep_picture(const SweepTable& table, const SweepAxes& axes, const std::string& title) {
  const auto& output = sweep_outputs()[axes.y];
  const auto lines = lines_of(table, axes);
  std::string out = output::svg::open(width, height) +
                    output::svg::text_at((left + width - right) / 2, 22, "middle", title, " font-size=\"15\"");
  if (lines.empty())
    return out + output::svg::text_at(width / 2, height / 2, "middle", "no point has this number") + "</svg>\n";
  double largest = 0;
  for (const auto& line : lines) {
    for (const auto& [place, value] : line.best) largest = std::max(largest, value);
  }
  const Frame frame(table.keys[axes.x], largest);
  out += frame.drawn(output);
  out += output::svg::text_at((left + width - right) / 2, height - 16, "middle", table.keys[axes.x].name);
  out += output::svg::text_at(
      0, 0, "middle", std::string(output.name),
      " transform=\"translate(16 " + output::fixed((top + height - bottom) / 2, 1) + ") rotate(-90)\"");
  if (axes.by)
    out += output::svg::text_at(width - right + 12, top - 4, "start", table.keys[*axes.by].name.substr(0, 26));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string colour = output::colour_of_line(i);
    const std::string dashes = i >= output::line_colours() ? " stroke-dasharray=\"6 4\"" : "";
    std::string path, dots;
    for (const auto& [place, value] : lines[i].best) {
      const auto px = output::fixed(frame.x(place), 2), py = output::fixed(frame.y(value), 2);
      path += (path.empty() ? "M" : "L") + px + " " + py;
      dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"3\" fill=\"" + colour + "\"/>\n";
    }
    out +=
        "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\"" + dashes + "/>\n" + dots;
    if (!axes.by) continue;
    const double ly = top + 16 + 22 * static_cast<double>(i);
    out += "<path d=\"M" + output::fixed(width - right + 12, 1) + " " + output::fixed(ly - 4, 1) + "h24\" stroke=\"" +
           colour + "\" stroke-width=\"2\"" + dashes + "/>\n";
    out += output::svg::text_at(width - right + 42, ly, "start",
                                lines[i].name.empty() ? "not set" : lines[i].name.substr(0, 20));
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::sweep
