#include "tools/output/elements/round_axis.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::output {

RoundAxis::RoundAxis(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double alike = *most == 0 ? 1 : std::abs(*most) * 1e-3;  // all values in one place
  const double span = std::max(*most - *least, alike);
  const double power = std::pow(10.0, std::floor(std::log10(span / 4)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    tick = step * power;
    if (span / tick <= 6) break;
  }
  low = std::floor(*least / tick - 1e-9) * tick;
  high = std::ceil(*most / tick + 1e-9) * tick;
  if (*least >= 0) low = std::max(low, 0.0);
  if (high - *most < 0.02 * (high - low)) high += tick;
}

int RoundAxis::digits() const { return std::max(0, static_cast<int>(std::ceil(-std::log10(tick) - 1e-9))); }

}  // namespace lockstep::output
