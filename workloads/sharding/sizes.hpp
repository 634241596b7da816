#pragma once
/// Sizes of dimensions and mesh axes, and what one rank holds of a sharded tensor.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sim/core/units.hpp"
#include "workloads/sharding/notation.hpp"

namespace lockstep::workloads {

struct DimSize {
  std::int64_t size = 1;
  bool must_divide = false;  ///< tokens and heads: an axis that does not divide them is an error, not padding
  bool may_copy = false;     ///< where ranks are a multiple of it, each may have one to itself (key-value heads)
  std::int64_t copies = 1;   ///< of each, on ranks that follow one another
  AxisNames copied_over{};   ///< parts of axes (mesh.hpp) whose ranks have copies of the same
};

struct Sizes {
  std::map<std::string, DimSize> dims;
  std::map<std::string, std::int64_t> axes;
  /// Axes that split an array as one flat run of elements (ZeRO shards of most frameworks), so that padding
  /// is less than one element per rank; other axes split each dimension by itself and pad it.
  std::set<std::string> flat_axes{};

  /// With copies, which the ranks hold and compute as if they were not. Throws ShardingError if unknown.
  [[nodiscard]] std::int64_t dim(const std::string& name) const;
  /// Elements of an array without copies.
  [[nodiscard]] std::int64_t own_elements(const std::vector<std::string>& names) const;
  /// Gives every rank along `axes`, outermost first, a part of a dimension to itself: copies where it may copy and the
  /// ranks are a multiple of its size; else nothing changes.
  void copy_over(const std::string& name, const AxisNames& axes);
  /// Parts of axes whose ranks have copies of the same parts of an array. A gradient that each computes is a partial
  /// sum over them.
  [[nodiscard]] AxisNames copied_over(const ShardedTensor& tensor) const;
  /// The product of the sizes of axes and of parts of axes.
  [[nodiscard]] std::int64_t product(const AxisNames& axes) const;
  /// The size of a dimension on one rank: ceil(size / product of its axes).
  [[nodiscard]] std::int64_t local(const ShardedDim& dim) const;
  /// Elements of one rank's shard, padding included.
  [[nodiscard]] std::int64_t local_elements(const ShardedTensor& tensor) const;
  /// Elements that all shards together hold beyond the array's own, in units of one copy.
  [[nodiscard]] std::int64_t padding_elements(const ShardedTensor& tensor) const;
  /// Throws ShardingError naming the axis when a must_divide dimension, copies counted, is not divided.
  void check_divides(const ShardedTensor& tensor) const;
  /// As check_divides, for a weight, its gradient or its state, of which flat axes need not divide any dimension.
  void check_weight_divides(const ShardedTensor& tensor) const;
};

}  // namespace lockstep::workloads
