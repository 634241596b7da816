#pragma once
/// Scenarios drawn at random, small enough to simulate by the hundred. Few of them are refused.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::test {

/// The keys of a scenario, each with its text.
class RandomScenario {
 public:
  explicit RandomScenario(std::uint64_t seed) : random_(seed) {}

  /// Calibrated chips of several makers, dense models and mixtures, all standard axes.
  void draw_calibrated();

  void set(const std::string& key, const std::string& value);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] scenario::Scenario load() const;
  /// Replicas alone: collectives have one axis, and one follows the other, so that no end of one decides which goes
  /// next.
  [[nodiscard]] bool keeps_order() const { return keeps_order_; }
  [[nodiscard]] std::int64_t sequences() const { return sequences_; }
  [[nodiscard]] std::int64_t sequence_length() const { return length_; }
  [[nodiscard]] std::int64_t layers() const { return layers_; }

  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }
  [[nodiscard]] const std::string& one_of(const std::vector<std::string>& words) { return words[below(words.size())]; }
  [[nodiscard]] bool one_in(std::size_t many) { return below(many) == 0; }

 private:
  std::mt19937_64 random_;
  std::vector<scenario::KeyOverride> keys_;  ///< "batch.sequences", in the order of their drawing
  bool keeps_order_ = false;
  std::int64_t sequences_ = 0, length_ = 0, layers_ = 0;
};

/// Prepared and folded; nothing if the program refuses it.
struct Prepared {
  scenario::Scenario scenario;
  preparation::PreparedStep preparation;
  program::FoldedProgram folded;
};
[[nodiscard]] std::optional<Prepared> prepared(const RandomScenario& drawn);

/// Makespan in this process: a program folded or not, on max-min links or in closed forms.
[[nodiscard]] double step_s(const program::Program& folded, bool contention = true);

}  // namespace lockstep::test
