#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/round_axis.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/network_design_report.hpp"

namespace lockstep::output {
namespace {

using design_networks::DesignedNetwork;
using design_networks::NetworkDesign;
using Fate = DesignedNetwork::Fate;

constexpr double width = 900, left = 80, right = 30, top = 56, plot_height = 320, line_height = 20;
constexpr double y0 = top + plot_height;
constexpr double day_s = 86400;

class Picture {
 public:
  Picture(const DesignedSpace& of, const NetworkDesign& design)
      : of_(of), design_(design), x_(values(true)), y_(values(false)) {}

  std::string draw() {
    const double height = y0 + 70 + line_height * static_cast<double>(design_.front.size());
    text_ = svg::open(width, height) +
            svg::text_at(left, 26, "start", "Time of the run over the price of the network", " font-weight=\"bold\"");
    draw_axes();
    draw_breaks();
    draw_front_line();
    for (std::int64_t number = 0; number < std::ssize(design_.networks); ++number) {
      const auto& network = at(number);
      if (network.fate == Fate::pruned) bound(number, network.bound_s);
      if (network.timed && network.timed->is_answer() && !is_shown(number)) dot(number, "#8888");
    }
    for (std::size_t i = 0; i < design_.front.size(); ++i) draw_shown(i);
    draw_legend();
    return text_ + "</svg>\n";
  }

