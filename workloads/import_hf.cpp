#include "workloads/import_hf.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "workloads/model_limits.hpp"

namespace lockstep {
namespace {

/// A config.json as its readers ask it. An absent key takes the default of its model_type, so every
/// default is written at the place that asks; an explicit null counts as absent.
class HfConfig {
 public:
  explicit HfConfig(const YamlView& document) : outer_(document), text_(document) {
    if (const YamlView inner = document["text_config"]; inner.exists() && !inner.is_null()) text_ = inner;
  }
  [[nodiscard]] const YamlView& text() const { return text_; }

  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t most = most_size) const {
    const YamlView value = text_.require(key, "a whole number");
    return value.exists() ? value.integer(1, most) : 0;
  }
  [[nodiscard]] std::int64_t size_or(std::string_view key, std::int64_t absent) const {
    return given(text_, key) ? text_[key].integer(1, most_size) : absent;
  }
  /// A multimodal config may write flags beside text_config instead of inside.
  [[nodiscard]] bool flag_or(std::string_view key, bool absent) const {
    if (given(text_, key)) return text_[key].boolean();
    return given(outer_, key) ? outer_[key].boolean() : absent;
  }

 private:
  static bool given(const YamlView& map, std::string_view key) { return map[key].exists() && !map[key].is_null(); }
  YamlView outer_;
  YamlView text_;
};

/// What an absent key means for one model_type; 0: heads, hidden_size / heads, a required vocab_size.
struct ClassDefaults {
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;
};

/// The part that all types but gpt2 write alike: sizes, and a gated MLP between two RMS norms.
Model read_shape(const HfConfig& config, const ClassDefaults& absent) {
  Model model;
  model.layers = config.size("num_hidden_layers", most_layers);
  model.d_model = config.size("hidden_size");
  model.d_ff = config.size("intermediate_size");
  model.heads = config.size("num_attention_heads");
  const bool one_per_head = config.text()["num_key_value_heads"].is_null();  // null differs from absent here
  model.kv_heads = one_per_head ? 0 : config.size_or("num_key_value_heads", absent.kv_heads);
  model.head_size = config.size_or("head_dim", absent.head_size);
  model.vocabulary =
      absent.vocabulary > 0 ? config.size_or("vocab_size", absent.vocabulary) : config.size("vocab_size");
  model.tied_embeddings = config.flag_or("tie_word_embeddings", absent.tied);
  return model;
}

void read_attention_bias(const HfConfig& config, bool absent, Model& model) {
  model.qkv_bias = model.attention_output_bias = config.flag_or("attention_bias", absent);
}

Model read_llama(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_attention_bias(config, false, model);
  model.mlp_bias = config.flag_or("mlp_bias", false);
  return model;
}

Model read_mistral(const HfConfig& config) { return read_shape(config, {.kv_heads = 8}); }

/// Q, K and V carry a bias although no key says so.
Model read_qwen2(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 32});
  model.qkv_bias = true;
  return model;
}

Model read_qwen3(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 32, .head_size = 128});
  read_attention_bias(config, false, model);
  model.qk_norm = true;
  return model;
}

/// Gated, although its hidden_act is a gelu.
Model read_gemma(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 16, .head_size = 256, .tied = true});
  read_attention_bias(config, false, model);
  return model;
}

/// Norms before and after both the attention and the MLP.
Model read_gemma2(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 4, .head_size = 256, .tied = true});
  read_attention_bias(config, false, model);
  model.norms_per_layer = 4;
  return model;
}

