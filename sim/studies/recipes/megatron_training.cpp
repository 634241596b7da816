// Precision, optimizer, recomputation and communication of Megatron's arguments.
#include <algorithm>

#include "sim/core/yaml_text.hpp"
#include "sim/studies/recipes/dialects_private.hpp"
#include "topologies/chips/chip_kernels.hpp"

namespace lockstep::recipes {
namespace {

void set_precision(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto mixed = o.word("mixed-precision").value_or("");
  const auto has = [&](std::string_view word) { return mixed.find(word) != std::string::npos; };
  const auto recipe8 = o.word("fp8-recipe").value_or(has("mx") ? "mxfp8" : "");
  const auto* fp8 = o.find({"fp8-format", "fp8"});
  const auto* fp4 = o.find({"fp4-format", "fp4"});
  if (fp4 != nullptr && o.word({"fp4-format", "fp4"})) {
    d.set("training.precision", "nvfp4", *fp4);
  } else if (fp8 != nullptr && o.word({"fp8-format", "fp8"}) && o.word({"fp8-format", "fp8"}) != "false") {
    d.set("training.precision", recipe8 == "mxfp8" ? "mxfp8" : "fp8", *fp8);
  } else if (has("nvfp4") || has("mxfp8") || has("fp8")) {
    d.set("training.precision", has("nvfp4") ? "nvfp4" : has("mxfp8") ? "mxfp8" : "fp8", *o.find("mixed-precision"));
  } else if (o.flag("fp16") || has("fp16")) {
    d.set("training.precision", "fp16", *o.find({"fp16", "mixed-precision"}));
  } else if (const auto* bf16 = o.find({"bf16", "mixed-precision"}); bf16 != nullptr) {
    d.set("training.precision", "bf16", *bf16);
  } else {
    d.set("training.precision", "bf16", std::string("neither --bf16 nor --fp16: fp32 has no counterpart"));
  }
  (void)o.find({"bf16", "fp16"});
  d.set("training.master_weights", "true", std::string("Megatron's optimizer keeps fp32 weights"));
  const auto main = o.word("main-grads-dtype").value_or("fp32");
  const bool in_bf16 = o.flag("grad-reduce-in-bf16") || o.boolean({"grad-reduce-in-fp32"}) == false || main == "bf16";
  if (!in_bf16) d.set("training.gradient_precision", "fp32", std::string("without --grad-reduce-in-bf16"));
  (void)o.find("accumulate-allreduce-grads-in-fp32");
  const auto* gather = o.find({"fp8-param-gather", "fp8-param"});
  const auto precision = d.value("training.precision");
  const bool in_8_bits = precision == "fp8" || precision == "mxfp8";
  const bool gathered = gather != nullptr && o.flag({"fp8-param-gather", "fp8-param"});
  if (gathered && precision != "bf16") d.set("training.low_precision_gather", "true", *gather);
  const bool functions_too = o.flag("activation-func-fp8-input-store");
  if (!in_8_bits) return;
  d.set("training.kept_activations.format", "8-bit", std::string("Transformer Engine keeps what products read so"));
  if (!functions_too)
    d.set("training.kept_activations.functions", "16-bit", std::string("without --activation-func-fp8-input-store"));
  // Weights gathered in 8 bits are there in 8 bits and transposed, as large as the 16 bits that they replace.
  if (!gathered)
    d.set("training.low_precision_weights", "kept twice",
          std::string("Transformer Engine casts and transposes weights once a step"));
}

void set_optimizer(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto* option = o.find({"optimizer"});
  auto name = o.word({"optimizer"}).value_or("adam");
  if (name.find("muon") != std::string::npos) {
    d.set("training.optimizer", "muon", *option);
    const auto mode = in_one_line(o.word("muon-tp-mode").value_or("duplicated"));
    if (const auto steps = o.number("muon-num-ns-steps"))
      d.set("training.muon.steps", *steps, *o.find("muon-num-ns-steps"));
    const bool by_layers = name.find("dist") != std::string::npos || o.flag("use-layer-wise-distributed-optimizer");
    const auto* because = o.find("muon-tp-mode") != nullptr ? o.find("muon-tp-mode") : option;
    if (by_layers) {
      d.set("training.muon.sharing", "layer_wise", *option);
      d.set("training.muon.tensor", mode, *because);
    } else {
      d.set("training.muon.sharing", mode, *because);
    }
  } else if (name == "sgd") {
    d.set("training.optimizer", "sgd", *option);
    if (o.decimal("sgd-momentum").value_or(0.9) > 0) d.set("training.momentum", "true", std::string("--sgd-momentum"));
  } else if (option != nullptr) {
    d.set("training.optimizer", "adam", *option);
    if (name != "adam" && name != "fused_adam" && name != "adamw" && name != "distributed_fused_adam")
      d.leave_out(*option, "not among adam, sgd and muon; adam is written");
  }
  const auto state = o.word("exp-avg-dtype").value_or("fp32");
  if (state == "bf16") d.set("training.optimizer_state", "bf16", *o.find("exp-avg-dtype"));
  (void)o.find({"use-precision-aware-optimizer", "exp-avg-sq-dtype", "main-params-dtype"});
  const auto clip = o.decimal({"clip-grad", "gradient-clip-val"});
  if (clip.value_or(1.0) > 0)
    d.set("training.gradient_clipping", "true",
          std::string(clip ? "--clip-grad" : "Megatron's default of --clip-grad"));
  if (o.flag("optimizer-cpu-offload")) d.set("training.offload.optimizer", "true", *o.find("optimizer-cpu-offload"));
  if (const auto layers = o.number("cpu-offloading-num-layers", 0); layers.value_or(0) > 0)
    d.set("training.offload.activation_layers", *layers, *o.find("cpu-offloading-num-layers"));
}

struct Module {
  std::string_view name, part;
};
// recompute_modules of core/transformer/transformer_config.py.
constexpr Module modules[] = {{"core_attn", "core_attention"},
                              {"moe_act", "activations"},
                              {"layernorm", "norms"},
                              {"mla_up_proj", "latent_projections"},
                              {"mlp", "mlp"},
                              {"moe", "experts"},
                              {"shared_experts", "mlp"}};

/// The parts of `selective`, from the words of --recompute-modules.
void set_parts(Recipe& recipe, const RecipeOption& option) {
  std::string list = "[";
  std::string word;
  for (const char c : option.text() + " ") {
    if ((c >= 'a' && c <= 'z') || c == '_') {
      word += c;
      continue;
    }
    const auto* found =
        std::find_if(std::begin(modules), std::end(modules), [&](const auto& each) { return each.name == word; });
    if (found != std::end(modules) && list.find(std::string(found->part)) == std::string::npos)
      list += (list.size() > 1 ? ", " : "") + std::string(found->part);
    else if (found == std::end(modules) && !word.empty())
      recipe.draft.leave_out(option, in_quotes(word) + " is no part that a scenario can recompute");
    word.clear();
  }
  if (list.size() == 1) return;
  recipe.draft.set("training.recompute.mode", "selective", option);
  recipe.draft.set("training.recompute.parts", list + "]", option);
}

void set_recompute(Recipe& recipe, std::int64_t pipeline) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  const auto* granularity = o.find("recompute-granularity");
  const auto word = o.word("recompute-granularity").value_or("");
  const auto* old = o.find({"activations-checkpoint-method", "checkpoint-activations"});
  const auto* method = o.find("recompute-method");
  const auto* count = o.find("recompute-num-layers");
  const auto layers = o.number("recompute-num-layers");
  const auto* parts = o.find("recompute-modules");
  if (o.flag("recompute-activations")) {
    d.set("training.recompute", "selective", *o.find("recompute-activations"));
  } else if (word == "selective") {
    d.set("training.recompute", "selective", *granularity);
    if (parts != nullptr && !parts->values.empty() && parts->text() != "null") set_parts(recipe, *parts);
  } else if (word == "full" || old != nullptr) {
    const auto& because = granularity != nullptr ? *granularity : *old;
    if (method != nullptr && method->text() == "block" && layers) {
      d.set("training.recompute.mode", "full", because);
      d.set("training.recompute.layers", *layers, *count);
      if (pipeline > 1 && d.value("pipeline.schedule") != "1f1b")
        d.leave_out(*count, "Megatron counts the layers of each chunk, a scenario those of each chunk too");
    } else {
      d.set("training.recompute", "full", because);
      if (layers.value_or(1) > 1)
        d.leave_out(*count, "the input of every layer is kept, not of every " + std::to_string(*layers) + "th");
    }
  }
}

void set_communication(Recipe& recipe, std::int64_t tensor) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  if (tensor > 1 && o.flag("tp-comm-overlap")) {
    d.set("communication.collective_matmul", "true", *o.find("tp-comm-overlap"));
    d.set("communication.share_activation_gathers", "false", *o.find("tp-comm-overlap"));
  }
  if (o.flag("overlap-param-gather")) {
    if (d.has("parallel.zero") && d.value("parallel.zero") != "3")
      d.set("communication.updated_weights", "ahead", *o.find("overlap-param-gather"));
  }
  if (!o.flag("overlap-grad-reduce"))
    d.set("communication.gradient_buckets", "1 TB", std::string("without --overlap-grad-reduce: all at the end"));
}

