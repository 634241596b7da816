#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/core/known_word.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/visible_text.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/calibration/yaml_number.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/commands/commands.hpp"
#include "tools/output/elements/answer.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/files/file.hpp"
#include "workloads/model/huggingface/import_hf.hpp"
#include "workloads/model/model_block.hpp"

namespace lockstep::commands {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_tokens = 1'000'000'000;
constexpr std::int64_t bf16_bytes = 2;
constexpr const char* convention =
    "2 per weight that a token is multiplied with (k of the experts; the unembedding, tied or not; no biases, norms, "
    "embedding look-up or prediction modules) + scores and values, causal: a token sees half the others";

struct ModelArguments {
  std::string model, json, as;
  bool block = false;
  std::int64_t sequence_length = 4096;
};

struct Part {
  const char* name;
  std::int64_t total = 0;
  std::int64_t active = 0;
};

/// A type without a reader: what its sizes say, as a block to edit, since no key says how its layers differ from those
/// of the type that it is read as.
void print_draft(const std::string& file) {
  const auto draft = workloads::draft_of_unknown(file);
  if (!draft) return;
  const auto block = block_of(draft->model);
  if (!block) return;
  output::print("# " + visible(file) + " is a `" + visible(draft->model_type) +
                "`, which Lockstep does not read. This block has its sizes as `" + draft->read_as +
                "` reads them.\n# Compare biases, norms, gates, ties and the layers that differ with the model's code, "
                "and its count with the published one.\nsource: " +
                calibration::yaml_quoted(file) + "\n" + *block);
}

workloads::Model named_or_imported(const ModelArguments& arguments) {
  const std::string& word = arguments.model;
  Problems problems;
  workloads::Model model;
  if (word.ends_with(".json") || word.find('/') != std::string::npos) {
    const auto types = workloads::supported_model_types();
    if (!arguments.as.empty() && !std::binary_search(types.begin(), types.end(), arguments.as)) {
      throw ConfigError({{{"--as", 0, 0},
                          "",
                          "'" + arguments.as + "' is not a type that Lockstep reads",
                          scenario::catalog_name(arguments.as, types, "a type of Hugging Face")}});
    }
    model = workloads::import_hf_config(word, problems, arguments.as);
    if (problems.size() > 0 && arguments.as.empty()) print_draft(word);
  } else {
    if (!arguments.as.empty())
      throw ConfigError(
          {{{"--as", 0, 0}, "", "'" + word + "' is a model of the catalog", "the path of a config.json"}});
    const auto catalog = scenario::data_root() / "workloads" / "catalog";
    const auto names = workloads::model_names(catalog);
    const auto name = known_word(word, names);
    if (name.empty()) {
      throw ConfigError({{{"model", 0, 0},
                          "",
                          "model '" + word + "' is not in the catalog",
                          scenario::catalog_name(word, names, "a path to a config.json")}});
    }
    model = workloads::load_model(catalog, name, problems);
  }
  problems.throw_if_any();
  return model;
}

std::vector<Part> parts_of(const workloads::ParameterCount& count) {
  std::vector<Part> parts = {{"embedding", count.embedding, count.embedding},
                             {"learned positions", count.positions, count.positions},
                             {"attention", count.attention, count.attention},
                             {"recurrence", count.recurrence, count.recurrence},
                             {"dense mlp", count.mlp, count.mlp},
                             {"routed experts", count.routed_experts, count.active_experts},
                             {"shared experts", count.shared_experts, count.shared_experts},
                             {"router", count.router, count.router},
                             {"norms", count.norms, count.norms},
                             {"residual streams", count.streams, count.streams},
                             {"lm_head", count.lm_head, count.lm_head}};
  std::erase_if(parts, [](const Part& part) { return part.total == 0; });
  return parts;
}

/// "0-2, 5": runs of layers of one kind; of alternating kinds the first few.
std::string layers_text(const workloads::LayerSequence& sequence, workloads::LayerKindId kind) {
  std::string text;
  int runs = 0;
  for (std::size_t i = 0; i < sequence.order.size(); ++i) {
    if (sequence.order[i] != kind) continue;
    std::size_t last = i;
    while (last + 1 < sequence.order.size() && sequence.order[last + 1] == kind) ++last;
    if (++runs > 4) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(i) + (last > i ? "-" + std::to_string(last) : "");
    i = last;
  }
  return text;
}

const char* reach_name(workloads::AttentionReach reach) {
  switch (reach) {
    case workloads::AttentionReach::full: return "full";
    case workloads::AttentionReach::sliding: return "sliding";
    case workloads::AttentionReach::chunked: return "chunked";
  }
  return "";
}

const char* rule_name(workloads::Recurrence::Rule rule) {
  switch (rule) {
    case workloads::Recurrence::Rule::mamba2: return "Mamba-2";
    case workloads::Recurrence::Rule::gated_delta: return "gated delta";
    case workloads::Recurrence::Rule::kimi_delta: return "Kimi delta";
  }
  return "";
}

const char* attention_name(const workloads::Model& model, const workloads::LayerKind& kind) {
  if (!model.attention || kind.mixer == workloads::Mixer::none) return "none";
  if (kind.mixer == workloads::Mixer::recurrence) return model.recurrence ? rule_name(model.recurrence->rule) : "none";
  if (model.latent) return model.indexer ? "sparse latent" : "latent";
  if (kind.compression != workloads::Compression::none)
    return kind.compression == workloads::Compression::chosen ? "compressed sparse" : "heavily compressed";
  if (model.kv_heads == model.heads) return "multi-head";
  return model.kv_heads == 1 ? "multi-query" : "grouped-query";
}

std::string mlp_text(const workloads::Model& model, const workloads::LayerKind& kind) {
  const std::string gate = model.gated ? "gated " : "plain ";
  if (!kind.mlp) return "none";
  if (!kind.experts || !model.experts) return gate + std::to_string(model.d_ff);
  const workloads::Experts& experts = *model.experts;
  std::string text = std::to_string(experts.per_token) + " of " + std::to_string(experts.count) + " experts, " + gate +
                     std::to_string(experts.width);
  if (experts.shared > 0)
    text += ", + " + std::to_string(experts.shared) + " shared of " + std::to_string(experts.shared_width);
  if (experts.groups > 1)
    text += ", in " + std::to_string(experts.groups_per_token) + " of " + std::to_string(experts.groups) + " groups";
  return text;
}

Json layer_json(const workloads::Model& model, const workloads::LayerSequence& sequence, workloads::LayerKindId index) {
  const workloads::LayerKind& kind = sequence.kinds[index];
  const workloads::LayerParameters count = count_layer(model, kind);
  const bool own = model.has_full_heads(kind);
  Json layer = {{"count", sequence.counts[index]},
                {"layers", layers_text(sequence, index)},
                {"params", count.total()},
                {"active_params", count.active()},
                {"attention", attention_name(model, kind)},
                {"reach", reach_name(kind.reach)},
                {"window", kind.span},
                {"heads", model.heads},
                {"kv_heads", own            ? model.full_heads->kv_heads
                             : model.latent ? 0
                                            : model.kv_heads},
                {"head_size", own ? model.full_heads->head_size : model.head_size},
                {"kv_width", kv_width(model, kind)},
                {"mlp", !kind.mlp      ? "none"
                        : kind.experts ? "experts"
                                       : "dense"},
                {"d_ff", kind.experts || !kind.mlp ? 0 : model.d_ff}};
  if (kind.mixer != workloads::Mixer::attention) {
    for (const char* key : {"reach", "window", "heads", "kv_heads", "head_size"}) layer.erase(key);
  }
  if (kind.compression != workloads::Compression::none)
    layer["tokens_per_entry"] = model.compressed->rate(kind.compression);
  if (kind.mixer == workloads::Mixer::recurrence && model.recurrence) {
    const workloads::Recurrence& recurrence = *model.recurrence;
    layer["recurrence"] = {{"heads", recurrence.heads},
                           {"key_heads", recurrence.key_heads},
                           {"key_size", recurrence.key_size},
                           {"value_size", recurrence.value_size},
                           {"convolution", recurrence.convolution},
                           {"state_numbers", recurrence.state()}};
  }
  if (kind.experts && model.experts) {
    const workloads::Experts& experts = *model.experts;
    layer["experts"] = {{"count", experts.count},
                        {"per_token", experts.per_token},
                        {"d_ff", experts.width},
                        {"shared", experts.shared},
                        {"shared_d_ff", experts.shared_width},
                        {"groups", experts.groups},
                        {"groups_per_token", experts.groups_per_token}};
  }
  return layer;
}

Json json_of(const workloads::Model& model, std::int64_t tokens) {
  const workloads::ParameterCount count = count_parameters(model);
  const workloads::LayerSequence sequence = layer_sequence(model);
  Json json = {{"name", model.name},
               {"model_type", model.model_type},
               {"source", model.source},
               {"total_params", count.total()},
               {"active_params", count.active()},
               {"active_params_without_embedding", count.active() - count.embedding},
               {"embedding_params", count.embedding},
               {"lm_head_params", count.lm_head},
               {"mtp_params", count.mtp},
               {"score_bias_elements", count.score_bias},
               {"sequence_length", tokens},
               {"flops_per_token_forward", forward_flops_per_token(model, tokens, true)},
               {"flops_convention", convention},
               {"kv_cache_bytes_per_token", bf16_bytes * kv_width_of_layers(model)},
               {"weight_bytes_bf16", bf16_bytes * count.total()},
               {"parts", Json::array()},
               {"layers", Json::array()}};
  for (const Part& part : parts_of(count))
    json["parts"].push_back({{"part", part.name}, {"total", part.total}, {"active", part.active}});
  for (const workloads::LayerKindId i : sequence.kinds.ids()) json["layers"].push_back(layer_json(model, sequence, i));
  return json;
}

std::string number(std::int64_t value) { return output::with_separators(static_cast<double>(value)); }

std::string parts_text(const workloads::ParameterCount& count) {
  output::Table table({"part", "total", "share", "active", "share"});
  const auto row = [&](const char* name, std::int64_t total, std::int64_t active) {
    table.add({name, number(total), output::percent(static_cast<double>(total) / static_cast<double>(count.total())),
               number(active), output::percent(static_cast<double>(active) / static_cast<double>(count.active()))});
  };
  for (const Part& part : parts_of(count)) row(part.name, part.total, part.active);
  row("sum", count.total(), count.active());
  std::string text = table.to_string();
  if (count.lm_head == 0 && count.embedding > 0) text += "lm_head is the embedding's matrix (tied)\n";
  if (count.mtp > 0) text += "multi-token prediction, not in the sum: " + number(count.mtp) + "\n";
  if (count.score_bias > 0) text += "router score biases, not in the sum: " + number(count.score_bias) + "\n";
  return text;
}

/// "window 128, best 512 of 1/4": of entries, each of which stands for so many tokens.
std::string seen_text(const workloads::Model& model, const workloads::LayerKind& kind) {
  std::string text = "window " + std::to_string(kind.span);
  if (kind.compression == workloads::Compression::none) return text;
  text += kind.compression == workloads::Compression::chosen ? ", best " + std::to_string(model.indexer->top_k) + " of "
                                                             : ", all ";
  return text + "1/" + std::to_string(model.compressed->rate(kind.compression));
}

std::string layers_table(const workloads::Model& model) {
  const workloads::LayerSequence sequence = layer_sequence(model);
  output::Table table({"layers", "count", "attention", "sees", "params", "active", "mlp"});
  table.align_left(6);
  for (const workloads::LayerKindId i : sequence.kinds.ids()) {
    const workloads::LayerKind& kind = sequence.kinds[i];
    const workloads::LayerParameters count = count_layer(model, kind);
    const std::string sees =
        kind.mixer != workloads::Mixer::attention ? "-"
        : model.compressed                        ? seen_text(model, kind)
        : model.indexer                           ? "best " + std::to_string(model.indexer->top_k)
        : kind.reach == workloads::AttentionReach::full
            ? "all"
            : (kind.reach == workloads::AttentionReach::sliding ? "window " : "chunk ") + std::to_string(kind.span);
    table.add({layers_text(sequence, i), std::to_string(sequence.counts[i]), attention_name(model, kind), sees,
               number(count.total()), number(count.active()), mlp_text(model, kind)});
  }
  return table.to_string();
}

std::string heads_text(const workloads::Model& model) {
  if (!model.attention) return "";
  std::string text = std::to_string(model.heads) + " heads, ";
  if (model.latent) {
    const workloads::LatentAttention& latent = *model.latent;
    text += "latent: query rank " + (latent.q_rank > 0 ? std::to_string(latent.q_rank) : "none") + ", key-value rank " +
            std::to_string(latent.kv_rank) + ", head sizes " + std::to_string(latent.nope_head_size) + " + " +
            std::to_string(latent.rope_head_size) + " rotary, values " + std::to_string(latent.value_head_size);
  } else {
    text += std::to_string(model.kv_heads) + " key-value heads of " + std::to_string(model.head_size);
  }
  if (model.indexer)
    text += "; indexer of " + std::to_string(model.indexer->heads) + " heads keeps " +
            std::to_string(model.indexer->top_k) + (model.compressed ? " entries" : " tokens");
  if (model.streams > 1) text += "; " + std::to_string(model.streams) + " residual streams";
  if (model.full_heads)
    text += ", of " + std::to_string(model.full_heads->head_size) + " with " +
            std::to_string(model.full_heads->kv_heads) + " key-value heads where a layer sees all tokens";
  std::int64_t width = 0;
  for (const auto& kind : layer_sequence(model).kinds) width = std::max(width, kv_width(model, kind));
  return text + "; " + std::to_string(width) + " numbers a token and layer in the KV cache\n";
}

std::string text_of(const workloads::Model& model, std::int64_t tokens) {
  const workloads::ParameterCount count = count_parameters(model);
  std::string text = model.name + " (" + model.model_type + "): " + number(count.total()) + " parameters";
  if (model.experts)
    text += ", " + number(count.active()) + " active (" + number(count.active() - count.embedding) +
            " without the embedding)";
  text += "\n" + (model.source.empty() ? "" : "source: " + model.source + "\n") + "\n" + parts_text(count) + "\n";
  text += "D = " + std::to_string(model.d_model) + ", V = " + std::to_string(model.vocabulary) + "; " +
          heads_text(model) + layers_table(model) + "\n";
  text += "forward, sequences of " + std::to_string(tokens) + ": " +
          format(Flops(forward_flops_per_token(model, tokens, true))) + " a token\n  " + convention + "\n";
  const bool windows =
      std::any_of(model.layer_kinds.begin(), model.layer_kinds.end(),
                  [](const workloads::LayerKind& kind) { return kind.reach != workloads::AttentionReach::full; });
  text += "KV cache, bf16: " + number(bf16_bytes * kv_width_of_layers(model)) + " B a token" +
          (windows ? " while all layers hold it" : "") + "\n";
  text += "weights, bf16: " + output::fixed(static_cast<double>(bf16_bytes * count.total()) / 1e9, 2) + " GB\n";
  return text;
}

void run_model(const ModelArguments& arguments) {
  if (arguments.json != "-") output::check_file_place(arguments.json);
  if (arguments.sequence_length < 1 || arguments.sequence_length > most_tokens) {
    throw ConfigError({{{"--sequence-length", 0, 0},
                        "",
                        "'" + std::to_string(arguments.sequence_length) + "' is too " +
                            (arguments.sequence_length < 1 ? "small" : "large"),
                        "1 to 1000000000 tokens"}});
  }
  const workloads::Model model = named_or_imported(arguments);
  if (arguments.block) {
    const auto block = block_of(model);
    if (!block)
      throw ConfigError({{{"--block", 0, 0},
                          "",
                          "the layers of '" + model.name + "' follow no rule that a block can say",
                          "its config.json as the scenario's model"}});
    return output::print((model.source.empty() ? "" : "source: \"" + model.source + "\"\n") + *block);
  }
  const std::string json = output::json_document(json_of(model, arguments.sequence_length));
  output::Answer answer;
  answer.write(arguments.json, json);
  if (arguments.json == "-") return output::print(json);
  answer.print(text_of(model, arguments.sequence_length));
}

}  // namespace

void add_model(CommandLine& line) {
  auto command = line.command("model", "parameters by part, FLOPs and KV cache of a model");
  auto arguments = std::make_shared<ModelArguments>();
  command
      .option("model", arguments->model,
              "a name from the catalog such as deepseek-v3, or the path of a Hugging Face config.json")
      .required();
  command.option("--sequence-length", arguments->sequence_length, "tokens of a sequence, for the FLOPs of attention")
      .shows_default();
  command.option("--as", arguments->as, "read the config.json as this model_type, whatever it says");
  command.flag("--block", arguments->block, "print the model as a block for a scenario or the catalog");
  command.option("--json", arguments->json, "write everything as JSON to a file, or to stdout with -");
  command.footer(
      "Examples:\n  lockstep model deepseek-v3\n  lockstep model path/to/config.json --sequence-length 8192 --json -");
  command.callback([arguments] { run_model(*arguments); });
}

}  // namespace lockstep::commands
