#pragma once
/// How far to trust a predicted step: the mean error of the validated steps that are most like it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {

/// Validated steps of one table that share model, chip and precision.
struct ValidatedFamily {
  StepTraits traits;  ///< chips: geometric mean
  std::string name;   ///< "dgxc_benchmarking: llama-3-70b, H100, bf16"
  std::size_t rows = 0;
  double mean_abs = 0;  ///< fraction
};

/// Families with rows that count, in their order.
[[nodiscard]] std::vector<ValidatedFamily> validated_families(const std::vector<ValidatedRun>& runs);
/// The families as the CSV that `lockstep validate --errors` writes and the catalog holds.
[[nodiscard]] std::string families_csv(const std::vector<ValidatedFamily>& families);
[[nodiscard]] std::vector<ValidatedFamily> read_families(const std::filesystem::path& file);

/// The family on the same chip that is nearest: 3 for another precision, 6 for experts in one alone, and the doublings
/// of chips and of parameters between them, 1 each. None on a chip that no family has.
[[nodiscard]] const ValidatedFamily* nearest_family(const std::vector<ValidatedFamily>& families,
                                                    const StepTraits& traits);

/// The error expected of a step under `model_of_time: calibrated`, from the catalog's families; none under other
/// models.
[[nodiscard]] std::optional<ValidatedFamily> expected_error(const scenario::Scenario& scenario);

}  // namespace lockstep::validation
