#pragma once
/// The result of a run: for every operation and every rank that took part, when it started and ended.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/timeline/repetition.hpp"

namespace lockstep::timeline {

/// One phase of a collective in one group: its flows were under way in `flows`, in simulated time; the latency
/// before is not in it.
struct PhaseSpan {
  std::int32_t op;
  std::int32_t group;
  std::int32_t phase;
  Interval flows;
};

/// Spans by (operation, rank). While all ranks agree on an operation's span it is stored once, so a
/// symmetric step on thousands of ranks takes the memory of one. If a part of the step repeats, the timeline has the
/// spans of the shorter step that was simulated, and knows how often each of them comes.
class Timeline {
 public:
  Timeline() = default;
  Timeline(std::int32_t ops, std::int32_t ranks);

  /// Once per (op, rank).
  void record(std::int32_t op, std::int32_t rank, Interval span);

  [[nodiscard]] std::int32_t ops() const { return static_cast<std::int32_t>(spans_.size()); }
  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] bool took_part(std::int32_t op, std::int32_t rank) const { return took_part_[place(op, rank)]; }
  /// As simulated, and the first in the whole step. Precondition of both: took_part.
  [[nodiscard]] Interval simulated(std::int32_t op, std::int32_t rank) const;
  [[nodiscard]] Interval span(std::int32_t op, std::int32_t rank) const {
    return span(op, rank, repetition_.first_copy(op));
  }
  [[nodiscard]] Interval span(std::int32_t op, std::int32_t rank, std::int64_t copy) const {
    const auto [start, end] = simulated(op, rank);
    return {start + repetition_.shift(copy), end + repetition_.shift(copy)};
  }
  /// Calls `visit(span, copy)` for every run of an operation in the whole step; `copy` as Repetition counts. The rank
  /// took part.
  template <class Visit>
  void for_each_run(std::int32_t op, std::int32_t rank, Visit visit) const {
    const auto first = repetition_.first_copy(op);
    for (auto copy = first; copy < first + repetition_.runs(op); ++copy) visit(span(op, rank, copy), copy);
  }
  /// True when every rank that took part has the same span.
  [[nodiscard]] bool uniform(std::int32_t op) const { return spans_[static_cast<std::size_t>(op)].differing < 0; }
  [[nodiscard]] Seconds makespan() const { return makespan_ + repetition_.missing(); }
  [[nodiscard]] Seconds simulated_makespan() const { return makespan_; }

  void repeat(Repetition repetition) { repetition_ = std::move(repetition); }
  [[nodiscard]] const Repetition& repetition() const { return repetition_; }

 private:
  static constexpr std::int32_t nobody = -2, all_agree = -1;
  struct Spans {
    Interval first{};
    std::int32_t differing = nobody;  // who took part; where they disagree, the place in differing_
  };
  struct Differing {
    std::vector<Interval> distinct;
    std::vector<std::int32_t> chosen;  // per rank, into `distinct`
  };
  [[nodiscard]] std::size_t place(std::int32_t op, std::int32_t rank) const {
    return static_cast<std::size_t>(op) * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank);
  }
  std::int32_t ranks_ = 0;
  Seconds makespan_{0};
  Repetition repetition_;
  std::vector<Spans> spans_;  // by operation, small: readers go over all of it
  std::vector<Differing> differing_;
  std::vector<bool> took_part_;  // by place; in one piece, since whoever reads one rank asks for every operation
};

inline Interval Timeline::simulated(std::int32_t op, std::int32_t rank) const {
  const auto& spans = spans_[static_cast<std::size_t>(op)];
  if (spans.differing < 0) return spans.first;
  const auto& [distinct, chosen] = differing_[static_cast<std::size_t>(spans.differing)];
  return distinct[static_cast<std::size_t>(chosen[static_cast<std::size_t>(rank)])];
}

}  // namespace lockstep::timeline
