#pragma once
/// Published rates of single kernels of attention against the kernel times of the catalog's chips.
#include <string>
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::calibration {

/// Whether a table has such rows: chip, kernel (training.attention_kernel), precision, pass (forward, backward, both),
/// causal, heads (of all sequences), queries, keys, head_size, perhaps value_head_size, and tflops, which count the
/// backward as 2.5 forwards and half of the scores under a mask.
[[nodiscard]] bool has_attention_columns(const CsvTable& table);

/// Errors of time by chip and kernel; rows of a chip whose file has no such kernels are skipped, and what is
/// wrong with a row goes to the table's problems. `model_of_time` empty:
/// roofline.
[[nodiscard]] std::vector<validation::ValidatedRun> validate_attention(const CsvTable& table, const std::string& name,
                                                                       const std::string& model_of_time);

}  // namespace lockstep::calibration
