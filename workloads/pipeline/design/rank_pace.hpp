#pragma once
/// What a rank of a pipeline can get done in how much time, where a forward and a backward may overlap.
///
/// A pair does the work of its halves, one after the other, in a part of their time. Before the first gradient comes
/// there is nothing that a forward could overlap with, and after the last forward nothing that a gradient could. So a
/// rank is slow at the start and at the end, and fast in between.
#include <vector>

namespace lockstep::workloads {

struct RankPace {
  double alone = 0;  ///< until then there are no pairs
  double share = 1;  ///< of the time of their works, that pairs take at the least; 1: there are none
  /// The earliest end of so much work, counted as each takes by itself, that begins at `start`.
  [[nodiscard]] double done(double start, double work) const;
};

/// A work with the least time before it starts and after it ends, and its time by itself.
struct RankJob {
  double before, time, after;
};

/// The least makespan in which a rank can do all its jobs, if it may interrupt them for others, where pairs run neither
/// before `first.alone` nor in the last `alone_at_the_end`. Never more than the truth, and less by at most `tolerance`.
[[nodiscard]] double least_makespan(std::vector<RankJob> jobs, RankPace first, double alone_at_the_end,
                                    double tolerance);

}  // namespace lockstep::workloads
