#pragma once
/// Collectives on groups that are products of rings and lines (tori, and parts of them).
/// For every kind there is `plan`, the phases of flows that the engine runs, and `cost`, the closed form
/// without contention from others. Both take full_size, the bytes of the group's whole array V.
///
/// A group of N members with dimensions d of X_d positions keeps all dimensions busy until the end: data
/// is split over them by their bandwidth (rings 2 W / sharing: both directions; lines W / sharing, since
/// the link next to an end must carry all other shards one way). docs/models/collectives.md derives this.
#include <string>
#include <vector>

#include "sim/collectives/phases.hpp"
#include "sim/core/units.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/sharding/collective_kind.hpp"

namespace lockstep::collectives {

using Dimensions = topologies::GroupDimensions;

[[nodiscard]] int members(const Dimensions& dimensions);

/// Flow slots of one dimension: a ring has one per direction (the whole ring moves in lock-step), a line
/// one per hop and direction (its hops carry different amounts).
struct SlotLayout {
  explicit SlotLayout(const Dimensions& dimensions);
  [[nodiscard]] std::int32_t ring(topologies::DimensionId dimension, int direction) const;
  [[nodiscard]] std::int32_t hop(topologies::DimensionId dimension, int direction, int position) const;
  std::int32_t total = 0;

 private:
  Indexed<topologies::DimensionId, SlotId> first_;
  Indexed<topologies::DimensionId, int> hops_;
};

/// The bytes that one link of each slot carries, for a fabric-independent algorithm on this group.
[[nodiscard]] std::vector<Phase> plan(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size);
/// Time without contention from other collectives: latency + bytes / bandwidth.
[[nodiscard]] Seconds cost(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size);
/// The book's large-X form on wrapped axes: V / W_bidi per axis count, all-reduce twice, all-to-all a
/// quarter of its slowest axis; on a line hops of V/X; no latency. Printed beside cost by `roofline` and
/// `collective`.
[[nodiscard]] Seconds book_cost(workloads::CollectiveKind kind, const Dimensions& dimensions, Bytes full_size);
/// "bidirectional ring", "line", "3-axis torus ...": for tables.
[[nodiscard]] std::string algorithm_name(workloads::CollectiveKind kind, const Dimensions& dimensions);

/// Bus bandwidth factor as nccl-tests define it: busbw = algbw x factor(N).
[[nodiscard]] double bus_factor(workloads::CollectiveKind kind, int members);

}  // namespace lockstep::collectives
