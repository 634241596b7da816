#pragma once
/// What a few steps of a machine's own are worth: published machines taken as a user's, one after the other.
#include <string>
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

/// A published table's runs on one chip. Some of them were given to calibrate_steps; the others, as far as they were
/// simulated, were predicted with what it made of the chip.
struct OwnSteps {
  std::string machine;             ///< "torchtitan, h100"
  std::size_t given = 0;           ///< steps
  std::size_t predicted = 0;       ///< other steps
  double sustained = 1, host = 1;  ///< after over before
  validation::ErrorStatistics before, after;
  /// Of the bands, which know nothing of the table: how many of the other steps they hold, and the mean of
  /// high / low - 1.
  double held_before = 0, held_after = 0, width_before = 0, width_after = 0;
};

inline constexpr std::size_t least_others = 3;

/// Of every table and chip with at least `given` + `least_others` timed steps: that many given, at most `most` others
/// predicted, both evenly spaced.
[[nodiscard]] std::vector<OwnSteps> own_steps_study(const std::vector<validation::RunTable>& tables, std::size_t given,
                                                    std::size_t most, validation::ValidateOptions options,
                                                    spdlog::logger& log);

}  // namespace lockstep::calibration
