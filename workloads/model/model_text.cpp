/// A model as text: what to_string prints.
#include <sstream>
#include <utility>

#include "workloads/model/model.hpp"

namespace lockstep::workloads {
namespace {

const char* norm_name(NormKind kind) {
  switch (kind) {
    case NormKind::none: return "none";
    case NormKind::rms: return "rms";
    case NormKind::layer_norm: return "layer_norm";
    case NormKind::layer_norm_no_bias: return "layer_norm_no_bias";
  }
  return "";
}

void print_attention(std::ostream& out, const Model& model) {
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    out << "  heads " << model.heads << ", latent attention: q_rank " << latent.q_rank << ", kv_rank " << latent.kv_rank
        << ", head sizes nope " << latent.nope_head_size << ", rope " << latent.rope_head_size << ", value "
        << latent.value_head_size << '\n';
  } else if (model.compressed) {
    const CompressedAttention& compressed = *model.compressed;
    out << "  heads " << model.heads << " of " << model.head_size << ", compressed attention: q_rank "
        << compressed.q_rank << ", output groups " << compressed.output_groups << " of " << compressed.output_rank
        << ", entries of " << compressed.chosen_rate << " and " << compressed.all_rate << " tokens\n";
  } else {
    out << "  heads " << model.heads << ", kv_heads " << model.kv_heads << ", head_size " << model.head_size << '\n';
  }
  if (model.full_heads) {
    out << "  layers that see all tokens: kv_heads " << model.full_heads->kv_heads << ", head_size "
        << model.full_heads->head_size << (model.full_heads->values_are_keys ? ", values are keys" : "") << '\n';
  }
  if (model.indexer) {
    out << "  indexer: heads " << model.indexer->heads << ", head_size " << model.indexer->head_size << ", top_k "
        << model.indexer->top_k << '\n';
  }
}

const char* rule_name(Recurrence::Rule rule) {
  switch (rule) {
    case Recurrence::Rule::mamba2: return "mamba2";
    case Recurrence::Rule::gated_delta: return "gated_delta";
    case Recurrence::Rule::kimi_delta: return "kimi_delta";
  }
  return "";
}

void print_recurrence(std::ostream& out, const Recurrence& recurrence) {
  out << "  recurrence " << rule_name(recurrence.rule) << ": heads " << recurrence.heads << ", key_heads "
      << recurrence.key_heads << ", key_size " << recurrence.key_size << ", value_size " << recurrence.value_size
      << ", convolution " << recurrence.convolution << ", chunk " << recurrence.chunk << '\n';
}

void print_layers(std::ostream& out, const Model& model) {
  const LayerSequence sequence = layer_sequence(model);
  for (const LayerKindId i : sequence.kinds.ids()) {
    const LayerKind& kind = sequence.kinds[i];
    out << "  layers of kind " << position_of(i) << ": " << sequence.counts[i];
    if (kind.reach != AttentionReach::full) {
      out << (kind.reach == AttentionReach::sliding ? ", window " : ", chunks of ") << kind.span;
    }
    if (kind.compression == Compression::chosen) out << ", chosen entries";
    if (kind.compression == Compression::all) out << ", all entries";
    if (kind.mixer == Mixer::recurrence) out << ", recurrence";
    if (kind.mixer == Mixer::none) out << ", mlp only";
    if (kind.shared_index) out << ", index of the layer before";
    out << (!kind.mlp ? ", no mlp" : kind.experts ? ", experts" : ", dense") << '\n';
  }
}

void print_experts(std::ostream& out, const Experts& experts) {
  out << "  experts " << experts.count << ", per token " << experts.per_token << ", width " << experts.width;
  if (experts.shared > 0) out << ", shared " << experts.shared << " of " << experts.shared_width;
  if (experts.latent > 0) out << ", latent " << experts.latent;
  if (experts.groups > 1) out << ", groups " << experts.groups << ", per token " << experts.groups_per_token;
  out << '\n';
}

}  // namespace

std::string to_string(const Model& model) {
  const ParameterCount count = count_parameters(model);
  std::ostringstream out;
  out << "model " << model.name << " (" << model.model_type << "): " << count.total() << " parameters\n";
  if (!model.source.empty()) out << "  source: " << model.source << '\n';
  out << "  layers " << model.layers << ", d_model " << model.d_model << ", d_ff " << model.d_ff
      << (model.gated ? ", gated mlp" : ", plain mlp") << '\n';
  if (model.attention) print_attention(out, model);
  if (model.recurrence) print_recurrence(out, *model.recurrence);
  if (model.experts) print_experts(out, *model.experts);
  if (!model.layer_kinds.empty()) print_layers(out, model);
  out << "  vocabulary " << model.vocabulary << (model.tied_embeddings ? ", tied" : "") << ", norm "
      << norm_name(model.norm) << " x " << model.norms_per_layer << '\n';
  const std::pair<const char*, bool> options[] = {{"qkv_bias", model.qkv_bias},
                                                  {"attention_output_bias", model.attention_output_bias},
                                                  {"mlp_bias", model.mlp_bias},
                                                  {"qk_norm", model.qk_norm != QkNorm::none},
                                                  {"attention_sinks", model.attention_sinks},
                                                  {"attention_gate", model.attention_gate},
                                                  {"no rotary positions", !model.rotary},
                                                  {"parallel_residual", model.parallel_residual},
                                                  {"final_norm", model.final_norm},
                                                  {"hyper-connections", model.streams > 1},
                                                  {"learned_positions", model.learned_positions > 0},
                                                  {"multi-token prediction", model.mtp_modules > 0}};
  std::string present_options;
  for (const auto& [option, present] : options) {
    if (present) present_options += (present_options.empty() ? "" : ", ") + std::string(option);
  }
  out << "  options: " << (present_options.empty() ? "none" : present_options) << '\n';
  out << "  parameters: embedding " << count.embedding + count.positions << ", attention " << count.attention
      << (model.recurrence ? ", recurrence " + std::to_string(count.recurrence) : "") << ", mlp " << count.mlp
      << ", norms " << count.norms << ", lm_head " << count.lm_head;
  if (model.experts) {
    out << ", routed experts " << count.routed_experts << ", shared experts " << count.shared_experts << ", router "
        << count.router << ", active " << count.active();
  }
  out << '\n';
  return out.str();
}

}  // namespace lockstep::workloads
