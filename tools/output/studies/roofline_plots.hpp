#pragma once
/// The two figures of the scaling book, for the scenario's own chip, sizes and chip count; one for networks.
#include "sim/studies/roofline/network_study.hpp"
#include "sim/studies/roofline/study.hpp"
#include "tools/output/elements/line_plot.hpp"

namespace lockstep::output {

[[nodiscard]] std::string plan_text(const roofline::MixedPlan& plan);  ///< "FSDP 16 x TP 4"
/// FLOPs time over communication time against tokens per chip: TP flat, FSDP slope 1, mixed slope 1/2.
[[nodiscard]] LinePlot ratio_plot(const roofline::RooflineStudy& study);
/// Communication and math time of one layer's forward against the batch.
[[nodiscard]] LinePlot times_plot(const roofline::RooflineStudy& study);

/// Exposed communication of a layer over its compute against tokens per chip: of each level of the network the line,
/// and beside it what was simulated.
[[nodiscard]] LinePlot exposed_plot(const roofline::NetworkRoofline& study);

}  // namespace lockstep::output
