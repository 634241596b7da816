#include "sim/studies/roofline/closed_forms.hpp"

#include <cmath>

namespace lockstep::roofline {

ChipBalance balance_of(const topologies::Chip& chip, topologies::Precision precision) {
  const auto peak = chip.peak_for(precision).value_or(FlopsPerSecond(0));
  return {peak, chip.torus ? chip.torus->link * 2.0 : BytesPerSecond(0)};
}

double fsdp_threshold(const ChipBalance& balance, int axes) { return balance.intensity() / axes; }

double tensor_limit(const ChipBalance& balance, double d_ff, int axes) { return axes * d_ff / balance.intensity(); }

double best_fsdp_size(const LayerShape& layer, double chips, int fsdp_axes, int tensor_axes) {
  return std::sqrt(layer.tokens / layer.d_ff * fsdp_axes / tensor_axes * chips);
}

double mixed_threshold(const ChipBalance& balance, double d_ff, int fsdp_axes, int tensor_axes) {
  return balance.intensity() * balance.intensity() / (fsdp_axes * tensor_axes * d_ff);
}

double dcn_threshold(FlopsPerSecond flops, BytesPerSecond dcn_per_chip) { return flops.value() / dcn_per_chip.value(); }

Seconds math_time(const ChipBalance& balance, const LayerShape& layer, double chips) {
  return Flops(4 * layer.tokens * layer.d_model * layer.d_ff / chips) / balance.flops;
}

Seconds fsdp_time(const ChipBalance& balance, const LayerShape& layer, double tensor, int fsdp_axes) {
  return Seconds(4 * layer.d_model * layer.d_ff / (tensor * balance.axis.value() * fsdp_axes));
}

Seconds tensor_time(const ChipBalance& balance, const LayerShape& layer, double fsdp, int tensor_axes) {
  return Seconds(4 * layer.tokens * layer.d_model / (fsdp * balance.axis.value() * tensor_axes));
}

double mixed_ratio(const ChipBalance& balance, const LayerShape& layer, double chips, int fsdp_axes, int tensor_axes) {
  return std::sqrt(layer.tokens * layer.d_ff * fsdp_axes * tensor_axes) / (balance.intensity() * std::sqrt(chips));
}

MixedPlan nearest_plan(double best_fsdp, std::int64_t chips) {
  MixedPlan best{chips, 1};
  const double wanted = std::log(static_cast<double>(chips) / best_fsdp);
  for (std::int64_t tensor = 1; tensor <= chips && chips % tensor == 0; tensor *= 2) {
    if (std::abs(std::log(static_cast<double>(tensor)) - wanted) <
        std::abs(std::log(static_cast<double>(best.tensor)) - wanted)) {
      best = {chips / tensor, tensor};
    }
  }
  return best;
}

}  // namespace lockstep::roofline
