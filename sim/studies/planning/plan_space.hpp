#pragma once
/// The plans among which `lockstep plan` chooses: every combination that the loader takes, as values without a file.
#include <array>
#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/cluster/cluster_symmetry.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::planning {

/// Sizes of the mesh axes; they multiply to the chips. `data` is called fsdp where ZeRO splits weights too.
struct Degrees {
  std::int32_t tensor = 1, context = 1, expert = 1, data = 1, pipeline = 1;
  friend auto operator<=>(const Degrees&, const Degrees&) = default;
};

/// A schedule by its place among SearchSpec::schedules; -1: no pipeline.
struct ScheduleChoice {
  std::int32_t schedule = -1;
  std::int32_t chunks = 1;
  friend auto operator<=>(const ScheduleChoice&, const ScheduleChoice&) = default;
};

/// One plan. Its order is the canonical one, by which ties are broken.
struct PlanChoice {
  Degrees degrees;
  std::int32_t zero = 0;
  std::int32_t recompute = 0;  ///< place among PlanSpace::recomputations
  std::int64_t microbatches = 1;
  std::int32_t placement = 0;  ///< place among the placements of its degrees
  ScheduleChoice schedule;
  friend auto operator<=>(const PlanChoice&, const PlanChoice&) = default;
};

/// Mesh axes in the order in which they are laid, innermost first.
inline constexpr std::array<std::string_view, 5> plan_axes{"tensor", "context", "expert", "data", "pipeline"};
inline constexpr int data_axis = 3, pipeline_axis_number = 4;
/// "data" or "fsdp".
[[nodiscard]] std::string plan_axis_name(int axis, int zero);
[[nodiscard]] std::int32_t size_of(const Degrees& degrees, int axis);

/// The blocks of each virtual stage, for some number of them. Virtual stages with the same kinds of blocks that follow
/// the same kind of block are alike.
struct VirtualStageBlocks {
  struct Blocks {
    int first = 0, last = 0;  ///< one past
  };
  std::vector<Blocks> different;
  std::vector<std::int32_t> which;  ///< of each virtual stage: among the different ones
};

class PlanSpace {
 public:
  using Placement = std::vector<topologies::MeshAxis>;  ///< of the axes larger than 1, in their order

  /// Throws ConfigError for what a search cannot vary: replayed steps, perturbations, shardings tensor by tensor,
  /// orders from a file, layers of stages; and for a space that holds no plan.
  explicit PlanSpace(const scenario::Scenario& scenario);

  [[nodiscard]] const scenario::Scenario& base() const { return base_; }
  [[nodiscard]] const topologies::Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const topologies::ClusterSymmetry& symmetry() const { return symmetry_; }
  [[nodiscard]] Bytes memory() const { return memory_; }
  /// The share of its speed that compute loses at least while a collective runs on its chip; 0: it loses nothing.
  [[nodiscard]] double lost_beside_collectives() const { return lost_beside_collectives_; }
  [[nodiscard]] const std::vector<workloads::Recompute>& recomputations() const { return recomputations_; }
  [[nodiscard]] std::int32_t least_recomputation() const;  ///< the one that repeats the least work

  struct Node {
    Degrees degrees;
    std::vector<std::int32_t> zeros;
    std::vector<std::int64_t> microbatches;
    std::vector<Placement> placements;
    std::int64_t plans = 0;
  };
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The sizes with which the scenario's file itself splits its step; all 1 if it does not say.
  [[nodiscard]] const Degrees& degrees_of_file() const { return degrees_of_file_; }
  /// The plan that the scenario's file has: one plan of this space, one for each placement if the file does not say
  /// where its axes lie, or none if the space does not hold it.
  [[nodiscard]] const std::vector<PlanChoice>& plans_of_file() const { return plans_of_file_; }
  [[nodiscard]] const std::vector<ScheduleChoice>& schedules(std::int32_t pipeline, std::int64_t microbatches) const {
    return choices(pipeline, microbatches).all;
  }
  /// These schedules in sets. Those of a set agree in placement, chunks, split backwards and overlap, which is all that
  /// the bounds without an order look at.
  [[nodiscard]] const std::vector<std::vector<ScheduleChoice>>& schedule_forms(std::int32_t pipeline,
                                                                               std::int64_t microbatches) const {
    return choices(pipeline, microbatches).forms;
  }
  [[nodiscard]] const workloads::Schedule& schedule(const ScheduleChoice& choice) const;
  [[nodiscard]] const std::vector<int>& kinds() const { return kinds_; }  ///< of the model's blocks, in forward order
  [[nodiscard]] const VirtualStageBlocks& virtual_stages(std::int32_t count) const;

