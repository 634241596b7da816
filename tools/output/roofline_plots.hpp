#pragma once
/// The two figures of the scaling book, for the scenario's own chip, sizes and chip count.
#include <string>

#include "sim/roofline/study.hpp"

namespace lockstep {

/// FLOPs time over communication time against tokens per chip: TP flat, FSDP slope 1, mixed slope 1/2.
[[nodiscard]] std::string ratio_plot(const RooflineStudy& study);
/// Communication and math time of one layer's forward against the batch.
[[nodiscard]] std::string times_plot(const RooflineStudy& study);

}  // namespace lockstep
