#pragma once
/// Sharding notation: `Win[D_X, F_Y]` is an array with dimensions D and F, D split over mesh axis X and
/// F over Y; `B_XY` (or `B_{data,fsdp}` for longer names) is split over the product of two axes,
/// outermost first; `{U_X}` after the brackets says that the array is a partial sum still to be reduced over X.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::workloads {

using AxisNames = std::vector<std::string>;
[[nodiscard]] bool contains(const AxisNames& axes, std::string_view axis);

struct ShardedDim {
  std::string name;
  AxisNames axes;  ///< outermost first
  friend bool operator==(const ShardedDim&, const ShardedDim&) = default;
};

struct ShardedTensor {
  std::string name;
  std::vector<ShardedDim> dims;
  AxisNames partial;  ///< {U_...}: axes over which the values are still to be summed
  friend bool operator==(const ShardedTensor&, const ShardedTensor&) = default;

  [[nodiscard]] const ShardedDim* find(std::string_view dim) const;  ///< null when it has no such dimension
  [[nodiscard]] ShardedDim* find(std::string_view dim);
  /// The dimension that `axis` shards, or null.
  [[nodiscard]] const ShardedDim* sharded_by(std::string_view axis) const;
  [[nodiscard]] bool is_partial_over(std::string_view axis) const;
  /// Same dimensions split the same way (the name does not matter).
  [[nodiscard]] bool same_sharding(const ShardedTensor& other) const;
  [[nodiscard]] std::string to_string() const;
};

/// One matrix product (or any two-operand einsum): left * right -> result.
/// Dimensions on both inputs and not on the result are contracted.
struct Einsum {
  ShardedTensor left;
  ShardedTensor right;
  ShardedTensor result;
  [[nodiscard]] std::string to_string() const;
};

/// Thrown for an impossible sharding; `axis` names the mesh axis at fault (may be empty), `column` counts from 1 inside
/// the notation's text (0: not a place in text).
class ShardingError : public std::runtime_error {
 public:
  ShardingError(std::string axis, std::string what, std::string expected, int column = 0);
  [[nodiscard]] const std::string& axis() const { return axis_; }
  [[nodiscard]] const std::string& what_is_wrong() const { return what_; }
  [[nodiscard]] const std::string& expected() const { return expected_; }
  [[nodiscard]] int column() const { return column_; }

 private:
  std::string axis_, what_, expected_;
  int column_;
};

/// Parses one tensor. `axes` are the mesh axes that exist: a subscript is one of them, several
/// one-letter ones in a row, or a list in braces. Throws ShardingError (unknown axis, an axis used
/// twice in the tensor, a dimension named twice, anything that is not the notation).
[[nodiscard]] ShardedTensor parse_tensor(std::string_view text, const AxisNames& axes);
/// Parses `A[...] * B[...] -> C[...]`. Throws ShardingError.
[[nodiscard]] Einsum parse_einsum(std::string_view text, const AxisNames& axes);

/// "XY" for one-letter axes, "{data,fsdp}" or "fsdp" otherwise.
[[nodiscard]] std::string subscript(const AxisNames& axes);

}  // namespace lockstep::workloads
