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
NodeSpec node(int chips = 8);
/// The same joined pair by pair, links of 60 GB/s.
NodeSpec mesh_node(int chips = 8);
/// One switch; 4 us from chip to chip.
FabricSpec crossbar();
/// Leaves of `nics_down` NICs, and 0.5 us for each further switch.
FabricSpec fat_tree(int nics_down, double oversubscription, FabricRouting routing = FabricRouting::spray,
                    std::uint64_t seed = 1);
ClusterSpec nodes(int count, NodeSpec node, FabricSpec fabric = crossbar());
/// Tori of x by y chips, links of 100 GB/s, four chips to a host, hosts with 25 GB/s into a crossbar.
ClusterSpec pods(int count, int x, int y);

/// A whole cluster as one mesh axis "all", or as "unit" and "local" (outer and inner physical axes).
std::vector<MeshAxis> all_as_one(const Cluster& cluster);
std::vector<MeshAxis> by_unit_and_local(const Cluster& cluster);

class NetworkCase {
 public:
  /// Groups along `group`; axes as by_unit_and_local if it names one of those, else as all_as_one.
  NetworkCase(const ClusterSpec& spec, const std::string& group, std::vector<Perturbation> faults = {});
  NetworkCase(const ClusterSpec& spec, std::vector<MeshAxis> axes, const std::vector<std::string>& group,
              std::vector<Perturbation> faults = {});

  [[nodiscard]] const Cluster& cluster() const { return *cluster_; }
  [[nodiscard]] const Mesh& mesh() const { return *mesh_; }
  [[nodiscard]] const GroupNetwork& network() const { return *network_; }
  /// One collective of all groups at once.
  [[nodiscard]] Program program(const CollectiveChoice& choice) const;
  /// Its end on SimGrid and on the reference engine, in seconds.
  [[nodiscard]] double simulated(const CollectiveChoice& choice) const;
  [[nodiscard]] double referenced(const CollectiveChoice& choice) const;

 private:
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<GroupNetwork> network_;
  std::vector<Perturbation> faults_;
};

/// A program without operations on the cluster's ranks and links.
Program empty_program(const Cluster& cluster);
/// A collective that starts at once, on streams of its own.
void add_collective(Program& program, const Communicator& communicator, const CollectiveChoice& choice);

}  // namespace lockstep::test
