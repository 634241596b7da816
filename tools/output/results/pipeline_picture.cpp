#include "tools/output/results/pipeline_picture.hpp"

#include <algorithm>
#include <vector>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/colours.hpp"
#include "tools/output/elements/svg.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/scenario_inputs.hpp"

namespace lockstep::output {
namespace {

constexpr double width = 1400, left = 80, right = 20, top = 84;
constexpr double narrowest = 0.4;  // px: pieces closer than this become one

/// Operations of one stage that follow one another and belong to the same pass of the same microbatch.
struct Piece {
  double start, end;
  workloads::StepPass pass;
  std::int32_t part, microbatch;
  bool communicates;
};

bool alike(const Piece& a, const Piece& b) {
  return a.pass == b.pass && a.part == b.part && a.microbatch == b.microbatch && a.communicates == b.communicates;
}

/// Every other part of the model on a rank is lighter.
std::string colour(const Piece& piece) {
  const auto name = piece.communicates ? "collective" : std::string(workloads::name(piece.pass));
  return lighter(Colours().of(name), piece.part % 2 != 0 ? 0.35 : 0.0);
}

class Picture {
 public:
  Picture(const scenario::Scenario& scenario, const Simulation& simulation)
      : scenario_(scenario), simulation_(simulation) {}

  std::string draw() {
    const auto& stages = simulation_.metrics.stages;
    row_ = std::clamp(720.0 / static_cast<double>(stages.size()), 8.0, 34.0);
    out_ = svg::open(width, top + row_ * 1.25 * static_cast<double>(stages.size()) + 40);
    title();
    for (const auto& stage : stages) {
      const double y = top + row_ * 1.25 * stage.stage;
      if (stages.size() <= 64 || stage.stage % 8 == 0)
        out_ +=
            svg::text_at(left - 8, y + row_ * 0.6, "end", "stage " + std::to_string(stage.stage), " font-size=\"11\"");
      box(left, y, width - left - right, row_, "#8882", "");
      draw_pieces(pieces(stage.rank, false), y, row_ * 0.72, true);
      draw_pieces(pieces(stage.rank, true), y + row_ * 0.78, row_ * 0.22, false);
    }
    axis(top + row_ * 1.25 * static_cast<double>(stages.size()) + 14);
    return out_ + "</svg>\n";
  }

 private:
  void title() {
    const auto& metrics = simulation_.metrics;
    const auto& order = simulation_.preparation.pipeline.order;
    out_ += svg::text_at(left, 24, "start",
                         scenario_.name + ": " + schedule_text(scenario_, order) + ", " +
                             std::to_string(order.shape.ranks) + " stages, " +
                             std::to_string(order.shape.whole_microbatches()) + " microbatches" +
                             (order.shape.slices > 1 ? " of " + std::to_string(order.shape.slices) + " slices" : "") +
                             ", step of " + format(metrics.step_time),
                         " font-size=\"16\"");
    out_ += svg::text_at(left, 44, "start",
                         "bubble of the worst stage " + percent(metrics.bubble_fraction_step()) + " of the step, " +
                             percent(metrics.bubble_fraction_span()) + " within its own span");
    double x = left;
    for (const auto& [name, text] : {std::pair{"forward", "forward"},
                                     {"backward", "backward"},
                                     {"update", "optimizer"},
                                     {"collective", "below: in communication that nothing hides"}}) {
      box(x, 56, 14, 12, Colours().of(name), "");
      out_ += svg::text_at(x + 20, 66, "start", text);
      x += 40 + 7.2 * static_cast<double>(std::string_view(text).size());
    }
    out_ += svg::text_at(x, 66, "start", order.shape.chunks > 1 ? "light: every other part of the model" : "");
  }

