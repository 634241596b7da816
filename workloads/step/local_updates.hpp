#pragma once
/// Training whose replicas along one axis of the mesh, the sites, take their steps apart and meet only now and then:
/// local updates, DiLoCo (arXiv 2311.08105), Streaming DiLoCo (arXiv 2501.18512). docs/models/local_updates.md
#include <cstdint>
#include <string>

#include "sim/core/units.hpp"
#include "workloads/pipeline/ids.hpp"

namespace lockstep::workloads {

struct LocalUpdates {
  std::string axis = "data";     ///< of the mesh: a site is one position on it
  std::int64_t inner_steps = 1;  ///< H: so many steps lie between two reductions of one parameter
  std::int64_t fragments = 1;    ///< P: parts of the model that are reduced one after the other
  bool in_runs = false;          ///< a fragment is a run of blocks; else every P-th block
  std::int64_t delay = 0;        ///< tau: inner steps beside which a reduction may run; at most steps_between
  std::int64_t bits = 32;        ///< of an element, as the reduction carries it
  bool on_host = false;          ///< where the outer optimizer and its state are

  /// Inner steps from the beginning of one fragment's reduction to that of the next.
  [[nodiscard]] std::int64_t steps_between() const { return inner_steps / fragments; }
  /// Bytes of so many elements in a reduction.
  [[nodiscard]] Bytes reduced(std::int64_t elements) const { return Bytes((elements * bits + 7) / 8); }
  /// The fragment of a block of a model of so many blocks.
  [[nodiscard]] std::int64_t fragment_of(BlockId block, std::int64_t blocks) const {
    return in_runs ? block * fragments / blocks : block % fragments;
  }
  friend bool operator==(const LocalUpdates&, const LocalUpdates&) = default;
};

/// What the outer optimizer (Nesterov momentum) keeps of each element of a rank's optimizer shard: the global
/// parameters, on which all sites agreed, and the momentum, both in fp32.
inline constexpr Bytes outer_state_element{8};

}  // namespace lockstep::workloads
