#include "sim/preparation/unmeasured_products.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/preparation/preparation.hpp"

namespace lockstep::preparation {

UnmeasuredProducts unmeasured_products(const scenario::Scenario& scenario, const topologies::MeasuredProducts& table) {
  const auto model = sharded_model(scenario);
  std::map<topologies::ProductShape, double> flops;
  const auto precision = scenario.training.precision;
  const auto count = [&](const workloads::BlockSteps& steps) {
    for (const auto& step : steps) {
      const bool head = step.work == workloads::ComputeWork::head_product;
      const bool product = head || step.work == workloads::ComputeWork::product;
      if (step.kind != workloads::StepWork::Kind::compute || !product || step.flops.value() == 0) continue;
      const auto& shape = step.shape;
      flops[{head ? cost::in_16_bits(precision) : precision, std::max<std::int64_t>(shape.batch, 1), shape.m, shape.n,
             shape.k}] += step.flops.value();
    }
  };
  for (const auto kind : model.order) {
    count(model.layers[kind].forward);
    count(model.layers[kind].backward);
  }
  UnmeasuredProducts found;
  found.shapes = flops.size();
  double all = 0, missing = 0;
  for (const auto& [shape, work] : flops) {
    all += work;
    if (table.time_of(shape)) continue;
    missing += work;
    found.missing.push_back(shape);
  }
  std::stable_sort(found.missing.begin(), found.missing.end(),
                   [&](const auto& one, const auto& other) { return flops[one] > flops[other]; });
  found.share_of_flops = all > 0 ? missing / all : 0;
  return found;
}

std::string unmeasured_products_note(const UnmeasuredProducts& found, const std::string& file) {
  constexpr std::size_t most = 5;  // of the shapes, so that the note stays a line or two
  if (found.missing.empty()) return "";
  std::string names;
  for (std::size_t i = 0; i < std::min(most, found.missing.size()); ++i)
    names += (i > 0 ? ", " : "") + found.missing[i].to_string();
  const auto count = found.missing.size();
  return std::to_string(count) + " of " + std::to_string(found.shapes) + " shapes of products, " +
         std::to_string(std::lround(100 * found.share_of_flops)) + " % of their FLOPs, are not in " + file +
         "; fitted parameters stand for these: " + names +
         (count > most ? " and " + std::to_string(count - most) + " more" : "");
}

}  // namespace lockstep::preparation
