#pragma once
/// What happened: for every operation and every rank that took part, when it started and ended.
#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace lockstep {

struct Interval {
  Seconds start;
  Seconds end;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// Spans by (operation, rank). While all ranks agree on an operation's span it is stored once, so a
/// symmetric step on thousands of ranks takes the memory of one.
class Timeline {
 public:
  Timeline(std::int32_t ops, std::int32_t ranks);

  void record(std::int32_t op, std::int32_t rank, Interval span);

  [[nodiscard]] std::int32_t ops() const { return static_cast<std::int32_t>(spans_.size()); }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] bool took_part(std::int32_t op, std::int32_t rank) const;
  [[nodiscard]] Interval span(std::int32_t op, std::int32_t rank) const;  ///< precondition: took_part
  /// True when every rank that took part has the same span.
  [[nodiscard]] bool uniform(std::int32_t op) const;
  [[nodiscard]] Seconds makespan() const { return makespan_; }

 private:
  struct Spans {
    Interval shared;                     // valid while per_rank is empty
    std::int32_t recorded = 0;           // how many ranks agreed so far
    std::vector<bool> took_part;         // empty while nobody did
    std::vector<Interval> per_rank;      // filled at the first disagreement
  };
  std::int32_t ranks_;
  Seconds makespan_{0};
  std::vector<Spans> spans_;
};

}  // namespace lockstep
