#pragma once
/// The rule engine: from the shardings of two operands and of the wanted result alone it derives which
/// collectives a product needs. Everything else (DP, ZeRO, tensor and sequence parallel, their mixes)
/// is a choice of shardings. Rules, for left * right -> result:
///   1. a contracted dimension split alike on both sides: multiply locally, the result is a partial sum;
///   2. split on one side only: gather that side, or slice the other (free) and let the result be partial,
///      whichever moves fewer bytes; slicing is impossible where the axis already splits the other operand;
///   3. an axis that splits a kept dimension of both operands: gather the operand whose dimension the
///      result does not want split over it, else the smaller;
///   4. settle the result: partial and wanted on a dimension -> reduce-scatter; partial and not wanted ->
///      all-reduce; moved between dimensions -> all-to-all; gone -> all-gather; new -> local slice, free.
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "workloads/sharding/collective_kind.hpp"
#include "workloads/sharding/notation.hpp"
#include "workloads/sharding/sizes.hpp"

namespace lockstep::workloads {

struct DerivedCollective {
  CollectiveKind kind;
  AxisNames axes;
  ShardedTensor before;
  ShardedTensor after;
  Bytes full_size;     ///< of the group's whole array: all shards along `axes`, still split over other axes
  std::string reason;  ///< the rule that made it
  [[nodiscard]] std::string to_string() const;  ///< "AllGather_Y In[B_X, D_Y] -> In[B_X, D]"
};

struct Derivation {
  std::vector<DerivedCollective> left;    ///< before the product, on the left operand
  std::vector<DerivedCollective> right;   ///< before the product, on the right operand
  Einsum local;                           ///< what each rank multiplies; its result may be partial
  Flops flops;                            ///< of one rank: 2 x the product of all local dimensions
  std::vector<DerivedCollective> result;  ///< after the product
};

enum class OneSided { fewer_bytes, gather, slice };  ///< rule 2's choice, when a plan wants to make it

struct DeriveOptions {
  Bytes left_element{2};
  Bytes right_element{2};
  Bytes result_element{2};
  OneSided one_sided = OneSided::fewer_bytes;
  AxisNames also_partial{};  ///< the result is a share of a sum over these too, whatever the operands say: gradients of
                             ///< copies
};

/// Throws ShardingError naming the axis for an invalid sharding (an axis twice in one tensor, a wanted
/// partial sum that does not arise, a dimension of unknown size, tokens or heads not divided).
[[nodiscard]] Derivation derive(const Einsum& einsum, const Sizes& sizes, const DeriveOptions& options = {});

/// Rule 4 by itself: the collectives that turn one sharding of an array into another.
[[nodiscard]] std::vector<DerivedCollective> settle(const ShardedTensor& from, const ShardedTensor& to,
                                                    const Sizes& sizes, Bytes element);

/// The tensor with the given axes removed from its dimensions.
[[nodiscard]] ShardedTensor gathered(ShardedTensor tensor, const AxisNames& axes);

}  // namespace lockstep::workloads
