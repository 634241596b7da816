// The model of Megatron's arguments. Defaults: megatron/training/arguments.py and
// core/transformer/transformer_config.py of NVIDIA/Megatron-LM at d98e8a6.
#include <algorithm>

#include "sim/core/yaml_text.hpp"
#include "sim/studies/recipes/dialects_private.hpp"

namespace lockstep::recipes {
namespace {

constexpr std::size_t most_layers = 100'000;

struct Tokenizer {
  std::string_view word;  ///< in the option's value, in lower case
  std::int64_t tokens;
};
// Sizes of public tokenizers, by the names of their models. Megatron pads them as it pads --vocab-size.
constexpr Tokenizer tokenizers[] = {
    {"gpt2bpe", 50257},  {"llama2tokenizer", 32000}, {"llama-2", 32000},     {"mixtral", 32000},
    {"mistral", 32000},  {"llama-3", 128256},        {"llama3", 128256},     {"llama-4", 202048},
    {"qwen3", 151669},   {"qwen2", 151665},          {"deepseek", 128815},   {"kimi-k2", 163840},
    {"gpt-oss", 200019}, {"nemotron_2", 256000},     {"nemotron-3", 131072},
};

class MegatronModel {
 public:
  MegatronModel(Recipe& recipe, std::int64_t tensor)
      : recipe_(recipe), o_(recipe.options), d_(recipe.draft), tensor_(tensor) {}

  void write() {
    const auto* pattern = o_.find({"hybrid-layer-pattern", "hybrid-override-pattern"});
    if (pattern != nullptr && pattern->text() != "null")
      hybrid(*pattern);
    else
      require("layers", {"num-layers", "decoder-num-layers", "encoder-num-layers"});
    d_model_ = require("d_model", {"hidden-size"});
    heads();
    vocabulary();
    mlp();
    norms_and_biases();
    attention();
    latents();
    gated_delta_net();
    experts();
    copy("mtp_modules", "mtp-num-layers", 0);
    if (o_.flag("attention-output-gate")) d_.set("model.attention_gate", "true", *o_.find("attention-output-gate"));
  }

 private:
  std::int64_t require(const std::string& key, RecipeOptions::Names names) {
    const auto value = o_.number(names);
    if (const auto* option = o_.find(names); option != nullptr && value)
      d_.set("model." + key, *value, *option);
    else if (option == nullptr)
      recipe_.problem("model." + key, "--" + std::string(*names.begin()) + " is missing",
                      "the model's shape, or --model NAME");
    return value.value_or(1);
  }

  void copy(const std::string& key, std::string_view name, std::int64_t least = 1) {
    const auto value = o_.number(name, least);
    if (value && *value > 0) d_.set("model." + key, *value, *o_.find(name));
  }

  void heads() {
    heads_ = require("heads", {"num-attention-heads"});
    if (o_.flag("multi-latent-attention")) return;
    const auto groups = o_.number("num-query-groups");
    const auto asks = o_.boolean({"group-query-attention"});
    if (asks.value_or(groups.has_value())) {
      if (groups)
        d_.set("model.kv_heads", *groups, *o_.find("num-query-groups"));
      else
        d_.set("model.kv_heads", 1, std::string("Megatron's default with --group-query-attention"));
    }
    if (o_.number("kv-channels")) copy("head_size", "kv-channels");
  }

  void vocabulary() {
    const auto* said = o_.find({"vocab-size", "padded-vocab-size"});
    auto tokens = o_.number({"vocab-size", "padded-vocab-size"});
    const auto multiple = o_.number("make-vocab-size-divisible-by").value_or(128);
    for (const auto name : {"tokenizer-model", "tokenizer-type", "vocab-file"}) {
      const auto* option = o_.find(name);
      if (option == nullptr || tokens) continue;
      const auto value = in_lower_case(option->text());
      const auto* found = std::find_if(std::begin(tokenizers), std::end(tokenizers),
                                       [&](const auto& each) { return value.find(each.word) != std::string::npos; });
      if (found == std::end(tokenizers)) continue;
      tokens = found->tokens;
      said = option;
    }
    if (const auto* merges = o_.find("merge-file"); merges != nullptr && !tokens) {
      tokens = tokenizers[0].tokens;  // byte pairs as GPT-2 has them
      said = merges;
    }
    if (!tokens)
      return recipe_.problem("model.vocabulary", "the recipe does not say how many tokens its tokenizer has",
                             "--set model.vocabulary=N");
    const auto step = multiple * tensor_;
    const auto padded = (*tokens + step - 1) / step * step;
    if (padded == *tokens)
      d_.set("model.vocabulary", padded, *said);
    else
      d_.set("model.vocabulary", padded,
             said->shown + ", line " + std::to_string(said->where.line) + ": " + std::to_string(*tokens) +
                 " tokens, padded to a multiple of " + std::to_string(step));
  }

