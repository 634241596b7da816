// Arguments of Megatron-LM, and of the YAML of Megatron Bridge, NeMo and Megatron's tests, under the same names.
#include <algorithm>
#include <array>

#include "sim/studies/megatron_order.hpp"
#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

struct Degrees {
  std::int64_t tensor = 1, pipeline = 1, context = 1, expert = 1, expert_tensor = 1, data = 1;
};

/// How the replicas of a weight split what they hold of it.
void set_zero(Recipe& recipe, Degrees& degrees) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const bool fsdp = o.flag("use-megatron-fsdp") || o.flag("use-custom-fsdp") || o.flag("use-torch-fsdp2");
  const auto strategy = o.word("data-parallel-sharding-strategy").value_or("optim_grads_params");
  const auto instances = o.number("num-distributed-optimizer-instances").value_or(1);
  const auto* distributed = o.find("use-distributed-optimizer");
  if (fsdp) {
    const auto& because = *o.find({"use-megatron-fsdp", "use-custom-fsdp", "use-torch-fsdp2"});
    const int stage = strategy == "no_shard" ? 0 : strategy == "optim" ? 1 : strategy == "optim_grads" ? 2 : 3;
    d.set("parallel.zero", stage,
          o.find("data-parallel-sharding-strategy") != nullptr ? *o.find("data-parallel-sharding-strategy") : because);
    if (instances > 1)
      d.leave_out(*o.find("num-distributed-optimizer-instances"), "beside FSDP: parallel.zero by axis says it");
    return;
  }
  if (distributed == nullptr || !o.flag("use-distributed-optimizer")) return;
  if (instances == 1) return d.set("parallel.zero", 1, *distributed);
  const auto& option = *o.find("num-distributed-optimizer-instances");
  if (degrees.data % instances != 0)
    return o.problem(
        option, std::to_string(instances) + " instances do not divide " + std::to_string(degrees.data) + " data ranks",
        "a divisor of " + std::to_string(degrees.data));
  set_axis(recipe, "fsdp", degrees.data / instances, option);
  d.remove("parallel.data");
  set_axis(recipe, "data", instances, option);
  d.set("parallel.zero.fsdp", 1, option);
  if (degrees.expert > 1) d.set("parallel.zero.expert", 1, option);
  if (degrees.context > 1) d.set("parallel.zero.context", 1, option);
}

Degrees set_degrees(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  Degrees degrees;
  const auto axis = [&](RecipeOptions::Names names, const std::string& key, std::int64_t& size) {
    size = o.number(names, 1, 1'000'000).value_or(1);
    if (size > 1) set_axis(recipe, key, size, *o.find(names));
  };
  axis({"tensor-model-parallel-size"}, "tensor", degrees.tensor);
  axis({"context-parallel-size"}, "context", degrees.context);
  axis({"pipeline-model-parallel-size"}, "pipeline", degrees.pipeline);
  const auto* last = o.find({"pipeline-model-parallel-size", "tensor-model-parallel-size", "context-parallel-size"});
  const auto said = "tensor " + std::to_string(degrees.tensor) + " x context " + std::to_string(degrees.context) +
                    " x pipeline " + std::to_string(degrees.pipeline);
  const auto replicas = replicas_of(recipe, degrees.tensor * degrees.context * degrees.pipeline, last, said);
  const auto experts = o.number({"expert-model-parallel-size"}, 1, 1'000'000).value_or(1);
  degrees.expert_tensor = o.number({"expert-tensor-parallel-size"}, 1, 1'000'000).value_or(degrees.tensor);
  degrees.data = replicas;
  if (experts > 1) {
    degrees.data = place_experts(recipe, experts, degrees.expert_tensor, degrees.tensor, degrees.context, replicas,
                                 *o.find("expert-model-parallel-size"));
    degrees.expert = replicas / degrees.data;
  }
  const auto* inside = o.find("expert-tensor-parallel-size");
  const bool is_mixture = o.find({"num-experts", "num-moe-experts"}) != nullptr;
  const bool usual = degrees.expert_tensor == (experts > 1 ? 1 : degrees.tensor);  // of what place_experts writes
  if (inside != nullptr && is_mixture && !usual && degrees.expert_tensor < degrees.tensor)
    d.set("parallel.expert_tensor", degrees.expert_tensor, *inside);
  set_axis(recipe, "data", degrees.data,
           std::to_string(recipe.chips) + " chips / (" + said +
               (degrees.expert > 1 ? " x expert " + std::to_string(degrees.expert) : std::string()) + ")");
  const auto parallel = o.boolean({"sequence-parallel"});
  if (degrees.tensor > 1 && !parallel.value_or(false))
    d.set("parallel.sequence_parallel", "false", std::string("without --sequence-parallel"));
  if (const auto kind = o.word("cp-comm-type"); degrees.context > 1 && kind) {
    const auto& option = *o.find("cp-comm-type");
    if (*kind == "a2a") d.set("parallel.context_attention", "all_to_all", option);
    if (*kind == "all_gather" || *kind == "allgather") d.set("parallel.context_attention", "all_gather", option);
    if (*kind == "a2a+p2p") d.leave_out(option, "heads and sequence together; a ring is written");
  }
  set_zero(recipe, degrees);
  return degrees;
}

