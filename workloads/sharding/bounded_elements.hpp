#pragma once
/// Numbers of elements that fit into 64 bits, also with the bytes of an element and summed with a few others.
#include <cstdint>
#include <string>

#include "workloads/sharding/notation.hpp"

namespace lockstep::workloads {

inline constexpr double most_elements = 1e17;

/// More elements than `most_elements` in one array.
class ArrayTooLarge : public ShardingError {
 public:
  explicit ArrayTooLarge(const std::string& array);
};

/// More parts of the tokens than a rank has tokens.
class TooManyTiles : public ShardingError {
 public:
  TooManyTiles(std::int64_t tiles, std::int64_t tokens);
};

/// a b; throws ArrayTooLarge, naming `array`, above `most_elements`.
[[nodiscard]] std::int64_t bounded_elements(std::int64_t a, std::int64_t b, const std::string& array);

}  // namespace lockstep::workloads
