#pragma once
/// The roofline of clusters that are no single torus: nodes of GPUs on any fabric or graph, and pods over a data-centre
/// network. When does the communication of FSDP inside a node, of FSDP over all chips, and of data parallelism between
/// pods hide behind compute?
#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::roofline {

/// A batch, and the exposed communication of a layer there as a share of the layer's compute.
struct ExposedPoint {
  double tokens_per_chip = 0, line = 0, simulated = 0;
};

/// One level of the network that a layer's weights or gradients cross.
struct NetworkLevel {
  std::string group;                   ///< "FSDP over 8 chips of a node"
  BytesPerSecond bandwidth;            ///< at which the book's form moves the array past a chip
  double book = 0;                     ///< tokens per chip above which it hides: C over that
  double exact = 0;                    ///< the same with what the collective costs on this network
  double simulated = 0;                ///< by bisection on a deep two-matmul model
  std::int64_t unit = 1;               ///< chips of a pod, where tokens of a pod are the usual measure; else 1
  std::vector<ExposedPoint> points{};  ///< around the exact threshold
};

struct NetworkRoofline {
  FlopsPerSecond flops;
  std::int64_t chips = 0;
  double tokens_per_chip = 0;
  std::vector<NetworkLevel> levels;
};

/// Whether the closed forms of one torus (study.hpp) do not apply.
[[nodiscard]] bool is_network(const scenario::Scenario& scenario);
/// Throws ConfigError for a replay, which has no FLOPs. `progress` is told what is being simulated.
[[nodiscard]] NetworkRoofline study_network(const scenario::Scenario& scenario, spdlog::logger& log,
                                            const std::function<void(std::string_view, double)>& progress);

}  // namespace lockstep::roofline
