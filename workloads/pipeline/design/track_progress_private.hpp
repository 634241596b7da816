#pragma once
/// How far the microbatches of each track are while an order is made letter by letter.
#include <vector>

#include "workloads/pipeline/design/design_problem.hpp"
#include "workloads/pipeline/design/word_timing.hpp"

namespace lockstep::workloads {

struct TrackProgress {
  std::vector<double> forward_ends, gradient_ends;  ///< by microbatch
  std::int32_t weights = 0;                         ///< weight gradients that have been put
  [[nodiscard]] std::int32_t forwards() const { return static_cast<std::int32_t>(forward_ends.size()); }
  [[nodiscard]] std::int32_t gradients() const { return static_cast<std::int32_t>(gradient_ends.size()); }
};

class ProgressOfTracks {
 public:
  explicit ProgressOfTracks(const DesignProblem& problem) : problem_(problem), tracks_(problem.tracks.count()) {
    for (const auto id : problem.tracks.ids()) {
      tracks_[id].forward_ends.reserve(position_of(problem.tracks[id].count));
      tracks_[id].gradient_ends.reserve(position_of(problem.tracks[id].count));
    }
  }
  [[nodiscard]] const TrackProgress& operator[](TrackId track) const { return tracks_[track]; }
  [[nodiscard]] auto begin() const { return tracks_.begin(); }
  [[nodiscard]] auto end() const { return tracks_.end(); }

  /// When the input of a track's next forward is there; `never` if that is not known yet or there is none left.
  [[nodiscard]] double forward_ready(TrackId id) const {
    const auto& track = problem_.tracks[id];
    const auto k = tracks_[id].forwards();
    if (k == track.count) return WordTiming::never;
    if (track.before < 0) return 0;
    const auto& before = tracks_[track.before];
    return before.forwards() > k ? before.forward_ends[position_of(k)] + track.latency_before : WordTiming::never;
  }
  /// The same for its next input gradient.
  [[nodiscard]] double gradient_ready(TrackId id) const {
    const auto& track = problem_.tracks[id];
    const auto k = tracks_[id].gradients();
    if (k >= tracks_[id].forwards()) return WordTiming::never;
    if (track.after < 0) return 0;
    const auto& after = tracks_[track.after];
    return after.gradients() > k ? after.gradient_ends[position_of(k)] + track.latency_after : WordTiming::never;
  }

  /// A letter on these tracks has been put and ends then.
  void put(const TracksOfLetter& on, double end) {
    if (on.forward >= 0) tracks_[on.forward].forward_ends.push_back(end);
    if (on.input_gradient >= 0) tracks_[on.input_gradient].gradient_ends.push_back(end);
    if (on.weight_gradient >= 0) ++tracks_[on.weight_gradient].weights;
  }
  /// Takes back what was put last on these tracks.
  void take_back(const TracksOfLetter& on) {
    if (on.forward >= 0) tracks_[on.forward].forward_ends.pop_back();
    if (on.input_gradient >= 0) tracks_[on.input_gradient].gradient_ends.pop_back();
    if (on.weight_gradient >= 0) --tracks_[on.weight_gradient].weights;
  }

 private:
  const DesignProblem& problem_;
  Indexed<TrackId, TrackProgress> tracks_;
};

}  // namespace lockstep::workloads
