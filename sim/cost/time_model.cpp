#include "sim/cost/time_model.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace lockstep::cost {

topologies::Precision in_16_bits(topologies::Precision training) {
  return is_narrow(training) ? topologies::Precision::bf16 : training;
}

topologies::Precision measured_as(topologies::Precision training, const topologies::ChipKernels& kernels) {
  const bool scaled = training == topologies::Precision::mxfp8 || training == topologies::Precision::nvfp4;
  return scaled && !kernels.matrix.contains(training) ? topologies::Precision::fp8 : training;
}

std::optional<topologies::Precision> unmeasured_precision(const topologies::Chip& chip,
                                                          topologies::Precision training) {
  if (!chip.kernels) return training;
  for (const auto needed : {measured_as(training, *chip.kernels), in_16_bits(training)}) {
    if (!chip.kernels->matrix.contains(needed)) return needed;
  }
  return std::nullopt;
}

std::string_view name(TimeModel model) {
  switch (model) {
    case TimeModel::ideal: return "ideal";
    case TimeModel::roofline: return "roofline";
    case TimeModel::calibrated: return "calibrated";
  }
  throw InternalError("a time model without a name");
}

Seconds compute_time(const ComputeRates& rates, const workloads::Kernel& kernel) {
  if (rates.model == TimeModel::calibrated) return kernel_time(*rates.kernels, kernel);
  const bool in_16_bits =
      kernel.work == workloads::ComputeWork::attention || kernel.work == workloads::ComputeWork::head_product;
  const Seconds at_peak = kernel.flops / (in_16_bits ? rates.in_16_bits : rates.flops);
  return rates.model == TimeModel::ideal ? at_peak : std::max(at_peak, kernel.traffic / rates.memory);
}

}  // namespace lockstep::cost
