#pragma once
/// Muon's work on the matrices of a block, as the step does it and as bounds count it.
#include <vector>

#include "workloads/sharded_layers/optimizer.hpp"

namespace lockstep::workloads {

/// Matrices that come together over the same axes, for as many owners: they go through the steps in one operation.
struct MuonGroup {
  MuonWork work;
  KernelShape shape;  ///< of the largest matrix
};
/// None with another optimizer. In an order that the weights determine.
[[nodiscard]] std::vector<MuonGroup> muon_groups(const OptimizerSpec& spec,
                                                 const std::vector<const WeightUpdate*>& weights);

}  // namespace lockstep::workloads
