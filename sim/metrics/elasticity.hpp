#pragma once
/// How the step time depends on one parameter of the machine. Definitions: docs/models/critical_path.md.
#include <string>

namespace lockstep::metrics {

/// d ln(step time) / d ln(parameter): percent of step time per percent of the parameter.
struct Elasticity {
  std::string parameter;
  double value;  ///< of a rate between 0 and -1, of a time between 0 and 1; a little beyond where an order of
                 ///< operations flips
  bool is_rate;  ///< true for a rate (more is better), false for a time (less is better)
  /// Percent by which the step gets shorter for a percent of improvement.
  [[nodiscard]] double gain() const { return is_rate ? -value : value; }
};

}  // namespace lockstep::metrics
