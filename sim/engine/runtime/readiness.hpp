#pragma once
/// Which chains of operations are ready: counts, for every chain and rank that runs it, the chains before it still to
/// end there, and for every collective and group the members still to become ready.
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/runtime/dependences.hpp"

namespace lockstep::engine {

/// A chain on one rank, or a collective in one group of its communicator.
struct Instance {
  ChainId chain;
  std::int32_t index;
};

class Readiness {
 public:
  explicit Readiness(std::shared_ptr<const Dependences> dependences);
  Readiness(const program::Program& program, const Chains& chains)
      : Readiness(std::make_shared<const Dependences>(program, chains)) {}

  /// Instances that wait for nothing.
  [[nodiscard]] std::vector<Instance> at_outset();

  /// The last operation of `chain` ended on `rank`: appends the instances that became ready.
  void ended(ChainId chain, std::int32_t rank, std::vector<Instance>& ready);

  [[nodiscard]] const std::shared_ptr<const timeline::RankSets>& rank_sets() const { return dependences_->rank_sets(); }

 private:
  /// `place` is the rank's among those that run the chain.
  void became_ready(ChainId chain, std::int32_t rank, std::int32_t place, std::vector<Instance>& ready);

  std::shared_ptr<const Dependences> dependences_;
  // By set, chain and rank, so that ranks that end one chain walk memory in order; even where no two ranks are alike,
  // this is faster than rank by rank. An operation has at most 65535 predecessors (see check).
  std::vector<std::uint16_t> predecessors_left_;
  std::vector<std::int32_t> members_left_;  // by communicator, collective and group
};

}  // namespace lockstep::engine
