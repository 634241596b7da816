#include "sim/program/time_model.hpp"

#include <algorithm>

namespace lockstep {

std::string_view name(TimeModel model) { return model == TimeModel::ideal ? "ideal" : "roofline"; }

Seconds compute_time(const ComputeRates& rates, Flops work, Bytes traffic) {
  const Seconds at_peak = work / rates.flops;
  return rates.model == TimeModel::ideal ? at_peak : std::max(at_peak, traffic / rates.memory);
}

}  // namespace lockstep
