#include <algorithm>
#include <cmath>

#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::workloads {

double TokenCopies::share_across(int units) const {
  if (each <= 1) return 1.0;
  auto n = static_cast<double>(units);
  if (groups > 1) {
    const double units_of_a_group = std::max(1.0, n / static_cast<double>(groups));
    n = std::min(n, static_cast<double>(groups_per_token) * units_of_a_group);
  }
  return n * (1 - std::pow(1 - 1 / n, static_cast<double>(each))) / static_cast<double>(each);
}

}  // namespace lockstep::workloads
