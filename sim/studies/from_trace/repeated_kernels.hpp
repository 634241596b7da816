#pragma once
/// Layers of a model as what repeats in the list of a rank's kernels.
#include <cstdint>
#include <vector>

namespace lockstep::from_trace {

/// The longest stretch of a list that repeats the same names.
struct Repeated {
  std::int64_t first = 0;   ///< position of its first kernel
  std::int64_t period = 0;  ///< kernels of one repetition; 0: nothing repeats
  std::int64_t times = 0;   ///< whole repetitions
};

/// Among the first 20,000 names, with periods up to 1,000. Of periods that cover the same the shortest.
[[nodiscard]] Repeated longest_repetition(const std::vector<std::int32_t>& names);

}  // namespace lockstep::from_trace
