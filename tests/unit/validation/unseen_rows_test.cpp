// Rules from published rows to scenarios meet rows that they have not seen: an odd cell costs its own row and says
// where it is, as a mistake where something stands in it that cannot be read; every other row stays as it was; and
// nothing but a user's mistake is ever thrown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/validation/published_tables.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

using Cells = std::vector<std::string>;

std::string line_of(const Cells& cells) {
  std::string line;
  for (const auto& cell : cells) {
    line += line.empty() ? "\"" : ",\"";
    for (const char c : cell) line += c == '"' ? "\"\"" : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

struct Table {
  const validation::PublishedTable* rule;
  Cells header;
  std::vector<Cells> rows;
};

Table shipped(const validation::PublishedTable& rule) {
  Problems problems;
  const CsvTable csv(std::filesystem::path(source_dir) / "tests/validation/data" / (std::string(rule.name) + ".csv"),
                     problems);
  problems.throw_if_any();
  Table table{&rule, {}, {}};
  for (const auto& cell : csv.header()) table.header.push_back(cell.text);
  for (const auto& row : csv.rows()) {
    table.rows.emplace_back();
    for (const auto& column : table.header) table.rows.back().push_back(row.text(column));
  }
  return table;
}

std::vector<validation::MeasuredRun> runs_of(const Table& table, const std::vector<Cells>& rows, Problems& problems) {
  std::string text = line_of(table.header);
  for (const auto& row : rows) text += line_of(row);
  const CsvTable csv(text, "folder/t.csv", problems);
  return read_published_runs(*table.rule, csv);
}
std::vector<validation::MeasuredRun> runs_of(const Table& table, const std::vector<Cells>& rows) {
  Problems problems;
  auto runs = runs_of(table, rows, problems);
  EXPECT_TRUE(problems.empty()) << problems.list().front().to_string();
  return runs;
}

/// What a scenario says is wrong is one of the answers.
void make_scenario(const validation::MeasuredRun& run) {
  if (!run.skipped_because.empty()) return;
  try {
    (void)scenario_of(run, ".");
  } catch (const ConfigError& error) {
    EXPECT_FALSE(error.problems().empty());
  }
}

class UnseenRows : public testing::TestWithParam<validation::PublishedTable> {};

TEST_P(UnseenRows, AnOddCellCostsItsOwnRow) {
  const Cells odd{"", "n/a", "0", "-1", "999999999999999", "1e30", "TPU-trillium", "async TP", "{", "fp64"};
  const auto table = shipped(GetParam());
  const auto untouched = scenario_text(runs_of(table, {table.rows.front()}).front());
  std::size_t told = 0;
  for (const auto& row : {table.rows.front(), table.rows.back()}) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      for (const auto& cell : odd) {
        auto changed = row;
        changed[column] = cell;
        Problems problems;
        const auto runs = runs_of(table, {changed, table.rows.front()}, problems);
        told += problems.size();
        for (const auto& problem : problems.list()) {
          EXPECT_EQ(problem.where.line, 2) << problem.to_string();
          EXPECT_EQ(problem.key, table.header[column]) << problem.to_string();
          EXPECT_NE(runs[0].skipped_because, "") << problem.to_string();
          EXPECT_TRUE(cell != "" && cell != "n/a") << problem.to_string();
        }
        ASSERT_EQ(runs.size(), 2U) << table.header[column] << " " << cell;
        ASSERT_NO_THROW(make_scenario(runs[0])) << table.header[column] << " " << cell;
        EXPECT_EQ(scenario_text(runs[1]), untouched);
      }
    }
  }
  EXPECT_GT(told, 0U);
}

INSTANTIATE_TEST_SUITE_P(Tables, UnseenRows, testing::ValuesIn(validation::published_tables()),
                         [](const auto& table) { return std::string(table.param.name); });

