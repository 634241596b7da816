#pragma once
/// Thresholds found by simulation instead of by closed form: the batch at which a deep two-matmul model
/// stops exposing communication.
#include <functional>

#include "sim/scenario/scenario.hpp"

namespace lockstep::roofline {

/// Exposed communication that one more layer adds: the difference of two depths over their distance, so
/// that the first gather and the last reduction, which nothing can hide, drop out.
/// `exposed` simulates a scenario and returns its exposed communication.
[[nodiscard]] Seconds exposed_per_layer(scenario::Scenario scenario,
                                        const std::function<Seconds(const scenario::Scenario&)>& exposed);

/// The least tokens per chip, to `tolerance` (relative), at which a layer exposes less than a 1e-6 part of
/// its compute time; by bisection over sequence_length with one sequence per data-parallel rank.
/// `scenario` holds a two-matmul model; low and high are tokens per chip below and above the threshold.
[[nodiscard]] double simulated_token_threshold(const scenario::Scenario& scenario, double low, double high,
                                               double tolerance,
                                               const std::function<Seconds(const scenario::Scenario&)>& exposed);

}  // namespace lockstep::roofline
