#pragma once
/// How long a compute operation takes on a chip.
#include <string_view>

#include "sim/core/units.hpp"

namespace lockstep {

enum class TimeModel {
  ideal,    ///< FLOPs at peak rate; memory traffic is free (the book's assumption)
  roofline  ///< the longer of FLOPs at peak rate and memory traffic at peak bandwidth
};
[[nodiscard]] std::string_view name(TimeModel model);

struct ComputeRates {
  TimeModel model = TimeModel::ideal;
  FlopsPerSecond flops;
  BytesPerSecond memory;
};

[[nodiscard]] Seconds compute_time(const ComputeRates& rates, Flops work, Bytes traffic);

}  // namespace lockstep
