#pragma once
/// A linear axis of a picture with ticks at round numbers.
#include <vector>

namespace lockstep::output {

struct RoundAxis {
  double low = 0, high = 1, tick = 1;
  explicit RoundAxis(const std::vector<double>& values);  ///< around all of them; at least one
  /// Where a value lies between two places of the picture.
  [[nodiscard]] double at(double value, double from, double to) const {
    return from + (value - low) / (high - low) * (to - from);
  }
  [[nodiscard]] int digits() const;  ///< after the point, for its ticks
};

}  // namespace lockstep::output
