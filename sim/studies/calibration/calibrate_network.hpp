#pragma once
/// Fits the rates of a node's links and the protocols of its communication library to collectives timed on such nodes.
#include <string>
#include <vector>

#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/calibration/nccl_log.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace lockstep::calibration {

struct CollectiveResidual {
  TimedCollective measured;
  Seconds predicted{0};
  std::string chosen;  ///< algorithm and protocol
  [[nodiscard]] double error() const { return predicted / measured.time - 1; }
};

/// A node and the network between such nodes.
struct NodeNetwork {
  topologies::NodeSpec node;
  topologies::FabricSpec fabric;
};

struct NetworkCalibration {
  NodeNetwork network;  ///< with the fitted parameters
  Fit fit;
  std::vector<CollectiveResidual> residuals;
};

/// The times that the unchanged network predicts for the timed collectives.
[[nodiscard]] std::vector<CollectiveResidual> predicted_collectives(const NodeNetwork& network,
                                                                    const std::vector<TimedCollective>& timed);

/// Efficiencies of scale-up links, of in-network reduction and of the fabric, launches and efficiencies of the
/// protocols. Steps and latencies stay: launches cannot be told from them. Throws ConfigError for runs that the node
/// has too few chips for.
[[nodiscard]] NetworkCalibration calibrate_network(const NodeNetwork& network,
                                                   const std::vector<TimedCollective>& timed);

/// Puts the fitted rates into a cluster of such nodes; leaves others as they are.
void set_network(const NodeNetwork& network, topologies::ClusterSpec& cluster);

/// The keys `node` and, if runs had more than one node, `fabric` of a scenario's cluster, as YAML.
[[nodiscard]] std::string cluster_yaml(const NetworkCalibration& calibration, const std::string& source);

}  // namespace lockstep::calibration
