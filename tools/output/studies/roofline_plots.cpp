#include "tools/output/studies/roofline_plots.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::output {
namespace {

struct Times {
  double math, fsdp, tensor, mixed;
};

/// FSDP over all axes, TP over all axes, and both at X_opt (which may not exceed the chips nor fall below 1).
Times times_at(const roofline::RooflineStudy& study, double tokens) {
  const double chips = static_cast<double>(study.chips);
  const int axes = study.fsdp_axes + study.tensor_axes;
  auto layer = study.layer;
  layer.tokens = tokens;
  const double x = std::clamp(best_fsdp_size(layer, chips, study.fsdp_axes, study.tensor_axes), 1.0, chips);
  return {math_time(study.balance, layer, chips).value(), fsdp_time(study.balance, layer, 1, axes).value(),
          tensor_time(study.balance, layer, 1, axes).value(),
          std::max(fsdp_time(study.balance, layer, chips / x, study.fsdp_axes),
                   tensor_time(study.balance, layer, x, study.tensor_axes))
              .value()};
}

template <class Visit>
void over_tokens_per_chip(const roofline::RooflineStudy& study, Visit visit) {
  for (double per_chip = 10; per_chip <= 10000 * 1.0001; per_chip *= std::pow(10.0, 0.05))
    visit(per_chip, times_at(study, per_chip * static_cast<double>(study.chips)));
}

}  // namespace

std::string plan_text(const roofline::MixedPlan& plan) {
  if (plan.tensor == 1) return "FSDP " + std::to_string(plan.fsdp);
  if (plan.fsdp == 1) return "TP " + std::to_string(plan.tensor);
  return "FSDP " + std::to_string(plan.fsdp) + " x TP " + std::to_string(plan.tensor);
}

LinePlot ratio_plot(const roofline::RooflineStudy& study) {
  PlotLine tensor{"tensor parallel", {}}, fsdp{"FSDP", {}}, mixed{"FSDP + TP", {}},
      one{"compute-bound above", {}, true};
  over_tokens_per_chip(study, [&](double per_chip, const Times& times) {
    tensor.points.emplace_back(per_chip, times.math / times.tensor);
    fsdp.points.emplace_back(per_chip, times.math / times.fsdp);
    mixed.points.emplace_back(per_chip, times.math / times.mixed);
    one.points.emplace_back(per_chip, 1.0);
  });
  return {
      "FLOPs time over communication time", "tokens per chip (B/N)", "T_math / T_comms", {tensor, fsdp, mixed, one}};
}

LinePlot times_plot(const roofline::RooflineStudy& study) {
  PlotLine math{"math", {}, true}, tensor{"tensor parallel", {}}, fsdp{"FSDP", {}}, mixed{"FSDP + TP", {}};
  over_tokens_per_chip(study, [&](double per_chip, const Times& times) {
    const double tokens = per_chip * static_cast<double>(study.chips);
    math.points.emplace_back(tokens, times.math * 1e3);
    tensor.points.emplace_back(tokens, times.tensor * 1e3);
    fsdp.points.emplace_back(tokens, times.fsdp * 1e3);
    mixed.points.emplace_back(tokens, times.mixed * 1e3);
  });
  return {"One layer's forward",
          "tokens of the global batch (B)",
          "time (ms)",
          {tensor, fsdp, mixed, math}};  // colours as in the other plot
}

LinePlot exposed_plot(const roofline::NetworkRoofline& study) {
  constexpr double least = 1e-3;  // nothing exposed has no place on a logarithmic axis
  LinePlot plot{"Exposed communication of a layer over its compute", "tokens per chip", "exposed / compute", {}};
  for (const auto& level : study.levels) {
    PlotLine line{level.group, {}, true}, simulated{level.group + ", simulated", {}};
    for (const auto& point : level.points) {
      line.points.emplace_back(point.tokens_per_chip, std::max(point.line, least));
      simulated.points.emplace_back(point.tokens_per_chip, std::max(point.simulated, least));
    }
    plot.lines.push_back(std::move(line));
    plot.lines.push_back(std::move(simulated));
  }
  return plot;
}

}  // namespace lockstep::output