  void mlp() {
    const bool gated = o_.flag("swiglu") || o_.flag("quick-geglu") || o_.flag("gated-linear-unit") || o_.flag("geglu");
    for (const auto name : {"squared-relu", "openai-gelu", "onnx-safe"}) (void)o_.find(name);
    if (!gated) d_.set("model.mlp", "plain", std::string("without --swiglu"));
    const auto width = o_.number("ffn-hidden-size");
    width_ = width.value_or(gated ? 4 * d_model_ * 2 / 3 / 64 * 64 : 4 * d_model_);
    if (width)
      d_.set("model.d_ff", *width, *o_.find("ffn-hidden-size"));
    else
      d_.set("model.d_ff", width_, std::string("Megatron's default of --ffn-hidden-size"));
  }

  void norms_and_biases() {
    const auto norm = o_.word({"normalization"});
    if (!norm || *norm == "layernorm")
      d_.set("model.norm", "layer_norm",
             std::string(norm ? "--normalization" : "Megatron's default of --normalization"));
    const auto biases = o_.boolean({"add-bias-linear"}).value_or(!o_.flag("disable-bias-linear"));
    if (biases) {
      for (const auto* key : {"qkv_bias", "attention_output_bias", "mlp_bias"})
        d_.set(std::string("model.") + key, "true", std::string("without --disable-bias-linear"));
    } else if (o_.flag("add-qkv-bias")) {
      d_.set("model.qkv_bias", "true", *o_.find("add-qkv-bias"));
    }
    const auto shared = o_.boolean({"share-embeddings-and-output-weights"});
    if (shared.value_or(!o_.flag("untie-embeddings-and-output-weights")))
      d_.set("model.tied_embeddings", "true", std::string("without --untie-embeddings-and-output-weights"));
  }

  void attention() {
    const auto* positions = o_.find("position-embedding-type");
    auto kind = o_.word("position-embedding-type").value_or("learned_absolute");
    if (o_.flag("use-rotary-position-embeddings")) kind = "rope";
    const auto rows = o_.number("max-position-embeddings");
    const bool hybrid = d_.has("model.layer_pattern");
    if (kind == "learned_absolute" && rows && !hybrid)
      d_.set("model.learned_positions", *rows, *o_.find("max-position-embeddings"));
    if (kind == "none" && positions != nullptr) d_.set("model.rotary", "false", *positions);
    if (o_.flag("qk-layernorm") && !o_.flag("multi-latent-attention"))
      d_.set("model.qk_norm", "true", *o_.find("qk-layernorm"));
    if (o_.word("softmax-type").value_or("vanilla") == "learnable")
      d_.set("model.attention_sinks", "true", *o_.find("softmax-type"));
    if (const auto* window = o_.find("window-size"); window != nullptr && window->text() != "null") sliding(*window);
  }

  /// "(127, 0)", "127,0" or "127 0": tokens before the own one.
  void sliding(const RecipeOption& window) {
    std::string digits;
    for (const char c : window.text()) {
      if (c >= '0' && c <= '9') digits += c;
      if ((c == ',' || c == ' ') && !digits.empty()) break;
    }
    const auto before = whole_number(digits);
    if (!before)
      return o_.problem(window, in_quotes(window.text()) + " is no window", "tokens before and behind, such as 127,0");
    d_.set("model.window.tokens", *before + 1, window);
    if (const auto every = o_.number("window-attn-skip-freq"))
      d_.set("model.window.full_every", *every, *o_.find("window-attn-skip-freq"));
  }

