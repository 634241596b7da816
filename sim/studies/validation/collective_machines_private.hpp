#pragma once
/// The machine of the catalog on which a row of measured collectives ran: which nodes or slice, on which network.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sim/collectives/group_network.hpp"
#include "sim/studies/validation/measured_collectives.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::validation {

/// Groups on a cluster of their own.
struct Machine {
  std::string network;
  std::unique_ptr<topologies::Cluster> cluster;
  std::unique_ptr<topologies::Mesh> mesh;
  std::unique_ptr<collectives::GroupNetwork> groups;

  void group(const std::string& axis, std::vector<topologies::MeshAxis> axes) {
    mesh = std::make_unique<topologies::Mesh>(*cluster, std::move(axes), "");
    groups = std::make_unique<collectives::GroupNetwork>(*cluster, *mesh, std::vector{axis});
  }
};

/// A cluster, and on which of its axes the group lies.
struct Place {
  topologies::ClusterSpec nodes;
  std::optional<topologies::TorusSpec> torus;  ///< in place of nodes
  int ring = -1;                               ///< the one axis of the torus that the group is; -1: the whole cluster
  std::string network;
};

/// None if the catalog has no such machine, or the ranks do not fill it; `problems` are told why.
[[nodiscard]] std::optional<Place> place_of(const MeasuredCollective& row, const std::filesystem::path& catalog,
                                            Problems& problems);
[[nodiscard]] Machine built(const Place& place);

/// Of a row everything that its machine depends on.
using MachineKey = std::tuple<std::string, std::string, std::string, int, int, std::string>;
[[nodiscard]] MachineKey machine_key(const MeasuredCollective& row);

}  // namespace lockstep::validation
