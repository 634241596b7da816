// A table of measurements, read by every rule that a table may fall under: kernels, collectives, products, steps in
// this program's own columns and in those of each published table.
#include <spdlog/sinks/null_sink.h>

#include "sim/studies/calibration/measured_kernels.hpp"
#include "sim/studies/calibration/nccl_log.hpp"
#include "sim/studies/calibration/validate_attention.hpp"
#include "sim/studies/calibration/validate_products.hpp"
#include "sim/studies/validation/measured_collectives.hpp"
#include "sim/studies/validation/published_tables.hpp"
#include "tests/fuzz/readers/target.hpp"

namespace {

using namespace lockstep;

constexpr std::size_t most_scenarios = 3;  // of a table: they are the slow part

void read_scenarios(const std::vector<validation::MeasuredRun>& runs) {
  std::size_t read = 0;
  for (const auto& run : runs) {
    if (!run.skipped_because.empty() || ++read > most_scenarios) continue;
    (void)test::answered([&] { (void)scenario_of(run, test::source_folder()); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Problems problems;
  const CsvTable table(test::text_of(data, size), "fuzzed.csv", problems);
  (void)calibration::read_measured_kernels(table);
  (void)calibration::read_timed_collectives(table);
  if (calibration::has_product_columns(table))
    (void)test::answered([&] { (void)calibration::validate_products(table, "fuzzed", ""); });
  if (calibration::has_attention_columns(table))
    (void)test::answered([&] { (void)calibration::validate_attention(table, "fuzzed", "calibrated"); });
  if (validation::has_collective_columns(table)) {
    (void)test::answered([&] {
      const auto rows = validation::read_measured_collectives(table, "fuzzed", problems);
      validation::check_machines(rows, test::source_folder() / "topologies/catalog", problems);
    });
  }
  if (validation::has_measured_columns(table))
    (void)test::answered([&] { read_scenarios(validation::read_measured_runs(table, "fuzzed")); });
  for (const auto& published : validation::published_tables()) {
    if (std::all_of(published.columns.begin(), published.columns.end(),
                    [&](const auto& column) { return table.has(column); })) {
      (void)test::answered([&] { read_scenarios(read_published_runs(published, table)); });
    }
  }
  if (!problems.empty()) test::check(problems.list());
  return 0;
}