/// Megatron's order of ranks as the mesh, on nodes of one hall. Sizes that the user says may be others than the file's.
void set_mesh(Recipe& recipe) {
  const auto* node = recipe.cluster.node();
  const auto says_sizes = [](const std::string& key) {
    const auto block = key.substr(0, key.find('.'));
    return block == "mesh" || block == "parallel" || block == "cluster";
  };
  if (node == nullptr || recipe.cluster.halls > 1 || std::any_of(recipe.said.begin(), recipe.said.end(), says_sizes))
    return;
  const auto size_of = [&](std::string_view axis) {
    return whole_number(recipe.draft.value("parallel." + std::string(axis))).value_or(1);
  };
  const bool swapped = recipe.options.flag("use-tp-pp-dp-mapping");
  const auto* because = recipe.options.find("use-tp-pp-dp-mapping");
  const auto order = studies::megatron_order(node->chips, size_of, swapped);
  if (swapped && order.empty()) recipe.draft.leave_out(*because, "degrees that do not fill nodes: mesh is left open");
  for (const auto& [axis, place] : order) {
    if (swapped)
      recipe.draft.set("mesh." + axis, place, *because);
    else
      recipe.draft.set("mesh." + axis, place, std::string("Megatron's order of ranks"));
  }
}

/// The last size of a batch that grows during the run: "0:384 200B:768".
std::optional<std::int64_t> last_size(const RecipeOption& option) {
  const auto text = option.text();
  auto end = text.find_last_of("0123456789");
  if (end == std::string::npos) return std::nullopt;
  const auto begin = text.find_last_not_of("0123456789", end) + 1;
  return whole_number(text.substr(begin, end - begin + 1));
}

void set_batch(Recipe& recipe, const Degrees& degrees) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto micro = o.number({"micro-batch-size"}, 1, 1'000'000);
  auto sequences = o.number({"global-batch-size"}, 1, 1'000'000'000);
  const auto* because = o.find({"global-batch-size"});
  const auto* grows = o.find("step-batch-size-schedule");
  if (grows != nullptr) {
    if (!sequences) {
      sequences = last_size(*grows);
      because = grows;
    }
    d.leave_out(*grows, "a batch that grows during the run; its last size is written");
  }
  const auto at_once = micro.value_or(1) * degrees.expert * degrees.data;
  if (sequences)
    d.set("batch.sequences", *sequences, *because);
  else
    d.set("batch.sequences", at_once, std::string("Megatron's default: one microbatch on each replica"));
  const auto* length_option = o.find({"seq-length", "sequence-length", "encoder-seq-length"});
  if (recipe.sequence_length)
    d.set("batch.sequence_length", *recipe.sequence_length, std::string("--sequence-length"));
  else if (const auto length = o.number({"seq-length", "sequence-length", "encoder-seq-length"}, 1, 1'000'000'000))
    d.set("batch.sequence_length", *length, *length_option);
  else if (length_option == nullptr)
    recipe.problem("batch.sequence_length", "--seq-length is missing",
                   "the tokens of a sequence, or --sequence-length N");
  if (micro)
    d.set("batch.microbatch_size", *micro, *o.find({"micro-batch-size"}));
  else if (o.find({"micro-batch-size"}) == nullptr)
    recipe.problem("batch.microbatch_size", "--micro-batch-size is missing",
                   "the sequences of a microbatch, or --set batch.microbatch_size=N");
  if (sequences && micro && *sequences % at_once != 0)
    o.problem(*because,
              std::to_string(*sequences) + " sequences are no whole number of microbatches of " +
                  std::to_string(*micro) + " on each of " + std::to_string(degrees.expert * degrees.data) + " replicas",
              "a multiple of " + std::to_string(at_once) + ", or a machine with other chips");
}

}  // namespace

void carry_over_megatron(Recipe& recipe) {
  auto& o = recipe.options;
  const auto tensor = o.number({"tensor-model-parallel-size"}, 1, 1'000'000).value_or(1);
  if (recipe.has_model)
    pass_over_model(recipe, [](Recipe& unused) { megatron_model(unused, 1); });
  else
    megatron_model(recipe, tensor);
  const auto degrees = set_degrees(recipe);
  set_mesh(recipe);
  megatron_pipeline(recipe, degrees.pipeline);
  set_batch(recipe, degrees);
  megatron_training(recipe, degrees.tensor);
}

}  // namespace lockstep::recipes
