#include "tests/metamorphic/random_scenario.hpp"

namespace lockstep::test {
namespace {

std::string ms(Random& random) {
  return "@fixed(" + std::to_string(random.between(1, 30)) + "." + std::to_string(random.below(10)) + " ms)";
}

RandomModel add_replay(Draft& draft, Random& random) {
  const auto layers = random.one_of<std::int64_t>({2, 4, 8});
  draft.set("model.replay.layers", layers);
  draft.set("model.replay.boundary", std::to_string(random.between(1, 100)) + " MB");
  draft.set("model.replay.forward", "[{name: attention, time: " + ms(random) +
                                        (random.percent(40) ? ", holds: 20 MB" : "") +
                                        "}, {name: outward, time: " + ms(random) + ", on: wires}, {name: MLP, time: [" +
                                        ms(random) + ", " + ms(random) + "]}]");
  draft.set("model.replay.backward", "[{name: MLP inputs, time: " + ms(random) + "}, {name: MLP weights, time: " +
                                         ms(random) + ", gradient: weights}, {name: combine, time: " + ms(random) +
                                         ", on: wires}, {name: attention inputs, time: " + ms(random) + "}]");
  return {layers, 0, 0, true, false};
}

RandomModel add_two_matmuls(Draft& draft, Random& random) {
  const auto layers = random.one_of<std::int64_t>({1, 2, 4});
  draft.set("model.type", "two-matmul");
  draft.set("model.layers", layers);
  draft.set("model.d_model", 512 * random.between(1, 8));
  draft.set("model.d_ff", 1024 * random.between(1, 12));
  return {layers, 0, 0, false, true};
}

void add_experts(Draft& draft, RandomModel& model, Random& random) {
  model.experts = random.one_of<std::int64_t>({4, 8, 16});
  draft.set("model.moe.experts", model.experts);
  draft.set("model.moe.experts_per_token", random.one_of<std::int64_t>({1, 2, 4}));
  draft.set("model.moe.d_ff", 256 * random.between(1, 6));
  if (random.percent(30)) draft.set("model.moe.shared_experts", 1);
  if (random.percent(30)) draft.set("model.moe.dense_first", 1);
  if (random.percent(20)) draft.set("model.moe.every", 2);
}

void add_attention(Draft& draft, const RandomModel& model, Random& random) {
  if (random.percent(20)) {
    draft.set("model.latent_attention",
              "{" + std::string(random.percent(50) ? "q_rank: 384, " : "") +
                  "kv_rank: 128, nope_head_size: 64, rope_head_size: 32, value_head_size: 64}");
  } else {
    draft.set("model.head_size", random.one_of<std::int64_t>({64, 128}));
    if (random.percent(70))
      draft.set("model.kv_heads", random.one_of<std::int64_t>({2, 4, model.heads / 2, model.heads}));
  }
  if (random.percent(20)) draft.set("model.window", "{tokens: 256, full_every: 2}");
}

}  // namespace

RandomModel add_random_model(Draft& draft, Random& random) {
  const auto kind = random.below(100);
  if (kind < 8) return add_replay(draft, random);
  if (kind < 22) return add_two_matmuls(draft, random);
  RandomModel model{random.one_of<std::int64_t>({1, 2, 4, 4, 8, 8}), random.one_of<std::int64_t>({8, 16, 32}), 0, false,
                    false};
  draft.set("model.layers", model.layers);
  draft.set("model.d_model", 512 * random.between(1, 8));
  draft.set("model.d_ff", 1024 * random.between(1, 12));
  draft.set("model.heads", model.heads);
  draft.set("model.vocabulary", random.one_of<std::int64_t>({0, 4096, 32000, 50257}));
  if (random.percent(30)) add_experts(draft, model, random);
  add_attention(draft, model, random);
  if (random.percent(30)) draft.set("model.mlp", "plain");
  if (random.percent(30)) draft.set("model.norm", random.one_of<std::string>({"layer_norm", "none"}));
  if (random.percent(15)) draft.set("model.norms_per_layer", 4);
  if (random.percent(20)) draft.set("model.tied_embeddings", "true");
  if (random.percent(10)) draft.set("model.parallel_residual", "true");
  if (random.percent(10)) draft.set("model.mtp_modules", 1);
  return model;
}

}  // namespace lockstep::test
