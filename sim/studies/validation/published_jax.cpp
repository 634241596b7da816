// JAX on NVIDIA's GPUs: steps that XLA compiles, in MaxText and Pax.
#include <algorithm>
#include <iterator>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

constexpr std::string_view nodes[] = {"dgx-a100", "dgx-h100", "dgx-h200", "a3-mega-h100", "a4-b200"};

/// The shapes of google/paxml, contrib/gpu/scripts_gpu/configs.py at 04516ac.
void set_pax_model(MeasuredRun& run, const std::string& name) {
  if (name == "GPT3-5B") return run.set("model", gpt_shape(24, 4096, 16384, 32, 50304, 2048));
  set_model(run, name);
}

/// What a policy of MaxText or Pax computes again. Transformer Engine's attention is no product to a policy of Pax, and
/// XLA's own has batch dimensions, so that it runs again where products are kept.
void set_policy(MeasuredRun& run, const CsvRow& row) {
  const auto policy = row.text("remat");
  const auto selective = [&](std::string_view parts) {
    run.set("training.recompute.mode", "selective");
    run.set("training.recompute.parts", std::string(parts));
  };
  if (policy == "minimal_flash") return selective("[norms, activations]");
  if (policy.starts_with("SAVE_DOT")) return selective("[core_attention, norms, activations]");
  if (policy == "save_dot_with_context_except_mlp")
    return set_needed_recompute(run, "query projection, key projection, value projection, attention, attention output");
  if (policy == "SAVE_QKV_OUT_PROJ")
    return set_needed_recompute(run, "query projection, key projection, value projection, attention output");
  if (policy == "full" || policy == "SAVE_NOTHING") return set_needed_recompute(run);
  skip_word(run, row, "remat", "a policy of MaxText or Pax such as SAVE_NOTHING");
}

void jax_gpu(const CsvRow& row, MeasuredRun& run) {
  const auto name = row.text("model"), machine = row.text("machine");
  set_pax_model(run, name);
  const auto chips = row.integer("n_chips");
  const auto* node = std::find(std::begin(nodes), std::end(nodes), machine);
  if (node == std::end(nodes)) return skip(run, "no machine '" + machine + "' in the catalog");
  set_cluster(run, GpuNode{*node}, chips);
  if (!run.skipped_because.empty()) return;
  set_hopper_attention(run, machine, row.integer("cudnn") < 9 ? attention_of_cudnn_8 : "cudnn-9.0");
  RunDegrees degrees;
  degrees.fsdp = row.integer("fsdp");
  degrees.data = row.integer("data");
  if (degrees.ranks() != chips) return skip(run, "the degrees do not make up the chips");
  set_degrees(run, degrees);
  const auto local = row.integer("per_device_batch");
  if (local > most_sequences) return skip(run, std::to_string(local) + " sequences on a chip");
  set_batch(run, local * chips, row.integer("seq"), local, degrees);
  set_policy(run, row);
  set_xla_without_profile(run, yes_or_no(row, "scan") ? XlaLayers::in_a_loop : XlaLayers::unrolled);
  const auto precision = precision_called(run, row);
  run.set("training.precision", precision);
  run.set("training.weight_precision", "fp32");  // cast where they are used
  run.set("training.cross_entropy.mode", "in place");
  if (const auto seconds = row.number("step_time_s")) {
    run.time = Measurement{*seconds};
  } else if (const auto rate = row.number("sequences_per_s")) {
    run.time = Measurement{static_cast<double>(local * chips) / *rate};
  }
  set_family(run, row.text("framework") + " " + name + (row.text("layers_of") == "te" ? " with TE's layers" : ""),
             machine, precision);
}

}  // namespace

std::vector<PublishedTable> jax_tables() {
  return {
      {"jax_gpu",
       "MaxText and Pax on NVIDIA GPUs (NVIDIA/JAX-Toolbox, NVIDIA/dgxc-benchmarking, AI-Hypercomputer/gpu-recipes)",
       {"FSDP inside a machine where the data axis has the others; A3 Ultra is as DGX H200.",
        "Policies keep what their names say; GPT-3 175B of JAX-Toolbox has the policy of its base class, since its "
        "activations do not fit otherwise.",
        "No recipe gives XLA a profile. It then hides no gathers and reductions beyond an iteration where layers are a "
        "loop, and no reductions behind the backward where they are not. Attention by cuDNN 8 on Hopper has "
        "FlashAttention-2's rates."},
       {"framework", "model", "machine", "n_chips", "precision", "seq", "per_device_batch", "fsdp", "data", "layers_of",
        "remat", "scan", "cudnn", "step_time_s", "sequences_per_s"},
       jax_gpu}};
}

}  // namespace lockstep::validation
