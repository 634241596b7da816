#include "sim/studies/rl/loop_study.hpp"

#include <algorithm>
#include <optional>

#include "sim/core/quantity_text.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/rl/forward_pass.hpp"
#include "sim/studies/rl/generation.hpp"

namespace lockstep::rl {
namespace {

constexpr int usual_draws_of_lengths = 32;
constexpr std::int64_t most_drawn = 20'000'000;  ///< responses of all draws

[[noreturn]] void refuse(const LoopSpec& loop, const std::string& key, const std::string& what,
                         const std::string& expected) {
  throw ConfigError({{loop.where(key), key, what, expected}});
}

class Study {
 public:
  Study(const LoopSpec& spec, spdlog::logger& log) : spec_(spec), log_(log) {}

  Loop run() {
    count_chips();
    draw_responses();
    time_policy();
    for (const auto& generation : generations_) {
      const auto exposed = spec_.one_step_off ? std::max(Seconds(0), generation - loop_.learning()) : generation;
      loop_.exposed_generation += exposed / static_cast<double>(loop_.draws);
    }
    loop_.iteration = loop_.exposed_generation + loop_.learning() + loop_.refit;
    return std::move(loop_);
  }

 private:
  void count_chips() {
    loop_.one_pool = spec_.one_pool();
    loop_.training_chips = spec_.policy.chips();
    const auto& nodes = spec_.generation.nodes;
    if (nodes && spec_.policy.cluster.node() == nullptr)
      refuse(spec_, "generation.nodes", "the policy's chips are not in nodes", "no pool of its own");
    loop_.generation_chips = nodes ? std::int64_t{*nodes} * spec_.policy.cluster.node()->chips : loop_.training_chips;
    if (spec_.generation.time) return;
    const auto of_replica = spec_.generation.chips_of_replica;
    if (loop_.generation_chips % of_replica != 0)
      refuse(spec_, "generation.chips_of_replica",
             std::to_string(of_replica) + " chips of a replica do not divide the " +
                 std::to_string(loop_.generation_chips) + " of the pool",
             "a divisor of " + std::to_string(loop_.generation_chips));
    const auto weights = Bytes(2) * count_parameters(spec_.policy.model).total();
    if (const auto memory = spec_.policy.cluster.chip().capacity() * of_replica; weights > memory)
      refuse(spec_, "generation.chips_of_replica",
             format(weights) + " of weights in 16 bits do not fit into the " + format(memory) + " of a replica",
             "more chips");
    loop_.replicas = loop_.generation_chips / of_replica;
  }

  void draw_responses() {
    const auto responses = spec_.rollouts();
    loop_.draws = static_cast<int>(std::clamp<std::int64_t>(most_drawn / responses, 1, usual_draws_of_lengths));
    double tokens = 0;
    for (int draw = 0; draw < loop_.draws; ++draw) {
      const auto lengths = spec_.responses.drawn(responses, spec_.seed + static_cast<std::uint64_t>(draw));
      Generation phase;
      if (spec_.generation.time) {
        phase.time = *spec_.generation.time;
        for (const auto length : lengths) phase.tokens += static_cast<double>(length);
      } else {
        phase = generation_of(spec_.generation, loop_.replicas, spec_.prompt_tokens, lengths);
      }
      generations_.push_back(phase.time);
      tokens += phase.tokens;
      loop_.running_share += phase.running_share / loop_.draws;
      loop_.generation += phase.time / loop_.draws;
    }
    const auto [least, most] = std::minmax_element(generations_.begin(), generations_.end());
    loop_.least_generation = *least;
    loop_.most_generation = *most;
    loop_.tokens = tokens / loop_.draws + static_cast<double>(responses * spec_.prompt_tokens);
  }

