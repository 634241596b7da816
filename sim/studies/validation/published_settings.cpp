// Clusters, degrees and batches of published runs.
#include <algorithm>
#include <array>
#include <utility>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// A part of a chip's text, and that chip's usual node. The first that fits is used.
constexpr std::pair<std::string_view, GpuNode> machines[] = {
    {"gb300", {"gb300-nvl72", 64}}, {"gb200", {"gb200-nvl72", 64}}, {"b200", {"dgx-b200"}}, {"h200", {"dgx-h200"}},
    {"h100", {"dgx-h100"}},         {"h800", {"hgx-h800"}},         {"a100", {"dgx-a100"}}};

/// Sizes a <= b (<= c) with this product. An axis that is a multiple of 4 (in 3D) closes into a ring.
std::string slice_shape(std::int64_t chips, bool three) {
  std::array<std::int64_t, 3> best{1, 1, chips};
  const auto badness = [three](const std::array<std::int64_t, 3>& sizes) {
    const auto lines = three ? std::count_if(sizes.begin(), sizes.end(), [](auto size) { return size % 4 != 0; }) : 0;
    return std::pair{lines, sizes[2]};
  };
  for (std::int64_t a = 1; a * a <= chips && (three || a == 1); ++a) {
    if (chips % a != 0) continue;
    for (std::int64_t b = a; a * b * b <= chips; ++b) {
      if (chips / a % b != 0) continue;
      const std::array<std::int64_t, 3> sizes{a, b, chips / a / b};
      if (badness(sizes) < badness(best)) best = sizes;
    }
  }
  const auto rest = std::to_string(best[1]) + ", " + std::to_string(best[2]);
  return three ? "[" + std::to_string(best[0]) + ", " + rest + "]" : "[" + rest + "]";
}

}  // namespace

void skip(MeasuredRun& run, std::string why) {
  if (run.skipped_because.empty()) run.skipped_because = std::move(why);
}

void set_cluster(MeasuredRun& run, const GpuNode& node, std::int64_t chips) {
  const auto of_a_node = std::min<std::int64_t>(chips, node.chips);
  if (chips % of_a_node != 0)
    return skip(run, std::to_string(chips) + " chips do not fill nodes of " + std::to_string(node.chips));
  std::string text = "{node: {like: " + std::string(node.like) + ", chips: " + std::to_string(of_a_node) +
                     std::string(node.more) + "}";
  if (chips > of_a_node)
    text += ", nodes: " + std::to_string(chips / of_a_node) +
            (node.fabric.empty() ? "" : ", fabric: " + std::string(node.fabric));
  run.set("cluster", text + "}");
}

void set_cluster(MeasuredRun& run, std::string_view chip, std::int64_t chips, const NodeUse& use) {
  const auto text = lower_case(chip);
  for (const auto& [word, usual] : machines) {
    if (text.find(word) == std::string::npos) continue;
    std::string more;
    if (use.launched_as_graph) more += ", chip: {like: " + std::string(word) + ", kernels: {host: 0 us}}";
    if (!use.tokens_once_a_node)
      more += ", algorithms: [ring, tree, direct all-to-all, shift, in-network, in-network tree]";
    auto node = usual;
    node.more = more;
    return set_cluster(run, node, chips);
  }
  skip(run, "no machine with '" + std::string(chip) + "' in the catalog");
}

void set_tpus(MeasuredRun& run, std::string_view chip, std::int64_t chips_of_a_slice, std::int64_t slices) {
  const bool three = chip == "tpu-v4" || chip == "tpu-v5p" || chip == "tpu-v7x";
  run.set("cluster", "{chip: " + std::string(chip) + ", shape: " + slice_shape(chips_of_a_slice, three) +
                         (slices > 1 ? ", pods: " + std::to_string(slices) : "") + "}");
}

