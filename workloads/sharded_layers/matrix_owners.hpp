#pragma once
/// Optimizers that split their state matrix by matrix: each matrix has one owner among the ranks that would otherwise
/// hold a piece each.
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// What would be scattered over those ranks after the last microbatch is reduced to the owner, and what would be
/// gathered from them is broadcast by it, the same bytes. Shards, and with them memory and the work of the update, stay
/// even.
void give_matrices_to_owners(ShardedLayer& derived);

/// Whether a collective starts or ends at an owner: it cannot be merged with that of another matrix.
[[nodiscard]] bool has_owner(const DerivedCollective& collective);
[[nodiscard]] bool has_owner(CollectiveKind kind);

}  // namespace lockstep::workloads
