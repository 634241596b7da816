#pragma once
/// What validated steps say about how far to trust a predicted peak of memory (studies::MemoryBands).
#include <string>
#include <vector>

#include "sim/studies/memory_fit.hpp"
#include "sim/studies/validation/validate.hpp"

namespace lockstep::validation {

using studies::MemoryFamily;

/// Those with at least one such step, in the order of the rows.
[[nodiscard]] std::vector<MemoryFamily> memory_families(const std::vector<ValidatedRun>& runs);
/// The CSV that `lockstep validate --memory-errors` writes and the catalog holds.
[[nodiscard]] std::string memory_families_csv(const std::vector<MemoryFamily>& families);

}  // namespace lockstep::validation
