// The CSV format of measured runs.
#include <algorithm>

#include "sim/studies/validation/measured_run.hpp"

namespace lockstep::validation {
namespace {

using Unit = Measurement::Unit;

constexpr std::string_view shape_prefix = "model.";
/// Columns of which exactly one has the time.
constexpr std::pair<std::string_view, Unit> times[] = {
    {"measured_step_s", Unit::step_seconds},
    {"measured_tokens_per_s_per_chip", Unit::tokens_per_second_per_chip},
    {"measured_tflops_per_chip", Unit::tflops_per_chip},
    {"measured_mfu", Unit::mfu}};

bool has_a_measure(const CsvTable& table) {
  const bool timed =
      std::any_of(std::begin(times), std::end(times), [&](const auto& time) { return table.has(time.first); });
  return timed || table.has("measured_peak_bytes");
}

bool is_key(std::string_view column) { return column.find('.') != std::string_view::npos; }

void refuse_unknown_columns(const CsvTable& table) {
  std::vector<std::string> names;
  for (const auto& column : measured_columns()) names.emplace_back(column.name);
  for (const auto& cell : table.header()) {
    if (is_key(cell.text) || std::find(names.begin(), names.end(), cell.text) != names.end()) continue;
    const auto near = did_you_mean(cell.text, names);
    table.problem(cell.text, "is not a column of measured runs",
                  near.empty() ? "a column of docs/validation.md, or a key of a scenario with a dot" : near);
  }
}

void read_scenario(const CsvTable& table, const CsvRow& row, MeasuredRun& run) {
  bool shape = false;
  for (const auto& column : measured_columns()) {
    if (column.key.starts_with(shape_prefix) && !row.text(column.name).empty()) shape = true;
  }
  for (const auto& column : measured_columns()) {
    if (column.key.empty() || (column.key == "model" && shape)) continue;
    run.set(column.key, row.text(column.name), row.where(column.name));
  }
  for (const auto& cell : table.header()) {
    if (is_key(cell.text)) run.set(cell.text, row.text(cell.text), row.where(cell.text));
  }
  if (run.value_of("pipeline.chunks") != "" && row.integer("chunks") > 1 && row.text("schedule").empty())
    run.set("pipeline.schedule", "interleaved", row.where("chunks"));
  if (run.value_of("training.recompute.layers") != "" && row.text("recompute").empty())
    row.problem("recompute", "is empty, but layers is given", "selective or full");
}

/// sequences / (those of a microbatch of all replicas), where the row has `micro_batch` in place of `microbatches`.
void count_microbatches(const CsvRow& row, MeasuredRun& run) {
  if (row.text("micro_batch").empty()) return;
  if (!row.text("microbatches").empty())
    return row.problem("micro_batch", "cannot be given with microbatches", "one of the two");
  const auto at_once =
      row.integer("micro_batch") * row.integer("data", 1) * row.integer("fsdp", 1) * row.integer("expert", 1);
  const auto sequences = row.integer("sequences");
  if (sequences % at_once != 0) {
    return row.problem(
        "micro_batch",
        std::to_string(at_once) + " sequences of all replicas' microbatches do not divide " + std::to_string(sequences),
        "a divisor of the sequences of one replica");
  }
  run.set("batch.microbatches", sequences / at_once, row.where("micro_batch"));
}

void read_measurements(const CsvRow& row, MeasuredRun& run) {
  for (const auto& [column, unit] : times) {
    const auto value = row.number(column);
    if (!value) continue;
    if (run.time)
      row.problem(column, "is a second measure of the time",
                  "one of measured_step_s, measured_tokens_per_s_per_chip, measured_tflops_per_chip, measured_mfu");
    run.time = Measurement{*value, unit};
  }
  run.peak_bytes = row.number("measured_peak_bytes");
  const bool is_empty =
      row.text("measured_peak_bytes").empty() &&
      std::all_of(std::begin(times), std::end(times), [&](const auto& time) { return row.text(time.first).empty(); });
  if (is_empty) row.problem("measured_step_s", "nothing was measured", "a time, or measured_peak_bytes");
  const auto counted = row.text("flops_counted");
  if (!counted.empty() && counted != "causal" && counted != "all_pairs")
    row.problem("flops_counted", "'" + counted + "' is not known", "causal or all_pairs");
  if (run.time) run.time->whole_attention = counted == "all_pairs";
  const auto of = row.text("time_of");
  if (!of.empty() && of != "step" && of != "microbatch")
    row.problem("time_of", "'" + of + "' is not known", "step or microbatch");
  if (of == "microbatch") run.time_of = MeasuredRun::TimeOf::microbatch;
}

}  // namespace

const std::vector<MeasuredColumn>& measured_columns() {
  static const std::vector<MeasuredColumn> columns = {
      {"model", "model",
       "a name from the catalog or the path of a config.json, seen from the CSV's folder; beside the shape's columns "
       "only a label"},
      {"layers", "model.layers", "shape of a model of your own, as in the scenario's `model`"},
      {"d_model", "model.d_model", ""},
      {"d_ff", "model.d_ff", ""},
      {"heads", "model.heads", ""},
      {"kv_heads", "model.kv_heads", ""},
      {"head_size", "model.head_size", ""},
      {"vocabulary", "model.vocabulary", ""},
      {"mlp", "model.mlp", "`gated` or `plain`"},
      {"experts", "model.moe.experts", "experts of a layer"},
      {"experts_per_token", "model.moe.experts_per_token", ""},
      {"expert_d_ff", "model.moe.d_ff", ""},
      {"shared_experts", "model.moe.shared_experts", ""},
      {"cluster", "cluster",
       "shorthand such as `h100:64` (64 nodes) or `tpu-v5p:16x20x28`, or the scenario's map in braces"},
      {"tensor", "parallel.tensor", "parallel degrees, 1 if empty; their product is the number of chips"},
      {"context", "parallel.context", ""},
      {"expert", "parallel.expert", ""},
      {"fsdp", "parallel.fsdp", ""},
      {"data", "parallel.data", ""},
      {"pipeline", "parallel.pipeline", ""},
      {"zero", "parallel.zero", "ZeRO stage of the data axis"},
      {"sequence_parallel", "parallel.sequence_parallel", "`true` or `false`"},
      {"schedule", "pipeline.schedule", "`1f1b` if empty, `interleaved` with more than one chunk"},
      {"chunks", "pipeline.chunks", "chunks of the model on one rank of the pipeline"},
      {"sequences", "batch.sequences", "of one step, all replicas"},
      {"sequence_length", "batch.sequence_length", "tokens"},
      {"microbatches", "batch.microbatches", "of one step; or"},
      {"micro_batch", "",
       "sequences of one replica in one microbatch: microbatches = sequences / (micro_batch x data x fsdp x expert)"},
      {"precision", "training.precision", "of the products"},
      {"recompute", "training.recompute.mode", "`none`, `selective` or `full`"},
      {"recompute_layers", "training.recompute.layers", "only so many layers of each stage"},
      {"measured_step_s", "", "seconds of a step; or"},
      {"measured_tokens_per_s_per_chip", "", "step = tokens of a step / (value x chips); or"},
      {"measured_tflops_per_chip", "",
       "1e12 model FLOPs a second: 3 forward passes, without what is computed again; or"},
      {"measured_mfu", "", "the same as a fraction of the chip's peak at this precision"},
      {"flops_counted", "", "of the two above: `causal` (half of attention's scores, if empty) or `all_pairs`"},
      {"time_of", "",
       "`step`, or `microbatch`: the time is that of one more microbatch (forward and backward, no update)"},
      {"measured_peak_bytes", "", "memory of the chip that holds most"},
      {"source", "", "where the numbers come from"},
      {"note", "", ""}};
  return columns;
}

bool has_measured_columns(const CsvTable& table) { return table.has("cluster") && has_a_measure(table); }

bool resembles_measured_columns(const CsvTable& table) {
  const bool has_a_batch = table.has("sequences") || table.has("sequence_length");
  return has_a_measure(table) || (table.has("cluster") && has_a_batch);
}

std::vector<MeasuredRun> read_measured_runs(const CsvTable& table, const std::string& name) {
  std::vector<MeasuredRun> runs;
  if (!table.require({"cluster", "sequences", "sequence_length"})) return runs;
  refuse_unknown_columns(table);
  for (const auto& row : table.rows()) {
    MeasuredRun run;
    run.table = name;
    run.row = static_cast<int>(runs.size()) + 1;
    run.name = "line " + std::to_string(row.line());
    run.where = row.where();
    run.source = row.text("source");
    run.note = row.text("note");
    run.family = row.text("model").empty() ? "one model" : row.text("model");
    read_scenario(table, row, run);
    count_microbatches(row, run);
    read_measurements(row, run);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace lockstep::validation
