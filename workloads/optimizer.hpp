#pragma once
/// What optimizers keep for each weight, and what they need to know of its sharding.
#include <string_view>

#include "workloads/derived_block.hpp"

namespace lockstep {

enum class OptimizerKind { adam, sgd, adafactor };
[[nodiscard]] std::string_view name(OptimizerKind kind);

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adam;
  Bytes moment{4};              ///< of one element of a moment: fp32, or bf16
  bool momentum = false;        ///< sgd: one moment instead of none
  bool master_weights = false;  ///< an fp32 copy of the weights besides
};

/// Bytes that one rank keeps for its optimizer shard of a weight.
[[nodiscard]] Bytes state_of(const OptimizerSpec& spec, const WeightUpdate& update);

/// Fills in what updates of a block need to know beyond their derivation: factored_elements and split_over.
void complete_updates(DerivedBlock& derived, const Block& block, const Plan& plan, const Sizes& sizes);

}  // namespace lockstep
