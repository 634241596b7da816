// TPU v6e without MaxText: PyTorch/XLA (torchprime) and AXLearn.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// FSDP over the chips that `tensor` leaves of a slice; slices are replicas, or split the weights further.
void set_slices(MeasuredRun& run, const CsvRow& row, std::int64_t tensor, bool weights_across) {
  const auto of_a_slice = row.integer("chips_per_slice"), slices = row.integer("slices");
  set_tpus(run, row.text("chip"), of_a_slice, slices);
  if (!run.skipped_because.empty()) return;
  RunDegrees degrees;
  degrees.tensor = tensor;
  degrees.fsdp = row.integer("ici_fsdp");
  if (degrees.ranks() != of_a_slice) return skip(run, "the degrees do not make up the chips of a slice");
  (weights_across ? degrees.fsdp : degrees.data) *= slices;
  if (slices > 1 && !weights_across) run.set("mesh.data", "[pod]");
  set_degrees(run, degrees);
  const auto sequences = row.integer("gbs");
  set_batch(run, sequences, row.integer("seq"), row.integer("mbs", sequences / degrees.replicas()), degrees);
}

void torchprime(const CsvRow& row, MeasuredRun& run) {
  const auto name = row.text("model"), attention = row.text("attention");
  const auto precision = precision_called(run, row);
  set_family(run, name + ", " + attention, row.text("chip"), precision);
  set_model(run, row);
  if (attention == "flash") {
    run.set("training.attention_kernel", "pallas-flash");
  } else if (attention != "splash") {
    return skip_word(run, row, "attention", "flash or splash");
  }
  const auto over_slices = row.text("dcn"), offload = row.text("offload");
  if (!over_slices.empty() && over_slices != "fsdp" && over_slices != "data")
    return skip_word(run, row, "dcn", "fsdp or data");
  if (!offload.empty() && offload != "decoder_input") return skip_word(run, row, "offload", "decoder_input");
  set_slices(run, row, row.integer("ici_tp"), over_slices == "fsdp");
  run.set("training.precision", precision);  // of weights and gradients too, without fp32 copies
  if (row.text("optimizer").empty()) skip_word(run, row, "optimizer", "an optimizer such as adafactor");
  run.set("training.optimizer", row.text("optimizer"));
  run.set("training.cross_entropy.mode", "in place");
  if (row.text("remat") != "full") return skip_word(run, row, "remat", "full");
  if (name.starts_with("Mixtral")) {
    // moe_implementation: dropping with capacity_factor: 1.25 (configs/model/mixtral-8x7b.yaml); the product that
    // combines the experts' results by its mask reads them in the backward.
    run.set("routing.capacity_factor", "1.25");
    run.set("routing.slots", "by mask");
    run.set("training.recompute", "full");
  } else {
    set_needed_recompute(run);
  }
  if (!offload.empty()) set_offload(run);
  time_in(row, "step_time_s", 1, run);
}

void axlearn(const CsvRow& row, MeasuredRun& run) {
  const auto precision = precision_called(run, row);
  set_family(run, row.text("model"), row.text("chip"), precision);
  set_model(run, row);
  (void)row.integer("mbs");  // which torchprime's rows do not have
  set_slices(run, row, 1, false);
  // xla_tpu_enable_sunk_dcn_allreduce_done_with_host_reduction (common/compiler_options.py): "group non-blocking DCN
  // collectives into as few stages as possible".
  set_no_waits_between_slices(run);
  run.set("training.precision", precision);
  run.set("training.weight_precision", "fp32");
  run.set("training.cross_entropy.mode", "in place");
  run.set("training.gradient_clipping", "true");
  if (row.text("kept") != "query_proj key_proj value_proj context out_proj")
    return skip_word(run, row, "kept", "query_proj key_proj value_proj context out_proj");
  // Attention runs again, though its result is kept, for the sums of its softmax: make_splash_mha is called without
  // residual_checkpoint_name (common/flash_attention/tpu_attention.py), so no policy can name them.
  set_needed_recompute(run, "query projection, key projection, value projection, attention output");
  set_offload(run);
  time_in(row, "step_time_s", 1, run);
}

}  // namespace

std::vector<PublishedTable> v6e_tables() {
  return {
      {"torchprime_v6e",
       "LLaMA 3 and Mixtral with PyTorch/XLA on TPU v6e (AI-Hypercomputer/torchprime)",
       {"Weights, gradients and activations in bf16 without fp32 copies, Adafactor. Every layer runs again in the "
        "backward but for its last product, which XLA drops as dead code; its input waits on the host where the row "
        "says so.",
        "FSDP over a slice; slices are replicas, or split the weights further where the row says so. Activations "
        "between products of tensor-parallel ranks are split; the simulation splits them along the sequence.",
        "The step is compiled as a whole, so XLA writes neither the exponentials of the loss nor an fp32 copy of its "
        "logits. Flash attention is JAX's older kernel (`pallas-flash`).",
        "Mixtral has 1.25 slots of a fair share, moved by masks."},
       {"model", "chip",      "chips_per_slice", "slices",  "layers",    "d_model",   "d_ff",
        "heads", "kv_heads",  "vocab",           "seq",     "gbs",       "ici_fsdp",  "ici_tp",
        "dcn",   "attention", "remat",           "offload", "precision", "optimizer", "step_time_s"},
       torchprime},
      {"axlearn_v6e",
       "LLaMA 2's 70B with AXLearn on TPU v6e (apple/axlearn)",
       {"Weights and moments in fp32, cast where they are used; FSDP over a slice, replicas over slices; gradients "
        "clipped.",
        "The projections of attention are kept on the host. MLPs run again but for their last product, and attention "
        "for what its kernel keeps beside its result. No layer waits for the hosts of other slices (the flag that "
        "sinks the ends of all-reduces). The run is believed to be of the commit's state, with the TPU's flash "
        "attention."},
       {"model", "chip", "chips_per_slice", "slices", "layers", "d_model", "d_ff", "heads", "kv_heads", "vocab", "seq",
        "gbs", "mbs", "ici_fsdp", "kept", "precision", "step_time_s"},
       axlearn},
  };
}

}  // namespace lockstep::validation
