#pragma once
/// A tiny SPMD machine: every rank of a small mesh really holds its part of an integer array, and a derived
/// collective is carried out with nothing but what the ranks of one group hold.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/sharding/derive.hpp"

namespace lockstep::test {

using Index = std::vector<std::int64_t>;                  ///< by dimension, in the tensor's order
using Part = std::map<Index, std::int64_t>;               ///< what one rank holds of an array, at its global places
using Coordinates = std::map<std::string, std::int64_t>;  ///< of a rank on the mesh

/// A rank's place along an axis or a part of one (mesh.hpp).
std::int64_t place_along(const std::string& axis_or_part, const Coordinates& rank);
/// All ranks of the mesh that `sizes` describes.
std::vector<Coordinates> all_ranks(const workloads::Sizes& sizes);
/// Every index of the part that a rank holds under a sharding: on each dimension one block of size / axes. Copies have
/// the index of what they are copies of.
std::vector<Index> block_of(const workloads::ShardedTensor& tensor, const Coordinates& rank,
                            const workloads::Sizes& sizes);

/// An array over all ranks, in some sharding; partial sums are what they are.
class DistributedArray {
 public:
  /// Cut from whole values, which `value` gives.
  template <class Value>
  DistributedArray(workloads::ShardedTensor sharding, const workloads::Sizes& sizes, const Value& value)
      : sharding_(std::move(sharding)), sizes_(sizes) {
    for (const auto& rank : all_ranks(sizes)) {
      auto& part = parts_[rank];
      for (const auto& index : block_of(sharding_, rank, sizes)) part[index] = value(rank, index);
    }
  }

  /// Free: every rank keeps a block of what it holds. A failure if it does not hold that block.
  void slice(const workloads::ShardedTensor& to);
  /// Carries out one collective inside the groups along its axes.
  void run(const workloads::DerivedCollective& collective);

  [[nodiscard]] const workloads::ShardedTensor& sharding() const { return sharding_; }
  [[nodiscard]] const Part& part(const Coordinates& rank) const { return parts_.at(rank); }
  /// The value that the ranks agree on at an index that `rank` holds: summed over the partial axes.
  [[nodiscard]] std::int64_t value(const Coordinates& rank, const Index& index) const;

 private:
  [[nodiscard]] std::vector<Coordinates> group(const Coordinates& rank, const workloads::AxisNames& axes) const;

  workloads::ShardedTensor sharding_;
  const workloads::Sizes& sizes_;
  std::map<Coordinates, Part> parts_;
};

/// One matrix product on every rank, from the blocks it holds and nothing else.
DistributedArray multiply(const workloads::Einsum& local, const DistributedArray& left, const DistributedArray& right,
                          const workloads::Sizes& sizes);

}  // namespace lockstep::test
