#pragma once
/// Colour refinement of a graph: which of its nodes look the same from where they stand.
#include <cstdint>
#include <vector>

namespace lockstep::faults {

/// An undirected edge between two nodes; edges with different labels differ.
struct Joint {
  std::int32_t one, other;
  std::int32_t label;
};

/// A colour for each node, from 0: nodes share one if they had the same colour before and have as many neighbours of
/// each colour over edges of each label.
[[nodiscard]] std::vector<std::int32_t> refined(std::vector<std::int32_t> colours, const std::vector<Joint>& joints);

}  // namespace lockstep::faults
