#include "sim/studies/calibration/validate_products.hpp"

#include <cmath>

#include "sim/studies/calibration/calibrate_chip.hpp"
#include "sim/studies/calibration/kernel_rows_private.hpp"

namespace lockstep::calibration {
namespace {

/// One of the devices that a chip shows itself as.
topologies::Chip part_of(topologies::Chip chip, double parts) {
  for (auto& [precision, rate] : chip.peak) rate = rate / parts;
  chip.memory_bandwidth = chip.memory_bandwidth / parts;
  if (chip.kernels) chip.kernels->staging = chip.kernels->staging / static_cast<std::int64_t>(parts);
  return chip;
}

MeasuredKernel product_of(const CsvRow& row, topologies::Precision precision) {
  const auto m = kernel_size(row, "m"), n = kernel_size(row, "n"), k = kernel_size(row, "k");
  MeasuredKernel measured;
  measured.precision = precision;
  measured.where = row.where();
  measured.kernel = {
      workloads::ComputeWork::product,
      Flops(2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)),
      Bytes(std::llround(operand_bytes(precision) * static_cast<double>(m * k + k * n))) + Bytes(2) * (m * n),
      {1, m, n, k},
      Bytes(0)};
  measured.time = Seconds(measured.kernel.flops.value() / (kernel_rate(row) * 1e12));
  return measured;
}

Seconds predicted(const topologies::Chip& chip, const MeasuredKernel& measured, const std::string& model_of_time) {
  if (model_of_time == "calibrated") return kernel_by_itself(chip, measured);
  const Seconds at_peak = measured.kernel.flops / *chip.peak_for(measured.precision);
  return model_of_time == "ideal" ? at_peak : std::max(at_peak, measured.kernel.traffic / chip.memory_bandwidth);
}

std::string why_not(const topologies::Chip& chip, topologies::Precision precision, const std::string& model_of_time) {
  const bool measured = chip.kernels && chip.kernels->matrix.contains(precision);
  if (chip.peak_for(precision) && (measured || model_of_time != "calibrated")) return "";
  return "chip " + chip.name + " has no kernel times in " + std::string(name(precision));
}

}  // namespace

bool has_product_columns(const CsvTable& table) {
  return table.has("chip") && table.has("precision") && table.has("m") && table.has("tflops");
}

std::vector<validation::ValidatedRun> validate_products(const CsvTable& table, const std::string& name,
                                                        const std::string& model_of_time) {
  if (!table.require({"n", "k"})) return {};
  return validate_kernel_rows(
      table, name, "precision",
      [&](const CsvRow& row, topologies::Chip whole, topologies::Precision precision, validation::ValidatedRun& entry) {
        const auto chip = part_of(std::move(whole), static_cast<double>(kernel_size(row, "parts", 1)));
        const auto measured = product_of(row, precision);
        entry.run.skipped_because = why_not(chip, precision, model_of_time);
        if (!entry.run.skipped_because.empty()) return;
        entry.measured_s = measured.time.value();
        entry.predicted_s = predicted(chip, measured, model_of_time).value();
      });
}

}  // namespace lockstep::calibration
