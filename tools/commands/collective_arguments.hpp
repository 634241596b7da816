#pragma once
/// The words of `lockstep collective` as values; what is wrong with them is a ConfigError at their option.
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/core/errors.hpp"
#include "sim/program/perturb.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::commands {

[[nodiscard]] workloads::CollectiveKind kind_named(const std::string& word);
/// "1MiB..1GiB": both ends and every doubling between them; or one size.
[[nodiscard]] std::vector<Bytes> sizes_named(const std::string& text);
/// A cluster, how collectives run on it, and what is slow or missing in it.
struct CollectiveMachine {
  topologies::Cluster cluster;
  collectives::CollectiveRules rules;
  std::vector<program::Perturbation> perturbations;
  Location where;        ///< of what leaves no way between members
  std::string key;       ///< the same
  bool is_file = false;  ///< a scenario file, no shorthand and no name
};
/// Shorthand, a catalog name, or a scenario file that says all three.
[[nodiscard]] CollectiveMachine machine_named(const std::string& text);
/// Axes `group` and `others`. `text`: parts of physical axes joined by + or a comma, or the number of ranks in a group:
/// on one torus where they are fastest, elsewhere the innermost.
[[nodiscard]] topologies::Mesh mesh_of_groups(const topologies::Cluster& cluster, const std::string& text,
                                              workloads::CollectiveKind kind);

}  // namespace lockstep::commands
