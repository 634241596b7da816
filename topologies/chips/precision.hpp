#pragma once
/// Number formats of matrix units.
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"

namespace lockstep::topologies {

/// mxfp8: 8 bits with a scale of 8 bits for every 32 values along one dimension (OCP MX); nvfp4: 4 bits with a scale of
/// 8 bits for every 16 and one of 32 bits for the array. fp8 and int8 have one scale for the array, fp4 says nothing of
/// it.
enum class Precision { fp32, bf16, fp16, fp8, int8, fp4, mxfp8, nvfp4 };
[[nodiscard]] std::string_view name(Precision precision);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view word);
/// Bytes of one element (4 bits count as packed pairs, so they are not offered for storage here).
[[nodiscard]] Bytes element_size(Precision precision);
/// Bytes of one element as a product reads it, with its part of the scales: 0.5 in fp4, of which no scales are said.
[[nodiscard]] double operand_bytes(Precision precision);
/// Whether products read operands of 8 bits or fewer, which are made from arrays of 16.
[[nodiscard]] bool is_narrow(Precision precision);
/// Whether it has 8 bits.
[[nodiscard]] bool has_8_bits(Precision precision);

}  // namespace lockstep::topologies
