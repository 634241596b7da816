#pragma once
/// The loads that the flows of a collective put on links. All code that needs the busiest link of a collective uses
/// this.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/collectives/phases.hpp"
#include "sim/core/units.hpp"
#include "topologies/placement/group_orbits.hpp"

namespace lockstep::collectives {

/// The load of a link, and of all links that the same slots cross as often and that are as fast.
struct SlotLoad {
  std::vector<std::pair<SlotId, std::int32_t>> crossings;  ///< slot, and how often its flows cross the link
  BytesPerSecond bandwidth{0};
  topologies::LinkId link = 0;  ///< the first such link
  /// The time that the link takes for the bytes of a phase.
  [[nodiscard]] double seconds(const Phase& phase) const;
};

/// The different loads of links, by first link.
struct SlotLoads {
  Indexed<std::int32_t, SlotLoad> loads;
  std::vector<std::vector<std::int32_t>> of_class;  ///< by class of groups: the numbers of its links' loads, ascending

  /// The load, of any class, that takes longest for a phase's bytes; null if the phase has none.
  [[nodiscard]] const SlotLoad* heaviest(const Phase& phase) const;
};

/// `bandwidth`: of a link, one way. `class_of_group`: groups of one class run at the same time and share links, groups
/// of different classes do not; empty: all groups are of one class. `orbits`: the groups listed stand for all of their
/// orbits; null: they are all there are.
[[nodiscard]] SlotLoads slot_loads(const Communicator& communicator,
                                   const std::function<BytesPerSecond(topologies::LinkId link)>& bandwidth,
                                   const std::vector<std::int32_t>& class_of_group = {},
                                   const topologies::GroupOrbits* orbits = nullptr);

}  // namespace lockstep::collectives
