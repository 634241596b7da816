#pragma once
#include "tools/sweep/run_sweep.hpp"

namespace lockstep::sweep {

/// A line on stderr that is drawn over: points, rate and remaining time. If stderr is not a terminal, a new line every
/// half minute.
class SweepProgressLine {
 public:
  void point(std::size_t done, std::size_t all, PointResult::Status status);
  /// Wipes the line.
  void clear();
  ~SweepProgressLine() { clear(); }

 private:
  [[nodiscard]] std::string text(std::size_t done, std::size_t all) const;

  double started_ = 0, drawn_ = 0, rated_ = 0;
  std::size_t rated_done_ = 0, not_done_ = 0;
  double rate_ = 0;  ///< points a second over the last seconds
  bool visible_ = false;
};

}  // namespace lockstep::sweep
