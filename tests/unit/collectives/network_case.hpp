#pragma once
/// Small clusters of nodes and pods, the groups along some mesh axes on them, and runs of one collective.
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/group_network.hpp"
#include "sim/program/perturb.hpp"
#include "sim/program/program.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::test {

constexpr double port = 450e9, nic = 50e9, us = 1e-6;  // B/s, B/s, s

/// Chips with ports of 450 GB/s on a switch, a NIC of 50 GB/s each, 1 us from chip to chip.
topologies::NodeSpec node(int chips = 8);
/// The same joined pair by pair, links of 60 GB/s.
topologies::NodeSpec mesh_node(int chips = 8);
/// One switch; 4 us from chip to chip.
topologies::FabricSpec crossbar();
/// A crossbar with the two keys of congestion.
topologies::FabricSpec congested(double incast, double step_growth);
/// Leaves of `nics_down` NICs, and 0.5 us for each further switch.
topologies::FabricSpec fat_tree(int nics_down, double oversubscription,
                                topologies::FabricRouting routing = topologies::FabricRouting::spray,
                                std::uint64_t seed = 1);
topologies::ClusterSpec nodes(int count, topologies::NodeSpec node, topologies::FabricSpec fabric = crossbar());
/// Tori of x by y chips, links of 100 GB/s, four chips to a host, hosts with 25 GB/s into a crossbar.
topologies::ClusterSpec pods(int count, int x, int y);

/// A whole cluster as one mesh axis "all", or as "unit" and "local" (outer and inner physical axes).
std::vector<topologies::MeshAxis> all_as_one(const topologies::Cluster& cluster);
std::vector<topologies::MeshAxis> by_unit_and_local(const topologies::Cluster& cluster);

class NetworkCase {
 public:
  /// Groups along `group`; axes as by_unit_and_local if it names one of those, else as all_as_one.
  NetworkCase(const topologies::ClusterSpec& spec, const std::string& group,
              std::vector<program::Perturbation> faults = {});
  NetworkCase(const topologies::ClusterSpec& spec, std::vector<topologies::MeshAxis> axes,
              const std::vector<std::string>& group, std::vector<program::Perturbation> faults = {});

  [[nodiscard]] const topologies::Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] const topologies::Mesh& mesh() const { return *mesh_; }
  [[nodiscard]] const collectives::GroupNetwork& network() const { return *network_; }
  /// One collective of all groups at once.
  [[nodiscard]] program::Program program(const collectives::CollectiveChoice& choice) const;
  /// Its end on SimGrid, under max-min sharing and on the reference engine, which looks at no link; in seconds.
  [[nodiscard]] double simulated(const collectives::CollectiveChoice& choice) const;
  [[nodiscard]] double shared(const collectives::CollectiveChoice& choice) const;
  [[nodiscard]] double referenced(const collectives::CollectiveChoice& choice) const;

 private:
  std::unique_ptr<topologies::Cluster> cluster_;
  std::unique_ptr<topologies::Mesh> mesh_;
  std::unique_ptr<collectives::GroupNetwork> network_;
  std::vector<program::Perturbation> faults_;
};

/// A program without operations on the cluster's ranks and links.
program::Program empty_program(const topologies::Cluster& cluster);
/// A collective that starts at once, on streams of its own.
void add_collective(program::Program& program, const collectives::Communicator& communicator,
                    const collectives::CollectiveChoice& choice);

}  // namespace lockstep::test
