#pragma once
/// One iteration of a loop of reinforcement learning: generation, log-probabilities, training, refit, on one pool of
/// chips or two. docs/howto/post_training.md
///   synchronous      iteration = generation + learning + refit
///   one step off     iteration = max(generation, learning) + refit
///   learning = logprobs + training + overhead
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/studies/memory_fit.hpp"
#include "sim/studies/rl/loop_spec.hpp"
#include "sim/studies/rl/refit.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::rl {

/// Of an iteration, means over draws of response lengths.
struct Loop {
  std::int64_t training_chips = 0, generation_chips = 0;  ///< the same chips in one pool
  std::int64_t replicas = 0;                              ///< of the engine; 0: not asked for
  int draws = 1;
  Seconds generation{0}, least_generation{0}, most_generation{0};
  double running_share = 0;  ///< as Generation; 0: the time is stated
  double tokens = 0;         ///< prompts and responses
  double optimizer_steps = 0;
  Seconds step{0}, forward{0};      ///< of the policy's scenario, as simulated; 0: not needed
  Bytes peak_memory{0}, memory{0};  ///< of a chip in that step, and what it has; 0: not needed
  Seconds logprobs{0}, training{0}, overhead{0}, refit{0};
  Refit sent;  ///< nothing where the refit's time is stated
  Seconds iteration{0};
  Seconds exposed_generation{0};  ///< for which training waits
  bool one_pool = true;

  /// Of training; none where its time is stated.
  [[nodiscard]] std::optional<studies::Fit> fit() const;
  /// From one pool of responses to the next weights.
  [[nodiscard]] Seconds learning() const { return logprobs + training + overhead; }
  [[nodiscard]] std::int64_t chips() const { return one_pool ? training_chips : training_chips + generation_chips; }
  /// Of an iteration, for which a pool waits for the other.
  [[nodiscard]] Seconds training_bubble() const;
  [[nodiscard]] Seconds generation_bubble() const;
  /// Tokens of an iteration over its time and all chips, as NeMo RL counts them.
  [[nodiscard]] double tokens_per_s_per_chip() const {
    return tokens / iteration.value() / static_cast<double>(chips());
  }
};

using Progress = std::function<void(std::string_view stage, double fraction)>;

/// Throws ConfigError, placed in the loop's file or its policy's, where replicas do not fit on their chips.
[[nodiscard]] Loop study_loop(const LoopSpec& loop, spdlog::logger& log, const Progress& progress = {});

/// The loop with so many nodes shared out over two pools in every way that the policy's data parallelism allows: its
/// axis data or fsdp grows and shrinks with its nodes.
struct Split {
  std::int32_t training_nodes = 0, generation_nodes = 0;
  Loop loop;
};
[[nodiscard]] std::vector<Split> study_splits(const LoopSpec& loop, std::int32_t nodes, spdlog::logger& log,
                                              const Progress& progress = {});
/// That with the shortest iteration of those whose training fits into the memory of its chips or may not fit; null: it
/// does not fit in any.
[[nodiscard]] const Split* fastest_that_fits(const std::vector<Split>& splits);

}  // namespace lockstep::rl
