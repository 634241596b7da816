#pragma once
/// Long stretches of a list that were there before. What gzip does for 32 KB, without a limit on the distance: the
/// operations of a period of a step take more than that.
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::report {

/// New numbers, then some that repeat what lies `before` numbers before each of them (the stretches may overlap).
struct Stretch {
  std::size_t first, fresh, repeated, before;
};

/// In order, covering the list. A stretch is found where its first numbers were there most recently.
[[nodiscard]] std::vector<Stretch> repetitions(std::span<const std::uint64_t> numbers);

}  // namespace lockstep::report