/// The first row with one cell changed.
validation::MeasuredRun changed(const std::string& name, const std::string& column, const std::string& cell,
                                Problems& problems) {
  const auto table = shipped(*validation::find_published_table(name));
  auto row = table.rows.front();
  const auto at = std::find(table.header.begin(), table.header.end(), column);
  row.at(static_cast<std::size_t>(at - table.header.begin())) = cell;
  return runs_of(table, {row}, problems).front();
}
validation::MeasuredRun changed(const std::string& name, const std::string& column, const std::string& cell) {
  Problems problems;
  auto run = changed(name, column, cell, problems);
  EXPECT_TRUE(problems.empty()) << problems.list().front().to_string();
  return run;
}

// A typing error is a mistake in the table, and a blank is what its source does not say.
TEST(UnseenRow, SaysWhereItsCellIs) {
  Problems problems;
  (void)changed("torchtitan", "seq", "long", problems);
  ASSERT_EQ(problems.size(), 1U);
  const auto problem = problems.list().front().to_string();
  EXPECT_TRUE(problem.starts_with("folder/t.csv:2:")) << problem;
  EXPECT_TRUE(
      problem.ends_with(": seq: 'long' is not a count; expected an integer of at least 1, or an empty cell where the "
                        "source does not say"))
      << problem;
  const auto why = changed("torchtitan", "seq", "").skipped_because;
  EXPECT_TRUE(why.starts_with("t.csv:2:")) << why;
  EXPECT_TRUE(why.ends_with(": seq: is empty; expected an integer of at least 1")) << why;
  EXPECT_THAT(changed("mlperf_llm", "accelerator", "H90").skipped_because, HasSubstr("no machine with 'H90'"));
}

// Spellings that other releases have.
TEST(UnseenRow, IsReadInOtherSpellings) {
  EXPECT_EQ(changed("torchtitan", "technique", "FSDP + async TP").value_of("communication.collective_matmul"), "true");
  EXPECT_EQ(changed("torchtitan", "recompute", "per-op Selective").value_of("training.recompute.mode"), "selective");
  EXPECT_EQ(changed("tpu_recipes_v5p_v6e", "chip", "TPU v5 Lite").value_of("cluster").substr(0, 21),
            "{chip: tpu-v5e, shape");
  EXPECT_EQ(changed("dgxc_benchmarking", "gbs", "1,024").value_of("batch.sequences"), "1024");
  EXPECT_EQ(changed("megatron_bridge_perf", "vp", "n/a").skipped_because, "");
  EXPECT_EQ(changed("megatron_bridge_perf", "fsdp", "8 (0)").value_of("parallel.fsdp"), "8");
  EXPECT_EQ(changed("mlperf_llm", "vp", "6 (default)").value_of("pipeline.chunks"), "6");
  EXPECT_EQ(changed("tpu_recipes_v5p_v6e", "quantization", "").value_of("training.precision"), "bf16");
  EXPECT_EQ(changed("megatron_core_h100_scaling", "precision", "").value_of("training.precision"), "bf16");
  EXPECT_THAT(changed("mosaicml_llm_foundry", "chip", "A100-SXM4-40GB").value_of("cluster"), HasSubstr("1555 GB/s"));
  EXPECT_THAT(changed("simumax_b200_8gpu", "chip", "MI300X").value_of("cluster"), HasSubstr("{like: mi300x,"));
  EXPECT_EQ(changed("torchtitan", "model", "OLMo 7B").value_of("model"), "olmo-7b");
  EXPECT_THAT(changed("torchtitan", "model", "Llama 9 4B").value_of("model"), HasSubstr("{layers: 32, d_model: 4096,"));
  EXPECT_EQ(changed("mlperf_llm", "fp4", "true").value_of("training.precision"), "nvfp4");
  EXPECT_THAT(changed("dgxc_benchmarking", "precision", "fp64").skipped_because,
              HasSubstr(": precision: 'fp64' is not known; expected a precision such as bf16"));
}

struct Cell {
  const char *table, *column, *text;
};

