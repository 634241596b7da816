#include <algorithm>
#include <utility>

#include "tests/metamorphic/random_scenario.hpp"

namespace lockstep::test {
namespace {

/// A power of two that divides `left`, at most `most`.
std::int64_t part_of(std::int64_t left, std::int64_t most, Random& random) {
  std::int64_t size = 1;
  while (size * 2 <= most && left % (size * 2) == 0 && random.percent(60)) size *= 2;
  return size;
}

struct Sizes {
  std::int64_t tensor = 1, context = 1, expert = 1, data = 1, fsdp = 1, pipeline = 1;
};

Sizes random_sizes(const RandomCluster& cluster, const RandomModel& model, Random& random) {
  Sizes sizes;
  auto left = cluster.chips;
  const auto take = [&](std::int64_t& size, std::int64_t most) {
    size = part_of(left, most, random);
    left /= size;
  };
  if (random.percent(45)) take(sizes.pipeline, std::min<std::int64_t>(model.layers, 8));
  if (!model.replayed && random.percent(50)) take(sizes.tensor, cluster.is_torus ? 8 : cluster.of_unit);
  if (!model.replayed && !model.two_matmuls && random.percent(20)) take(sizes.context, 4);
  if (model.experts > 0 && random.percent(80)) take(sizes.expert, model.experts);
  if (random.percent(40)) {
    take(sizes.data, 4);
    sizes.fsdp = left;
  } else {
    (random.percent(50) && !model.replayed ? sizes.fsdp : sizes.data) = left;
  }
  if (model.replayed) sizes.data *= std::exchange(sizes.fsdp, 1);
  return sizes;
}

void add_parallel(Draft& draft, const Sizes& sizes, const RandomModel& model, Random& random) {
  const auto axis = [&](const std::string& name, std::int64_t size) {
    if (size > 1) draft.set("parallel." + name, size);
  };
  axis("tensor", sizes.tensor);
  axis("context", sizes.context);
  axis("expert", sizes.expert);
  axis("data", sizes.data);
  axis("fsdp", sizes.fsdp);
  axis("pipeline", sizes.pipeline);
  if (!model.replayed && random.percent(60)) draft.set("parallel.zero", random.between(0, 3));
  if (sizes.tensor > 1 && random.percent(25)) draft.set("parallel.sequence_parallel", "false");
  if (sizes.context > 1)
    draft.set("parallel.context_attention", random.one_of<std::string>({"ring", "all_gather", "all_to_all"}));
  if (sizes.context > 1 && random.percent(30)) draft.set("parallel.context_order", "contiguous");
  if (sizes.expert > 1 && sizes.tensor > 1 && random.percent(20))
    draft.set("parallel.experts_over", "[expert, tensor]");
  if (sizes.expert > 1 && sizes.tensor > 2 && random.percent(30)) draft.set("parallel.expert_tensor", 2);
}

/// How many microbatches suit the schedule.
std::int64_t add_pipeline(Draft& draft, const Sizes& sizes, Random& random) {
  if (sizes.pipeline == 1) return random.one_of<std::int64_t>({1, 1, 2, 3, 4});
  const auto schedule = random.one_of<std::string>(
      {"1f1b",  "1f1b",   "1f1b",  "gpipe",    "naive",          "interleaved", "interleaved",
       "bfs",   "zb-h1",  "zb-h2", "zb-1p",    "interleaved-zb", "zb-v",        "v-half",
       "v-min", "v-1f1b", "wave",  "dualpipe", "dualpipe-v",     "overlap-1f1b"});
  if (schedule != "1f1b" || random.percent(50)) draft.set("pipeline.schedule", schedule);
  if (random.percent(25)) draft.set("pipeline.sends", "in_order");
  if (random.percent(15)) draft.set("pipeline.scatter_gather", "true");
  return sizes.pipeline * random.one_of<std::int64_t>({1, 2, 2, 3});
}

void add_training(Draft& draft, const RandomModel& model, Random& random) {
  const auto maybe = [&](int chance, const std::string& key, const std::string& value) {
    if (random.percent(chance)) draft.set("training." + key, value);
  };
  maybe(15, "step_overhead", "@fixed(1.5 ms)");
  maybe(10, "optimizer_barrier", "false");
  if (model.replayed) return;
  maybe(20, "optimizer", random.one_of<std::string>({"sgd", "adafactor"}));
  maybe(30, "master_weights", "true");
  maybe(30, "gradient_precision", "fp32");
  maybe(15, "memory_overhead", "1 GB");
  if (random.percent(15)) {
    draft.set("training.offload.optimizer", random.one_of<std::string>({"true", "false"}));
    draft.set("training.offload.activation_layers", random.below(3));
    draft.set("training.offload.host_memory_bandwidth", "@host(40 GB/s)");
  }
  if (model.two_matmuls) return;
  maybe(30, "recompute",
        random.one_of<std::string>({"full", "selective", "{mode: selective, parts: [norms, activations]}",
                                    "{mode: selective, parts: [core_attention, mlp], layers: 1}",
                                    "{mode: full, layers: 1}"}));
  maybe(15, "attention", "unfused");
  maybe(15, "cross_entropy", "unfused");
  maybe(15, "dropout", "true");
  maybe(15, "elementwise_traffic", "2");
  maybe(15, "causal_attention", "false");
  maybe(10, "zero_shards", "dimension");
}

void add_communication(Draft& draft, Random& random) {
  const auto maybe = [&](int chance, const std::string& key, const std::string& value) {
    if (random.percent(chance)) draft.set("communication." + key, value);
  };
  maybe(30, "prefetch", std::to_string(random.below(4)));
  maybe(20, "weight_buckets", "matrix");
  maybe(30, "gradient_buckets", random.one_of<std::string>({"matrix", "25 MB", "4 MB"}));
  maybe(20, "regather_weights", "false");
  maybe(20, "host_waits_for_transfers", "true");
  maybe(20, "share_activation_gathers", "false");
  maybe(20, "collective_matmul", "true");
  maybe(15, "updated_weights", "ahead");
}

/// Axes with names of their own, sharded tensor by tensor: the book's notation on a torus of two axes.
bool add_own_axes(Draft& draft, const RandomCluster& cluster, const RandomModel& model, Random& random) {
  const auto shape = draft.value("cluster.shape");
  if (!model.two_matmuls || !cluster.is_torus || cluster.has_fabric ||
      std::count(shape.begin(), shape.end(), ',') != 1 || !random.percent(60))
    return false;
  draft.set("mesh.red", "[x]");
  draft.set("mesh.blue", "[y]");
  draft.set("plan.activations",
            random.one_of<std::string>({"['In[B_red, D_blue]', 'Out[B_red, D_blue]']",
                                        "['In[B_red, D]', 'Tmp[B_red, F_blue]', 'Out[B_red, D]']"}));
  draft.set("plan.weights", random.one_of<std::string>({"['Win[D_red, F_blue]', 'Wout[F_blue, D_red]']",
                                                        "['Win[D, F_blue]', 'Wout[F_blue, D]']",
                                                        "['Win[D_blue, F_red]', 'Wout[F_red, D_blue]']"}));
  return true;
}

void add_perturbations(Draft& draft, Random& random) {
  if (!random.percent(20)) return;
  draft.set("perturbations",
            random.one_of<std::string>(
                {"[{random_chips: 1, seed: 3, slowdown: 1.5}]", "[{jitter: 0.05, seed: 7}]",
                 "[{random_links: 1, seed: 5, bandwidth: 0.5}]",
                 "[{jitter: 0.02, seed: 1, distribution: exponential}, {random_links: 2, seed: 2, bandwidth: 0.25}]"}));
}

/// Replicas along the data axis take their steps apart. Draws by itself: what is drawn next does not depend on it.
void add_local_updates(Draft& draft, const Sizes& sizes, Random random) {
  if (sizes.data == 1 || !random.percent(25)) return;
  const auto fragments = random.one_of<std::int64_t>({1, 1, 2, 3}), between = random.one_of<std::int64_t>({1, 2, 5});
  draft.set("parallel.zero", 0);
  draft.set("training.local_updates.inner_steps", fragments * between + random.below(2));
  draft.set("training.local_updates.fragments", fragments);
  draft.set("training.local_updates.delay", random.below(between + 1));
  if (random.percent(20)) draft.set("training.local_updates.fragment_layers", "sequential");
  draft.set("training.local_updates.precision", random.one_of<std::string>({"fp32", "bf16", "8-bit", "4-bit"}));
}

}  // namespace

void add_random_plan(Draft& draft, const RandomCluster& cluster, const RandomModel& model, Random& random) {
  const bool own_axes = add_own_axes(draft, cluster, model, random);
  const auto sizes = own_axes ? Sizes{1, 1, 1, cluster.chips, 1, 1} : random_sizes(cluster, model, random);
  if (!own_axes) add_parallel(draft, sizes, model, random);
  const auto microbatches = add_pipeline(draft, sizes, random);
  draft.set("batch.sequences",
            sizes.data * sizes.fsdp * sizes.expert * microbatches * random.one_of<std::int64_t>({1, 1, 2}));
  draft.set("batch.sequence_length", random.one_of<std::int64_t>({512, 1024, 2048, 4096}));
  draft.set("batch.microbatches", microbatches);
  add_training(draft, model, random);
  if (!model.replayed) add_communication(draft, random);
  if (model.experts > 0 && random.percent(40))
    draft.set("routing", random.one_of<std::string>({"{variation: 0.3, seed: 2}", "{capacity_factor: 1.25}",
                                                     "{capacity_factor: 1, slots: by mask}", "{dispatch: 8-bit}"}));
  add_perturbations(draft, random);
  if (!model.replayed && !own_axes) add_local_updates(draft, sizes, random);
}

Draft random_draft(Random& random) {
  Draft draft;
  draft.set("format", 1);
  const auto model = add_random_model(draft, random);
  const auto cluster = add_random_cluster(draft, random);
  add_random_plan(draft, cluster, model, random);
  return draft;
}

}  // namespace lockstep::test
