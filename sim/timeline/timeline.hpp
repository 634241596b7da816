#pragma once
/// The result of a run: for every operation and every rank that took part, when it started and ended.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sim/timeline/rank_sets.hpp"
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
  Timeline() : Timeline(0, 0) {}
  explicit Timeline(std::shared_ptr<const RankSets> sets);
  /// Every rank runs every operation.
  Timeline(std::int32_t ops, std::int32_t ranks);

  /// Once per operation and rank that runs it.
  void record(std::int32_t op, std::int32_t rank, Interval span);

  [[nodiscard]] std::int32_t ops() const { return static_cast<std::int32_t>(spans_.size()); }
  [[nodiscard]] std::int64_t whole_ops() const { return ops() + repetition_.operations * repetition_.copies; }
  [[nodiscard]] std::int32_t ranks() const { return sets_->ranks(); }
  /// The ranks that took part, ascending.
  [[nodiscard]] std::span<const std::int32_t> ranks_of(std::int32_t op) const { return sets_->of(op); }
  /// Calls `visit` for every operation in which a rank took part, in no particular order.
  template <class Visit>
  void for_each_op_of(std::int32_t rank, Visit visit) const {
    sets_->for_each_op_of(rank, visit);
  }
  [[nodiscard]] bool took_part(std::int32_t op, std::int32_t rank) const { return sets_->place(op, rank) >= 0; }
  /// The operation's span as simulated, and its first span in the whole step. Precondition of both: took_part.
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
  [[nodiscard]] bool uniform(std::int32_t op) const { return spans_[op].differing < 0; }
  [[nodiscard]] Seconds makespan() const { return makespan_ + repetition_.missing(); }
  [[nodiscard]] Seconds simulated_makespan() const { return makespan_; }
  /// When a rank's last operation ended, as simulated; 0 if it ran none.
  [[nodiscard]] Seconds simulated_end(std::int32_t rank) const { return end_of_rank_[rank]; }

  void repeat(Repetition repetition) { repetition_ = std::move(repetition); }
  [[nodiscard]] const Repetition& repetition() const { return repetition_; }

 private:
  static constexpr std::int32_t nobody = -2, all_agree = -1;
  struct Spans {
    Interval first{};
    std::int32_t differing = nobody;  // who took part; where they disagree, the place in differing_
  };
  struct Differing {
    Indexed<std::int32_t, std::uint32_t> chosen;  // by place of a rank in the operation's set, into distinct_
    std::uint32_t last;                           // chosen by the rank recorded last
  };
  std::shared_ptr<const RankSets> sets_;
  Seconds makespan_{0};
  Indexed<std::int32_t, Seconds> end_of_rank_;
  Repetition repetition_;
  Indexed<std::int32_t, Spans> spans_;  // by operation, small: readers go over all of it
  Indexed<std::int32_t, Differing> differing_;
  std::deque<Interval> distinct_;  // of all operations whose ranks differ; it grows without copies
};

inline Interval Timeline::simulated(std::int32_t op, std::int32_t rank) const {
  const auto& spans = spans_[op];
  if (spans.differing < 0) return spans.first;
  const auto& chosen = differing_[spans.differing].chosen;
  return distinct_[chosen[sets_->place(op, rank)]];
}

}  // namespace lockstep::timeline
