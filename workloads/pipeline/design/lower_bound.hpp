#pragma once
/// The time that no order of a design problem can beat.
#include <string>
#include <vector>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

/// Every work of a problem with the least time before it starts and after it ends.
///
/// The least times follow from chains (a microbatch passes its stages one after the other; the k-th of a track comes
/// after the one before it), from memory (the forward that would not fit waits for the gradients that make room), and
/// from the work that a rank must have done before, each of which has such a least time itself.
class LeastTimes {
 public:
  explicit LeastTimes(const DesignProblem& problem);
  [[nodiscard]] double before(TrackId track, TrackWork work, std::int32_t k) const;  ///< of the k-th, from 0
  [[nodiscard]] double after(TrackId track, TrackWork work, std::int32_t k) const;

  struct Bound {
    double makespan = 0;
    StageId rank = 0;  ///< that cannot be done earlier
    std::string why;   ///< "the work of rank 3 between the first forward that reaches it and ..."
  };
  [[nodiscard]] const Bound& bound() const { return bound_; }

 private:
  friend class LeastTimesMaker;
  [[nodiscard]] std::size_t index(TrackId track, TrackWork work, std::int32_t k) const;
  const DesignProblem* problem_;
  Indexed<TrackId, std::size_t> first_;  ///< of the track's works
  std::vector<double> before_, after_;
  Bound bound_;
};

}  // namespace lockstep::workloads
