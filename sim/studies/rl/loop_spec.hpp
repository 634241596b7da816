#pragma once
/// A loop of reinforcement learning after pre-training (GRPO and its like) as a file describes it. The file:
/// docs/howto/post_training.md
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace lockstep::rl {

/// How long the policy's responses are: a histogram, or log-normal with a largest value.
struct ResponseLengths {
  std::vector<std::pair<std::int64_t, double>> shares;  ///< tokens and share of all responses; empty: log-normal
  double mean = 0, deviation = 0;                       ///< of the log-normal before it is cut
  std::int64_t most = 0;                                ///< tokens at which the engine stops

  /// The lengths of so many responses.
  [[nodiscard]] std::vector<std::int64_t> drawn(std::int64_t responses, std::uint64_t seed) const;
};

/// What the generation engine was measured to reach.
struct GenerationSpec {
  std::optional<std::int32_t> nodes;  ///< of a pool of its own; none: the policy's chips
  std::int64_t chips_of_replica = 1;  ///< that hold one copy of the weights
  std::int64_t sequences = 256;       ///< that a replica decodes at once
  double tokens_per_s = 0;            ///< of a replica that decodes as many
  double tokens_per_s_alone = 0;      ///< of a replica that decodes one
  double prompt_tokens_per_s = 0;     ///< of a replica; 0: prompts take no time
  std::optional<Seconds> time = {};   ///< of the phase, instead of all rates

  /// One token for each of so many sequences.
  [[nodiscard]] Seconds decode(std::int64_t running) const;
};

struct LoopSpec {
  std::string name;
  scenario::Scenario policy;  ///< its training
  std::int64_t prompts = 0, generations = 1;
  std::int64_t prompt_tokens = 0;
  ResponseLengths responses;
  std::uint64_t seed = 1;
  GenerationSpec generation;
  bool one_step_off = false;        ///< generation of the next iteration runs beside training
  std::int64_t scoring_models = 2;  ///< whose log-probabilities are computed: the policy's, and a reference's
  Bytes refit_element{2};
  std::optional<Seconds> logprobs, training, refit;  ///< stated instead of simulated
  Seconds overhead{0};  ///< of an iteration, while training waits: rewards, data, waking the engine
  Location whole;       ///< for problems that only show up later

  std::map<std::string, Location> places;  ///< of keys that are there
  [[nodiscard]] Location where(const std::string& key) const {
    const auto place = places.find(key);
    return place != places.end() ? place->second : whole;
  }

  [[nodiscard]] std::int64_t rollouts() const { return prompts * generations; }
  [[nodiscard]] bool one_pool() const { return !generation.nodes; }
};

/// Throws ConfigError with every problem of the file and of its policy's scenario.
[[nodiscard]] LoopSpec load_loop(const std::filesystem::path& file,
                                 const std::vector<scenario::KeyOverride>& overrides = {});

}  // namespace lockstep::rl
