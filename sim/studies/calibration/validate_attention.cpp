#include "sim/studies/calibration/validate_attention.hpp"

#include <algorithm>
#include <cmath>

#include "sim/studies/calibration/calibrate_chip.hpp"
#include "sim/studies/calibration/kernel_rows_private.hpp"

namespace lockstep::calibration {
namespace {

enum Pass { forward, backward, both };

double real(std::int64_t value) { return static_cast<double>(value); }

struct Row {
  MeasuredKernel kernel;  ///< the forward
  Pass pass = forward;
  Seconds time{0};
};

Row read(const CsvRow& row, topologies::Precision precision) {
  const auto size = [&](std::string_view column) { return kernel_size(row, column); };
  Row made;
  const auto pass = row.text("pass");
  made.pass = pass == "both" ? both : pass == "backward" ? backward : forward;
  if (made.pass == forward && pass != "forward")
    row.problem("pass", "'" + pass + "' is not known", "one of forward, backward, both");
  auto& kernel = made.kernel.kernel;
  const auto queries_and_keys = size("head_size"), values = kernel_size(row, "value_head_size", queries_and_keys);
  kernel.work = workloads::ComputeWork::attention;
  kernel.shape = {size("heads"), size("queries"), (queries_and_keys + values) / 2, size("keys")};
  const auto causal = row.text("causal");
  kernel.shape.causal = causal == "true";
  if (causal != "true" && causal != "false")
    row.problem("causal", "'" + causal + "' is neither true nor false", "true or false");
  kernel.shape.unlike_heads = values != queries_and_keys;
  const auto& shape = kernel.shape;
  kernel.flops = Flops((shape.causal ? 2 : 4) * real(shape.batch) * real(shape.m) * real(shape.n) * real(shape.k));
  kernel.traffic = Bytes(
      std::llround(operand_bytes(precision) * 2 * real(shape.batch) * real(shape.n) * (real(shape.m) + real(shape.k))));
  made.kernel.precision = precision;
  constexpr double counted[] = {1, 2.5, 3.5};
  made.time = Seconds(kernel.flops.value() * counted[made.pass] / (kernel_rate(row) * 1e12));
  return made;
}

/// A backward has twice the forward's FLOPs and bytes, as in a step.
MeasuredKernel backward_of(MeasuredKernel measured) {
  measured.kernel.flops = measured.kernel.flops * 2.0;
  measured.kernel.traffic = measured.kernel.traffic * 2;
  measured.kernel.shape.backward = true;
  return measured;
}

Seconds predicted(const topologies::Chip& chip, const MeasuredKernel& measured, const std::string& model_of_time) {
  if (model_of_time == "calibrated") return kernel_by_itself(chip, measured);
  const Seconds at_peak = measured.kernel.flops / *chip.peak_for(measured.precision);
  return model_of_time == "ideal" ? at_peak : std::max(at_peak, measured.kernel.traffic / chip.memory_bandwidth);
}

/// Why the row cannot be predicted, where the row is right; takes the named kernels as the chip's.
std::string why_not(topologies::Chip& chip, topologies::Precision precision, const CsvRow& row,
                    const std::string& model_of_time) {
  const auto kernel = row.text("kernel");
  if (!chip.peak_for(precision)) return "chip " + chip.name + " has no rate in " + std::string(name(precision));
  if (model_of_time != "calibrated") return "";
  const auto names = chip.kernels ? topologies::attention_names(*chip.kernels) : "";
  const auto* found = chip.kernels ? topologies::attention_called(*chip.kernels, kernel) : nullptr;
  if (found == nullptr && !names.empty())
    row.problem("kernel", "chip " + chip.name + " has no kernels of attention '" + kernel + "'", "one of " + names);
  if (found == nullptr || !chip.kernels->matrix.contains(precision))
    return "chip " + chip.name + " has no kernels of attention '" + kernel + "' in " + std::string(name(precision));
  chip.kernels->attention = topologies::AttentionKernels(*found);
  return "";
}

}  // namespace

bool has_attention_columns(const CsvTable& table) {
  return table.has("chip") && table.has("kernel") && table.has("queries") && table.has("tflops");
}

std::vector<validation::ValidatedRun> validate_attention(const CsvTable& table, const std::string& name,
                                                         const std::string& model_of_time) {
  if (!table.require({"precision", "pass", "causal", "heads", "keys", "head_size"})) return {};
  return validate_kernel_rows(
      table, name, "kernel",
      [&](const CsvRow& row, topologies::Chip chip, topologies::Precision precision, validation::ValidatedRun& entry) {
        const auto measured = read(row, precision);
        entry.run.skipped_because = why_not(chip, precision, row, model_of_time);
        if (!entry.run.skipped_because.empty()) return;
        entry.measured_s = measured.time.value();
        if (measured.pass != backward) entry.predicted_s += predicted(chip, measured.kernel, model_of_time).value();
        if (measured.pass != forward)
          entry.predicted_s += predicted(chip, backward_of(measured.kernel), model_of_time).value();
      });
}

}  // namespace lockstep::calibration
