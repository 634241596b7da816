// Megatron's pipelines against DeepSpeed's ZeRO-3 of 2021 on the same A100s.
#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

// Gathers of one matrix at a time over all ranks move as one ring, which enters and leaves each node by one adapter:
// the paper's ZeRO-3 steps take the time of that, not of eight.
constexpr GpuNode one_adapter_a_ring{"dgx-a100", 8, ", nics: {count: 1, rate: 200 Gbps, pcie: 31.5 GB/s}"};

void zero3(const CsvRow& row, MeasuredRun& run) {
  const auto scheme = row.text("scheme");
  set_family(run, scheme.substr(0, scheme.find(' ')), "A100", "fp16");
  run.set("model", gpt_shape(row));
  const auto chips = row.integer("n_chips");
  const auto stage = count_or_zero(row, "zero");
  const bool sharded = stage == 3;
  if (stage != 0 && !sharded)
    skip_cell(run, row, "zero", "stage " + std::to_string(stage) + " is not expressed", "0 or 3");
  if (sharded) {
    set_cluster(run, one_adapter_a_ring, chips);
  } else {
    set_cluster(run, row.text("chip"), chips);
  }
  auto degrees = megatron_degrees(run, chips, row.integer("tp"), row.integer("pp"), 1, 1);
  if (sharded) std::swap(degrees.fsdp, degrees.data);
  set_degrees(run, degrees);
  set_batch(run, row.integer("gbs"), row.integer("seq"), row.integer("mbs"), degrees);
  set_megatron_2021(run);
  run.set("parallel.sequence_parallel", "false");
  run.set("training.recompute", "full");
  if (sharded) set_deepspeed_2021(run);
  time_in(row, "step_time_s_derived", 1, run);
}

}  // namespace

std::vector<PublishedTable> zero3_tables() {
  return {{"megatron_sc21_table2_zero3",
           "pipelines of Megatron-LM against ZeRO-3 of DeepSpeed, 175B and 530B on the same A100 (arXiv 2104.04473, "
           "table 2)",
           {"Megatron-LM of its time, as in table 1; PTD-P without chunks.",
            "DeepSpeed of 2021: each matrix is gathered by itself, in one ring over all ranks, which crosses to the "
            "next node "
            "by one of its eight adapters (believed from the table's ZeRO-3 step, which takes the time of that)."},
           {"scheme", "layers", "d_model", "d_ff", "heads", "vocab", "seq", "gbs", "mbs", "chip", "n_chips", "tp", "pp",
            "zero", "step_time_s_derived"},
           zero3}};
}

}  // namespace lockstep::validation
