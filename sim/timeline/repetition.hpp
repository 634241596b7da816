#pragma once
/// A period that repeats in the middle of a step. The engine ran a shorter step that contains the period once; its
/// further copies are only counted. `Simulated` times are those of the shorter step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/indexed.hpp"
#include "sim/core/units.hpp"

namespace lockstep::timeline {

struct Interval {
  Seconds start;
  Seconds end;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A Repetition that is made without arguments means that nothing repeats.
struct Repetition {
  /// The place of an operation of the shorter step: it runs once before the copies, in every copy, or once after them.
  /// `put_off` also runs after them, but is work of a microbatch from before the copies.
  enum class Place : std::uint8_t { before, within, after, put_off };

  std::int64_t copies = 0;        ///< of the period, beside the one that was simulated
  Interval period{};              ///< the one that was simulated, in simulated time
  std::int64_t operations = 0;    ///< in a period
  std::int32_t pairs = 0;         ///< of overlapped passes in a period
  std::int32_t microbatches = 0;  ///< in a period; of a pipeline that is entered at both ends, from each end
  /// The first microbatch of the shorter step that enters at the other end.
  std::int32_t first_of_other_end = std::numeric_limits<std::int32_t>::max();
  Indexed<std::int32_t, Place> place;  ///< by operation; empty if nothing repeats
  /// For an operation that may still run when the period begins: the same operation one period later. Otherwise -1.
  Indexed<std::int32_t, std::int32_t> later;
  struct Cells {
    std::size_t first, count;
  };
  Indexed<std::int32_t, Cells> cells;  ///< of the period, in the shorter step's pipeline order: of each of its ranks

  [[nodiscard]] Seconds length() const { return period.end - period.start; }
  /// The time that the shorter step lacks.
  [[nodiscard]] Seconds missing() const { return length() * static_cast<double>(copies); }
  [[nodiscard]] Place place_of(std::int32_t op) const { return place.empty() ? Place::before : place[op]; }
  /// How often an operation runs in the step.
  [[nodiscard]] std::int64_t runs(std::int32_t op) const { return place_of(op) == Place::within ? 1 + copies : 1; }
  /// The number of copies before the first run of an operation.
  [[nodiscard]] std::int64_t first_copy(std::int32_t op) const { return place_of(op) >= Place::after ? copies : 0; }
  [[nodiscard]] Seconds shift(std::int64_t copy) const { return length() * static_cast<double>(copy); }

  /// The microbatch, in the whole step, of an operation that has this one in the shorter step.
  [[nodiscard]] std::int64_t microbatch(std::int32_t op, std::int64_t copy, std::int32_t simulated) const {
    return simulated + ((place_of(op) == Place::put_off ? 0 : copy) + (simulated >= first_of_other_end ? copies : 0)) *
                           microbatches;
  }

  /// The first time in the step that is like a simulated one.
  [[nodiscard]] Seconds in_step(Seconds simulated) const {
    return simulated <= period.end ? simulated : simulated + missing();
  }
  /// The time that a piece of simulated time and its repetitions take in the step.
  [[nodiscard]] Seconds in_step(Interval simulated) const {
    const auto from = std::max(simulated.start, period.start), until = std::min(simulated.end, period.end);
    const auto length = simulated.end - simulated.start;
    return copies > 0 && until > from ? length + (until - from) * static_cast<double>(copies) : length;
  }
};

}  // namespace lockstep::timeline
