#pragma once
/// What training in 8 bits changes in a derived block. Only the layers' products run in 8 bits; arrays are stored, and
/// unless said otherwise moved, in 16.
#include "workloads/derived_block.hpp"

namespace lockstep {

/// The product that makes logits stays in 16 bits, forward and backward: their errors do not average out.
void keep_unembedding_in_16_bits(DerivedBlock& derived, const Block& block);

/// Weights that only products read are cast to 8 bits before they are gathered: half the bytes to move and to hold.
void gather_weights_in_8_bits(DerivedBlock& block);

}  // namespace lockstep