/// What carries tokens to their experts: --moe-token-dispatcher-type, and behind `flex` a backend.
void set_dispatcher(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  if (!d.has("model.moe.experts")) return;
  const auto* type = o.find("moe-token-dispatcher-type");
  const auto* backend = o.find("moe-flex-dispatcher-backend");
  const auto* flag = o.find("moe-enable-deepep");
  if (type == nullptr) return;
  if (type->text() == "alltoall") return d.set("communication.dispatcher", "nccl", *type);
  if (type->text() != "flex")
    return d.leave_out(*type, "tokens travel by all-to-all; gathering all of them at every expert does not");
  const bool hybrid = backend != nullptr && backend->text() == "hybridep";
  d.set("communication.dispatcher", hybrid ? "hybridep" : "deepep",
        backend != nullptr ? *backend
        : flag != nullptr  ? *flag
                           : *type);
  const auto sms = hybrid ? o.number("moe-hybridep-num-sms", 0) : o.number("moe-deepep-num-sms", 0);
  if (sms) d.set("communication.dispatcher_sms", *sms, *o.find(hybrid ? "moe-hybridep-num-sms" : "moe-deepep-num-sms"));
}

/// `flash` is FlashAttention, which `training.attention_kernel` can name where the files of all the machine's chips do.
void set_flash_attention(Recipe& recipe, const RecipeOption& option) {
  constexpr std::string_view library = "flash-attention-2";
  const auto chips = recipe.cluster.chips();
  const bool known = std::all_of(chips.begin(), chips.end(), [&](const auto& chip) {
    return chip.kernels && topologies::attention_called(*chip.kernels, library) != nullptr;
  });
  if (!known) return recipe.draft.leave_out(option, "the chip's file names no libraries of attention");
  recipe.draft.set("training.attention_kernel", std::string(library), option);
}

