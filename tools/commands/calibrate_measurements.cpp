#include "tools/commands/calibrate_measurements.hpp"

#include "sim/studies/from_trace/timed_kernels.hpp"
#include "tools/commands/measured_tables.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::commands {
namespace {

void read_products(const std::filesystem::path& file, const CsvTable& table, const std::string& chip,
                   Measurements& into) {
  const auto products = topologies::read_timed_products(table, chip);
  if (products.empty()) return;
  into.products.insert(into.products.end(), products.begin(), products.end());
  into.product_files.push_back(file.string());
}

/// Of kernels of all kinds, those that are products.
void note_products(const std::filesystem::path& file, const std::vector<calibration::MeasuredKernel>& kernels,
                   Measurements& into) {
  const auto before = into.products.size();
  for (const auto& kernel : kernels) {
    const auto& shape = kernel.kernel.shape;
    if (kernel.kernel.work == workloads::ComputeWork::product)
      into.products.push_back({{kernel.precision, shape.batch, shape.m, shape.n, shape.k}, kernel.time, kernel.where});
  }
  if (into.products.size() > before) into.product_files.push_back(file.string());
}

void read_csv(const std::filesystem::path& file, const std::string& chip, Measurements& into, Problems& problems) {
  const auto measured = read_measured_csv(file, problems);
  const auto& table = *measured;
  if (table.header().empty()) return;
  if (calibration::has_kernel_columns(table)) {
    const auto rows = calibration::read_measured_kernels(table);
    note_products(file, rows, into);
    into.kernels.insert(into.kernels.end(), rows.begin(), rows.end());
  } else if (topologies::has_product_shapes(table)) {
    const auto before = into.products.size();
    read_products(file, table, chip, into);
    for (auto product = before; product < into.products.size(); ++product)
      into.kernels.push_back(calibration::measured_product(into.products[product]));
    into.other_chips += table.rows().size() - (into.products.size() - before);
    if (into.products.size() == before && !table.rows().empty())
      problems.add(
          {table.header().front().where, "chip", "has no product of " + chip, "rows of the chip that is fitted"});
  } else if (calibration::has_collective_columns(table)) {
    const auto rows = calibration::read_timed_collectives(table);
    into.collectives.insert(into.collectives.end(), rows.begin(), rows.end());
  } else if (validation::has_measured_columns(table)) {
    into.steps.push_back(
        {file.stem().string(), validation::read_measured_runs(table, file.stem().string()), file.parent_path(), false});
  } else {
    problems.add({table.header().front().where, "", "has no columns of measurements",
                  "kernels, collectives or training steps, as docs/howto/calibrate.md describes them"});
  }
}

/// The kernels of a trace whose shapes it has.
void read_trace(const std::filesystem::path& file, Measurements& into, Problems& problems) {
  const auto job = workloads::read_traces({file});
  const auto kernels = from_trace::timed_kernels(job, job.ranks.size());
  for (const auto& kernel : kernels) into.kernels.push_back(kernel.measured);
  if (kernels.empty())
    problems.add({{file.string(), 0, 0},
                  "",
                  "the trace has no shapes of products or attention",
                  "a trace of torch.profiler with record_shapes"});
}

}  // namespace

Measurements read_measurements(const std::vector<std::string>& files, const calibration::NcclRun& unsaid,
                               const std::string& chip) {
  Measurements measurements;
  Problems problems;
  for (const auto& file : files) {
    if (file.ends_with(".csv")) {
      read_csv(file, chip, measurements, problems);
    } else if (file.ends_with(".json") || file.ends_with(".json.gz")) {
      read_trace(file, measurements, problems);
    } else {
      const auto rows = calibration::read_nccl_log(file, unsaid, problems);
      measurements.collectives.insert(measurements.collectives.end(), rows.begin(), rows.end());
    }
  }
  problems.throw_if_any();
  if (measurements.kernels.empty() && measurements.collectives.empty() && measurements.steps.empty())
    throw ConfigError({{{"calibrate", 0, 0}, "", "the files have no rows", "measurements"}});
  return measurements;
}

}  // namespace lockstep::commands
