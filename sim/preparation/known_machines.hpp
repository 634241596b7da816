#pragma once
/// Machines that scenarios had before, and models sharded over their axes. Who prepares many scenarios makes a machine
/// once for all of those that agree in what it is made of; with the machine they share what its collectives have found
/// out about groups and routes, which does not depend on who asked first. A model is derived once for all scenarios
/// that differ only in their chips, links, orders and perturbations.
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/preparation/preparation.hpp"
#include "sim/program/known_folds.hpp"

namespace lockstep::preparation {

/// For one thread at a time. Inputs are compared by value; only the machines that were used last are kept.
class KnownMachines {
 public:
  /// As cluster_of.
  [[nodiscard]] std::shared_ptr<const topologies::Cluster> cluster(const scenario::Scenario& scenario);
  /// The mesh with these axes on a cluster that this object gave, and its collectives under the scenario's rules.
  [[nodiscard]] Machine machine(const std::shared_ptr<const topologies::Cluster>& cluster,
                                std::vector<topologies::MeshAxis> axes, std::string why_placed,
                                const collectives::CollectiveRules& rules);

  /// As sharded_model.
  [[nodiscard]] ShardedModel model(const scenario::Scenario& scenario,
                                   const std::vector<topologies::AxisRequest>& axes);
  [[nodiscard]] program::KnownFolds& folds() { return folds_; }

 private:
  struct KnownCluster {
    topologies::ClusterSpec spec;
    std::vector<program::Perturbation> perturbations;
    std::shared_ptr<const topologies::Cluster> cluster;
  };
  struct KnownMachine {
    std::vector<topologies::MeshAxis> axes;
    std::string why_placed;
    collectives::CollectiveRules rules;
    Machine machine;
  };
  std::deque<KnownCluster> clusters_;  ///< the one used last is the first
  std::deque<KnownMachine> machines_;
  struct KnownModel;
  std::deque<std::shared_ptr<const KnownModel>> models_;
  program::KnownFolds folds_;
};

/// On a known machine where there is one.
[[nodiscard]] Preparation prepare(const scenario::Scenario& scenario, KnownMachines& known);

}  // namespace lockstep::preparation
