#pragma once
/// Groups of a few rings and lines, and what a phase puts on their links.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/collectives/collective.hpp"

namespace lockstep::test {

using Shape = topologies::GroupDimension::Shape;

/// Links of 100 GB/s, hops of 1 us.
inline topologies::GroupDimension dimension(Shape shape, int members, int sharing = 1) {
  return {shape,
          members,
          sharing,
          sharing,
          BytesPerSecond(100e9),
          Seconds(1e-6 * sharing),
          shape == Shape::ring ? "ring" : "line"};
}
inline topologies::GroupDimension ring(int members, int sharing = 1) {
  return dimension(Shape::ring, members, sharing);
}
inline topologies::GroupDimension line(int members, int sharing = 1) {
  return dimension(Shape::line, members, sharing);
}

/// One to three dimensions of every shape, with links shared by 1, 2 or 4.
inline std::vector<collectives::Dimensions> many_groups() {
  topologies::GroupDimensions singles;
  for (const auto shape : {Shape::ring, Shape::line}) {
    for (const int members : {2, 3, 4, 5, 8}) {
      for (const int sharing : {1, 2, 4}) singles.push_back(dimension(shape, members, sharing));
    }
  }
  std::vector<collectives::Dimensions> groups;
  for (const auto& one : singles) groups.push_back({one});
  for (const auto& one : singles) {
    for (const auto& two : singles) groups.push_back({one, two});
  }
  for (std::size_t i = 0; i < singles.size(); ++i) {
    groups.push_back({singles[i], singles[(i * 7 + 3) % singles.size()], singles[(i * 11 + 5) % singles.size()]});
  }
  return groups;
}

inline std::string describe(const collectives::Dimensions& dimensions) {
  std::string text;
  for (const auto& d : dimensions)
    text += (text.empty() ? "" : " x ") + d.label + " of " + std::to_string(d.members) + " shared by " +
            std::to_string(d.sharing);
  return text;
}

/// Bytes of `phase` on the link that leaves position `at` of a dimension; 0 beyond a line's end.
inline double leaving(const collectives::Phase& phase, const collectives::Dimensions& dimensions, int dimension,
                      int direction, int at) {
  const collectives::SlotLayout slots(dimensions);
  const auto& d = dimensions[static_cast<std::size_t>(dimension)];
  if (d.shape == Shape::ring) return phase.slot_bytes[static_cast<std::size_t>(slots.ring(dimension, direction))];
  const int hop = direction > 0 ? at : at - 1;
  if (hop < 0 || hop + 1 >= d.members) return 0;
  return phase.slot_bytes[static_cast<std::size_t>(slots.hop(dimension, direction, hop))];
}

/// ... and on the link that arrives there.
inline double arriving(const collectives::Phase& phase, const collectives::Dimensions& dimensions, int dimension,
                       int direction, int at) {
  const auto& d = dimensions[static_cast<std::size_t>(dimension)];
  if (d.shape == Shape::ring) return leaving(phase, dimensions, dimension, direction, at);
  const int from = at - direction;
  return from < 0 || from >= d.members ? 0 : leaving(phase, dimensions, dimension, direction, from);
}

}  // namespace lockstep::test