  void time_policy() {
    const auto& batch = spec_.policy.batch;
    loop_.optimizer_steps = loop_.tokens / static_cast<double>(batch.sequences * batch.sequence_length);
    const auto prepared = preparation::prepare(spec_.policy);
    if (!spec_.training) {
      SimulateOptions options;
      options.engine = engine::EngineKind::max_min;
      options.detail = Detail::totals;
      const auto metrics = simulate(spec_.policy, options, log_).metrics;
      loop_.step = metrics.step_time;
      loop_.peak_memory = metrics.memory.peak;
      loop_.memory = metrics.memory.capacity;
    }
    loop_.training = spec_.training.value_or(loop_.step * loop_.optimizer_steps);
    if (!spec_.logprobs && spec_.scoring_models > 0) loop_.forward = forward_time(spec_.policy, prepared, log_);
    loop_.logprobs =
        spec_.logprobs.value_or(loop_.forward * loop_.optimizer_steps * static_cast<double>(spec_.scoring_models));
    if (!spec_.refit) loop_.sent = refit_of(spec_, prepared);
    loop_.refit = spec_.refit.value_or(loop_.sent.time());
    loop_.overhead = spec_.overhead;
  }

  const LoopSpec& spec_;
  spdlog::logger& log_;
  Loop loop_;
  std::vector<Seconds> generations_;  ///< by draw
};

/// The policy on so many nodes, with microbatches as large as before on each rank; nothing where its data parallelism
/// does not come out even.
std::optional<scenario::Scenario> on_nodes(scenario::Scenario policy, std::int32_t nodes) {
  const std::int64_t before = policy.cluster.units;
  policy.cluster.units = nodes;
  for (const std::string axis : {"data", "fsdp"}) {
    const auto request = std::find_if(policy.mesh.begin(), policy.mesh.end(),
                                      [&](const auto& one) { return one.name == axis && one.size > 1; });
    if (request == policy.mesh.end()) continue;
    if (request->size * std::int64_t{nodes} % before != 0) continue;
    request->size = static_cast<int>(request->size * std::int64_t{nodes} / before);
    auto& microbatches = policy.batch.microbatches;
    if (microbatches * before % nodes != 0 || policy.batch.sequences % (microbatches * before / nodes) != 0) return {};
    microbatches = microbatches * before / nodes;
    policy.step.microbatches = microbatches;
    return policy;
  }
  return {};
}

}  // namespace

std::optional<studies::Fit> Loop::fit() const {
  return memory > Bytes(0) ? std::optional(studies::fit_of(peak_memory, memory)) : std::nullopt;
}

Seconds Loop::training_bubble() const { return one_pool ? Seconds(0) : exposed_generation; }
Seconds Loop::generation_bubble() const {
  return one_pool ? Seconds(0) : std::max(Seconds(0), iteration - refit - generation);
}

Loop study_loop(const LoopSpec& loop, spdlog::logger& log, const Progress& progress) {
  if (progress) progress("simulating", 0);
  auto made = Study(loop, log).run();
  if (progress) progress("done", 1);
  return made;
}

std::vector<Split> study_splits(const LoopSpec& loop, std::int32_t nodes, spdlog::logger& log,
                                const Progress& progress) {
  if (loop.one_pool() || loop.generation.time || loop.training)
    refuse(loop, loop.one_pool() ? "generation.nodes" : "generation",
           loop.one_pool() ? "one pool cannot be split" : "a stated time does not tell that of other chips",
           "two pools, with rates of the engine and simulated training");
  std::vector<Split> splits;
  std::optional<ConfigError> refused;
  for (std::int32_t training = 1; training < nodes; ++training) {
    if (progress) progress("splits", static_cast<double>(training) / nodes);
    auto policy = on_nodes(loop.policy, training);
    if (!policy) continue;
    auto one = loop;
    one.policy = std::move(*policy);
    one.generation.nodes = nodes - training;
    try {
      splits.push_back({training, nodes - training, study_loop(one, log)});
    } catch (const ConfigError& error) {  // such as a batch or replicas that do not divide
      if (!refused) refused = error;
    }
  }
  if (progress) progress("done", 1);
  if (splits.empty() && refused) throw ConfigError(*refused);
  if (splits.empty())
    refuse(loop, "policy", "no split of " + std::to_string(nodes) + " nodes lets its data parallelism come out even",
           "more nodes, or a batch that more replicas share");
  return splits;
}

const Split* fastest_that_fits(const std::vector<Split>& splits) {
  const Split* best = nullptr;
  for (const auto& one : splits) {
    if (one.loop.fit() != studies::Fit::does_not_fit && (best == nullptr || one.loop.iteration < best->loop.iteration))
      best = &one;
  }
  return best;
}

}  // namespace lockstep::rl
