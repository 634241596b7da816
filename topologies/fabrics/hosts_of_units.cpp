#include "topologies/fabrics/hosts_of_units.hpp"

#include <numeric>

namespace lockstep::topologies {

std::vector<HostId> hosts_of_units(const GivenNetwork& keys, int units) {
  if (!keys.hosts.empty()) return keys.hosts;
  std::vector<HostId> first(position_of(units));
  std::iota(first.begin(), first.end(), 0);
  return first;
}

}  // namespace lockstep::topologies
