// SimuMax: short models of a few layers on one node of B200, measured with their memory.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// The launchers' shapes (simu_tools/megatron_scripts/scripts/run_pretrain_*.sh at 1b8ca90): 405B has 16 groups of
// queries, DeepSeek's first layer alone is dense.
struct Shape {
  std::string_view word, block;  ///< a part of the model's name, and its block without layers
};
constexpr Shape shapes[] = {
    {"70b", "d_model: 8192, d_ff: 28672, heads: 64, kv_heads: 8, vocabulary: 128256"},
    {"405b", "d_model: 16384, d_ff: 53248, heads: 128, kv_heads: 16, vocabulary: 128256"},
    {"8b", "d_model: 4096, d_ff: 14336, heads: 32, kv_heads: 8, vocabulary: 128257"},
    {"deepseekv2",
     "d_model: 5120, d_ff: 12288, heads: 128, vocabulary: 102400, latent_attention: {q_rank: 1536, kv_rank: 512, "
     "nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 160, experts_per_token: 6, d_ff: "
     "1536, shared_experts: 2, dense_first: 1, groups: 8, groups_per_token: 3}"},
    {"deepseekv3",
     "d_model: 7168, d_ff: 18432, heads: 128, vocabulary: 129280, latent_attention: {q_rank: 1536, kv_rank: 512, "
     "nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 256, experts_per_token: 8, d_ff: "
     "2048, shared_experts: 1, dense_first: 1, groups: 8, groups_per_token: 3}"},
    {"kimi",
     "d_model: 7168, d_ff: 18432, heads: 64, vocabulary: 163840, latent_attention: {q_rank: 1536, kv_rank: 512, "
     "nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 384, experts_per_token: 8, d_ff: "
     "2048, shared_experts: 1, dense_first: 1, groups: 8, groups_per_token: 3}"}};

// This machine's own products: the 146 large ones of forwards and input gradients that the source measured by
// themselves average 0.51 of the peak (configs/system/b200_bf16_ceperm.json at 1b8ca90), where the best that others
// measured reach 0.868 and waves and edges cost 3 to 5 %: 0.62. Its dense steps run at 0.6.
constexpr GpuNode measured_b200{"dgx-b200", 8,
                                ", chip: {like: b200, kernels: {sustained: 0.6}}, algorithms: [ring, tree, direct "
                                "all-to-all, shift, in-network, in-network tree]"};

void set_shape(MeasuredRun& run, const std::string& model, std::int64_t layers) {
  const auto text = letters_and_digits(model);
  for (const auto& [word, block] : shapes) {
    if (text.find(word) != std::string::npos)
      return run.set("model", "{layers: " + std::to_string(layers) + ", " + std::string(block) + "}");
  }
  skip(run, "no shape of '" + model + "'");
}

void simumax(const CsvRow& row, MeasuredRun& run) {
  const auto model = row.text("model"), precision = precision_called(run, row);
  set_family(run, model, "B200", precision);
  set_shape(run, model, row.integer("layers"));
  const auto chips = row.integer("n_chips");
  const bool mixture = run.value_of("model").find("moe:") != std::string::npos;
  if (lower_case(row.text("chip")).find("b200") != std::string::npos) {
    set_cluster(run, measured_b200, chips);
  } else {
    set_cluster(run, row.text("chip"), chips, {.tokens_once_a_node = false});
  }
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), row.integer("cp"),
                                  mixture ? row.integer("ep") : 1);
  degrees.chunks = row.integer("vp");
  set_degrees(run, degrees);
  const auto micro_batch = row.integer("mbs");
  set_batch(run, row.integer("micro_batches") * micro_batch * degrees.replicas(), row.integer("seq"), micro_batch,
            degrees);
  set_megatron_core(run, precision);
  run.set("communication.collective_matmul", "false");
  run.set("communication.gradient_buckets", "1 TB");
  run.set("communication.updated_weights", "at the end");
  run.set("training.gradient_precision", "fp32");
  run.set("training.gradient_clipping", "true");
  if (degrees.context > 1) run.set("parallel.context_attention", "all_to_all");
  if (mixture) run.set("routing.capacity_factor", "1");
  set_software_of_experts(run);  // no moe_router_fusion among the launchers' flags
  time_in(row, "step_time_ms_measured", 1e-3, run);
  if (const auto gib = row.number("mem_alloc_gib_measured")) run.peak_bytes = *gib * (1 << 30);
}

}  // namespace

std::vector<PublishedTable> simumax_tables() {
  return {{"simumax_b200_8gpu",
           "models of 4 to 12 layers on one node of 8 B200, with memory (MooreThreads/SimuMax)",
           {"Megatron Core, with the launchers' settings: nothing runs beside anything else (no overlap of tensor, "
            "gradient and weight collectives), gradients in fp32, optimizer state split over the replicas.",
            "Experts have slots for their fair share of tokens (capacity factor 1, padded) and get them by NCCL's "
            "all-to-all; the first layer alone is dense.",
            "Context ranks exchange heads (`cp_comm_type` a2a). Memory is the most that PyTorch's allocator gave out."},
           {"model", "layers", "seq", "micro_batches", "mbs", "precision", "chip", "n_chips", "tp", "pp", "cp", "ep",
            "vp", "step_time_ms_measured", "mem_alloc_gib_measured"},
           simumax}};
}

}  // namespace lockstep::validation
