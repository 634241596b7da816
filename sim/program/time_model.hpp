#pragma once
/// How long a compute operation takes on a chip.
#include <string_view>

#include "sim/core/units.hpp"
#include "workloads/derived_block.hpp"

namespace lockstep {

enum class TimeModel {
  ideal,    ///< FLOPs at peak rate; memory traffic is free (the book's assumption)
  roofline  ///< the longer of FLOPs at peak rate and memory traffic at peak bandwidth
};
[[nodiscard]] std::string_view name(TimeModel model);

struct ComputeRates {
  TimeModel model = TimeModel::ideal;
  FlopsPerSecond flops;    ///< of the layers' products: the peak at the training precision
  FlopsPerSecond in_16_bits;  ///< of attention and the unembedding: at most that of bf16
  BytesPerSecond memory;
};

[[nodiscard]] Seconds compute_time(const ComputeRates& rates, ComputeWork work, Flops flops, Bytes traffic);

}  // namespace lockstep
