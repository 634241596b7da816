#pragma once
/// Memory of one rank as a curve: what MemoryUse takes the peak of.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::test {

/// A scenario of tests/data/scenarios without contention, one rank.
struct OneRank {
  explicit OneRank(const std::string& file, const std::vector<scenario::KeyOverride>& overrides = {});
  scenario::Scenario scenario;
  preparation::PreparedStep preparation;
  program::Program program;
  timeline::Timeline timeline;
  metrics::MemoryUse memory;

  [[nodiscard]] const workloads::StepGraph& step() const { return preparation.step; }
  /// Bytes of that kind, beyond what is held throughout, in buffers alive at `time` (ends excluded).
  [[nodiscard]] Bytes held(workloads::MemoryKind kind, Seconds time) const;
  /// The moments at which the compute operations of a pass end, in order.
  [[nodiscard]] std::vector<Seconds> ends_of(workloads::StepPass pass) const;
  /// Bytes of gradients that the update reads: the accumulated ones.
  [[nodiscard]] Bytes accumulated_gradients() const;
};

[[nodiscard]] std::filesystem::path test_scenario(const std::string& file);

}  // namespace lockstep::test