// Degrees and settings that cannot be read are no defaults: each is told once, at its cell, and its row is skipped.
TEST(UnseenRow, GarbledCellsAreMistakes) {
  const Cell cells[] = {{"megatron_bridge_perf", "ep", "abc"},
                        {"megatron_bridge_perf", "vp", "xx"},
                        {"megatron_bridge_perf", "pp", "two"},
                        {"megatron_bridge_perf", "cp", "-1"},
                        {"megatron_bridge_perf", "fsdp", "maybe"},
                        {"dgxc_benchmarking", "layers", "abc"},
                        {"dgxc_benchmarking", "etp", "x"},
                        {"megatron_llama3_fp8_h100", "vp", "some"},
                        {"megatron_sc21_table1", "vp", "two"},
                        {"megatron_sc21_table2_zero3", "zero", "yes"},
                        {"megatron_core_h100_scaling", "tp", "eight"},
                        {"megatron_core_tests", "dropout", "perhaps"},
                        {"korthikanti2022_iteration_time", "sp", "2"},
                        {"korthikanti2022_layer_time", "heads", "many"},
                        {"mlperf_llm", "vp", "none at all"},
                        {"mlperf_llama31", "cuda_graph", "maybe"},
                        {"mosaicml_llm_foundry", "act_cpu_offload", "perhaps"},
                        {"internevo_a100_roce_scaling", "mbs", "two"},
                        {"maxtext_tpu", "ici_tp", "lots"},
                        {"tpu_recipes_v5p_v6e", "dcn_fsdp", "both"},
                        {"jax_gpu", "scan", "sometimes"}};
  for (const auto& [table, column, text] : cells) {
    Problems problems;
    const auto run = changed(table, column, text, problems);
    EXPECT_NE(run.skipped_because, "") << table << " " << column;
    ASSERT_EQ(problems.size(), 1U) << table << " " << column;
    const auto told = problems.list().front().to_string();
    EXPECT_TRUE(told.starts_with("folder/t.csv:2:")) << told;
    EXPECT_THAT(told, HasSubstr(": " + std::string(column) + ": '" + text + "' is "));
  }
}

// What a rule needs and its source does not say is no default either, but no mistake.
TEST(UnseenRow, BlankCellsSkipTheirRow) {
  const Cell cells[] = {{"megatron_bridge_perf", "precision", ""},
                        {"dgxc_benchmarking", "precision", ""},
                        {"mlperf_llama31", "precision", ""},
                        {"nemo_long_sequence", "precision", ""},
                        {"mosaicml_llm_foundry", "precision", ""},
                        {"megatron_bridge_perf", "precision", "n/a"},
                        {"megatron_bridge_perf", "tp", ""},
                        {"megatron_bridge_perf", "fsdp", ""},
                        {"megatron_bridge_perf", "mbs", "n/a"},
                        {"megatron_bridge_perf", "release", ""},
                        {"maxtext_tpu", "slices", ""},
                        {"maxtext_tpu", "remat", ""},
                        {"torchtitan", "recompute", ""},
                        {"torchtitan", "technique", ""},
                        {"mlperf_llama31", "tp_comm_overlap", "-"},
                        {"fms_fsdp", "hfu", ""},
                        {"torchprime_v6e", "optimizer", ""},
                        {"axlearn_v6e", "mbs", ""}};
  for (const auto& [table, column, text] : cells) {
    const auto why = changed(table, column, text).skipped_because;
    EXPECT_TRUE(why.starts_with("t.csv:2:")) << table << " " << column << ": " << why;
    EXPECT_THAT(why, HasSubstr(": " + std::string(column) + ": ")) << table;
  }
  EXPECT_EQ(changed("maxtext_tpu", "step_time_s_derived", "").skipped_because, "nothing was measured");
}

