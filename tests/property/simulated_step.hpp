#pragma once
/// One scenario simulated by both engines, every rank on its own (nothing folded), with all spans at hand.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::test {

/// A file of tests/data/scenarios and keys to replace in it.
struct Case {
  std::string file;
  std::vector<scenario::KeyOverride> overrides;
  [[nodiscard]] scenario::Scenario load() const;
  [[nodiscard]] std::string to_string() const;  ///< as one would type it: file --set a=b ...
};

struct SimulatedStep {
  explicit SimulatedStep(scenario::Scenario of);
  scenario::Scenario scenario;
  preparation::PreparedStep preparation;
  program::Program program;
  timeline::Timeline simgrid;    ///< with contention
  timeline::Timeline reference;  ///< collectives take their closed forms

  /// What any group of collective `op` takes at least, if nothing else is on the network, not even its sibling groups:
  /// per phase, latency and its busiest link.
  [[nodiscard]] Seconds alone(const program::ProgramOp& op) const;
  /// Longest path through the step with operations at their shortest.
  [[nodiscard]] Seconds critical_path() const;
  /// The time of the busiest stream of any rank, with every operation at its shortest.
  [[nodiscard]] Seconds busiest_stream() const;
  /// Makespan if every stream kept the order that it has in the contended run, but collectives took their
  /// closed forms.
  [[nodiscard]] Seconds same_order_without_contention() const;
};

/// Runs in a child process when the engine is SimGrid.
[[nodiscard]] timeline::Timeline timeline_of(const program::Program& program, engine::EngineKind engine);
/// The most that a start or an end of a rank differs from that of its class, over the step; infinite where one took
/// part and the other did not.
[[nodiscard]] double furthest_apart(const timeline::Timeline& whole, const timeline::Timeline& folded,
                                    const program::RankClasses& ranks);
[[nodiscard]] std::filesystem::path scenario_file(const std::string& relative);

}  // namespace lockstep::test
