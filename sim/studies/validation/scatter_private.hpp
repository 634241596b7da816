#pragma once
/// What tells one machine's steps from those of others.
#include <vector>

#include "sim/studies/validation/error_band.hpp"

namespace lockstep::validation {

/// Of families that a pool has; `pool` is left empty. They must not be none.
[[nodiscard]] Scatter scatter_of(const std::vector<const ValidatedFamily*>& pool);

}  // namespace lockstep::validation
