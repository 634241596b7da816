#pragma once
/// The state that optimizers keep for each weight, and the part of its sharding that they depend on.
#include <string_view>

#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

enum class OptimizerKind { adam, sgd, adafactor, muon };  ///< muon: of matrices; the rest is AdamW's
[[nodiscard]] std::string_view name(OptimizerKind kind);

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adam;
  Bytes moment{4};              ///< of one element of a moment: fp32, or bf16
  bool momentum = false;        ///< sgd: one moment instead of none
  bool master_weights = false;  ///< an fp32 copy of the weights besides
  MuonSpec muon{};
};

/// Whether a weight is updated by Muon.
[[nodiscard]] bool by_muon(const OptimizerSpec& spec, const WeightUpdate& update);

/// Bytes that one rank keeps for its optimizer shard of a weight.
[[nodiscard]] Bytes state_of(const OptimizerSpec& spec, const WeightUpdate& update);

/// Bytes that one rank reads and writes to update its shard of a weight: gradient and state read, state written, the
/// weight read and written as it is stored.
[[nodiscard]] Bytes update_traffic(const OptimizerSpec& spec, Bytes gradient_element, const WeightUpdate& update);

/// Fills in what updates of a block need to know beyond their derivation: factored_elements, matrices and split_over.
void complete_updates(ShardedLayer& derived, const Block& block, const Plan& plan, const Sizes& sizes);

/// Decides how each of Muon's matrices is shared. With layer_wise, gradients go whole to all ranks that would otherwise
/// get a piece each.
[[nodiscard]] NotShared share_matrices(ShardedLayer& derived, const MuonSpec& spec);

}  // namespace lockstep::workloads
