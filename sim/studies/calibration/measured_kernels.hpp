#pragma once
/// Kernels that were timed one at a time on one chip, as tools/benchmark writes them; columns in
/// docs/howto/calibrate.md.
#include <vector>

#include "sim/core/csv_table.hpp"
#include "topologies/chips/measured_products.hpp"
#include "topologies/chips/precision.hpp"
#include "workloads/sharded_layers/kernel.hpp"

namespace lockstep::calibration {

struct MeasuredKernel {
  workloads::Kernel kernel;
  topologies::Precision precision = topologies::Precision::bf16;
  Seconds time{0};
  Location where;
  [[nodiscard]] std::string to_string() const;  ///< "product 8192 x 8192 x 8192 in bf16"
};

/// Whether a table has the columns of such measurements.
[[nodiscard]] bool has_kernel_columns(const CsvTable& table);
[[nodiscard]] std::vector<MeasuredKernel> read_measured_kernels(const CsvTable& table);
/// A product of a table of products (topologies::read_timed_products).
[[nodiscard]] MeasuredKernel measured_product(const topologies::TimedProduct& product);

}  // namespace lockstep::calibration
