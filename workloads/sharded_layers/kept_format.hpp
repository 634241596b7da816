#pragma once
/// In how many bytes an array lies between the pass that makes it and the one that reads it again.
#include <cstdint>

#include "sim/core/units.hpp"

namespace lockstep::workloads {

struct KeptFormat {
  std::int64_t bits = 8;  ///< of an element
  std::int64_t scaled_together =
      0;  ///< so many elements share a scale in fp32; 0: one scale for all, which counts nothing

  [[nodiscard]] Bytes size(std::int64_t elements) const {
    const auto packed = (elements * bits + 7) / 8;
    return Bytes(packed + (scaled_together == 0 ? 0 : 4 * ((elements + scaled_together - 1) / scaled_together)));
  }
  /// Collectives carry whole bytes, without scales.
  [[nodiscard]] Bytes element() const { return Bytes((bits + 7) / 8); }
  friend bool operator==(const KeptFormat&, const KeptFormat&) = default;
};

}  // namespace lockstep::workloads
