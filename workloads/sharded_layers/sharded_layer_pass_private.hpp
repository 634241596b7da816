#pragma once
/// The list of steps of one pass while it is written, and the arrays it makes.
#include <string>
#include <utility>
#include <vector>

#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/sharded_layers/unique_ids_private.hpp"

namespace lockstep::workloads {

using StepIds = UniqueIds;

/// An array in one sharding, who makes it, and which step's output buffer holds it.
struct Version {
  ShardedTensor sharding;
  StepIds producers;
  int buffer = BlockStep::outside;
  StepIds saved{};  ///< backward: forward buffers that whoever reads it first reads
};

/// The steps that a step waits for and, in the backward, the forward buffers that it reads.
struct Reads {
  StepIds after;
  StepIds saved{};
};

/// Forward and backward are lists of steps; this is one of them while it is written.
class Pass {
 public:
  Pass(BlockSteps& steps, const Sizes& sizes) : steps_(steps), sizes_(sizes) {}

  int compute(std::string name, std::string detail, Reads reads, Flops flops, Bytes traffic, Bytes output,
              MemoryKind kind = MemoryKind::activations);
  int collective(const DerivedCollective& derived, CollectiveRole role, StepIds after, Bytes element);
  /// Time for which the host, and so the chip, waits before it goes on.
  int wait_of_host(std::string name, Seconds time, StepIds after);
  /// Runs a chain of collectives one after the other; a free slice adds no step.
  Version chain(Version from, const std::vector<DerivedCollective>& collectives, const ShardedTensor& to,
                CollectiveRole role, Bytes element);
  /// A sum of arrays that `producers` leave: each adds to what the earlier ones left, so that only those that no
  /// other follows are to be waited for.
  [[nodiscard]] StepIds accumulated(const StepIds& producers);

  /// Whether the steps to come do the work of routed tokens; returns what held before.
  bool routed(bool yes) { return std::exchange(routed_, yes); }

  BlockStep& operator[](int id) { return steps_[id]; }

 private:
  int add(BlockStep step);
  [[nodiscard]] bool follows(int later, int earlier) const;

  BlockSteps& steps_;
  const Sizes& sizes_;
  bool routed_ = false;
};

}  // namespace lockstep::workloads
