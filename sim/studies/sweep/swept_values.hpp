#pragma once
/// The values that a sweep file gives one key: a list, or a range of numbers.
#include <cstdint>
#include <random>
#include <vector>

#include "sim/studies/sweep/sweep.hpp"

namespace lockstep::sweep {

class SweptValues {
 public:
  /// [1, 2, 4], {from: 1, to: 9, step: 2} or {from: 1, to: 64, times: 2}; problems go to the view's sink. Drawn from, a
  /// range has no step: {from: 1, to: 9} or {from: 1, to: 64, scale: log}.
  SweptValues(const std::string& key, const YamlView& view, bool drawn, const Problems& problems);

  [[nodiscard]] std::vector<SweptSetting> all() const;
  /// One of them, whole between whole ends; equal on every machine.
  [[nodiscard]] SweptSetting draw(std::mt19937_64& generator) const;

 private:
  void read_range(const YamlView& view, bool drawn, const Problems& problems);
  [[nodiscard]] SweptSetting number(double value) const;

  std::string key_;
  Location where_;
  std::vector<SweptSetting> listed_;
  double from_ = 0, to_ = 0, step_ = 0;
  std::int64_t count_ = 0;
  bool whole_ = false, times_ = false;  ///< times: from one to the next by a factor; drawn: evenly over the logarithm
};

}  // namespace lockstep::sweep
