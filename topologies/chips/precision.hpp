#pragma once
/// Number formats of matrix units.
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"

namespace lockstep::topologies {

enum class Precision { fp32, bf16, fp16, fp8, int8, fp4 };
[[nodiscard]] std::string_view name(Precision precision);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view word);
/// Bytes of one element (fp4 counts as packed pairs, so it is not offered for storage here).
[[nodiscard]] Bytes element_size(Precision precision);

}  // namespace lockstep::topologies
