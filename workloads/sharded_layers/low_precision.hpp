#pragma once
/// Changes of a sharded layer for training in 8 bits or 4. Only the layers' products run in them; arrays are stored
/// and, unless a function below changes that, moved in 16.
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// The product that makes logits stays in 16 bits, forward and backward: their errors do not average out.
void keep_unembedding_in_16_bits(ShardedLayer& derived, const Block& block);

/// Operands become narrow in kernels of their own, which move so many bytes for each value: 2 read, and those written
/// as they are and transposed, since the weight's gradient multiplies along the other dimension. Each once: in the
/// forward for all products that read it, of which those that a norm makes move `of_norms` bytes, 0 where it writes the
/// narrow array itself; in the backward the gradient of each product's result.
void cast_operands(ShardedLayer& derived, const Block& block, double bytes_per_value, double of_norms = 0);

/// Activations that only products read were derived with gathers of 1 byte a value, and travel in `stored`: operands of
/// one product along the dimension that it sums over, gradients, which two products read, in both ways. What is
/// gathered again from a copy that is kept in 16 bits (`kept_narrow` false) stays as it is.
void narrow_activation_gathers(ShardedLayer& derived, double stored, bool kept_narrow);

/// Weights that only products read are cast before they are gathered, for a pass or after their update: `stored` bytes
/// for each of the 2 to move, and of those gathered for a pass to hold. Where forward and backward need two casts
/// (`one_cast` false: MXFP8, whose scales lie along one dimension), weights that are gathered once for both travel in
/// 16 bits and are cast twice where they arrive, as Megatron does.
void gather_quantised_weights(ShardedLayer& derived, const Block& block, double stored, bool one_cast = true);

/// Weights that the layers' products read lie in `stored` bytes beside the stored ones for the whole step, in so many
/// copies: one, or a second one that is transposed, since narrow products read both operands along the dimension that
/// they sum over.
void keep_quantised_weights(ShardedLayer& derived, const Block& block, int copies, double stored);

}  // namespace lockstep::workloads
