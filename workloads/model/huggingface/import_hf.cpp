#include "workloads/model/huggingface/import_hf.hpp"

#include <algorithm>
#include <system_error>

#include "workloads/model/huggingface/import_hf_private.hpp"

namespace lockstep::workloads {
namespace {

std::string name_after(const std::filesystem::path& file) {
  std::string stem = file.stem().string();
  if (stem != "config") return stem;
  std::error_code no_working_directory;
  const std::filesystem::path folder =
      std::filesystem::absolute(file, no_working_directory).lexically_normal().parent_path().filename();
  return folder.empty() ? stem : folder.string();
}

std::vector<ModelTypeReader> all_readers() {
  std::vector<ModelTypeReader> all;
  for (const auto readers : {dense_readers(), expert_readers(), latent_readers(), hybrid_readers()}) {
    all.insert(all.end(), readers.begin(), readers.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.model_type < b.model_type; });
  return all;
}

void refuse_model_type(const YamlView& type, const std::string& name) {
  const std::vector<std::string> types = supported_model_types();
  std::string expected = "a block for the model, which `lockstep model` writes, or a decoder, one of";
  for (const std::string& supported : types) expected += " " + supported;
  if (const std::string hint = did_you_mean(name, types); !hint.empty()) expected += "; " + hint;
  type.problem("`" + name + "` is not supported", expected);
}

/// model_type; of the one known file without it (grok-1), its class.
YamlView type_of(const HfConfig& config, std::string& name) {
  const YamlView classes = config.text()["architectures"];
  if (!config.given("model_type") && classes.is_list() && classes.items().size() == 1) {
    const YamlView first = classes.items().front();
    if (first.is_scalar() && first.text() == "Grok1ModelForCausalLM") {
      name = "grok-1";
      return first;
    }
  }
  const YamlView type = config.text().require("model_type", "the name of the architecture");
  name = type.text();
  return type;
}

/// An empty model when there is nothing to read a shape from; the problem is then recorded.
Model read_config(const YamlView& document, Problems& problems, std::string_view as) {
  if (!document.expect_map("the JSON object of a config.json")) return {};
  const std::size_t problems_before = problems.size();
  const HfConfig config(document);
  std::string model_type(as);
  YamlView type = document;
  if (as.empty()) type = type_of(config, model_type);
  if (!type.exists() || problems.size() > problems_before) return {};
  const auto readers = all_readers();
  const auto reader = std::find_if(readers.begin(), readers.end(),
                                   [&](const ModelTypeReader& row) { return row.model_type == model_type; });
  if (reader == readers.end()) {
    refuse_model_type(type, model_type);
    return {};
  }
  Model model = reader->read(config);
  model.model_type = model_type;
  if (problems.size() == problems_before) complete_shape(model, config.text());
  return model;
}

/// The type that has the file's keys.
std::string_view like_its_keys(const HfConfig& config) {
  if (config.given("linear_attn_config")) return "kimi_linear";
  if (config.given("compress_ratios") || config.given("compress_rates")) return "deepseek_v4";
  if (config.given("hybrid_override_pattern") || config.given("layers_block_type")) return "nemotron_h";
  if (config.given("linear_num_value_heads")) return "qwen3_next";
  if (config.given("kv_lora_rank")) return config.given("index_topk") ? "deepseek_v32" : "deepseek_v3";
  if (config.given("n_routed_experts")) return "glm4_moe";
  if (config.given("num_local_experts")) return "mixtral";
  if (config.given("num_experts")) return "qwen3_moe";
  return "llama";
}

}  // namespace

std::optional<Draft> draft_of_unknown(const std::filesystem::path& file) {
  Problems problems;
  const YamlView document = YamlView::from_json_file(file, problems);
  if (problems.size() > 0 || !document.is_map()) return std::nullopt;
  const HfConfig config(document);
  if (!config.given("model_type")) return std::nullopt;
  Draft draft{config.text()["model_type"].text(), std::string(like_its_keys(config)), {}};
  const auto types = supported_model_types();
  if (problems.size() > 0 || std::binary_search(types.begin(), types.end(), draft.model_type)) return std::nullopt;
  draft.model = import_hf_config(file, problems, draft.read_as);
  if (problems.size() > 0) return std::nullopt;
  return draft;
}

std::vector<std::string> supported_model_types() {
  std::vector<std::string> types;
  for (const ModelTypeReader& reader : all_readers()) types.emplace_back(reader.model_type);
  return types;
}

Model import_hf_config(const std::filesystem::path& file, Problems& problems, std::string_view as) {
  Model model = read_config(YamlView::from_json_file(file, problems), problems, as);
  model.name = name_after(file);
  model.source = file.generic_string();
  return model;
}

}  // namespace lockstep::workloads
