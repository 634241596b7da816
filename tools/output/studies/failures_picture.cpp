#include <algorithm>
#include <cmath>

#include "sim/core/long_time.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/goodput_text.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 900, left = 110, right = 130, top = 78, bar = 16, row = 50;

class Picture {
 public:
  Picture(const goodput::BesidePublished& beside, Seconds length)
      : beside_(beside), length_(length.value()), most_(std::max(beside.own, beside.published) * length_) {}

  std::string draw() {
    std::string rows;
    for (const auto& kind : beside_.kinds)
      rows += pair(std::string(scenario::component_names[kind.of]), kind.own, kind.published);
    rows += pair("all", beside_.own, beside_.published);
    return svg::open(width, y_) +
           svg::text_at(20, 24, "start", "Failures that stop the run, in " + format_long(Seconds(length_)),
                        " font-weight=\"bold\"") +
           entry(20, 0, "the run's own rates") + entry(220, 1, "published rates of parts") + rows + "</svg>\n";
  }

 private:
  static std::string entry(double x, std::size_t colour, const std::string& words) {
    return svg::rectangle(x, 42, 12, 12, colour_of_line(colour), words) + svg::text_at(x + 18, 53, "start", words);
  }

  std::string pair(const std::string& what, const std::optional<double>& own, const std::optional<double>& published) {
    auto text = svg::text_at(left - 12, y_ + bar + 5, "end", what) + one(y_, own, 0, "no class") +
                one(y_ + bar + 2, published, 1, "no published rate");
    y_ += row;
    return text;
  }

  [[nodiscard]] std::string one(double y, const std::optional<double>& rate, std::size_t colour,
                                const std::string& none) const {
    if (!rate) return svg::text_at(left + 4, y + 12, "start", none, " font-size=\"11\"");
    const double count = *rate * length_, wide = most_ > 0 ? count / most_ * (width - left - right) : 0;
    const auto text = with_separators(std::round(count));
    return svg::rectangle(left, y, wide, bar, colour_of_line(colour), text) +
           svg::text_at(left + wide + 8, y + 13, "start", text);
  }

  const goodput::BesidePublished& beside_;
  double length_, most_, y_ = top;
};

}  // namespace

std::string failures_picture(const goodput::BesidePublished& beside, Seconds length) {
  return Picture(beside, length).draw();
}

}  // namespace lockstep::output
