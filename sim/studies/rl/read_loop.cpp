#include <algorithm>

#include "sim/core/visible_text.hpp"
#include "sim/core/yaml_view.hpp"
#include "sim/scenario/lengths_file.hpp"
#include "sim/studies/rl/loop_spec.hpp"

namespace lockstep::rl {
namespace {

constexpr std::int64_t most_tokens = 10'000'000, most_rollouts = 10'000'000;
constexpr double most_rate = 1e12;

class Reader {
 public:
  Reader(const YamlView& root, std::filesystem::path folder, Problems& problems)
      : root_(root), folder_(std::move(folder)), problems_(problems) {}

  LoopSpec read() {
    loop_.whole = root_.where();
    const auto format = root_.require("format", "1, the format of this file");
    if (format.exists() && format.integer() != 1) format.problem("format " + format.text() + " is not known", "1");
    read_rollouts(root_.require("rollouts", "{prompts: ..., generations: ..., response_tokens: ...}"));
    read_generation(root_.require("generation", "{tokens_per_s: ...} or {time: ...}"));
    read_phases();
    read_overhead(root_["overhead"]);
    read_mode(root_["mode"]);
    read_policy(root_.require("policy", "the scenario of the policy's training"));
    root_.refuse_unknown_keys();
    return std::move(loop_);
  }

 private:
  void note(const YamlView& view) {
    if (view.exists()) loop_.places[view.path()] = view.where();
  }

  void read_policy(const YamlView& view) {
    if (!view.exists()) return;
    note(view);
    if (!view.is_scalar()) return view.problem("is no path", "the path of a scenario, seen from this file's folder");
    try {
      loop_.policy = scenario::load_scenario(folder_ / view.text());
    } catch (const ConfigError& error) {
      for (auto problem : error.problems()) {
        if (problem.where.line == 0) {  // the file as a whole
          problem.what = problem.where.to_string() + ": " + problem.what;
          problem.where = view.where();
          problem.key = view.path();
        }
        problems_.add(problem);
      }
      return;
    }
    if (loop_.policy.replay) view.problem("replays measured operations, which have no weights to refit", "a model");
    if (loop_.policy.step.local_updates)
      view.problem("has local updates", "a policy whose replicas meet in every step");
  }

