#include "sim/studies/calibration/measured_kernels.hpp"

#include <algorithm>

namespace lockstep::calibration {
namespace {

constexpr std::int64_t largest_size = 10'000'000;
constexpr double shortest = 1e-9, longest = 1e6;  // seconds

double real(std::int64_t value) { return static_cast<double>(value); }
Bytes bytes(double value) { return Bytes(static_cast<std::int64_t>(std::min(value, 1e18))); }

bool truth(const CsvRow& row, std::string_view column) {
  const auto text = row.text(column);
  if (text == "true" || text == "1") return true;
  if (!text.empty() && text != "false" && text != "0")
    row.problem(column, "'" + text + "' is neither true nor false", "true or false");
  return false;
}

topologies::Precision precision_of(const CsvRow& row) {
  const auto text = row.text("precision");
  if (const auto known = topologies::precision_named(text)) return *known;
  row.problem("precision", "unknown precision '" + text + "'", "one of fp32, bf16, fp16, fp8, int8, fp4");
  return topologies::Precision::bf16;
}

/// Reads the columns that products and attention share.
void read_shape(const CsvRow& row, workloads::KernelShape& shape) {
  const auto size = [&](std::string_view column, std::optional<std::int64_t> fallback = std::nullopt) {
    const auto value = row.integer(column, fallback);
    if (value <= largest_size) return value;
    row.problem(column, "'" + row.text(column) + "' is too large", "at most " + std::to_string(largest_size));
    return std::int64_t{1};
  };
  shape.batch = size("batch", 1);
  shape.m = size("m");
  shape.n = size("n");
  shape.k = size("k");
}

/// Reads both factors and writes the product in 16 bits, or wider if they are.
void count_product(MeasuredKernel& measured) {
  auto& shape = measured.kernel.shape;
  measured.kernel.work = workloads::ComputeWork::product;
  measured.kernel.flops = Flops(2 * real(shape.batch) * real(shape.m) * real(shape.n) * real(shape.k));
  const auto element = operand_bytes(measured.precision);
  const auto result = std::max(element, 2.0);
  measured.kernel.traffic =
      bytes(real(shape.batch) * (element * (real(shape.m) * real(shape.k) + real(shape.k) * real(shape.n)) +
                                 result * real(shape.m) * real(shape.n)));
}

/// Counts attention as a step does: half of the scores under a mask; backward twice the FLOPs and bytes of the forward.
void read_attention(const CsvRow& row, MeasuredKernel& measured) {
  auto& shape = measured.kernel.shape;
  measured.kernel.work = workloads::ComputeWork::attention;
  read_shape(row, shape);
  shape.causal = truth(row, "causal");
  shape.backward = truth(row, "backward");
  const double passes = shape.backward ? 2 : 1;
  measured.kernel.flops =
      Flops(passes * (shape.causal ? 2 : 4) * real(shape.batch) * real(shape.m) * real(shape.n) * real(shape.k));
  const auto element = operand_bytes(measured.precision);
  measured.kernel.traffic =
      bytes(passes * element * real(shape.batch) * real(shape.n) * 2 * (real(shape.m) + real(shape.k)));
}

}  // namespace

std::string MeasuredKernel::to_string() const {
  const auto& shape = kernel.shape;
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const std::string in = " in " + std::string(name(precision));
  const std::string of = shape.batch > 1 ? number(shape.batch) + " of " : "";
  switch (kernel.work) {
    case workloads::ComputeWork::memory: return "copy of " + number(kernel.traffic.value()) + " bytes";
    case workloads::ComputeWork::attention:
      return "attention " + of + number(shape.m) + " queries, " + number(shape.k) + " keys, head size " +
             number(shape.n) + (shape.causal ? ", causal" : "") + (shape.backward ? ", backward" : "") + in;
    case workloads::ComputeWork::product:
    case workloads::ComputeWork::head_product: break;
  }
  return "product " + of + number(shape.m) + " x " + number(shape.n) + " x " + number(shape.k) + in;
}

bool has_kernel_columns(const CsvTable& table) { return table.has("kernel") && table.has("seconds"); }

std::vector<MeasuredKernel> read_measured_kernels(const CsvTable& table) {
  std::vector<MeasuredKernel> kernels;
  if (!table.require({"kernel", "seconds"})) return kernels;
  for (const auto& row : table.rows()) {
    MeasuredKernel measured;
    measured.where = row.where();
    const auto kind = row.text("kernel");
    if (kind != "memory") measured.precision = precision_of(row);
    if (kind == "product") {
      read_shape(row, measured.kernel.shape);
      count_product(measured);
    } else if (kind == "attention") {
      read_attention(row, measured);
    } else if (kind == "memory") {
      measured.kernel.traffic = Bytes(row.integer("bytes"));
    } else {
      row.problem("kernel", "unknown kernel '" + kind + "'", "one of product, attention, memory");
    }
    const auto seconds = row.number("seconds");
    if (row.text("seconds").empty()) row.problem("seconds", "is missing", "the time of one kernel");
    if (seconds && (*seconds < shortest || *seconds > longest))
      row.problem("seconds", "'" + row.text("seconds") + "' is not the time of a kernel", "seconds, from 1e-9 to 1e6");
    measured.time = Seconds(seconds.value_or(1));
    kernels.push_back(measured);
  }
  return kernels;
}

MeasuredKernel measured_product(const topologies::TimedProduct& product) {
  MeasuredKernel measured;
  const auto& [precision, batch, m, n, k] = product.shape;
  measured.precision = precision;
  measured.where = product.where;
  measured.time = product.time;
  measured.kernel.shape = {batch, m, n, k};
  count_product(measured);
  return measured;
}

}  // namespace lockstep::calibration
