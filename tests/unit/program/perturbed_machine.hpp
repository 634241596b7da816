#pragma once
/// A machine of ranks and links alone, whose chips and links a test makes worse.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/program/perturb.hpp"
#include "tests/unit/engine/small_program.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {

/// A cluster with all positions on one mesh axis, and a program of its ranks and links without operations.
struct Machine {
  explicit Machine(topologies::Cluster made) : cluster(std::move(made)), mesh(placed(cluster, {on("all", {"rest"})})) {
    program = ranks(cluster.devices());
    for (topologies::LinkId link = 0; link < cluster.links(); ++link)
      program.links.push_back(cluster.link(link).bandwidth);
  }

  [[nodiscard]] std::string apply(const std::vector<program::Perturbation>& perturbations) {
    return perturb(program, perturbations, cluster, mesh);
  }
  [[nodiscard]] double slowdown(topologies::DeviceId device) const {
    return program.slowdown_of_rank[static_cast<std::size_t>(mesh.rank_of(device))];
  }
  /// Names of the links that have another capacity than the cluster's, and the part that is left of it.
  [[nodiscard]] std::map<std::string, double> degraded() const {
    std::map<std::string, double> parts;
    for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
      const double part = program.links[static_cast<std::size_t>(link)] / cluster.link(link).bandwidth;
      if (part < 1 || part > 1) parts[cluster.link_name(link)] = part;
    }
    return parts;
  }
  [[nodiscard]] std::vector<topologies::DeviceId> slow() const {
    std::vector<topologies::DeviceId> devices;
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
      if (slowdown(device) > 1) devices.push_back(device);
    }
    return devices;
  }

  topologies::Cluster cluster;
  topologies::Mesh mesh;
  program::Program program;
};

inline topologies::Cluster four_nodes() { return build_cluster(nodes(4, fabric(topologies::Crossbar{}))); }

}  // namespace lockstep::test
