// Models by the names that tables give them.
#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "sim/studies/model_blocks.hpp"
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

struct NamedModel {
  std::array<std::string_view, 3> words;  ///< all of them stand in the name
  std::string_view model;
};

// The first that fits. Blocks are models that the catalog does not have.
constexpr NamedModel models[] = {
    {{"llama2", "70b", ""}, "llama-2-70b"},
    {{"llama2", "13b", ""}, "llama-2-13b"},
    {{"llama2", "7b", ""}, "llama-2-7b"},
    {{"llama4", "maverick", ""}, "llama-4-maverick"},
    {{"llama4", "scout", ""}, "llama-4-scout"},
    {{"llama3", "405b", ""}, "llama-3-405b"},
    {{"llama3", "70b", ""}, "llama-3-70b"},
    {{"llama3", "8b", ""}, "llama-3-8b"},
    // Nemotron-4: arXiv 2402.16819 table 1, arXiv 2406.11704 table 1; squared ReLU, no biases
    {{"nemotron", "15b", ""},
     "{layers: 32, d_model: 6144, d_ff: 24576, heads: 48, kv_heads: 8, vocabulary: 256000, mlp: plain, norm: "
     "layer_norm}"},
    {{"nemotron", "340b", ""},
     "{layers: 96, d_model: 18432, d_ff: 73728, heads: 96, kv_heads: 8, vocabulary: 256000, mlp: plain, norm: "
     "layer_norm}"},
    {{"gpt3", "", ""}, "gpt3-175b"},
    {{"nemomegatron", "", ""}, "gpt3-175b"},
    {{"gptoss", "120b", ""}, "gpt-oss-120b"},
    {{"qwen3", "30b", ""}, "qwen3-30b-a3b"},
    {{"qwen3", "235b", ""}, "qwen3-235b-a22b"},
    {{"qwen3", "32b", ""}, "qwen3-32b"},
    {{"deepseek", "v3", "womtp"}, studies::deepseek_v3_alone},
    {{"deepseek", "v3", ""}, "deepseek-v3"},
    {{"deepseek3", "671b", ""}, studies::deepseek_v3_alone},
    {{"mixtral", "8x22b", ""}, studies::mixtral_8x22b},
    {{"mixtral", "8x7b", ""}, "mixtral-8x7b"},
    // xai-org/grok-1, run.py: four norms a layer, gated experts of 32768
    {{"grok1", "", ""},
     "{layers: 64, d_model: 6144, heads: 48, kv_heads: 8, vocabulary: 131072, norms_per_layer: 4, moe: {experts: 8, "
     "experts_per_token: 2, d_ff: 32768}}"},
    {{"kimi", "k2", ""}, studies::kimi_k2},
    {{"mistral", "7b", ""}, "mistral-7b"},
    // google/gemma-3-12b-pt, as MaxText's gemma3-12b.yml
    {{"gemma3", "12b", ""},
     "{layers: 48, d_model: 3840, d_ff: 15360, heads: 16, kv_heads: 8, head_size: 256, vocabulary: 262144, "
     "norms_per_layer: 4, qk_norm: true, tied_embeddings: true, window: {tokens: 1024, full_every: 6}}"},
    {{"gemma3", "27b", ""}, "gemma-3-27b"},
    {{"gemma2", "27b", ""}, "gemma-2-27b"},
    {{"gemma2", "2b", ""}, "gemma-2-2b"},
};

/// As letters_and_digits; "3.1" and "3.3" as 3, since LLaMA 3.1 has the shape of 3.
std::string plain(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.' && i > 0 && name[i - 1] == '3') {
      ++i;
    } else {
      text += name[i];
    }
  }
  return letters_and_digits(text);
}

