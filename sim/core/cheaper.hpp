#pragma once
/// Which of two costs is less, for choices that must not hang on the last digits.
#include "sim/core/units.hpp"

namespace lockstep {

/// Below the other by more than the rounding of sums of some thousand terms. Two ways that cross the same links add up
/// the same terms in another order; where their costs are equal, the first of them is taken on every machine.
[[nodiscard]] constexpr bool is_cheaper(Seconds one, Seconds other) {
  constexpr double rounding = 1e-12;
  return one < other * (1 - rounding);
}

}  // namespace lockstep
