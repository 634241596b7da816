#pragma once
/// The result of a run: for every operation and every rank that took part, when it started and ended.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/timeline/rank_sets.hpp"

namespace lockstep::timeline {

struct Interval {
  Seconds start;
  Seconds end;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// One phase of a collective in one group: its flows were under way in `flows`; the latency before is not in it.
struct PhaseSpan {
  std::int32_t op;
  std::int32_t group;
  std::int32_t phase;
  Interval flows;
};

/// Spans by (operation, rank). While all ranks agree on an operation's span it is stored once, so a
/// symmetric step on thousands of ranks takes the memory of one.
class Timeline {
 public:
  Timeline() : Timeline(0, 0) {}
  explicit Timeline(std::shared_ptr<const RankSets> sets);
  /// Every rank runs every operation.
  Timeline(std::int32_t ops, std::int32_t ranks);

  /// Once per operation and rank that runs it.
  void record(std::int32_t op, std::int32_t rank, Interval span);

  [[nodiscard]] std::int32_t ops() const { return static_cast<std::int32_t>(spans_.size()); }
  [[nodiscard]] std::int32_t ranks() const { return sets_->ranks(); }
  /// The ranks that took part, ascending.
  [[nodiscard]] std::span<const std::int32_t> ranks_of(std::int32_t op) const { return sets_->of(op); }
  [[nodiscard]] bool took_part(std::int32_t op, std::int32_t rank) const { return sets_->place(op, rank) >= 0; }
  [[nodiscard]] Interval span(std::int32_t op, std::int32_t rank) const;  ///< precondition: took_part
  /// True when every rank that took part has the same span.
  [[nodiscard]] bool uniform(std::int32_t op) const { return spans_[static_cast<std::size_t>(op)].differing < 0; }
  [[nodiscard]] Seconds makespan() const { return makespan_; }

 private:
  static constexpr std::int32_t nobody = -2, all_agree = -1;
  struct Spans {
    Interval first{};
    std::int32_t differing = nobody;  // who took part; where they disagree, the place in differing_
  };
  struct Differing {
    std::vector<std::uint32_t> chosen;  // by place of a rank in the operation's set, into distinct_
    std::uint32_t last;                 // chosen by the rank recorded last
  };
  std::shared_ptr<const RankSets> sets_;
  Seconds makespan_{0};
  std::vector<Spans> spans_;  // by operation, small: readers go over all of it
  std::vector<Differing> differing_;
  std::deque<Interval> distinct_;  // of all operations whose ranks differ; it grows without copies
};

inline Interval Timeline::span(std::int32_t op, std::int32_t rank) const {
  const auto& spans = spans_[static_cast<std::size_t>(op)];
  if (spans.differing < 0) return spans.first;
  const auto& chosen = differing_[static_cast<std::size_t>(spans.differing)].chosen;
  return distinct_[chosen[static_cast<std::size_t>(sets_->place(op, rank))]];
}

}  // namespace lockstep::timeline
