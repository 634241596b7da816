#pragma once
/// Changes of a sharded layer for training in 8 bits or 4. Only the layers' products run in them; arrays are stored and,
/// unless a function below changes that, moved in 16.
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// The product that makes logits stays in 16 bits, forward and backward: their errors do not average out.
void keep_unembedding_in_16_bits(ShardedLayer& derived, const Block& block);

/// Operands become narrow in kernels of their own: 2 bytes read, and `operand_bytes` (1 for 8 bits) written twice, as
/// they are and transposed, since the weight's gradient multiplies along the other dimension. Each once: in the forward
/// for all products that read it, unless a norm makes it, which writes narrow elements itself; in the backward the
/// gradient of each product's result.
void cast_operands(ShardedLayer& derived, const Block& block, double operand_bytes);

/// Weights that only products read are cast to 8 bits before they are gathered, for a pass or after their update: half
/// the bytes to move, and of those gathered for a pass to hold.
void gather_weights_in_8_bits(ShardedLayer& derived, const Block& block);

/// Weights that the layers' products read lie in 8 bits beside the stored ones for the whole step, in so many copies:
/// one, or a second one that is transposed, since products in 8 bits read both operands along the dimension that they
/// sum over.
void keep_weights_in_8_bits(ShardedLayer& derived, const Block& block, int copies);

}  // namespace lockstep::workloads
