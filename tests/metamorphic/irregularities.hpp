#pragma once
/// Items of `perturbations` drawn at random, as text.
#include "tests/metamorphic/draft.hpp"

namespace lockstep::test {

inline std::string number(Random& random, std::int64_t least, std::int64_t most) {
  return std::to_string(random.between(least, most));
}

/// At most so many chips or links, under a seed up to `last_seed`.
inline std::string slow_chips(Random& random, std::int64_t most, std::int64_t last_seed) {
  return "{random_chips: " + number(random, 1, most) + ", seed: " + number(random, 1, last_seed) + ", slowdown: 1." +
         number(random, 1, 9) + "}";
}
inline std::string bad_links(Random& random, std::int64_t most, std::int64_t last_seed) {
  return "{random_links: " + number(random, 1, most) + ", seed: " + number(random, 1, last_seed) + ", bandwidth: 0." +
         number(random, 1, 9) + "}";
}

}  // namespace lockstep::test