RunDegrees megatron_degrees(MeasuredRun& run, std::int64_t chips, std::int64_t tensor, std::int64_t pipeline,
                            std::int64_t context, std::int64_t experts) {
  RunDegrees degrees{tensor, context, 1, 1, 1, pipeline, 1};
  const auto model_ranks = tensor * pipeline * context;
  if (chips % model_ranks != 0) {
    skip(run, "impossible as printed: " + std::to_string(model_ranks) + " ranks of one replica on " +
                  std::to_string(chips) + " chips");
    return degrees;
  }
  degrees.data = chips / model_ranks;
  if (experts <= 1) return degrees;
  if (experts % tensor != 0 || degrees.data % (experts / tensor) != 0) {
    skip(run, "experts over other ranks than those of the tensor and data axes are not expressed");
    return degrees;
  }
  degrees.expert = experts / tensor;
  degrees.data /= degrees.expert;
  run.set("parallel.experts_over", "[expert, tensor]");
  return degrees;
}

void set_degrees(MeasuredRun& run, const RunDegrees& degrees) {
  const auto add = [&](std::string_view key, std::int64_t value) {
    if (value > 1) run.set(key, value);
  };
  add("parallel.tensor", degrees.tensor);
  add("parallel.context", degrees.context);
  add("parallel.expert", degrees.expert);
  add("parallel.fsdp", degrees.fsdp);
  add("parallel.data", degrees.data);
  add("parallel.pipeline", degrees.pipeline);
  if (degrees.chunks > 1 && degrees.pipeline > 1) {
    run.set("pipeline.schedule", "interleaved");
    run.set("pipeline.chunks", degrees.chunks);
  }
}

void set_needed_recompute(MeasuredRun& run, const std::string& kept) {
  const auto model = run.value_of("model");
  const auto has = [&](std::string_view word) { return model.find(word) != std::string::npos; };
  if (has("gemma") || has("norms_per_layer"))
    return run.set("training.recompute", "full");  // a norm reads the last product
  const bool experts = has("moe:") || has("mixtral") || has("deepseek-v3") || has("llama-4") || has("gpt-oss") ||
                       has("-a22b") || has("-a3b");
  run.set("training.recompute.mode", "selective");
  run.set("training.recompute.kept", std::string(experts ? "[expert down projection" : "[down projection") +
                                         (kept.empty() ? "" : ", ") + kept + "]");
}

void set_batch(MeasuredRun& run, std::int64_t sequences, std::int64_t length, std::int64_t micro_batch,
               const RunDegrees& degrees) {
  const auto at_once = micro_batch * degrees.replicas();
  if (at_once < 1 || sequences % at_once != 0)
    return skip(run,
                "microbatches of " + std::to_string(at_once) + " sequences do not divide " + std::to_string(sequences));
  run.set("batch.sequences", sequences);
  run.set("batch.sequence_length", length);
  run.set("batch.microbatches", sequences / at_once);
}

void set_megatron_2021(MeasuredRun& run) {
  run.set("training.precision", "bf16");  // fp16 has its rate and its bytes
  run.set("training.master_weights", "true");
  run.set("training.attention", "unfused");
  run.set("training.causal_attention", "false");
  run.set("training.dropout", "true");
  run.set("communication.gradient_buckets", "1 TB");
  if (!run.value_of("parallel.tensor").empty() && !run.value_of("parallel.pipeline").empty())
    run.set("pipeline.scatter_gather", "true");
}

void set_megatron_core(MeasuredRun& run, const std::string& precision) {
  run.set("training.precision", precision);
  if (!run.value_of("parallel.tensor").empty()) {
    run.set("communication.collective_matmul", "true");
    if (precision == "fp8") run.set("communication.activation_gathers", "8-bit");
  }
  run.set("training.master_weights", "true");
  run.set("parallel.zero", 1);
  run.set("communication.updated_weights", "ahead");
}

std::string precision_called(std::string_view text) {
  const auto lower = lower_case(text);
  for (const std::string_view known : {"fp8", "float8", "int8", "fp4"}) {
    if (lower.find(known) != std::string::npos) return known == "float8" ? "fp8" : std::string(known);
  }
  return "bf16";
}

void set_family(MeasuredRun& run, std::string_view model, std::string_view chip, std::string_view precision) {
  run.family = std::string(model) + ", " + std::string(chip) + ", " + std::string(precision);
}

}  // namespace lockstep::validation
