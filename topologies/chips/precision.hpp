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
/// Bytes of one element as a product reads it: 0.5 in fp4.
[[nodiscard]] double operand_bytes(Precision precision);
/// Whether products read operands of 8 bits or fewer, which are made from arrays of 16.
[[nodiscard]] bool is_narrow(Precision precision);
/// Whether it has 8 bits.
[[nodiscard]] bool has_8_bits(Precision precision);

}  // namespace lockstep::topologies