  /// The rank's compute, or its communication while it computes nothing.
  [[nodiscard]] std::vector<Piece> pieces(std::int32_t rank, bool communication) const {
    std::vector<Piece> all;
    std::vector<timeline::Interval> computing;
    for (std::int32_t id = 0; id < simulation_.run.timeline.ops(); ++id) {
      if (!simulation_.run.timeline.took_part(id, rank)) continue;
      const auto& repetition = simulation_.run.timeline.repetition();
      const auto& op = simulation_.program.ops[id];
      const auto& vertex = simulation_.preparation.step.op(op.vertex);
      const bool communicates = op.kind == program::ProgramOp::Kind::collective;
      simulation_.run.timeline.for_each_run(id, rank, [&](const timeline::Interval& span, std::int64_t copy) {
        if (span.end <= span.start) return;
        if (!communicates) computing.push_back(span);
        if (communicates != communication) return;
        all.push_back({span.start.value(), span.end.value(), vertex.pass,
                       simulation_.preparation.pipeline.stage_of_block(vertex.block),
                       static_cast<std::int32_t>(repetition.microbatch(id, copy, vertex.microbatch)), communicates});
      });
    }
    if (communication) all = exposed(std::move(all), std::move(computing));
    std::sort(all.begin(), all.end(), [](const Piece& a, const Piece& b) { return a.start < b.start; });
    std::vector<Piece> joined;
    for (const auto& piece : all) {
      const bool near = !joined.empty() && piece.start - joined.back().end < narrowest / scale();
      if (near && (alike(piece, joined.back()) || piece.communicates)) {
        joined.back().end = std::max(joined.back().end, piece.end);
      } else {
        joined.push_back(piece);
      }
    }
    return joined;
  }

  /// The part of the communication that lies in gaps of the compute.
  static std::vector<Piece> exposed(std::vector<Piece> communication, std::vector<timeline::Interval> computing) {
    std::sort(computing.begin(), computing.end(),
              [](const timeline::Interval& a, const timeline::Interval& b) { return a.start < b.start; });
    std::sort(communication.begin(), communication.end(),
              [](const Piece& a, const Piece& b) { return a.start < b.start; });
    std::vector<Piece> result;
    double covered = 0;  // up to here an earlier piece has been drawn
    std::size_t next = 0;
    for (auto piece : communication) {
      double at = std::max(piece.start, covered);
      covered = std::max(covered, piece.end);
      while (next < computing.size() && computing[next].end.value() <= at) ++next;
      for (std::size_t i = next; at < piece.end; ++i) {
        const double until = i < computing.size() ? std::min(piece.end, computing[i].start.value()) : piece.end;
        if (until > at) {
          result.push_back(piece);
          result.back().start = at;
          result.back().end = until;
        }
        if (i >= computing.size()) break;
        at = std::max(at, computing[i].end.value());
      }
    }
    return result;
  }

  void draw_pieces(const std::vector<Piece>& pieces, double y, double height, bool numbers) {
    for (const auto& piece : pieces) {
      const double wide = std::max((piece.end - piece.start) * scale(), narrowest);
      box(x_of(piece.start), y, wide, height, colour(piece), wide > 3 ? " stroke=\"#fff\" stroke-width=\"0.4\"" : "");
      const auto number = std::to_string(piece.microbatch);
      if (numbers && piece.pass != workloads::StepPass::update && height > 9 &&
          wide > 7.0 * static_cast<double>(number.size()) + 2) {
        out_ += svg::text_at(x_of(piece.start) + wide / 2, y + height / 2 + 4, "middle", number,
                             " font-size=\"10\" fill=\"#fff\"");
      }
    }
  }

  void axis(double y) {
    for (int tick = 0; tick <= 5; ++tick) {
      const auto time = simulation_.run.timeline.makespan() * (tick / 5.0);
      out_ += svg::text_at(x_of(time.value()), y, tick == 0 ? "start" : tick == 5 ? "end" : "middle", format(time));
    }
  }

  void box(double x, double y, double wide, double high, const std::string& fill, const std::string& more) {
    out_ += "<rect x=\"" + fixed(x, 2) + "\" y=\"" + fixed(y, 1) + "\" width=\"" + fixed(wide, 2) + "\" height=\"" +
            fixed(high, 1) + "\" fill=\"" + fill + "\"" + more + "/>\n";
  }
  [[nodiscard]] double scale() const {
    return (width - left - right) / std::max(simulation_.run.timeline.makespan().value(), 1e-12);
  }
  [[nodiscard]] double x_of(double time) const { return left + time * scale(); }

  const scenario::Scenario& scenario_;
  const Simulation& simulation_;
  std::string out_;
  double row_ = 0;
};

}  // namespace

std::string pipeline_picture(const scenario::Scenario& scenario, const Simulation& simulation) {
  return Picture(scenario, simulation).draw();
}

}  // namespace lockstep::output
