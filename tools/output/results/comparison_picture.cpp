#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_comparison.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1000, right = 110, top = 70, bar = 34, gap = 16;

/// Exposed communication of one axis is one piece, of all kinds together.
struct Piece {
  std::string what;
  double seconds;
};

std::vector<Piece> pieces_of(const ComparedScenario& scenario) {
  std::vector<Piece> pieces;
  for (const auto& part : scenario.parts) {
    const auto what = part.axis.empty() ? part.what : "exposed " + part.axis;
    const auto known =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.what == what; });
    if (known == pieces.end()) {
      pieces.push_back({what, part.seconds});
    } else {
      known->seconds += part.seconds;
    }
  }
  return pieces;
}

/// The page's name for the same thing.
std::string coloured_as(const std::string& what) {
  const std::string_view exposed = "exposed ";
  if (what == "idle (bubble)") return "idle";
  return what.starts_with(exposed) ? what.substr(exposed.size()) : what;
}

}  // namespace

std::string comparison_picture(const std::vector<ComparedScenario>& scenarios) {
  double longest = 0;
  std::size_t letters = 0;
  for (const auto& scenario : scenarios) {
    longest = std::max(longest, scenario.step_s);
    letters = std::max(letters, scenario.name.size());
  }
  const double left = 30 + std::min(7.5 * static_cast<double>(letters), 360.0);
  const double scale = (width - left - right) / longest;
  Colours colours;
  std::vector<std::string> legend;
  std::string bars;
  double y = top;
  for (const auto& scenario : scenarios) {
    bars += svg::text_at(left - 10, y + bar / 2 + 4, "end", scenario.name);
    double x = left;
    for (const auto& piece : pieces_of(scenario)) {
      if (piece.seconds <= 0) continue;
      bars += svg::rectangle(x, y, piece.seconds * scale, bar, colours.of(coloured_as(piece.what)),
                             piece.what + " " + format(Seconds(piece.seconds)));
      x += piece.seconds * scale;
      if (std::find(legend.begin(), legend.end(), piece.what) == legend.end()) legend.push_back(piece.what);
    }
    bars += svg::text_at(x + 8, y + bar / 2 + 4, "start", format(Seconds(scenario.step_s)));
    y += bar + gap;
  }
  std::string out =
      svg::open(width, y + 10) + svg::text_at(20, 22, "start", "one step of the critical rank", " font-size=\"15\"");
  double x = 20;
  for (const auto& what : legend) {
    out += svg::rectangle(x, 36, 14, 14, colours.of(coloured_as(what)), what) + svg::text_at(x + 20, 48, "start", what);
    x += 40 + 7.2 * static_cast<double>(what.size());
  }
  return out + bars + "</svg>\n";
}

}  // namespace lockstep::output
