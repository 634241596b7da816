#include "sim/studies/from_trace/repeated_kernels.hpp"

#include <algorithm>

namespace lockstep::from_trace {

Repeated longest_repetition(const std::vector<std::int32_t>& names) {
  constexpr std::int64_t most_names = 20'000, most_period = 1'000;
  const auto count = std::min<std::int64_t>(std::ssize(names), most_names);
  Repeated best;
  std::int64_t covered = 0;
  for (std::int64_t period = 1; period <= std::min(count / 2, most_period); ++period) {
    std::int64_t run = 0;  // kernels that equal the one a period later, up to here
    for (std::int64_t at = 0; at + period <= count; ++at) {
      const bool same =
          at + period < count && names[static_cast<std::size_t>(at)] == names[static_cast<std::size_t>(at + period)];
      if (same) {
        ++run;
        continue;
      }
      // Two more kernels at least: a shorter period covers a stretch but for its last part.
      if (run >= period && run + period > covered + std::max<std::int64_t>(1, covered / 50)) {
        covered = run + period;
        best = {at - run, period, (run + period) / period};
      }
      run = 0;
    }
  }
  return best;
}

}  // namespace lockstep::from_trace
