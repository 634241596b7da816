#include "sim/core/long_time.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "sim/core/quantity_text.hpp"

namespace lockstep {

std::string format_long(Seconds time) {
  constexpr double minute = 60, hour = 3600, day = 86400, year = 365 * day;
  const double seconds = time.value();
  if (!std::isfinite(seconds)) return "never";
  if (seconds < 120) return format(time);
  const auto in = [&](double unit, const char* name) {
    std::array<char, 400> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", seconds / unit, name);
    return std::string(text.data());
  };
  if (seconds < 2 * hour) return in(minute, "min");
  if (seconds < 2 * day) return in(hour, "h");
  if (seconds < 2 * year) return in(day, "days");
  return in(year, "years");
}

std::string format_up_to_long(Seconds time) { return time < Seconds(7200) ? format(time) : format_long(time); }

}  // namespace lockstep