/// --attention-backend; --use-flash-attn is of models before Megatron Core.
void set_attention(Recipe& recipe) {
  const auto* backend = recipe.options.find("attention-backend");
  const auto* legacy = recipe.options.find("use-flash-attn");
  const auto named = recipe.options.word("attention-backend").value_or("auto");
  if (named == "unfused" || named == "local") {
    recipe.draft.set("training.attention", "unfused", *backend);
  } else if (named == "flash") {
    set_flash_attention(recipe, *backend);
  } else if (named != "auto" && named != "fused") {
    recipe.draft.leave_out(*backend, "not known: one of auto, flash, fused, unfused, local");
  }
  if (legacy != nullptr)
    recipe.draft.leave_out(*legacy, "fused attention is usual; --attention-backend says whose kernels it runs");
}

void set_details(Recipe& recipe) {
  auto& o = recipe.options;
  auto& d = recipe.draft;
  set_attention(recipe);
  const auto hidden = o.decimal("hidden-dropout"), scores = o.decimal("attention-dropout");
  if (hidden.value_or(0.1) > 0 || scores.value_or(0.1) > 0)
    d.set("training.dropout", "true",
          std::string(hidden || scores ? "--hidden-dropout, --attention-dropout"
                                       : "Megatron's default of --hidden-dropout"));
  if (!o.flag("cross-entropy-loss-fusion"))
    d.set("training.cross_entropy", "unfused", std::string("without --cross-entropy-loss-fusion"));
  (void)o.find("cross-entropy-fusion-impl");
  if (const auto factor = o.decimal("moe-expert-capacity-factor"); factor && *factor > 0) {
    const auto& option = *o.find("moe-expert-capacity-factor");
    if (o.flag("moe-pad-expert-input-to-capacity"))
      d.set("routing.capacity_factor", option.text(), option);
    else
      d.leave_out(option, "without --moe-pad-expert-input-to-capacity only tokens that are there are sent");
  }
}

}  // namespace

void megatron_training(Recipe& recipe, std::int64_t tensor) {
  set_precision(recipe);
  set_optimizer(recipe);
  set_recompute(recipe, whole_number(recipe.draft.value("parallel.pipeline")).value_or(1));
  set_details(recipe);
  set_communication(recipe, tensor);
  set_dispatcher(recipe);
}

}  // namespace lockstep::recipes
