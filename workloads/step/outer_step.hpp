#pragma once
/// The outer step of local updates: what all ranks do to bring one fragment of the model together again.
///   outer gradient = global parameters, on which all sites agreed, - own parameters, in the precision of the reduction
///   reduction: all-reduce of the outer gradients of all sites
///   outer update: Nesterov momentum; the result takes the place of the own parameters, on all ranks that store them
/// docs/models/local_updates.md
#include <vector>

#include "workloads/step/build_step.hpp"

namespace lockstep::workloads {

struct OuterStep {
  StepGraph graph;
  OpId first_after = 0;          ///< these operations and those behind them also wait for the inner steps of the delay
  std::vector<OpId> reductions;  ///< one for each stage that holds some of the fragment
};

/// The outer step of a fragment, for the local updates in `options`. Arguments as of build_step.
[[nodiscard]] OuterStep build_outer_step(const ShardedLayers& kinds, const StepPipeline& pipeline,
                                         const StepOptions& options, std::int64_t fragment);

/// Whether two outer steps do the same.
[[nodiscard]] bool do_the_same(const OuterStep& one, const OuterStep& other);

}  // namespace lockstep::workloads
