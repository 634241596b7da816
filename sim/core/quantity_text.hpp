#pragma once
/// Text to quantities and back. Parsing returns an error text instead of throwing, because the
/// caller knows the place. Printing picks the prefix that keeps three to five digits.
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/units.hpp"

namespace lockstep {

/// Why a text is not the wanted quantity: what is wrong, and what was expected.
struct QuantityError {
  std::string what;
  std::string expected;
};

[[nodiscard]] std::variant<Bytes, QuantityError> parse_bytes(std::string_view text);
[[nodiscard]] std::variant<Seconds, QuantityError> parse_seconds(std::string_view text);
[[nodiscard]] std::variant<BytesPerSecond, QuantityError> parse_bytes_per_second(std::string_view text);
[[nodiscard]] std::variant<FlopsPerSecond, QuantityError> parse_flops_per_second(std::string_view text);

[[nodiscard]] std::string format(Bytes value);           ///< "1.35 GB" (powers of 1000)
[[nodiscard]] std::string format(Seconds value);         ///< "23.30 us"
[[nodiscard]] std::string format(BytesPerSecond value);  ///< "90.0 GB/s"
[[nodiscard]] std::string format(FlopsPerSecond value);  ///< "459 TFLOP/s"
[[nodiscard]] std::string format(Flops value);           ///< "1.97 EFLOP"
/// A double with the fewest digits that read back as the same double (result files).
[[nodiscard]] std::string exact(double value);

}  // namespace lockstep
