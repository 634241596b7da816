#pragma once
/// A scenario file as values: what to simulate, nothing computed yet. Reference: docs/scenario_reference.md.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/core/errors.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/cost/time_model.hpp"
#include "sim/program/lower.hpp"
#include "sim/program/perturb.hpp"
#include "sim/scenario/reliability.hpp"
#include "sim/scenario/search_spec.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/model/model.hpp"
#include "workloads/replay/replay_model.hpp"
#include "workloads/sharded_layers/plan.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/step/build_step.hpp"

namespace lockstep::scenario {

struct BatchSpec {
  std::int64_t sequences = 0;        ///< of one step, all ranks
  std::int64_t sequence_length = 0;  ///< tokens
  std::int64_t microbatches = 1;
};

/// How long documents are of which sequences are made; attention sees no other document.
struct LengthsSpec {
  std::vector<std::pair<std::int64_t, double>> documents;  ///< tokens and share of all documents; empty: every sequence
                                                           ///< is one
  bool cut = true;                  ///< a document goes on in the next sequence where one ends; else it starts there
  std::uint64_t seed = 1;           ///< of the documents of a step
  std::int64_t tokens_of_rank = 0;  ///< of a document, the most on one context rank; 0: all are on all ranks
};

struct TrainingSpec {
  topologies::Precision precision = topologies::Precision::bf16;
  bool hadamard_transform = true;     ///< nvfp4: operands of weight gradients are rotated before they are quantised
  bool low_precision_gather = false;  ///< weights are gathered in the 8 bits of the precision
  int low_precision_copies = 0;  ///< of weights in those 8 bits, kept for the whole step; 0: they are made for each use
  bool causal_attention = true;
  std::string attention_kernel;  ///< the library of fused attention, as the chip's file names it; "": its usual one
  /// Of each stage of the model, the first ones: one number for all stages, or one for each; none: all layers.
  std::optional<std::vector<std::int64_t>> recompute_layers;
  bool flat_zero_shards = true;  ///< the data and fsdp axes split weights as flat runs, not along a dimension
  bool matrix_owners = false;    ///< gradients are reduced to the owner of their matrix, which broadcasts the update
};

/// The routing of tokens to experts.
struct RoutingSpec {
  std::optional<double>
      capacity_factor;   ///< slots of an expert over its fair share, all of them sent and computed; none: dropless
  double variation = 0;  ///< of dropless loads, see ExpertLoad
  /// Counted tokens of every expert, by layer with experts in forward order; one list: of all layers; empty: none.
  std::vector<std::vector<double>> loads = {};
  std::uint64_t seed = 1;
};

struct PipelineSpec {
  std::string schedule = "1f1b";
  std::filesystem::path file;                          ///< a CSV with the order, instead of a schedule by name
  std::optional<workloads::StagePlacement> placement;  ///< of a file's stages, or a design's; none: the schedule's own
  std::optional<std::int32_t> chunks;                  ///< none: the schedule's usual number
  std::optional<std::int32_t> group;
  std::int32_t slices = 1;  ///< of a microbatch's sequence, which pass one by one
  bool equal_work = false;  ///< slices are as long as makes their FLOPs equal; else all are equally long
  std::vector<double> memory_limit;
  std::vector<std::int64_t> layers;  ///< of each stage of the model; empty: even
  bool layers_by_speed = false;      ///< instead: so that the slowest stage takes as little time as possible
  workloads::PipelineLayout layout;  ///< instead of both: what stands on each stage; empty: none
};

struct Scenario {
  std::string name;                              ///< the file's stem
  workloads::Model model;                        ///< only its name where steps are replayed
  std::optional<workloads::ReplayModel> replay;  ///< instead of a model: measured operations
  topologies::ClusterSpec cluster;
  std::vector<topologies::AxisRequest> mesh;  ///< logical axes, innermost first
  workloads::Parallel parallel;               ///< sizes are the mesh's; zero and sequence_parallel are read here
  workloads::PlanOverrides plan;
  PipelineSpec pipeline;
  BatchSpec batch;
  LengthsSpec lengths;
  TrainingSpec training;
  RoutingSpec routing;
  workloads::BlockOptions blocks;
  cost::TimeModel time_model = cost::TimeModel::ideal;
  bool time_model_chosen = false;  ///< the file names it; if not, it is calibrated where all chips' kernels are known
  std::vector<program::Perturbation> perturbations;
  /// What differs from step to step: jitter, stragglers and flaky links, whose seeds are those of a step's first draw.
  std::vector<program::Perturbation> variations;
  std::optional<ReliabilitySpec> reliability;
  workloads::DerivePolicy derive;
  workloads::StepOptions step;
  program::LowerOptions lower;
  SearchSpec search;  ///< only `lockstep plan` looks at it
  collectives::CollectiveRules collectives;

  /// Chips of the slice.
  [[nodiscard]] std::int64_t chips() const;
  /// The location of a key such as "mesh.tensor", for problems that are found later; if the file lacks the key, the
  /// location of the nearest key above it.
  [[nodiscard]] Location where(std::string key) const;
  std::map<std::string, Location> places;
};

struct KeyOverride {
  std::string path;   ///< dotted
  std::string value;  ///< YAML
};

/// Reads and validates a scenario file. Every problem of the file is in the ConfigError.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& file, const std::vector<KeyOverride>& overrides = {});

/// As load_scenario, for a text. `name` takes the place of the file in error locations, and the paths of files that
/// the text names are relative to `folder`.
[[nodiscard]] Scenario scenario_of_text(std::string_view text, const std::string& name,
                                        const std::filesystem::path& folder);

/// The list under `perturbations`; problems go to the view's sink.
[[nodiscard]] std::vector<program::Perturbation> read_perturbations(const YamlView& list);

/// The list under `variations`.
[[nodiscard]] std::vector<program::Perturbation> read_variations(const YamlView& list);

/// Every key that the loader knows, dotted, in reading order (a test holds docs/scenario_reference.md to it).
[[nodiscard]] std::vector<std::string> scenario_keys();

/// Reads the cluster shorthand "tpu-v5p:16x20x28", "tpu-v5p:2x16x20x28" (two pods over DCN), "h100:64" (64 nodes);
/// problems are placed at the given location.
[[nodiscard]] topologies::ClusterSpec parse_cluster(std::string_view text, const Location& where,
                                                    const std::string& key, Problems& problems);
/// A chip of the catalog.
[[nodiscard]] topologies::Chip chip_named(const std::string& name, const Location& where, const std::string& key,
                                          Problems& problems);
/// Reads a cluster written as a map; file names are seen from `folder`.
[[nodiscard]] topologies::ClusterSpec read_cluster(const YamlView& view, const std::filesystem::path& folder,
                                                   Problems& problems);
/// Problems if such a cluster cannot be built.
void check_cluster(const topologies::ClusterSpec& spec, const Location& where, const std::string& key,
                   Problems& problems);
/// The text of what is expected in place of a name that the catalog does not have: the nearest name, or all names.
[[nodiscard]] std::string catalog_name(const std::string& word, const std::vector<std::string>& names,
                                       const std::string& other = "");

/// Folder with topologies/catalog and workloads/catalog: $LOCKSTEP_DATA, else the source tree that this
/// program was built from, else <prefix>/share/lockstep beside the program.
[[nodiscard]] std::filesystem::path data_root();

}  // namespace lockstep::scenario
