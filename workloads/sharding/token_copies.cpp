#include <algorithm>
#include <cmath>

#include "workloads/sharding/collective_kind.hpp"

namespace lockstep {

double TokenCopies::share_across(int units) const {
  if (each <= 1) return 1.0;
  const auto n = static_cast<double>(most_units > 0 ? std::min<std::int64_t>(units, most_units) : units);
  return n * (1 - std::pow(1 - 1 / n, static_cast<double>(each))) / static_cast<double>(each);
}

}  // namespace lockstep