// Words that a later source may have are no mistakes, but this version does not know what they mean.
TEST(UnseenRow, UnknownWordsSkipTheirRow) {
  const Cell cells[] = {{"megatron_sc21_table1", "recompute", "some"},
                        {"mosaicml_llm_foundry", "recompute", "perhaps"},
                        {"torchtitan", "technique", "quux 9D"},
                        {"torchtitan", "recompute", "quux"},
                        {"maxtext_tpu", "remat", "quux"},
                        {"maxtext_tpu", "mlp", "round"},
                        {"tpu_recipes_v5p_v6e", "remat", "none"},
                        {"tpu_recipes_v5p_v6e", "offload", "quux"},
                        {"tpu_recipes_ironwood", "kept", "quux"},
                        {"jax_gpu", "remat", "quux"},
                        {"prime_rl", "recompute", "quux"},
                        {"prime_rl", "trainer", "dpo"},
                        {"korthikanti2022_layer_time", "experiment", "quux"}};
  for (const auto& [table, column, text] : cells) {
    const auto why = changed(table, column, text).skipped_because;
    EXPECT_TRUE(why.starts_with("t.csv:2:")) << table << " " << column << ": " << why;
    EXPECT_THAT(why, HasSubstr(": " + std::string(column) + ": '" + text + "' is not known; expected ")) << table;
  }
}

// Settings of Google's logs stand behind each other in one cell.
TEST(UnseenRow, FlagsOfATpuAreRead) {
  const auto table = shipped(*validation::find_published_table("mlperf_llm"));
  const auto at = std::find(table.header.begin(), table.header.end(), "tpu_parallel") - table.header.begin();
  const auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const auto& cells) {
    return cells.at(static_cast<std::size_t>(at)).find("ici_fsdp_parallelism=64 ") != std::string::npos;
  });
  ASSERT_NE(row, table.rows.end());
  const auto with = [&](const std::string& old, const std::string& text) {
    auto cells = *row;
    auto& flags = cells.at(static_cast<std::size_t>(at));
    flags.replace(flags.find(old), old.size(), text);
    return runs_of(table, {cells}).front().skipped_because;
  };
  EXPECT_EQ(with("quantization=int8", "quantization=int8"), "");
  EXPECT_THAT(with("ici_fsdp_parallelism=64", "ici_fsdp_parallelism=x"),
              HasSubstr(": tpu_parallel: ici_fsdp_parallelism=x is not a count"));
  EXPECT_THAT(with("quantization=int8", "quantization=int2"), HasSubstr("quantization=int2 is not known"));
  EXPECT_THAT(with("remat_policy=", "remat_policy=quux_"), HasSubstr(" is not known; expected full, minimal"));
}

// What products in 8 bits read is kept as they read it by Transformer Engine, whoever runs Megatron Core; in 16 bits
// nothing changes.
TEST(UnseenRow, KeepsActivationsAsItsProductsReadThem) {
  for (const auto* table : {"dgxc_benchmarking", "megatron_bridge_perf"}) {
    EXPECT_EQ(changed(table, "precision", "FP8").value_of("training.kept_activations"),
              "{format: 8-bit, functions: 16-bit}");
    EXPECT_EQ(changed(table, "precision", "BF16").value_of("training.kept_activations"), "");
  }
}

// A row of four layers of Grok-1, whose experts are each split over the tensor ranks: 8 replicas of four ranks hold 8
// experts.
TEST(UnseenRow, LayersAndSplitExpertsCount) {
  const auto table = shipped(*validation::find_published_table("dgxc_benchmarking"));
  for (const auto& run : runs_of(table, table.rows)) {
    if (run.value_of("model").find("layers: 4,") == std::string::npos) continue;
    EXPECT_EQ(run.value_of("parallel.tensor"), "4");
    EXPECT_EQ(run.value_of("parallel.expert"), "8");
    EXPECT_EQ(run.value_of("parallel.experts_over"), "");
    EXPECT_EQ(scenario_of(run, ".").model.layers, 4);
    return;
  }
  FAIL();
}

}  // namespace
}  // namespace lockstep
