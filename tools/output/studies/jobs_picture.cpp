#include <algorithm>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/studies/jobs_text.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1000, right = 230, bar = 22, row = 28, letter = 7.2;
constexpr std::size_t links_shown = 4;

class Picture {
 public:
  explicit Picture(const std::vector<jobs::SharedRun>& runs) : runs_(runs) {
    std::size_t letters = 0;
    for (const auto& run : runs) {
      for (const auto& job : run.jobs) {
        letters = std::max(letters, job.name.size());
        longest_ = std::max({longest_, job.mean().value(), job.alone.value()});
      }
      for (std::size_t i = 0; i < shown(run); ++i) letters = std::max(letters, name_of(run.links[i]).size());
    }
    left_ = 30 + std::min(letter * static_cast<double>(letters), 320.0);
    room_ = width - right - left_;
  }

  std::string draw() {
    legend();
    for (const auto& run : runs_) {
      y_ += 14;
      text_ += svg::text_at(left_, y_, "start", "hosts " + std::string(name(run.shares)), " font-weight=\"bold\"");
      y_ += 10;
      for (std::size_t job = 0; job < run.jobs.size(); ++job) step(run.jobs[job], job);
      links(run);
      y_ += 16;
    }
    return svg::open(width, y_) + text_ + "</svg>\n";
  }

 private:
  [[nodiscard]] static std::size_t shown(const jobs::SharedRun& run) { return std::min(links_shown, run.links.size()); }

  void legend() {
    text_ += svg::text_at(20, 24, "start", "Mean steps of jobs that share a network", " font-weight=\"bold\"");
    double x = 20;
    const auto entry = [&](const std::string& colour, const std::string& words) {
      text_ += svg::rectangle(x, 38, 12, 12, colour, words) + svg::text_at(x + 18, 49, "start", words);
      x += 40 + letter * static_cast<double>(words.size());
    };
    for (std::size_t job = 0; job < runs_.front().jobs.size(); ++job)
      entry(colour_of_line(job), runs_.front().jobs[job].name);
    entry(lighter(colour_of_line(0), paler), "pale: longer than alone on the same hosts");
    y_ = 76;
  }

  void step(const jobs::SharedJob& job, std::size_t number) {
    const double alone = std::min(job.alone, job.mean()).value() / longest_ * room_;
    const double mean = job.mean().value() / longest_ * room_;
    text_ += svg::text_at(left_ - 10, y_ + bar / 2 + 5, "end", job.name);
    text_ += svg::rectangle(left_, y_, alone, bar, colour_of_line(number), "alone " + format(job.alone));
    if (mean - alone > 0.05)
      text_ += svg::rectangle(left_ + alone, y_, mean - alone, bar, lighter(colour_of_line(number), paler),
                              format(job.mean() - job.alone) + " longer than alone");
    text_ += svg::text_at(left_ + mean + 8, y_ + bar / 2 + 5, "start",
                          format(job.mean()) + ", " + slowdown_text(job.slowdown()) + " longer");
    y_ += row;
  }

  /// What each job takes of the links that more than one uses, in a frame that stands for all that they could carry.
  void links(const jobs::SharedRun& run) {
    y_ += 14;
    if (run.links.empty()) {
      text_ += svg::text_at(left_, y_, "start", "no link between switches carries more than one job");
      return;
    }
    text_ += svg::text_at(left_, y_, "start", "links of several jobs: share of the bytes that they could have carried");
    y_ += 8;
    for (std::size_t i = 0; i < shown(run); ++i) {
      const auto& link = run.links[i];
      text_ += svg::text_at(left_ - 10, y_ + bar / 2 + 5, "end", name_of(link));
      double x = left_;
      for (std::size_t job = 0; job < link.used_by_job.size(); ++job) {
        const double part = link.used_by_job[job] * room_;
        text_ += svg::rectangle(x, y_, part, bar, colour_of_line(job),
                                run.jobs[job].name + " " + percent(link.used_by_job[job]));
        x += part;
      }
      text_ += "<rect x=\"" + fixed(left_, 2) + "\" y=\"" + fixed(y_, 1) + "\" width=\"" + fixed(room_, 2) +
               "\" height=\"" + fixed(bar, 1) + "\" fill=\"none\" stroke=\"#999999\"/>\n" +
               svg::text_at(left_ + room_ + 8, y_ + bar / 2 + 5, "start", percent(link.used()) + " used");
      y_ += row;
    }
    if (run.links.size() > links_shown) {
      y_ += 12;
      text_ +=
          svg::text_at(left_, y_, "start",
                       "and " + std::to_string(run.links.size() - links_shown) + " more kinds of links, used less");
    }
  }

  static constexpr double paler = 0.6;
  const std::vector<jobs::SharedRun>& runs_;
  double longest_ = 0, left_ = 0, room_ = 0, y_ = 0;
  std::string text_;
};

}  // namespace

std::string jobs_picture(const std::vector<jobs::SharedRun>& runs) { return Picture(runs).draw(); }

}  // namespace lockstep::output