/// The catalog's model whose name stands in the text, the longest if there are several; "" if there is none.
std::string in_catalog(const std::string& text) {
  static const auto names = [] {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& file :
         std::filesystem::directory_iterator(scenario::data_root() / "workloads" / "catalog", error)) {
      if (file.path().extension() == ".yaml") found.push_back(file.path().stem().string());
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::pair(b.size(), std::string_view(a)) < std::pair(a.size(), std::string_view(b));
    });
    return found;
  }();
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& name) { return text.find(plain(name)) != std::string::npos; });
  return found == names.end() ? "" : *found;
}

/// The model's block, of a name in the catalog its file.
std::string block_of(const std::string& model) {
  if (model.starts_with("{")) return model;
  std::ifstream file(scenario::data_root() / "workloads" / "catalog" / (model + ".yaml"));
  std::string block;
  for (std::string line; std::getline(file, line);) block += "\n  " + line;
  return block;
}

/// The block with another number in "layers: 80"; as it is where it has that number.
std::string with_layers(const std::string& model, std::int64_t layers) {
  constexpr std::string_view key = "layers: ";
  auto block = block_of(model);
  const auto at = block.find(key);
  if (at == std::string::npos) return model;
  const auto begin = at + key.size(), end = block.find_first_not_of("0123456789", begin);
  if (block.substr(begin, end - begin) == std::to_string(layers)) return model;
  return block.replace(begin, end - begin, std::to_string(layers));
}

}  // namespace

std::string letters_and_digits(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string model_called(std::string_view name) {
  const auto text = plain(name);
  for (const auto& model : models) {
    const bool fits = std::all_of(model.words.begin(), model.words.end(),
                                  [&](auto word) { return text.find(word) != std::string::npos; });
    if (fits) return std::string(model.model);
  }
  return in_catalog(text);
}

void set_model(MeasuredRun& run, std::string_view name, std::int64_t layers) {
  const auto text = plain(name);
  const auto model = model_called(name);
  const bool state_spaces = text.find("nemotronh") != std::string::npos || text.find("nemotron3") != std::string::npos;
  if (model.empty() && state_spaces)
    return skip(run, "state-space layers of '" + std::string(name) + "' are not expressed");
  if (model.empty()) return skip(run, "no shape of '" + std::string(name) + "'");
  run.set("model", layers > 0 ? with_layers(model, layers) : model);
}

void set_model(MeasuredRun& run, const CsvRow& row) {
  const auto name = row.text("model");
  if (!model_called(name).empty() || row.text("d_model").empty()) return set_model(run, name, row.integer("layers", 0));
  const auto heads = row.integer("heads");
  std::string block = "{";
  for (const auto& [key, value] : {std::pair{"layers", row.integer("layers")},
                                   {"d_model", row.integer("d_model")},
                                   {"d_ff", row.integer("d_ff")},
                                   {"heads", heads},
                                   {"kv_heads", row.integer("kv_heads", heads)},
                                   {"vocabulary", row.integer("vocab")}})
    block += (block.size() > 1 ? ", " : "") + std::string(key) + ": " + std::to_string(value);
  run.set("model", block + "}");
}

std::string gpt_shape(std::int64_t layers, std::int64_t d_model, std::int64_t d_ff, std::int64_t heads,
                      std::int64_t vocabulary, std::int64_t positions) {
  std::string text = "{";
  const auto add = [&](std::string_view key, std::int64_t value) {
    text += std::string(key) + ": " + std::to_string(value) + ", ";
  };
  add("layers", layers);
  add("d_model", d_model);
  add("d_ff", d_ff);
  add("heads", heads);
  add("vocabulary", vocabulary);
  add("learned_positions", positions);
  return text +
         "mlp: plain, norm: layer_norm, tied_embeddings: true, qkv_bias: true, attention_output_bias: true, mlp_bias: "
         "true}";
}

std::string gpt_shape(const CsvRow& row) {
  return gpt_shape(row.integer("layers"), row.integer("d_model"), row.integer("d_ff"), row.integer("heads"),
                   row.integer("vocab"), row.integer("seq"));
}

}  // namespace lockstep::validation
