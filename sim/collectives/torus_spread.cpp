// Members with the same places in the dimensions A, N / N_A of N, receive together what they lack only over the links
// of A: N_A - own shards of V/N each, over bandwidth B_A each, so  T >= V/N (N_A - own) / B_A  for every set A. The
// left sides are supermodular in A, so loads that meet all of these at once exist (for an all-gather as a mix of orders
// in which parts of the data pass the dimensions): the slowest set takes exactly its bound, the others share the rest
// likewise.
#include <cstddef>

#include "sim/collectives/torus_algorithms.hpp"

namespace lockstep::collectives::torus {

Spread spread(const Dimensions& dimensions, int own) {
  const auto contains = [](std::size_t set, std::size_t dimension) { return (set >> dimension & 1U) != 0; };
  const auto received = [&](std::size_t set) {
    double members = 1;
    for (std::size_t d = 0; d < dimensions.size(); ++d) members *= contains(set, d) ? dimensions[d].members : 1;
    return set == 0 ? 0 : members - own;
  };
  const auto rate = [&](std::size_t set) {
    BytesPerSecond sum(0);
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (contains(set, d)) sum += bandwidth(dimensions[d]);
    }
    return sum;
  };

  const std::size_t all = (std::size_t{1} << dimensions.size()) - 1;
  Spread result{std::vector<double>(dimensions.size(), 0.0), BytesPerSecond(0)};
  for (std::size_t done = 0; done != all;) {
    std::size_t slowest = all & ~done;  // the largest of equally slow ones
    const auto time = [&](std::size_t set) { return (received(done | set) - received(done)) / rate(set).value(); };
    for (std::size_t set = slowest - 1; set > 0; --set) {
      if ((set & done) == 0 && time(set) > time(slowest) * (1 + 1e-12)) slowest = set;
    }
    const double part = (received(done | slowest) - received(done)) / received(all);
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (contains(slowest, d)) result.share[d] = part * (bandwidth(dimensions[d]) / rate(slowest));
    }
    if (done == 0) result.bandwidth = rate(slowest) / part;
    done |= slowest;
  }
  return result;
}

}  // namespace lockstep::collectives::torus
