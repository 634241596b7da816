#pragma once
/// The cost of collectives on a mesh and the phases in which they run, by the cheapest algorithm that serves the
/// groups. Groups and their flows are made at first use, and kept, as are those between two stages of a pipeline.
#include <map>
#include <string>
#include <vector>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/stage_pairs.hpp"

namespace lockstep::collectives {

class TriedGroups;

/// Rules for all collectives on networks.
struct CollectiveRules {
  std::map<workloads::CollectiveKind, std::string> algorithms;  ///< used wherever they can serve; else the cheapest
  UnitOrder units = UnitOrder::ranks;
  friend bool operator==(const CollectiveRules&, const CollectiveRules&) = default;
};

/// The algorithm that the rules name for a kind, if it serves these groups; otherwise "".
[[nodiscard]] std::string_view ruled(const CollectiveRules& rules, const topologies::Cluster& cluster,
                                     const GroupNetwork& groups, workloads::CollectiveKind kind);

class CollectiveModel {
 public:
  /// Both references must outlive the model.
  CollectiveModel(const topologies::Cluster& cluster, const topologies::Mesh& mesh, CollectiveRules rules = {});
  /// A model of costs alone, on one of several meshes that are tried.
  CollectiveModel(const topologies::Mesh& mesh, TriedGroups& tried, CollectiveRules rules);

  [[nodiscard]] const topologies::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const topologies::Mesh& mesh() const { return mesh_; }

  /// Without contention from other collectives. Axes in any order.
  [[nodiscard]] Seconds cost(workloads::CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size,
                             workloads::TokenCopies copies = {});
  /// "ring of 16 on x", "tree (LL128)": for tables and traces.
  [[nodiscard]] std::string algorithm(workloads::CollectiveKind kind, const std::vector<std::string>& axes,
                                      Bytes full_size);

  /// A collective as the engine runs it. Lowerings with the same `layout` share the communicator.
  struct Lowered {
    std::pair<std::vector<std::string>, std::string> layout;  ///< axes in mesh order, algorithm
    std::string algorithm;                                    ///< as algorithm() says it
    std::vector<Phase> phases;
    Seconds closed_form{0};
  };
  /// `wanted`: one of algorithms(), or empty for the model's own choice.
  [[nodiscard]] Lowered lower(workloads::CollectiveKind kind, const std::vector<std::string>& axes, Bytes full_size,
                              std::string_view wanted = "", workloads::TokenCopies copies = {});
  /// Time for which the hosts of several tori hold up the chips of such groups, beside the collective's own.
  [[nodiscard]] Seconds barrier(const std::vector<std::string>& axes);
  /// Names of all algorithms that can serve such groups.
  [[nodiscard]] std::vector<std::string> algorithms(workloads::CollectiveKind kind,
                                                    const std::vector<std::string>& axes);
  /// All groups with their flows.
  [[nodiscard]] const Communicator& communicator(const std::pair<std::vector<std::string>, std::string>& layout);
  /// Transfers between two stages, `low` < `high`. The mesh has a pipeline axis.
  [[nodiscard]] const StagePairs& stage_pairs(workloads::StageId low, workloads::StageId high);
  [[nodiscard]] const std::vector<PipelineLine>& lines();  ///< as pipeline_lines

 private:
  GroupNetwork& groups(const std::vector<std::string>& axes_in_mesh_order);
  [[nodiscard]] std::vector<std::string> in_mesh_order(const std::vector<std::string>& axes) const;
  [[nodiscard]] std::string_view ruled(const GroupNetwork& groups, workloads::CollectiveKind kind) const {
    return collectives::ruled(rules_, cluster_, groups, kind);
  }

  const topologies::Cluster& cluster_;
  const topologies::Mesh& mesh_;
  TriedGroups* tried_ = nullptr;  ///< groups that other meshes may have too
  CollectiveRules rules_;
  std::map<std::vector<std::string>, GroupNetwork> groups_;
  std::vector<PipelineLine> lines_;
  std::map<std::pair<workloads::StageId, workloads::StageId>, StagePairs> stage_pairs_;
};

}  // namespace lockstep::collectives
