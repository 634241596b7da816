#pragma once
/// Sizes of dimensions and mesh axes, and what one rank holds of a sharded tensor.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sim/core/units.hpp"
#include "workloads/sharding/notation.hpp"

namespace lockstep {

struct DimSize {
  std::int64_t size = 1;
  bool must_divide = false;  ///< tokens and heads: an axis that does not divide them is an error, not padding
};

struct Sizes {
  std::map<std::string, DimSize> dims;
  std::map<std::string, std::int64_t> axes;
  /// Axes that split an array as one flat run of elements (ZeRO shards of most frameworks), so that padding
  /// is less than one element per rank; other axes split each dimension by itself and pad it.
  std::set<std::string> flat_axes{};

  [[nodiscard]] std::int64_t dim(const std::string& name) const;           ///< throws ShardingError if unknown
  [[nodiscard]] std::int64_t product(const AxisNames& axes) const;
  /// What one rank holds of a dimension: ceil(size / product of its axes).
  [[nodiscard]] std::int64_t local(const ShardedDim& dim) const;
  /// Elements of one rank's shard, padding included.
  [[nodiscard]] std::int64_t local_elements(const ShardedTensor& tensor) const;
  /// Elements that all shards together hold beyond the array's own, in units of one copy.
  [[nodiscard]] std::int64_t padding_elements(const ShardedTensor& tensor) const;
  /// Throws ShardingError naming the axis when a must_divide dimension is not divided.
  void check_divides(const ShardedTensor& tensor) const;
  /// The same of a weight, its gradient or state, for which flat axes need not divide anything.
  void check_weight_divides(const ShardedTensor& tensor) const;
};

}  // namespace lockstep
