#pragma once
/// Differences from the ideal machine: slow chips, degraded or missing links. Perturbations only change speeds,
/// capacities and routes; everything after them (folding, engine) is the same.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/program/program.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::program {

using Coordinates = std::vector<int>;

/// Chips that compute `slowdown` times as long: one chip, or all chips of the host that holds it.
struct SlowChip {
  Coordinates chip;
  bool whole_host = false;
  double slowdown = 1;
  friend bool operator==(const SlowChip&, const SlowChip&) = default;
};
/// The link from one node of the cluster to another, one way, by their names: "chip(0,3)", "leaf(2)". `bandwidth` is
/// the part that is left; 0 is down. Traffic takes the shortest detour round a missing link between chips of a torus;
/// in other networks it takes one of the other equal routes (Cluster::avoid).
struct DegradedLink {
  std::string from, to;
  double bandwidth = 1;
  friend bool operator==(const DegradedLink&, const DegradedLink&) = default;
};
/// All links into and out of a node of the cluster: a switch, a NIC, a host, a chip.
struct DegradedNode {
  std::string name;
  double bandwidth = 1;
  friend bool operator==(const DegradedNode&, const DegradedNode&) = default;
};
/// `count` chips drawn without repetition.
struct RandomSlowChips {
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  double slowdown = 1;
  friend bool operator==(const RandomSlowChips&, const RandomSlowChips&) = default;
};
/// `count` links drawn without repetition: links between chips of a torus, otherwise links of the nodes' scale-up and
/// of the network.
struct RandomDegradedLinks {
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  double bandwidth = 1;
  friend bool operator==(const RandomDegradedLinks&, const RandomDegradedLinks&) = default;
};
/// Every chip gets its own slowdown 1 + u. u is drawn uniformly from [0, spread), or from a distribution of mean
/// spread: exponential, log-normal (`shape` is the standard deviation of its logarithm) or Pareto from 0 on (Lomax;
/// `shape` > 1 is the exponent of its tail).
struct Jitter {
  enum class Distribution { uniform, exponential, lognormal, pareto };
  Distribution distribution = Distribution::uniform;
  double spread = 0;
  std::uint64_t seed = 0;
  double shape = 0;
  friend bool operator==(const Jitter&, const Jitter&) = default;
};
/// Each chip is slow with probability `share`, whatever the others are.
struct Stragglers {
  double share = 0;
  std::uint64_t seed = 0;
  double slowdown = 1;
  friend bool operator==(const Stragglers&, const Stragglers&) = default;
};
/// Each of the links among which random links are drawn has only a part of its bandwidth with probability `share`.
struct FlakyLinks {
  double share = 0;
  std::uint64_t seed = 0;
  double bandwidth = 1;
  friend bool operator==(const FlakyLinks&, const FlakyLinks&) = default;
};
using Perturbation = std::variant<SlowChip, DegradedLink, DegradedNode, RandomSlowChips, RandomDegradedLinks, Jitter,
                                  Stragglers, FlakyLinks>;

/// The name of the chip at these coordinates: "chip(0,3)".
[[nodiscard]] std::string chip_name(const Coordinates& place);

/// Why a perturbation cannot be on this cluster (no such chip, not neighbours, more than there are, no route round a
/// missing link); empty if it can.
[[nodiscard]] std::string why_not(const Perturbation& perturbation, const topologies::Cluster& cluster);

/// The links of networks that are down, for Cluster::avoid; empty if there are none. The perturbations must be ones
/// that why_not accepts.
[[nodiscard]] topologies::MissingLinks missing_in_networks(const std::vector<Perturbation>& perturbations,
                                                           const topologies::Cluster& cluster);

/// Several slowdowns of one chip multiply, as do several degradations of one link. Throws InternalError for what
/// why_not refuses, and for flows that cross missing links of networks; returns the reason why links of tori that are
/// down cannot all be avoided, or "".
[[nodiscard]] std::string perturb(Program& program, const std::vector<Perturbation>& perturbations,
                                  const topologies::Cluster& cluster, const topologies::Mesh& mesh);

}  // namespace lockstep::program
