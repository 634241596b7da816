#include "sim/program/time_model.hpp"

#include <algorithm>

namespace lockstep {

std::string_view name(TimeModel model) { return model == TimeModel::ideal ? "ideal" : "roofline"; }

Seconds compute_time(const ComputeRates& rates, ComputeWork work, Flops flops, Bytes traffic) {
  const bool in_16_bits = work == ComputeWork::attention || work == ComputeWork::head_product;
  const Seconds at_peak = flops / (in_16_bits ? rates.in_16_bits : rates.flops);
  return rates.model == TimeModel::ideal ? at_peak : std::max(at_peak, traffic / rates.memory);
}

}  // namespace lockstep
