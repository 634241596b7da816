#pragma once
/// The collectives that gradients go through to the optimizer and updated weights back, several weights at a time.
#include <map>
#include <utility>
#include <vector>

#include "workloads/step/step_writer_private.hpp"

namespace lockstep::workloads {

/// One collective after the other, for one weight.
struct CollectiveChain {
  enum class Of {
    each_microbatch,
    last_microbatch,
    update
  };  ///< the last microbatch runs those of each microbatch, and then more
  const WeightUpdate* weight = nullptr;
  Of of = Of::each_microbatch;
  std::vector<const DerivedCollective*> collectives;
  std::int32_t kind = 0;  ///< equal for chains of the same collectives over the same axes, which may be merged
  bool alone = false;     ///< never merged, not even with itself: each matrix has an owner of its own
};

/// Chains of one kind whose collectives run together.
using ChainsTogether = std::vector<const CollectiveChain*>;

class CollectiveChains {
 public:
  explicit CollectiveChains(StepWriter& writer) : writer_(writer) {}

  const CollectiveChain& of(const WeightUpdate& weight, CollectiveChain::Of of);
  /// The work of the chains' collectives, in order.
  const std::vector<const StepWork*>& works(const ChainsTogether& chains);
  /// Gathers updated weights from the optimizer's shards to where they are stored; returns the last gathers.
  OpIds publish(const StepPlace& place, StepPass pass, const std::vector<Owner>& owners, const OpIds& after);

 private:
  StepWriter& writer_;
  std::map<std::pair<const WeightUpdate*, CollectiveChain::Of>, CollectiveChain> chains_;
  std::vector<const CollectiveChain*> kinds_;  ///< one of each
  std::map<ChainsTogether, std::vector<const StepWork*>> works_;
};

}  // namespace lockstep::workloads