 private:
  [[nodiscard]] const DesignedNetwork& at(std::int64_t number) const {
    return design_.networks[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] bool is_shown(std::int64_t number) const {
    return std::find(design_.front.begin(), design_.front.end(), number) != design_.front.end();
  }
  /// Millions where the network is bought.
  [[nodiscard]] double price(std::int64_t number) const {
    return design_.money(number) / (design_.has_equal_chips() ? 1e6 : 1);
  }

  /// Of what is drawn.
  [[nodiscard]] std::vector<double> values(bool prices) const {
    std::vector<double> values;
    for (std::int64_t number = 0; number < std::ssize(design_.networks); ++number) {
      const auto& network = at(number);
      const bool drawn = network.fate == Fate::pruned || (network.timed && network.timed->is_answer());
      if (!drawn) continue;
      values.push_back(prices ? price(number) : (network.timed ? network.timed->run_s : network.bound_s) / day_s);
    }
    if (values.empty()) values = {0, 1};
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    constexpr double wide = 0.5;  // of values that differ by less, an axis from 0 would show nothing
    const double margin = (*most - *least) / 50;
    if (*least <= wide * *most)
      values.push_back(0);
    else
      values.push_back(*least - margin);
    return values;
  }

  [[nodiscard]] double x(std::int64_t number) const { return x_.at(price(number), left, width - right); }
  [[nodiscard]] double y(double run_s) const { return y_.at(run_s / day_s, y0, top); }

  void draw_axes() {
    const std::string grid = " stroke=\"#999999\" stroke-opacity=\"0.3\"/>\n";
    for (int i = 0; x_.low + i * x_.tick <= x_.high + 1e-9 * x_.tick; ++i) {
      const double value = x_.low + i * x_.tick, at = x_.at(value, left, width - right);
      text_ += "<path d=\"M" + fixed(at, 1) + " " + fixed(top, 1) + "V" + fixed(y0, 1) + "\"" + grid +
               svg::text_at(at, y0 + 18, "middle", fixed(value, x_.digits()));
    }
    for (int i = 0; y_.low + i * y_.tick <= y_.high + 1e-9 * y_.tick; ++i) {
      const double value = y_.low + i * y_.tick, at = y_.at(value, y0, top);
      text_ += "<path d=\"M" + fixed(left, 1) + " " + fixed(at, 1) + "H" + fixed(width - right, 1) + "\"" + grid +
               svg::text_at(left - 8, at + 4, "end", fixed(value, y_.digits()));
    }
    text_ += svg::text_at(
        (left + width - right) / 2, y0 + 38, "middle",
        (design_.has_equal_chips() ? "price of the network, millions of " : "price of the machine for an hour, ") +
            of_.aim.prices->currency);
    text_ += svg::text_at(0, 0, "middle", "run, days",
                          " transform=\"translate(20 " + fixed((top + y0) / 2, 1) + ") rotate(-90)\"");
  }

  /// Where an axis does not begin at 0: two strokes across it, and words.
  void draw_breaks() {
    const std::string strokes = " fill=\"none\" stroke=\"#888888\"/>\n";
    const auto note = [](const RoundAxis& axis, const std::string& unit) {
      return "axis from " + fixed(axis.low, axis.digits()) + unit + ", not from 0";
    };
    if (y_.low > 0)
      text_ += "<path d=\"M" + fixed(left - 6, 1) + " " + fixed(y0 - 8, 1) + "l12 -5m-12 10l12 -5\"" + strokes +
               svg::text_at(left + 10, y0 - 8, "start", note(y_, " days"), " font-size=\"11\"");
    if (x_.low > 0)
      text_ += "<path d=\"M" + fixed(left + 12, 1) + " " + fixed(y0 + 6, 1) + "l5 -12m1 12l5 -12\"" + strokes +
               svg::text_at(left + 26, y0 - (y_.low > 0 ? 24 : 8), "start", note(x_, ""), " font-size=\"11\"");
  }

  void draw_front_line() {
    std::string path;
    for (const auto number : design_.front)
      path += (path.empty() ? "M" : "L") + fixed(x(number), 1) + " " + fixed(y(at(number).timed->run_s), 1);
    text_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour_of_line(0) + "\" stroke-opacity=\"0.5\"/>\n";
  }

  void dot(std::int64_t number, const std::string& colour) {
    text_ += "<circle cx=\"" + fixed(x(number), 1) + "\" cy=\"" + fixed(y(at(number).timed->run_s), 1) +
             "\" r=\"4\" fill=\"" + colour + "\"><title>" + svg::escaped(of_.space.label(number)) +
             "</title></circle>\n";
  }

  /// A run of this network takes at least as long: a mark that points up.
  void bound(std::int64_t number, double bound_s) {
    text_ += "<path d=\"M" + fixed(x(number) - 4, 1) + " " + fixed(y(bound_s), 1) +
             "h8l-4 -7z\" fill=\"none\" stroke=\"#888\"><title>" + svg::escaped(of_.space.label(number)) +
             "</title></path>\n";
  }

  void draw_shown(std::size_t i) {
    const auto number = design_.front[i];
    dot(number, colour_of_line(0));
    const double right_of = x(number) + 7, height = y(at(number).timed->run_s);
    const bool is_free = i == 0 || std::abs(right_of - labelled_x_) > 18 || std::abs(height - labelled_y_) > 14;
    text_ += svg::text_at(right_of, height + (is_free ? -6 : 17), "start", std::to_string(i + 1));
    labelled_x_ = right_of, labelled_y_ = height;
    text_ += svg::text_at(left, y0 + 62 + line_height * static_cast<double>(i), "start",
                          std::to_string(i + 1) + ". " + of_.space.label(number));
  }

  void draw_legend() {
    text_ += "<circle cx=\"" + fixed(width - 330, 1) + "\" cy=\"22\" r=\"4\" fill=\"" + colour_of_line(0) + "\"/>\n" +
             svg::text_at(width - 320, 26, "start", "worth its price") + "<circle cx=\"" + fixed(width - 205, 1) +
             "\" cy=\"22\" r=\"4\" fill=\"#8888\"/>\n" + svg::text_at(width - 195, 26, "start", "simulated") +
             (design_.count(Fate::pruned) == 0
                  ? ""
                  : "<path d=\"M" + fixed(width - 114, 1) + " 26h8l-4 -7z\" fill=\"none\" stroke=\"#888\"/>\n" +
                        svg::text_at(width - 100, 26, "start", "bound"));
  }

  const DesignedSpace& of_;
  const NetworkDesign& design_;
  RoundAxis x_, y_;
  std::string text_;
  double labelled_x_ = 0, labelled_y_ = 0;  ///< the last dot with a number
};

}  // namespace

std::string network_design_picture(const DesignedSpace& of, const NetworkDesign& design) {
  return Picture(of, design).draw();
}

}  // namespace lockstep::output