  /// The scenario that `lockstep run` would load, without places in a file.
  [[nodiscard]] scenario::Scenario scenario(const Node& node, const PlanChoice& choice) const;
  /// The plan's scenario without its mesh and with this many sequences, which is enough to derive its blocks.
  [[nodiscard]] scenario::Scenario scenario(const PlanChoice& choice, std::int64_t sequences) const;
  /// The plan as keys of a scenario file: parallel, mesh, pipeline, batch.microbatches, training.recompute.
  [[nodiscard]] std::vector<scenario::KeyOverride> keys(const Node& node, const PlanChoice& choice) const;
  [[nodiscard]] const Node& node_of(const PlanChoice& choice) const;
  /// Every plan of a node, in canonical order.
  [[nodiscard]] std::vector<PlanChoice> plans_of(const Node& node) const;

 private:
  void list_degrees();
  void add(const Degrees& degrees);
  [[nodiscard]] std::vector<PlanChoice> find_plans_of(const scenario::Scenario& scenario) const;
  /// Microbatches that the axes and the size of the step's graph allow; none if the arrays cannot be split so at all.
  [[nodiscard]] std::vector<std::int64_t> microbatches_of(const Degrees& degrees);
  /// How the arrays of a step are split over these axes, of which data and pipeline are 1.
  struct Split {
    double operations = 0;      ///< of one microbatch; 0: impossible
    bool lacks_tokens = false;  ///< a sequence has fewer tokens than its loss has tiles
  };
  [[nodiscard]] Split split_over(const Degrees& degrees);
  /// Why so many sequences of a rank cannot be cut into the tiles of the loss; none: they can.
  [[nodiscard]] std::optional<std::string> why_not_tiled(const Degrees& degrees, std::int64_t sequences) const;
  void tell_why_no_schedule(const Node& node);
  [[nodiscard]] std::string why_none() const { return no_schedule_.empty() ? too_many_tiles_ : no_schedule_; }

  scenario::Scenario base_;
  topologies::Cluster cluster_;
  topologies::ClusterSymmetry symmetry_;
  Bytes memory_;
  double lost_beside_collectives_;
  std::vector<workloads::Recompute> recomputations_;
  bool recompute_is_searched_;
  std::vector<const workloads::Schedule*> schedule_of_choice_;
  std::vector<int> kinds_;
  std::vector<bool> is_layer_;  ///< of the model's blocks
  mutable std::mutex making_;   ///< of what is made when first asked for
  mutable std::map<std::int32_t, VirtualStageBlocks> virtual_stages_;
  std::map<std::array<std::int32_t, 3>, Split> splits_;  ///< by tensor, context, expert
  struct ScheduleChoices {
    std::vector<ScheduleChoice> all;
    std::vector<std::vector<ScheduleChoice>> forms;
  };
  [[nodiscard]] const ScheduleChoices& choices(std::int32_t pipeline, std::int64_t microbatches) const;
  mutable std::map<std::pair<std::int32_t, std::int64_t>, ScheduleChoices> choices_;
  std::vector<Node> nodes_;
  std::int64_t size_ = 0;
  Degrees degrees_of_file_;
  std::vector<PlanChoice> plans_of_file_;
  std::string no_schedule_;     ///< why the first schedule searched cannot be had where none can
  std::string too_many_tiles_;  ///< how many tokens cannot be cut into the tiles of the loss, if there was such a plan
};

}  // namespace lockstep::planning
