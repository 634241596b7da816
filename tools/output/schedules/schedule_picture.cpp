#include <algorithm>
#include <cmath>
#include <map>

#include "sim/core/counted.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/schedules/schedule_study.hpp"

namespace lockstep::output {
namespace {

constexpr double left = 74, right = 86, top = 92, row = 26, strip = 13, gap = 9;
constexpr double narrowest = 900, widest = 2400, wished_cell = 17;  // pixels
constexpr std::int64_t most_cells_one_by_one = 50'000, most_cells_with_titles = 5'000;

std::string base_colour(workloads::PipelineWork work) {
  Colours colours;
  switch (work) {
    case workloads::PipelineWork::forward: return colours.of("forward");
    case workloads::PipelineWork::backward: return colours.of("backward");
    case workloads::PipelineWork::input_gradient: return colours.of("input gradient");
    case workloads::PipelineWork::weight_gradient: return colours.of("weight gradient");
  }
  return colours.of("idle");
}

/// Later chunks, or microbatches from the other end, are lighter.
std::string colour(workloads::PipelineWork work, std::int32_t shade, std::int32_t shades) {
  return lighter(base_colour(work), shades > 1 ? 0.5 * shade / (shades - 1) : 0);
}

std::string rectangle(double x, double y, double wide, double high, const std::string& fill,
                      const std::string& more = "/>") {
  return "<rect x=\"" + fixed(x, 2) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(wide, 2) + "\" height=\"" +
         fixed(high, 1) + "\" fill=\"" + fill + "\"" + more + "\n";
}

class Picture {
 public:
  Picture(const ScheduleStudy& study, double until)
      : study_(study), shape_(study.order.shape), until_(std::max({study.timing.makespan, until, 1e-300})) {
    double shortest = until_;
    for (const auto& spans : study.timing.spans) {
      for (const auto& span : spans) {
        if (span.end - span.start > 1e-9 * until_) shortest = std::min(shortest, span.end - span.start);
      }
    }
    plot_ = std::clamp(until_ / shortest * wished_cell, narrowest, widest);
    one_by_one_ = study.order.cells() <= most_cells_one_by_one && shortest / until_ * plot_ >= 2;
    titles_ = study.order.cells() <= most_cells_with_titles;
    for (const auto& rank : study.order.ranks) {
      pairs_ |= std::any_of(rank.begin(), rank.end(), [](const auto& cell) { return cell.second.has_value(); });
    }
    const auto& held = study.held.until_weight_gradient;
    most_held_ = std::max(1, *std::max_element(held.begin(), held.end()));
  }

