#include "topologies/cluster/least_capacity.hpp"

#include <algorithm>

namespace lockstep::topologies {

Bytes least_capacity(const ClusterSpec& cluster) {
  auto least = cluster.chip().capacity();
  for (const auto& chip : cluster.chips()) least = std::min(least, chip.capacity());
  return least;
}

}  // namespace lockstep::topologies