  void latents() {
    if (!o_.flag("multi-latent-attention")) return;
    const auto& asks = *o_.find("multi-latent-attention");
    const auto size = [&](const std::string& key, std::string_view name, std::int64_t otherwise) {
      const auto value = o_.number(name);
      if (value)
        d_.set("model.latent_attention." + key, *value, *o_.find(name));
      else if (otherwise > 0)
        d_.set("model.latent_attention." + key, otherwise, "Megatron's default of --" + std::string(name));
    };
    (void)o_.find({"kv-channels", "num-query-groups", "group-query-attention"});
    d_.set("model.latent_attention.kv_rank", 1, asks);
    size("kv_rank", "kv-lora-rank", 32);
    size("q_rank", "q-lora-rank", 0);
    size("nope_head_size", "qk-head-dim", 128);
    size("rope_head_size", "qk-pos-emb-head-dim", 64);
    size("value_head_size", "v-head-dim", 128);
    if (o_.word("experimental-attention-variant").value_or("") != "dsa") return;
    for (const auto& [key, name] :
         {std::pair("heads", "dsa-indexer-n-heads"), std::pair("head_size", "dsa-indexer-head-dim"),
          std::pair("top_k", "dsa-indexer-topk")}) {
      if (o_.number(name)) copy(std::string("latent_attention.indexer.") + key, name);
    }
  }

  void gated_delta_net() {
    const auto variant = o_.word("experimental-attention-variant").value_or("");
    if (variant != "gated_delta_net" && variant != "gdn") return;
    d_.set("model.recurrence.rule", "gated_delta", *o_.find("experimental-attention-variant"));
    const auto size = [&](const std::string& key, std::string_view name, std::int64_t otherwise) {
      const auto value = o_.number(name);
      if (value)
        d_.set("model.recurrence." + key, *value, *o_.find(name));
      else
        d_.set("model.recurrence." + key, otherwise, "Megatron's default of --" + std::string(name));
    };
    size("heads", "linear-num-value-heads", 32);
    size("key_heads", "linear-num-key-heads", 16);
    size("key_size", "linear-key-head-dim", 128);
    size("value_size", "linear-value-head-dim", 128);
    size("convolution", "linear-conv-kernel-dim", 4);
    size("attention_every", "linear-attention-freq", 4);
  }

  /// Letters of a hybrid; a bar divides stages, and what follows a slash are prediction modules.
  void hybrid(const RecipeOption& pattern) {
    std::string letters;
    const auto text = pattern.text();
    for (const char c : text.substr(0, text.find('/'))) {
      if (c != '|' && c != ' ' && c != '\'' && c != '"') letters += c;
    }
    if (letters.empty() || letters.size() > most_layers || letters.find_first_not_of("M*-E") != std::string::npos)
      return o_.problem(pattern, in_quotes(text.substr(0, 100)) + " is not a pattern of layers",
                        "letters M (Mamba-2), * (attention), - (MLP) and E (experts)");
    (void)o_.find("num-layers");
    d_.set("model.layers", static_cast<std::int64_t>(letters.size()), pattern);
    d_.set("model.layer_pattern", in_one_line(letters), pattern);
    if (letters.find('M') == std::string::npos) return;
    const auto width = o_.number({"hidden-size"}).value_or(1);
    const auto head = o_.number("mamba-head-dim").value_or(64);
    d_.set("model.recurrence.rule", "mamba2", pattern);
    const auto size = [&](const std::string& key, std::string_view name, std::int64_t otherwise) {
      const auto value = o_.number(name);
      if (value)
        d_.set("model.recurrence." + key, *value, *o_.find(name));
      else
        d_.set("model.recurrence." + key, otherwise, "Megatron's default of --" + std::string(name));
    };
    size("heads", "mamba-num-heads", std::max<std::int64_t>(1, 2 * width / head));
    size("key_heads", "mamba-num-groups", 8);
    size("key_size", "mamba-state-dim", 128);
    size("value_size", "mamba-head-dim", 64);
    d_.set("model.recurrence.convolution_bias", "true", std::string("of Megatron's Mamba mixer"));
  }

