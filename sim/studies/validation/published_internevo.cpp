// InternEvo: data parallelism with ZeRO-1 over all ranks, to a thousand GPUs on a network that its source hardly
// describes.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// doc/en/train_performance.md: "Inter-machine bandwidth 4 * 100Gb RoCE".
constexpr GpuNode a100_on_4_nics{"dgx-a100", 8, ", nics: {count: 4, rate: 100 Gbps, pcie: 31.5 GB/s}",
                                 "{like: roce-400g, link: 100 Gbps}"};
constexpr std::string_view internlm_7b =
    "{layers: 32, d_model: 4096, d_ff: 11008, heads: 32, vocabulary: 103168, "
    "source: InternLM/InternEvo configs/7B_sft.py}";

// A rank's bucket of gradients is reduced when it would exceed 512 Mi elements (configs/7B_sft.py,
// reduce_bucket_size). From 16 ranks on a rank owns fewer: nothing is reduced before the last backward has ended.
constexpr std::int64_t ranks_that_fill_a_bucket = 8;

void internevo(const CsvRow& row, MeasuredRun& run) {
  const auto precision = precision_called(run, row);
  set_family(run, "InternLM-7B", "A100 on RoCE", precision);
  run.set("model", std::string(internlm_7b));
  const auto chips = row.integer("n_chips");
  set_cluster(run, a100_on_4_nics, chips);
  RunDegrees degrees;
  degrees.tensor = row.integer("tp");
  if (chips % degrees.tensor != 0) return skip(run, "tensor ranks do not divide the chips");
  degrees.data = chips / degrees.tensor;
  set_degrees(run, degrees);
  set_megatron_order(run);  // InternEvo's tensor ranks are neighbours too
  set_batch(run, row.integer("mbs") * row.integer("ga") * degrees.data, row.integer("seq"), row.integer("mbs"),
            degrees);
  run.set("parallel.zero", 1);
  run.set("training.precision", precision);
  run.set("training.master_weights", "true");
  run.set("training.zero_shards", "matrices");
  if (chips > ranks_that_fill_a_bucket) run.set("communication.gradient_buckets", "1 TB");
  if (const auto rate = row.number("tokens_per_s_per_gpu"))
    run.time = Measurement{*rate, Measurement::Unit::tokens_per_second_per_chip};
}

}  // namespace

std::vector<PublishedTable> internevo_tables() {
  return {
      {"internevo_a100_roce_scaling",
       "InternLM 7B with ZeRO-1 over all ranks on 8 to 1024 A100 (InternLM/InternEvo)",
       {"Nodes of eight A100 with four adapters of 100 Gbps RoCE. The network above them is not described: taken as "
        "the "
        "catalog's, rail-optimised, sprayed, with links of 100 Gbps.",
        "Each matrix has an owner, to which its gradient is reduced and which broadcasts the updated matrix "
        "(hybrid_zero_optim.py); nothing of this runs beside computation from 16 ranks on, as a rank's bucket of 512 "
        "Mi elements never fills."},
       {"n_chips", "precision", "seq", "mbs", "ga", "tp", "tokens_per_s_per_gpu"},
       internevo},
  };
}

}  // namespace lockstep::validation
