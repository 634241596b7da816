#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/placement_report.hpp"

namespace lockstep::output {
namespace {

using place_ranks::PlacedRanks;
using place_ranks::UnitOrder;

constexpr double width = 900, left = 20, right = 20, gap = 12;
constexpr double largest = 34, smallest = 5, least_with_text = 20;

class Picture {
 public:
  Picture(const scenario::Scenario& scenario, const PlacedRanks& placed)
      : placed_(placed), names_(unit_names(scenario, placed.best.order.size())) {
    const int units = static_cast<int>(names_.size());
    std::map<int, std::vector<int>> by_block;
    for (int unit = 0; unit < units; ++unit)
      by_block[placed.blocks.empty() ? 0 : placed.blocks.front()[static_cast<std::size_t>(unit)]].push_back(unit);
    for (auto& [block, members] : by_block) blocks_.push_back(std::move(members));
    for (const int span : placed.spans) {
      if (span < units) span_ = span;
    }
    std::size_t widest = 0;
    for (const auto& block : blocks_) widest = std::max(widest, block.size());
    // One block to a line where that leaves room for numbers, else as many as fit.
    cell_ = std::clamp((width - left - right) / static_cast<double>(widest), smallest, largest);
  }

  std::string draw() {
    double y = 30;
    std::string body;
    for (const auto& line : legend()) {
      body += svg::text_at(left, y, "start", line);
      y += 20;
    }
    y -= 6;
    if (placed_.given_order && !placed_.is_given)
      body += order(*placed_.given_order, "as the ranks stand: " + format(placed_.given), y);
    body +=
        order(placed_.best.order,
              (placed_.is_given ? "as the ranks stand" : placed_.best.name) + ": " + format(placed_.with_given_layers) +
                  (placed_.has_other_layers()
                       ? "; with " + layers_text(placed_.layers) + " layers: " + format(placed_.best.step)
                       : ""),
              y);
    return svg::open(width, y) + body + "</svg>\n";
  }

 private:
  [[nodiscard]] std::vector<std::string> legend() const {
    const auto numbers = std::string(cell_ >= least_with_text ? "; its number is the place in the order of ranks" : "");
    return {"A square is a node" + numbers + "; a frame " +
                (placed_.blocks.empty() ? "is the whole network" : "holds the nodes below one switch") + ".",
            span_ > 0 ? "A colour is a group of " + std::to_string(span_) + " nodes that follow each other."
                      : "Places go from dark to light."};
  }

  [[nodiscard]] std::string colour(std::size_t place, std::size_t units) const {
    if (span_ == 0) return lighter(colour_of_line(0), 0.75 * static_cast<double>(place) / static_cast<double>(units));
    const auto group = place / static_cast<std::size_t>(span_);
    const auto round = group / line_colours();  // colours come again, lighter
    return lighter(colour_of_line(group), std::min(0.75, 0.3 * static_cast<double>(round)));
  }

  /// The nodes of all blocks with their places in an order; `y` moves below it.
  std::string order(const UnitOrder& units, const std::string& title, double& y) const {
    std::vector<std::size_t> place_of(units.size());
    for (std::size_t place = 0; place < units.size(); ++place) place_of[static_cast<std::size_t>(units[place])] = place;
    y += 26;
    std::string text = svg::text_at(left, y, "start", title, " font-weight=\"bold\"");
    y += 10;
    double x = left, lowest = y;
    for (const auto& block : blocks_) {
      const auto in_row = std::min(block.size(), static_cast<std::size_t>((width - left - right) / cell_));
      const auto rows = (block.size() + in_row - 1) / in_row;
      const double wide = cell_ * static_cast<double>(in_row), high = cell_ * static_cast<double>(rows);
      if (x > left && x + wide > width - right) x = left, y = lowest + gap;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const auto unit = static_cast<std::size_t>(block[i]);
        const double at = x + cell_ * static_cast<double>(i % in_row),
                     below = y + cell_ * std::floor(static_cast<double>(i / in_row));
        const auto place = std::to_string(place_of[unit]);
        text += svg::rectangle(
            at + 1, below + 1, cell_ - 2, cell_ - 2, colour(place_of[unit], units.size()),
            names_[unit] + ": place " + place +
                (span_ > 0 ? ", group " + std::to_string(place_of[unit] / static_cast<std::size_t>(span_)) : ""));
        if (cell_ >= least_with_text)
          text +=
              svg::text_at(at + cell_ / 2, below + cell_ / 2 + 4, "middle", place, " font-size=\"11\" fill=\"#222\"");
      }
      text += "<rect x=\"" + fixed(x - 2, 1) + "\" y=\"" + fixed(y - 2, 1) + "\" width=\"" + fixed(wide + 4, 1) +
              "\" height=\"" + fixed(high + 4, 1) + "\" fill=\"none\" stroke=\"#888888\"/>\n";
      lowest = std::max(lowest, y + high);
      x += wide + gap;
    }
    y = lowest + 10;
    return text;
  }

  const PlacedRanks& placed_;
  std::vector<std::string> names_;        ///< of units
  std::vector<std::vector<int>> blocks_;  ///< units below one switch
  int span_ = 0;                          ///< nodes of the largest groups that are not all; 0: there are none
  double cell_ = largest;
};

}  // namespace

std::string placement_picture(const scenario::Scenario& scenario, const PlacedRanks& placed) {
  return Picture(scenario, placed).draw();
}

}  // namespace lockstep::output
