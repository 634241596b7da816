#pragma once
/// Published rates of single products against the kernel times of the catalog's chips.
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

/// Whether a table has such rows: chip, precision, m, n, k, tflops, and perhaps parts (the chip was measured as so many
/// devices, one of which ran the product).
[[nodiscard]] bool has_product_columns(const CsvTable& table);

/// Errors of time by chip and precision; rows of a chip whose file has no such kernels are skipped, and what is
/// wrong with a row goes to the table's problems. `model_of_time` empty:
/// roofline.
[[nodiscard]] std::vector<validation::ValidatedRun> validate_products(const CsvTable& table, const std::string& name,
                                                                      const std::string& model_of_time);

}  // namespace lockstep::calibration
