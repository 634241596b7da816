#include "sim/studies/validation/published_tables.hpp"

#include <algorithm>
#include <iterator>

#include "sim/studies/validation/published_private.hpp"

namespace lockstep::validation {
namespace {

/// A cell that a rule reads twice is told once.
bool is_told(const Problems& problems, const Problem& problem) {
  const auto same = [&](const Problem& other) { return other.to_string() == problem.to_string(); };
  return std::any_of(problems.list().begin(), problems.list().end(), same);
}

}  // namespace

const std::vector<PublishedTable>& published_tables() {
  static const auto all = [] {
    std::vector<PublishedTable> tables;
    for (auto group : {megatron_tables(), zero3_tables(), megatron_core_tables(), megatron_scaling_tables(),
                       simumax_tables(), mlperf_tables(), fsdp_tables(), internevo_tables(), prime_rl_tables(),
                       megatron_test_tables(), maxtext_tables(), jax_tables(), data_parallel_tables(), v6e_tables()}) {
      std::move(group.begin(), group.end(), std::back_inserter(tables));
    }
    return tables;
  }();
  return all;
}

const PublishedTable* find_published_table(std::string_view name) {
  const auto& all = published_tables();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& table) { return table.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<MeasuredRun> read_published_runs(const PublishedTable& published, const CsvTable& table) {
  std::vector<MeasuredRun> runs;
  if (!table.require(published.columns)) return runs;
  for (const auto& row : table.rows()) {
    MeasuredRun run;
    run.table = published.name;
    run.row = static_cast<int>(runs.size()) + 1;
    run.name = "line " + std::to_string(row.line());
    run.where = row.where();
    run.source = row.text("source");
    run.note = row.text("notes");
    Problems of_row;
    published.convert(row.read_loosely(of_row), run);
    if (!of_row.empty()) run.skipped_because = at_its_cell(of_row.list().front());
    if (!run.time && !run.peak_bytes) skip(run, "nothing was measured");
    Problems told;
    for (const auto& problem : of_row.list()) {
      if (is_blank(row, problem.key) || is_told(told, problem)) continue;
      told.add(problem);
      row.problem(problem.key, problem.what, problem.expected + ", or an empty cell where the source does not say");
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace lockstep::validation
