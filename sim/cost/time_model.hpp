#pragma once
/// How long a compute operation takes on a chip.
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"
#include "sim/cost/kernel_time.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep::cost {

enum class TimeModel {
  ideal,      ///< FLOPs at peak rate; memory traffic is free (the book's assumption)
  roofline,   ///< the longer of FLOPs at peak rate and memory traffic at peak bandwidth
  calibrated  ///< what the chip's kernels reach, see kernel_time.hpp
};
[[nodiscard]] std::string_view name(TimeModel model);

struct ComputeRates {
  TimeModel model = TimeModel::ideal;
  FlopsPerSecond flops;       ///< of the layers' products: the peak at the training precision
  FlopsPerSecond in_16_bits;  ///< of attention and the unembedding: at most that of bf16
  BytesPerSecond memory;
  std::optional<KernelRates> kernels;  ///< calibrated
};

/// The precision at which attention and the unembedding run: products of 8 bits and fewer leave them at bf16.
[[nodiscard]] topologies::Precision in_16_bits(topologies::Precision training);

/// The precision whose kernels stand for those in `training`: products with scales for blocks reach the share of their
/// peak that those with one scale do, where no other is known.
[[nodiscard]] topologies::Precision measured_as(topologies::Precision training, const topologies::ChipKernels& kernels);

/// The first of the precisions that training in `training` uses in which the chip's kernels are not known; none if
/// `calibrated` can time every operation.
[[nodiscard]] std::optional<topologies::Precision> unmeasured_precision(const topologies::Chip& chip,
                                                                        topologies::Precision training);

[[nodiscard]] Seconds compute_time(const ComputeRates& rates, const workloads::Kernel& kernel);

}  // namespace lockstep::cost
