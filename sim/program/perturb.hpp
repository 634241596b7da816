#pragma once
/// What differs from the ideal machine: slow chips, degraded or missing links. Perturbations only change
/// speeds, capacities and routes; everything after them (folding, engine) is the same.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/program/program.hpp"
#include "topologies/cluster.hpp"
#include "topologies/mesh.hpp"

namespace lockstep {

using Coordinates = std::vector<int>;

/// Chips that compute `slowdown` times as long: one chip, or all chips of the host that holds it.
struct SlowChip {
  Coordinates chip;
  bool whole_host = false;
  double slowdown = 1;
};
/// The link from a chip to its neighbour, one way: `bandwidth` is the part that is left; 0 is down, and
/// traffic takes the shortest way round it.
struct DegradedLink {
  Coordinates from, to;
  double bandwidth = 1;
};
/// `count` chips drawn without repetition.
struct RandomSlowChips {
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  double slowdown = 1;
};
struct RandomDegradedLinks {
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  double bandwidth = 1;
};
/// Every chip gets its own slowdown 1 + u, u drawn uniformly from [0, spread) or exponentially with mean spread.
struct Jitter {
  enum class Distribution { uniform, exponential };
  Distribution distribution = Distribution::uniform;
  double spread = 0;
  std::uint64_t seed = 0;
};
using Perturbation = std::variant<SlowChip, DegradedLink, RandomSlowChips, RandomDegradedLinks, Jitter>;

/// Why a perturbation cannot be on this cluster (no such chip, not neighbours, more than there are, no way
/// round a missing link); empty when it can.
[[nodiscard]] std::string why_not(const Perturbation& perturbation, const Cluster& cluster);

/// Several slowdowns of one chip multiply, as do several degradations of one link. Throws InternalError for
/// what why_not refuses; returns "" or why links that are down cannot all be avoided.
[[nodiscard]] std::string perturb(Program& program, const std::vector<Perturbation>& perturbations, const Cluster& cluster, const Mesh& mesh);

}  // namespace lockstep
