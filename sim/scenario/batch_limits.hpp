#pragma once
/// How finely a batch may be cut, in a scenario and in a search for plans.
#include <cstdint>

namespace lockstep {

inline constexpr std::int64_t most_microbatches_of_a_step = 100'000;

}  // namespace lockstep
