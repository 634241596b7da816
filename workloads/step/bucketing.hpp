#pragma once
/// Which collectives of weights and gradients become one. Those of one kind over the same axes share a bucket, on all
/// of their arrays; how many arrays wait for a bucket is the unit's choice. The step builder, the joining of steps, the
/// cost of a layer and the planner's summaries ask here.
#include <algorithm>
#include <functional>

#include "sim/core/units.hpp"
#include "workloads/sharded_layers/matrix_owners.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"

namespace lockstep::workloads {

/// How the collectives of many matrices are merged.
struct Bucketing {
  enum class Unit { matrix, layer, size };
  Unit unit = Unit::layer;
  Bytes size{0};  ///< Unit::size: a bucket is sent when it holds at least this (gradients only)

  /// Whether a bucket holds more than one matrix.
  [[nodiscard]] bool merges() const { return unit != Unit::matrix; }
  /// Whether a layer's buckets are sent when its backward ends.
  [[nodiscard]] bool ends_with_layer() const { return unit == Unit::layer; }
  /// Whether a bucket may hold matrices of several layers.
  [[nodiscard]] bool reaches_over_layers() const { return unit == Unit::size; }
  /// Whether a bucket that holds `held` is sent at once. Otherwise it waits for more, at most until its layer ends
  /// (Unit::layer) or until the step needs it (Unit::size).
  [[nodiscard]] bool is_full(Bytes held) const { return !merges() || (reaches_over_layers() && held >= size); }
};

/// What collectives that share a bucket have in common.
struct BucketKey {
  CollectiveKind kind;
  const AxisNames& axes;
};
/// A matrix with an owner among the ranks never shares a bucket, not even with its own of another microbatch.
[[nodiscard]] inline bool share_a_bucket(const BucketKey& one, const BucketKey& other) {
  return one.kind == other.kind && one.axes == other.axes && !has_owner(one.kind);
}
[[nodiscard]] inline bool share_a_bucket(const DerivedCollective& one, const DerivedCollective& other) {
  return share_a_bucket(BucketKey{one.kind, one.axes}, BucketKey{other.kind, other.axes});
}
[[nodiscard]] inline bool share_a_bucket(const BlockStep& one, const BlockStep& other) {
  return share_a_bucket(BucketKey{one.collective, one.axes}, BucketKey{other.collective, other.axes});
}
/// Chains of collectives, one after the other, share buckets if each of their collectives does.
template <class Chain, class Projection = std::identity>
[[nodiscard]] bool chains_share_buckets(const Chain& one, const Chain& other, Projection collective = {}) {
  return std::ranges::equal(
      one, other, [](const DerivedCollective& a, const DerivedCollective& b) { return share_a_bucket(a, b); },
      collective, collective);
}

}  // namespace lockstep::workloads