/// Published files leave most keys to the class, even the vocabulary.
Model read_gemma3_text(const HfConfig& config) {
  Model model = read_shape(config, {.kv_heads = 4, .head_size = 256, .vocabulary = 262'208, .tied = true});
  read_attention_bias(config, false, model);
  model.norms_per_layer = 4;
  model.qk_norm = true;
  return model;
}

/// The fused gate_up and qkv matrices hold as many weights as separate ones.
Model read_phi3(const HfConfig& config) { return read_shape(config, {}); }

/// Norms without weights.
Model read_olmo(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_attention_bias(config, false, model);
  model.norm = NormKind::none;
  return model;
}

Model read_gpt_neox(const HfConfig& config) {
  Model model = read_shape(config, {});
  read_attention_bias(config, true, model);
  model.gated = false;
  model.mlp_bias = true;
  model.norm = NormKind::layer_norm;
  return model;
}

Model read_gpt2(const HfConfig& config) {
  Model model;
  model.layers = config.size("n_layer", most_layers);
  model.d_model = config.size("n_embd");
  model.d_ff = config.size_or("n_inner", 4 * model.d_model);
  model.heads = config.size("n_head");
  model.vocabulary = config.size("vocab_size");
  model.learned_positions = config.size("n_positions");
  model.tied_embeddings = config.flag_or("tie_word_embeddings", true);
  model.gated = false;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.norm = NormKind::layer_norm;
  if (config.flag_or("add_cross_attention", false)) {
    config.text()["add_cross_attention"].problem("cross-attention is not modelled", "a decoder without it");
  }
  return model;
}

struct ModelTypeReader {
  std::string_view model_type;
  Model (*read)(const HfConfig&);
};

constexpr std::array model_type_readers = {
    ModelTypeReader{"gemma", read_gemma},
    ModelTypeReader{"gemma2", read_gemma2},
    ModelTypeReader{"gemma3_text", read_gemma3_text},
    ModelTypeReader{"gpt2", read_gpt2},
    ModelTypeReader{"gpt_neox", read_gpt_neox},
    ModelTypeReader{"llama", read_llama},
    ModelTypeReader{"mistral", read_mistral},
    ModelTypeReader{"olmo", read_olmo},
    ModelTypeReader{"phi3", read_phi3},
    ModelTypeReader{"qwen2", read_qwen2},
    ModelTypeReader{"qwen3", read_qwen3},
};

std::string name_after(const std::filesystem::path& file) {
  std::string stem = file.stem().string();
  if (stem != "config") return stem;
  std::error_code no_working_directory;
  const std::filesystem::path folder = std::filesystem::absolute(file, no_working_directory).parent_path().filename();
  return folder.empty() ? stem : folder.string();
}

/// No "did you mean" here: the name next to mixtral is mistral, and that would be wrong.
void refuse_model_type(const YamlView& type, const std::string& name) {
  std::string expected = "a dense decoder, one of";
  for (const std::string& supported : supported_model_types()) expected += " " + supported;
  type.problem("`" + name + "` is not supported", expected);
}

/// An empty model when there is nothing to read a shape from; the problem is then recorded.
Model read_config(const YamlView& document, Problems& problems) {
  if (!document.expect_map("the JSON object of a config.json")) return {};
  const std::size_t problems_before = problems.size();
  const HfConfig config(document);
  const YamlView type = config.text().require("model_type", "the name of the architecture");
  const std::string model_type = type.text();
  if (!type.exists() || problems.size() > problems_before) return {};
  const auto* reader = std::find_if(model_type_readers.begin(), model_type_readers.end(),
                                    [&](const ModelTypeReader& row) { return row.model_type == model_type; });
  if (reader == model_type_readers.end()) {
    refuse_model_type(type, model_type);
    return {};
  }
  Model model = reader->read(config);
  model.model_type = model_type;
  if (problems.size() == problems_before) complete_shape(model, config.text());
  return model;
}

}  // namespace

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  for (const ModelTypeReader& reader : model_type_readers) types.emplace_back(reader.model_type);
  return types;
}

Model import_hf_config(const std::filesystem::path& file, Problems& problems) {
  Model model = read_config(YamlView::from_json_file(file, problems), problems);
  model.name = name_after(file);
  model.source = file.generic_string();
  return model;
}

}  // namespace lockstep