  std::string draw() {
    const double height = y(study_.order.ranks.size()) + 44;
    std::string out = svg::open(left + plot_ + right, height) + heading();
    for (std::size_t rank = 0; rank < study_.order.ranks.size(); ++rank) {
      out += svg::text_at(left - 8, y(rank) + row / 2 + 4, "end", "rank " + std::to_string(rank));
      out += rectangle(left, y(rank), plot_, row, "#8882");
      out += one_by_one_ ? cells(rank) : columns(rank);
      out += memory(rank);
    }
    return out + axis() + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(double time) const { return left + time / until_ * plot_; }
  [[nodiscard]] static double y(std::size_t rank) { return top + (row + strip + gap) * static_cast<double>(rank); }

  [[nodiscard]] std::int32_t shades() const {
    return shape_.placement == workloads::StagePlacement::bidirectional ? 2 : shape_.chunks;
  }
  [[nodiscard]] std::string colour_of(const workloads::PipelineAction& action) const {
    const bool other_end =
        shape_.placement == workloads::StagePlacement::bidirectional && action.microbatch >= shape_.microbatches / 2;
    return colour(action.work, other_end ? 1 : action.stage / shape_.ranks, shades());
  }

  [[nodiscard]] std::string heading() const {
    const auto step = study_.worst_step(), span = study_.worst_span();
    std::string out =
        svg::text_at(left, 24, "start",
                     study_.title() + ": " + std::to_string(shape_.ranks) + " ranks, " +
                         std::to_string(shape_.whole_microbatches()) + " microbatches" +
                         (shape_.slices > 1 ? " of " + std::to_string(shape_.slices) + " slices" : "") +
                         (shape_.chunks > 1 ? ", " + std::to_string(shape_.chunks) + " chunks a rank" : "") +
                         ", makespan " + six_digits(study_.timing.makespan),
                     " font-size=\"17\"");
    out += svg::text_at(left, 46, "start",
                        "bubble on the worst rank: of the step " + six_digits(study_.timing.bubble_step[step]) + " (" +
                            percent(study_.step_fraction(step)) + "), of the span " +
                            six_digits(study_.timing.bubble_span[span]) + " (" + percent(study_.span_fraction(span)) +
                            ")");
    double at = left;
    const auto entry = [&](workloads::PipelineWork work, const std::string& label) {
      for (std::int32_t shade = 0; shade < std::min(shades(), 4); ++shade) {
        out += rectangle(at, 61, 16, 14, colour(work, shade, std::min(shades(), 4)));
        at += 17;
      }
      out += svg::text_at(at + 4, 73, "start", label);
      at += 24 + 7.2 * static_cast<double>(label.size());
    };
    IndexedArray<workloads::PipelineWork, bool, 4> used{};
    for (const auto& rank : study_.order.ranks) {
      for (const auto& cell : rank)
        for_each_action(cell, [&](const workloads::PipelineAction& action) { used[action.work] = true; });
    }
    using enum workloads::PipelineWork;
    for (const auto& [work, label] : {std::pair{forward, "forward"},
                                      {backward, "whole backward"},
                                      {input_gradient, "input gradient"},
                                      {weight_gradient, "weight gradient"}}) {
      if (used[work]) entry(work, label);
    }
    const std::string shade_text = shape_.placement == workloads::StagePlacement::bidirectional
                                       ? "light: from the other end; "
                                   : shades() > 1 ? "light: later chunks; "
                                                  : "";
    return out + svg::text_at(at + 4, 73, "start", shade_text + "strip: activations held, peak in microbatches");
  }

  [[nodiscard]] std::string label(const workloads::PipelineAction& action, double wide, double middle, double y,
                                  double high) const {
    const auto text = std::to_string(action.microbatch);
    const double size = std::min(11.0, high - 2);
    if (wide < 0.62 * size * static_cast<double>(text.size()) + 1) return "";
    const bool on_dark = shades() == 1 || colour_of(action) == colour(action.work, 0, shades());
    return svg::text_at(middle, y + high / 2 + size * 0.36, "middle", text,
                        " font-size=\"" + fixed(size, 0) + "\" fill=\"" + (on_dark ? "#fff" : "#222") + "\"");
  }

  /// Every cell by itself; of a pair the forward stands above its backward.
  [[nodiscard]] std::string cells(std::size_t rank) const {
    std::string out;
    for (std::size_t i = 0; i < study_.order.ranks[rank].size(); ++i) {
      const auto& cell = study_.order.ranks[rank][i];
      const auto& span = study_.timing.spans[rank][i];
      const double from = x(span.start), wide = x(span.end) - from;
      const double high = cell.second ? row / 2 : row;
      const auto title = titles_ ? "><title>" + cell.to_string() + ": " + six_digits(span.start) + " to " +
                                       six_digits(span.end) + "</title></rect>"
                                 : std::string("/>");
      double at = y(rank);
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        out +=
            rectangle(from, at, std::max(wide - 0.6, 0.4), cell.second ? high - 0.3 : high, colour_of(action), title);
        out += label(action, wide, from + wide / 2, at, high);
        at += high;
      });
    }
    return out;
  }