  void read_rollouts(const YamlView& view) {
    if (!view.exists() || !view.expect_map("{prompts: 64, generations: 32, response_tokens: lengths.csv}")) return;
    const auto prompts = view.require("prompts", "prompts of an iteration"), generations = view["generations"],
               prompt = view["prompt_tokens"], seed = view["seed"];
    if (prompts.exists()) loop_.prompts = prompts.integer(1, most_rollouts);
    if (generations.exists()) loop_.generations = generations.integer(1, most_rollouts);
    if (loop_.prompts > 0 && loop_.prompts > most_rollouts / loop_.generations)
      generations.problem("makes more than " + std::to_string(most_rollouts) + " responses of an iteration",
                          "fewer prompts or generations");
    if (prompt.exists()) loop_.prompt_tokens = prompt.integer(0, most_tokens);
    if (seed.exists()) loop_.seed = static_cast<std::uint64_t>(seed.integer(0, 1'000'000'000));
    read_responses(view.require("response_tokens", "a CSV file with a histogram, or {mean: ..., most: ...}"));
    view.refuse_unknown_keys();
  }

  void read_responses(const YamlView& view) {
    if (!view.exists()) return;
    auto& responses = loop_.responses;
    if (view.is_scalar()) {
      responses.shares = scenario::lengths_file(view, folder_, problems_);
      if (!responses.shares.empty()) responses.most = responses.shares.back().first;
      return;
    }
    if (!view.expect_map("a CSV file, or {mean: 3000, deviation: 1500, most: 4096}")) return;
    const auto mean = view.require("mean", "tokens of a response in the mean"), deviation = view["deviation"],
               most = view.require("most", "tokens at which the engine stops");
    if (mean.exists()) responses.mean = mean.number(1, most_tokens);
    if (deviation.exists()) responses.deviation = deviation.number(0, most_tokens);
    if (most.exists()) responses.most = most.integer(1, most_tokens);
    if (most.exists() && mean.exists() && responses.mean > static_cast<double>(responses.most))
      mean.problem("is more than the " + std::to_string(responses.most) + " tokens at which the engine stops",
                   "at most that");
    view.refuse_unknown_keys();
  }

  void read_generation(const YamlView& view) {
    if (!view.exists() || !view.expect_map("{chips_of_replica: 4, sequences: 256, tokens_per_s: 6000}")) return;
    auto& engine = loop_.generation;
    const auto nodes = view["nodes"], chips = view["chips_of_replica"], sequences = view["sequences"],
               rate = view["tokens_per_s"], alone = view["tokens_per_s_alone"], prompt = view["prompt_tokens_per_s"],
               time = view["time"];
    if (nodes.exists()) engine.nodes = static_cast<std::int32_t>(nodes.integer(1, 1'000'000));
    if (chips.exists()) engine.chips_of_replica = chips.integer(1, 1'000'000);
    const auto known = problems_.size();
    if (sequences.exists()) engine.sequences = sequences.integer(1, 1'000'000);
    if (rate.exists()) engine.tokens_per_s = rate.number(1e-3, most_rate);
    if (alone.exists()) engine.tokens_per_s_alone = alone.number(1e-3, most_rate);
    if (prompt.exists()) engine.prompt_tokens_per_s = prompt.number(1e-3, most_rate);
    if (time.exists()) engine.time = time.seconds();
    if (rate.exists() == time.exists())
      view.problem(rate.exists() ? "has a rate and a time" : "has neither a rate nor a time",
                   "tokens_per_s of a replica, or time of the phase");
    if (problems_.size() == known) check_rates(rate, alone);
    for (const auto& each : {view, nodes, chips}) note(each);
    view.refuse_unknown_keys();
  }

  void check_rates(const YamlView& rate, const YamlView& alone) {
    auto& engine = loop_.generation;
    const auto running = static_cast<double>(engine.sequences);
    if (!rate.exists()) return;
    if (!alone.exists()) {
      engine.tokens_per_s_alone = engine.tokens_per_s / running;
      return;
    }
    if (engine.tokens_per_s_alone * (1 + 1e-9) < engine.tokens_per_s / running)
      alone.problem("a sequence alone is slower than one of " + std::to_string(engine.sequences),
                    "at least tokens_per_s / sequences");
    if (engine.tokens_per_s_alone > engine.tokens_per_s)
      alone.problem("one sequence is decoded faster than " + std::to_string(engine.sequences) + " together",
                    "at most tokens_per_s");
  }

  void read_phases() {
    if (const auto view = root_["logprobs"]; view.exists() && view.expect_map("{models: 2} or {time: 5 s}")) {
      const auto models = view["models"], time = view["time"];
      if (models.exists()) loop_.scoring_models = models.integer(0, 100);
      if (time.exists()) loop_.logprobs = time.seconds(true);
      view.refuse_unknown_keys();
    }
    if (const auto view = root_["training"]; view.exists() && view.expect_map("{time: 60 s}")) {
      if (const auto time = view["time"]; time.exists()) loop_.training = time.seconds(true);
      view.refuse_unknown_keys();
    }
    if (const auto view = root_["refit"]; view.exists() && view.expect_map("{precision: bf16} or {time: 3 s}")) {
      const auto precision = view["precision"], time = view["time"];
      if (precision.exists()) loop_.refit_element = precision.choice({"bf16", "8-bit"}) == 0 ? Bytes(2) : Bytes(1);
      if (time.exists()) loop_.refit = time.seconds(true);
      view.refuse_unknown_keys();
    }
  }

  void read_overhead(const YamlView& view) {
    if (view.exists()) loop_.overhead = view.seconds(true);
  }

  void read_mode(const YamlView& view) {
    if (!view.exists()) return;
    loop_.one_step_off = view.choice({"synchronous", "one step off"}) == 1;
    if (loop_.one_step_off && loop_.one_pool())
      view.problem("generation and training take turns on the same chips", "generation.nodes, a pool of its own");
  }

  const YamlView& root_;
  std::filesystem::path folder_;
  Problems& problems_;
  LoopSpec loop_;
};

}  // namespace

LoopSpec load_loop(const std::filesystem::path& file, const std::vector<scenario::KeyOverride>& overrides) {
  Problems problems;
  auto root = YamlView::from_file(file, problems);
  problems.throw_if_any();
  for (const auto& one : overrides) root = root.with_override(one.path, one.value);
  problems.throw_if_any();
  if (!root.expect_map("a mapping with the keys format, policy, rollouts, generation, ...")) problems.throw_if_any();
  auto loop = Reader(root, file.parent_path(), problems).read();
  problems.throw_if_any();
  loop.name = visible(file.stem().string());
  return loop;
}

}  // namespace lockstep::rl
