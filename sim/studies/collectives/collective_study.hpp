#pragma once
/// One collective by itself, over message sizes and algorithms, as a benchmark would time it.
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/files/chunk_schedule.hpp"
#include "sim/collectives/lower_bound.hpp"
#include "sim/metrics/link_loads.hpp"
#include "sim/program/perturb.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::studies {

struct MeasuredCollective {
  Bytes size;  ///< as nccl-tests print it: the larger buffer of one rank
  Seconds time, closed_form;
  Seconds latency;              ///< the part of `time` in which no flow runs
  std::optional<Seconds> book;  ///< on a torus
  std::string algorithm;
  std::vector<metrics::LinkLoad> loads;  ///< of its own time
};

/// A collective designed for the groups (sim/collectives/designed.hpp), as it runs at the largest size.
struct DesignedCollective {
  /// Bytes per second of each rank's share of the array: what links allow, and what the trees reach.
  double best_rate = 0, rate = 0;
  int trees = 0, depth = 0, pieces = 0;  ///< the depth of both passes of an all-reduce together
  std::int64_t steps = 0;                ///< of all connections together
  std::string program;                   ///< as MSCCL's XML
};

struct CollectiveStudy {
  std::vector<MeasuredCollective> chosen;             ///< by size
  std::vector<MeasuredCollective> others;             ///< by size, then algorithm: what else could have served
  std::optional<collectives::CollectiveBound> bound;  ///< of all groups at once, no link slow or missing
  std::optional<DesignedCollective> designed;         ///< if that was wanted
  /// For a designed collective: the bound where the cuts that bind carry a tenth more.
  std::optional<collectives::WiderCuts> wider = {};
};

/// All groups along `axis` run the collective at once, one size (as nccl-tests print it) after the other, on SimGrid.
/// `wanted`: one of the model's algorithms for every size, "designed" for one made for these groups and links as they
/// are (some slow), which runs transfer by transfer as a file's would, or empty for the cheapest. `perturbations`: what
/// why_not accepts, the cluster avoiding what is missing in its networks. Throws NoRoute where no way is left.
/// `schedule`: an algorithm from a file, of this kind, which takes the place of the one chosen.
[[nodiscard]] CollectiveStudy study_collective(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                                               const collectives::CollectiveRules& rules, const std::string& axis,
                                               workloads::CollectiveKind kind, const std::vector<Bytes>& sizes,
                                               const std::string& wanted, bool with_others,
                                               const std::vector<program::Perturbation>& perturbations,
                                               spdlog::logger& log,
                                               const collectives::ChunkSchedule* schedule = nullptr);

/// "gpu 0>nvswitch 0 and 511 alike": the link that is busy longest, how many others are as busy, or "latency" if on a
/// network that takes longer than all bytes.
[[nodiscard]] std::string bottleneck(const topologies::Cluster& cluster, const MeasuredCollective& measured);

}  // namespace lockstep::studies
