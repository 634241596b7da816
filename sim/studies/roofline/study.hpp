#pragma once
/// The roofline of a scenario: closed forms beside simulated values.
#include <functional>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/memory_fit.hpp"
#include "sim/studies/roofline/closed_forms.hpp"

namespace lockstep::roofline {

/// FSDP over the first `axes` axes of the cluster: when does it hide behind compute?
struct FsdpThreshold {
  std::string group;  ///< "16x20"
  double book;        ///< C / (W M)
  double exact;       ///< with the group's real rings and lines instead of the large-X form
  double simulated;   ///< by bisection on a deep two-matmul model
};

/// Tensor parallelism over one wrapped axis, products overlapped with their collectives.
struct TensorLimit {
  double book;             ///< M_Y F W / C with M_Y = 1
  std::int64_t simulated;  ///< largest size tried that exposes nothing
  std::vector<std::int64_t> tried;
};

/// One way of splitting the chips between FSDP and tensor parallelism.
struct Split {
  MixedPlan plan;
  Seconds math, fsdp, tensor;  ///< book's closed forms, forward, one layer
  std::string placement;       ///< of the default placement
  Seconds without_contention;  ///< step time
  Seconds with_contention;     ///< step time
  studies::Fit fit = studies::Fit::fits;
  std::string refused;  ///< why it cannot run; empty if it can
};

struct RooflineStudy {
  ChipBalance balance;
  LayerShape layer;
  std::int64_t chips = 0;
  int fsdp_axes = 1, tensor_axes = 1;  ///< M_X and M_Y that the closed forms assume
  double tokens_per_chip = 0;
  double best_fsdp = 0;
  double mixed_need = 0;
  MixedPlan named;  ///< what the closed forms name
  bool fsdp_alone_hides = false;
  std::vector<FsdpThreshold> thresholds;
  TensorLimit tensor;
  std::vector<Split> splits;
};

/// `progress` is told what is being simulated.
[[nodiscard]] RooflineStudy study_roofline(const scenario::Scenario& scenario, spdlog::logger& log,
                                           const std::function<void(std::string_view, double)>& progress);

/// Four of the book's layers of two products, with the scenario's sizes and training and without a cluster.
[[nodiscard]] scenario::Scenario layers_of_the_book(const scenario::Scenario& scenario);

/// Step time of one rank without contention (closed-form collectives), and its memory.
struct Estimate {
  Seconds step_time;
  Seconds exposed_comm;
  metrics::MemoryUse memory;
};
[[nodiscard]] Estimate estimate_one_rank(const scenario::Scenario& scenario,
                                         const preparation::PreparedStep& preparation, spdlog::logger& log);

}  // namespace lockstep::roofline
