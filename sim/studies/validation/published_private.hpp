#pragma once
/// Helpers that the rules of the published tables share.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/validation/published_tables.hpp"

namespace lockstep::validation {

/// Of a local batch; what is larger is a mistake in the table.
inline constexpr std::int64_t most_sequences = 1'000'000;

[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] std::string letters_and_digits(std::string_view text);  ///< without anything else, in lower case
/// The runs of letters, digits and underscores of a text, in lower case.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);
/// The integer at the start of a text such as "26.02 NeMo"; `fallback` where there is none or 0. Counts in cells are
/// read by `CsvRow::integer`, which tells what it cannot read.
[[nodiscard]] std::int64_t leading_integer(const std::string& text, std::int64_t fallback);

/// "table.csv:12:3: gbs: is empty; expected an integer of at least 1", whatever folder the table is in.
[[nodiscard]] std::string at_its_cell(Problem problem);
/// An empty cell, or a word for nothing such as "n/a".
[[nodiscard]] bool is_blank(const CsvRow& row, std::string_view column);
/// A count of a cell that may also say 0: "64", "0", "64 (0)".
[[nodiscard]] std::int64_t count_or_zero(const CsvRow& row, std::string_view column);
/// Whether a cell says yes ("True", "yes", "1") rather than no ("False", "no", "0"); a blank one gives the fallback,
/// and is a problem without one.
[[nodiscard]] bool yes_or_no(const CsvRow& row, std::string_view column, std::optional<bool> fallback = std::nullopt);
/// Skips the run for what stands in a cell, with its place.
void skip_cell(MeasuredRun& run, const CsvRow& row, std::string_view column, std::string what, std::string expected);
/// Skips the run for a word that its rule does not know, or for one that is not there.
void skip_word(MeasuredRun& run, const CsvRow& row, std::string_view column, std::string expected);

/// The `model` of a scenario by the name that people write ("Llama 3.1 70b", "LLAMA3_70B"): a catalog name or a block;
/// "" if it is not known.
[[nodiscard]] std::string model_called(std::string_view name);
/// Sets the model of that name, cut or stretched to so many layers (0: as many as it has); skips the run if it is not
/// known.
void set_model(MeasuredRun& run, std::string_view name, std::int64_t layers = 0);
/// The same by the columns model and layers; where the name is not known, LLaMA's kind of the columns layers, d_model,
/// d_ff, heads, kv_heads and vocab.
void set_model(MeasuredRun& run, const CsvRow& row);
/// The shape of GPT-2's kind (plain MLP, layer norms, biases, tied embeddings, learned positions) from the columns
/// layers, d_model, d_ff, heads, vocab and seq.
[[nodiscard]] std::string gpt_shape(const CsvRow& row);
[[nodiscard]] std::string gpt_shape(std::int64_t layers, std::int64_t d_model, std::int64_t d_ff, std::int64_t heads,
                                    std::int64_t vocabulary, std::int64_t positions);

/// A rack of NVL72 in the catalog. Jobs are sized in powers of two, so that they take 64 of its chips.
inline constexpr int chips_of_a_rack = 72, used_of_a_rack = 64;

/// A machine of GPUs: a node of the catalog, `more` keys of its block, and how many chips of a node a job takes.
struct GpuNode {
  std::string_view like;
  int chips = 8;
  std::string_view more = "";    ///< ", chip: {...}"
  std::string_view fabric = "";  ///< "" for the node's usual
};
/// Sets a cluster of this many chips; fewer than a node has are a part of one node. Skips the run if they do not fill
/// whole nodes.
void set_cluster(MeasuredRun& run, const GpuNode& node, std::int64_t chips);
/// How a run's software uses its nodes.
struct NodeUse {
  bool launched_as_graph = false;  ///< kernels do not wait for the host
  bool tokens_once_a_node =
      true;  ///< all-to-alls of experts as DeepEP's; else NCCL's, which sends a token to each expert anew
};
/// The usual machine of a chip that is called "DGX-H100" or "NVIDIA A100-SXM4-80GB"; skips the run if it is not known.
/// Of racks a job takes used_of_a_rack chips each, unless only whole racks divide it.
void set_cluster(MeasuredRun& run, std::string_view chip, std::int64_t chips, const NodeUse& use = {});
/// Slices of TPUs ("v5p", "TPU-trillium"), as near to a cube (a square) as their number allows, with axes that wrap if
/// possible; skips the run if the chip is not known.
void set_tpus(MeasuredRun& run, std::string_view chip, std::int64_t chips_of_a_slice, std::int64_t slices);

struct RunDegrees {
  std::int64_t tensor = 1, context = 1, expert = 1, fsdp = 1, data = 1, pipeline = 1, chunks = 1;
  [[nodiscard]] std::int64_t replicas() const;
  [[nodiscard]] std::int64_t ranks() const;  ///< chips that they make up
};
/// Megatron's degrees: what is left of the chips replicates. Each expert is split over `expert_tensor` of the tensor
/// ranks; experts are shared out over the others and data ranks.
[[nodiscard]] RunDegrees megatron_degrees(MeasuredRun& run, std::int64_t chips, std::int64_t tensor,
                                          std::int64_t pipeline, std::int64_t context, std::int64_t experts,
                                          std::int64_t expert_tensor = 1);
void set_degrees(MeasuredRun& run, const RunDegrees& degrees);
/// Full recomputation that ends where the backward has what it needs, before a layer's last product: what JAX drops as
/// dead code and PyTorch's checkpoints without re-entrance stop early at. `kept`: more operations whose results are
/// kept. After the model.
void set_needed_recompute(MeasuredRun& run, const std::string& kept = "");
/// The step's time from a column whose unit is so many seconds; none if it is empty.
void time_in(const CsvRow& row, std::string_view column, double seconds, MeasuredRun& run);
/// MaxText's scripts of GPT-3 on TPUs set xla_tpu_decompose_all_gather_einsum: gathers of activations run beside the
/// products that read them. XLA's name says nothing of reductions, which are taken alike.
void set_decomposed_gathers(MeasuredRun& run, const RunDegrees& degrees);
/// Layers of a step over several slices do not wait for the slices' hosts: these do not reduce gradients, or do so
/// while later layers run. Set after the cluster.
void set_no_waits_between_slices(MeasuredRun& run);
/// What a layer keeps for its backward waits on the host.
void set_offload(MeasuredRun& run);
/// Microbatches from the sequences that one replica runs at once; skips the run if they do not divide.
void set_batch(MeasuredRun& run, std::int64_t sequences, std::int64_t length, std::int64_t micro_batch,
               const RunDegrees& degrees);
/// Megatron-LM of 2021: attention in single steps that computes all pairs, dropout, fp16 with fp32 copies of the
/// weights, gradients reduced after the last backward; ranks in its order. After the cluster and the degrees.
void set_megatron_2021(MeasuredRun& run);
/// The generation of Megatron Core's software for mixtures (docs/models/experts.md). Changes nothing without experts.
/// After the model.
void set_software_of_experts(MeasuredRun& run, bool of_2026 = false);
/// DeepSpeed's ZeRO-3 of 2021, after set_megatron_2021: each matrix is gathered by itself, gradients are reduced in
/// every microbatch.
void set_deepspeed_2021(MeasuredRun& run);
/// The mesh that has Megatron's order of ranks (studies::megatron_order). After the cluster and the degrees; where the
/// chips of a node are no product of degrees the mesh is left open.
void set_megatron_order(MeasuredRun& run);
/// Megatron Core as NVIDIA runs it: fused causal attention, sequence parallelism, optimizer state split over the
/// replicas; tensor-parallel collectives beside their products, gathers of what fp8 products read in 8 bits; ranks in
/// its order. After the cluster and the degrees.
void set_megatron_core(MeasuredRun& run, const std::string& precision);
/// Updated weights of a step in fp8 travel in its 8 bits: NeMo's fp8_params (bf16_with_fp8_mixed of every version up to
/// 2.3, launchers of NVIDIA/dgxc-benchmarking before that), fp8_param_gather of Megatron Core and Megatron Bridge.
/// After the precision.
void set_8_bit_weights(MeasuredRun& run);
/// The library of attention of a run's time, if the chip that its text names is an H100, H200 or H800.
void set_hopper_attention(MeasuredRun& run, std::string_view chip, std::string_view kernel);
/// The library whose rates stand for cuDNN 8.9.7 on Hopper, which JAX ran on until May 2024: NVIDIA/JAX-Toolbox
/// installed libcudnn8 until aecd8b14, from its base MaxText's image was made, and MaxText pinned 8.9.7.29 at
/// 9a3ca8e29. No rates of it are published. It is the algorithm of FlashAttention-2, and Transformer Engine of that
/// time preferred it on Hopper.
inline constexpr std::string_view attention_of_cudnn_8 = "flash-attention-2";
/// Whether XLA sees the layers of a model one by one or as a loop (scan_layers, Pax's repeated layers).
enum class XlaLayers { unrolled, in_a_loop };
/// What XLA's scheduler hides on GPUs where it has no profile of the step (PGLE): of unrolled layers no reduction,
/// since products of weight gradients and of activation gradients are scheduled apart ("Most latency of weight gradient
/// all-reduce is exposed", openxla/xla issue 1539); in a loop nothing beyond an iteration. "Turning on and off PGLE
/// makes a big difference here" (AI-Hypercomputer/maxtext issue 1005).
void set_xla_without_profile(MeasuredRun& run, XlaLayers layers);
/// "BF16", "FP8-CS", "amp_fp8", "int8" as a scenario's precision. Skips the run if it is not known or not said, with
/// bf16 in its place.
[[nodiscard]] std::string precision_called(MeasuredRun& run, const CsvRow& row, std::string_view column = "precision");
/// Sets the run's family, `model, chip, precision`, by which the rows of a table are grouped.
void set_family(MeasuredRun& run, std::string_view model, std::string_view chip, std::string_view precision);

void skip(MeasuredRun& run, std::string why);  ///< the first reason stays

[[nodiscard]] std::vector<PublishedTable> megatron_tables();
[[nodiscard]] std::vector<PublishedTable> megatron_core_tables();
[[nodiscard]] std::vector<PublishedTable> megatron_scaling_tables();
[[nodiscard]] std::vector<PublishedTable> megatron_test_tables();
[[nodiscard]] std::vector<PublishedTable> simumax_tables();
[[nodiscard]] std::vector<PublishedTable> prime_rl_tables();
[[nodiscard]] std::vector<PublishedTable> zero3_tables();
[[nodiscard]] std::vector<PublishedTable> fsdp_tables();
[[nodiscard]] std::vector<PublishedTable> internevo_tables();
[[nodiscard]] std::vector<PublishedTable> jax_tables();
[[nodiscard]] std::vector<PublishedTable> maxtext_tables();
[[nodiscard]] std::vector<PublishedTable> mlperf_tables();
[[nodiscard]] std::vector<PublishedTable> data_parallel_tables();
[[nodiscard]] std::vector<PublishedTable> v6e_tables();

}  // namespace lockstep::validation
