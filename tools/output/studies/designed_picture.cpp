#include <algorithm>
#include <vector>

#include "sim/collectives/nccl_size.hpp"
#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/round_axis.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/designed_text.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 900, left = 80, right = 30, top = 64, plot_height = 280;
constexpr double y0 = top + plot_height;

/// What links need for their bytes, the busiest first: seconds, and for how many links.
struct Run {
  double seconds;
  std::int64_t links;
};
std::vector<Run> runs_of(const studies::MeasuredCollective& row) {
  std::vector<Run> runs;
  for (const auto& load : row.loads) runs.push_back({load.bytes / load.bandwidth.value(), load.alike});
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.seconds > b.seconds; });
  return runs;
}

class Picture {
 public:
  Picture(const DesignedOn& on, const studies::CollectiveStudy& study)
      : own_(study.chosen.back()), other_(best_other(study)), x_(std::vector<double>{0, 1}), y_(x_) {
    if (study.bound) bound_ = study.bound->time(collectives::full_size_of(on.kind, own_.size, on.members));
    std::int64_t links = 1;
    double most = bound_ ? bound_->value() : 0;
    for (const auto* row : {&own_, other_}) {
      if (row == nullptr) continue;
      std::int64_t used = 0;
      for (const auto& run : runs_of(*row)) {
        used += run.links;
        most = std::max(most, run.seconds);
      }
      links = std::max(links, used);
    }
    unit_ = most < 1e-3 ? 1e-6 : most < 1 ? 1e-3 : 1;
    x_ = RoundAxis({0, static_cast<double>(links)});
    x_.high = static_cast<double>(links);
    y_ = RoundAxis({0, most / unit_});
  }

  std::string draw() {
    text_ = svg::open(width, y0 + 56) +
            svg::text_at(left, 24, "start", "What links need for the bytes that they carry, of " + format(own_.size),
                         " font-weight=\"bold\"");
    draw_axes();
    double at = left;
    if (other_ != nullptr) curve(*other_, "best built-in: " + other_->algorithm, Colours().of("contention"), at);
    curve(own_, "designed", colour_of_line(0), at);
    draw_bound();
    return text_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(double links) const { return x_.at(links, left, width - right); }
  [[nodiscard]] double y(double seconds) const { return y_.at(seconds / unit_, y0, top); }

  void draw_axes() {
    const std::string grid = " stroke=\"#999999\" stroke-opacity=\"0.3\"/>\n";
    for (int i = 0; i * x_.tick <= x_.high + 1e-9 * x_.tick; ++i)
      text_ += svg::text_at(x(i * x_.tick), y0 + 18, "middle", fixed(i * x_.tick, x_.digits()));
    for (int i = 0; i * y_.tick <= y_.high + 1e-9 * y_.tick; ++i) {
      const double value = i * y_.tick, at = y_.at(value, y0, top);
      text_ += "<path d=\"M" + fixed(left, 1) + " " + fixed(at, 1) + "H" + fixed(width - right, 1) + "\"" + grid +
               svg::text_at(left - 8, at + 4, "end", fixed(value, y_.digits()));
    }
    text_ += svg::text_at((left + width - right) / 2, y0 + 38, "middle", "links, the busiest first");
    text_ += svg::text_at(0, 0, "middle",
                          std::string("time, ") + (unit_ == 1      ? "s"
                                                   : unit_ == 1e-3 ? "ms"
                                                                   : "us"),
                          " transform=\"translate(20 " + fixed((top + y0) / 2, 1) + ") rotate(-90)\"");
  }

  /// The area under the times of an algorithm, and its place in the legend.
  void curve(const studies::MeasuredCollective& row, const std::string& name, const std::string& colour, double& at) {
    std::string path = "M" + fixed(left, 1) + " " + fixed(y0, 1);
    std::int64_t links = 0;
    for (const auto& run : runs_of(row)) {
      links += run.links;
      path += "V" + fixed(y(run.seconds), 1) + "H" + fixed(x(static_cast<double>(links)), 1);
    }
    text_ += "<path d=\"" + path + "V" + fixed(y0, 1) + "Z\" fill=\"" + colour + "\" fill-opacity=\"0.3\" stroke=\"" +
             colour + "\"/>\n" + svg::rectangle(at, 38, 12, 12, colour, name) +
             svg::text_at(at + 18, 49, "start", name);
    at += 46 + 7.4 * static_cast<double>(name.size());
  }

  void draw_bound() {
    if (!bound_) return;
    const double at = y(bound_->value());
    text_ += "<path d=\"M" + fixed(left, 1) + " " + fixed(at, 1) + "H" + fixed(width - right, 1) +
             "\" stroke=\"#888888\" stroke-dasharray=\"5 4\"/>\n" +
             svg::text_at(width - right, at - 5, "end", "bound, whatever the algorithm: " + format(*bound_));
  }

  const studies::MeasuredCollective& own_;
  const studies::MeasuredCollective* other_;
  std::optional<Seconds> bound_;
  double unit_ = 1;
  RoundAxis x_, y_;
  std::string text_;
};

}  // namespace

std::string designed_picture(const DesignedOn& on, const studies::CollectiveStudy& study) {
  return Picture(on, study).draw();
}

}  // namespace lockstep::output
