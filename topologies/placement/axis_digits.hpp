#pragma once
/// An axis as two. A rank's number along axis tensor, divided by 2, is its digit on "tensor//2", and the remainder its
/// digit on "tensor%2". Both may be used wherever a collective's axis may: the ranks of a group along tensor%2 are
/// neighbours, as those along the part tensor/2 (mesh.hpp); a group along tensor//2 has one rank of each such group. An
/// array that is split over the outer and then the inner digit is split over the axis, and may still have copies over
/// tensor/2, which is why the inner digit has a name of its own.
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::topologies {

struct AxisDigits {
  std::string outer, inner;
};
[[nodiscard]] AxisDigits digits(const std::string& axis, std::int64_t inner_size);
[[nodiscard]] bool is_outer_digit(std::string_view name);

}  // namespace lockstep::topologies