  /// One colour for each column of pixels, runs of the same colour as one: the size of the picture does not grow
  /// with the number of cells.
  [[nodiscard]] std::string columns(std::size_t rank) const {
    std::map<std::string, std::string> paths;  // by colour
    const auto& spans = study_.timing.spans[rank];
    const int halves = pairs_ ? 2 : 1;
    for (int half = 0; half < halves; ++half) {
      std::string current;
      int since = 0;
      std::size_t next = 0;
      for (int column = 0; column <= static_cast<int>(plot_); ++column) {
        const double middle = (column + 0.5) / plot_ * until_;
        while (next < spans.size() && spans[next].end <= middle) ++next;
        std::string now;
        if (next < spans.size() && spans[next].start <= middle) {
          const auto& cell = study_.order.ranks[rank][next];
          now = colour_of(half == 1 && cell.second ? *cell.second : cell.first);
        }
        if (now == current) continue;
        if (!current.empty()) {
          paths[current] += "M" + fixed(left + since, 0) + " " +
                            fixed(y(rank) + row / (2 * halves) + half * row / 2, 1) + "h" +
                            std::to_string(column - since);
        }
        current = now;
        since = column;
      }
    }
    std::string out;
    for (const auto& [fill, path] : paths) {
      out += "<path d=\"" + path + "\" stroke=\"" + fill + "\" stroke-width=\"" + fixed(row / halves, 0) +
             "\" fill=\"none\"/>\n";
    }
    return out;
  }

  /// Activations held until the weight gradient; where cells are smaller than pixels, the most of each pixel.
  [[nodiscard]] std::string memory(std::size_t rank) const {
    const double floor = y(rank) + row + strip;
    std::string path = "M" + fixed(left, 1) + " " + fixed(floor, 1);
    int held = 0, most = 0, drawn = 0;
    double pixel = left;
    const auto draw = [&](double at, int height) {
      if (height == drawn) return;
      drawn = height;
      path += "H" + fixed(at, one_by_one_ ? 1 : 0) + "V" + fixed(floor - strip * height / most_held_, 1);
    };
    const auto change = [&](double time, int by) {
      held += by;
      if (one_by_one_) return draw(x(time), held);
      if (x(time) >= pixel + 1) {
        draw(pixel, most);
        pixel = std::floor(x(time));
        most = held;
      }
      most = std::max(most, held);
    };
    for (std::size_t i = 0; i < study_.order.ranks[rank].size(); ++i) {
      const auto& span = study_.timing.spans[rank][i];
      int taken = 0, let_go = 0;
      for_each_action(study_.order.ranks[rank][i], [&](const workloads::PipelineAction& action) {
        using enum workloads::PipelineWork;
        taken += action.work == forward;
        let_go += action.work == backward || action.work == weight_gradient;
      });
      change(span.start, taken);
      change(span.end, -let_go);
    }
    path += "H" + fixed(left + plot_, 1) + "V" + fixed(floor, 1) + "Z";
    const double peak = study_.held.until_weight_gradient[rank] / static_cast<double>(shape_.chunks) / shape_.slices;
    return "<path d=\"" + path + "\" fill=\"#8888\"/>\n" +
           svg::text_at(left + plot_ + 6, floor, "start", "peak " + six_digits(peak), " font-size=\"11\"");
  }

  [[nodiscard]] std::string axis() const {
    const double at = y(study_.order.ranks.size()) + 8;
    // The round step (1, 2 or 5) that gives at most one tick for 70 pixels.
    const double least = until_ * 70 / plot_;
    double tick = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {2.0, 2.5, 2.0}) {
      if (tick < least) tick *= factor;
    }
    std::string out =
        "<path d=\"M" + fixed(left, 1) + " " + fixed(at, 1) + "h" + fixed(plot_, 1) + "\" stroke=\"#888\"/>\n";
    for (int i = 0; i * tick <= until_ * (1 + 1e-9); ++i) {
      out += "<path d=\"M" + fixed(x(i * tick), 1) + " " + fixed(at, 1) + "v5\" stroke=\"#888\"/>\n";
      out += svg::text_at(x(i * tick), at + 19, "middle", six_digits(i * tick));
    }
    return out + svg::text_at(left + plot_ + 6, at + 4, "start", "time");
  }

  const ScheduleStudy& study_;
  const workloads::PipelineShape& shape_;
  double until_;
  double plot_ = 0;
  bool one_by_one_ = true, titles_ = true, pairs_ = false;
  int most_held_ = 1;
};

}  // namespace

std::string schedule_picture(const ScheduleStudy& study, double until) { return Picture(study, until).draw(); }

}  // namespace lockstep::output