  void experts() {
    const auto count = o_.number({"num-experts", "num-moe-experts"});
    if (!count) return;
    d_.set("model.moe.experts", *count, *o_.find({"num-experts", "num-moe-experts"}));
    if (o_.number("moe-router-topk"))
      copy("moe.experts_per_token", "moe-router-topk");
    else
      d_.set("model.moe.experts_per_token", 2, std::string("Megatron's default of --moe-router-topk"));
    if (o_.number("moe-ffn-hidden-size"))
      copy("moe.d_ff", "moe-ffn-hidden-size");
    else
      d_.set("model.moe.d_ff", width_, std::string("--ffn-hidden-size"));
    copy("moe.latent", "moe-latent-size");
    if (o_.number("moe-shared-expert-intermediate-size", 0).value_or(0) > 0) {
      d_.set("model.moe.shared_experts", 1, *o_.find("moe-shared-expert-intermediate-size"));
      copy("moe.shared_d_ff", "moe-shared-expert-intermediate-size");
    }
    if (o_.flag("moe-shared-expert-gate")) d_.set("model.moe.shared_gate", "true", *o_.find("moe-shared-expert-gate"));
    if (o_.flag("moe-router-enable-expert-bias"))
      d_.set("model.moe.score_bias", "true", *o_.find("moe-router-enable-expert-bias"));
    if (o_.number("moe-router-num-groups").value_or(1) > 1) {
      copy("moe.groups", "moe-router-num-groups");
      copy("moe.groups_per_token", "moe-router-group-topk");
    }
    const auto* frequency = o_.find("moe-layer-freq");
    if (d_.has("model.layer_pattern")) {
      if (d_.value("model.layer_pattern").find('-') == std::string::npos) d_.remove("model.d_ff");
    } else if (frequency != nullptr && frequency->text() != "1" && frequency->text() != "null") {
      which_layers(*frequency);
    } else {
      d_.remove("model.d_ff");  // no layer has a dense MLP
    }
  }

  /// "[0]*3+[1]*58", "([0]*3+[1]*11)", a list, or a number N: the first layer and every N-th behind it.
  void which_layers(const RecipeOption& option) {
    const auto refuse = [&] {
      o_.problem(option, in_quotes(option.text().substr(0, 100)) + " is no pattern of layers that a scenario can say",
                 "dense layers first, then all with experts, such as [0]*3+[1]*58");
    };
    if (const auto every = whole_number(option.text())) {
      if (*every > 1) d_.set("model.moe.every", *every, option);
      return;
    }
    std::vector<int> has;
    int number = -1;
    bool repeats = false;
    std::vector<int> group;
    for (const char c : option.text() + " ") {
      if (c >= '0' && c <= '9') {
        number = std::min(1'000'000, std::max(number, 0) * 10 + (c - '0'));
        continue;
      }
      if (number >= 0 && repeats) {
        if (group.size() * static_cast<std::size_t>(number) > most_layers) return refuse();
        for (int i = 1; i < number; ++i) has.insert(has.end(), group.begin(), group.end());
        repeats = false;
      } else if (number >= 0) {
        group.push_back(number);
      }
      number = -1;
      if (c == '[') group.clear();
      if (c == ']') has.insert(has.end(), group.begin(), group.end());
      if (c == '*') repeats = true;
    }
    if (has.empty()) has = group;  // a list of YAML
    const auto first = static_cast<std::int64_t>(std::find(has.begin(), has.end(), 1) - has.begin());
    const bool rest = std::all_of(has.begin() + first, has.end(), [](int each) { return each == 1; });
    if (has.empty() || !rest || first == std::ssize(has)) return refuse();
    if (first > 0)
      d_.set("model.moe.dense_first", first, option);
    else
      d_.remove("model.d_ff");
  }

  Recipe& recipe_;
  RecipeOptions& o_;
  ScenarioDraft& d_;
  std::int64_t tensor_, d_model_ = 1, heads_ = 1, width_ = 1;
};

}  // namespace

void megatron_model(Recipe& recipe, std::int64_t tensor) { MegatronModel(recipe, tensor).write(); }

}  // namespace lockstep::recipes
