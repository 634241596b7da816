#pragma once
/// A pipeline whose order is sought: what runs where, how long it takes, what it waits for and what it holds.
///
/// Microbatches of one way through the pipeline are all alike, so the k-th forward that a rank runs on a virtual stage
/// may as well be that of microbatch k, and the same for gradients: if some order meets the limits, so does this one,
/// and it ends no later. So an order of a rank is a word: a sequence of letters, which say what runs on which track,
/// without microbatches.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

using TrackId = std::int32_t;
using Letter = std::int32_t;  ///< 3 track + work for single works, then the pairs

enum class TrackWork : std::uint8_t { forward, input_gradient, weight_gradient };

/// A virtual stage on one rank and the microbatches that pass through it there, one after the other.
struct Track {
  StageId rank = 0;
  VirtualStageId stage = 0;
  MicrobatchId first = 0, count = 0;  ///< its microbatches
  TrackId before = -1, after = -1;    ///< of the virtual stages before and after; -1: none
  double latency_before = 0, latency_after = 0;
  double forward = 0, input_gradient = 0, weight_gradient = 0;
  [[nodiscard]] double time(TrackWork work) const {
    return work == TrackWork::forward ? forward : work == TrackWork::input_gradient ? input_gradient : weight_gradient;
  }
};

/// A forward on one track and a whole backward on another that run overlapped.
struct TrackPair {
  TrackId forward = 0, backward = 0;
};

struct TracksOfLetter {
  TrackId forward = -1, input_gradient = -1, weight_gradient = -1;
};

using Word = std::vector<Letter>;
using Words = Indexed<StageId, Word>;

struct DesignProblem {
  PipelineShape shape;
  Indexed<TrackId, Track> tracks;  ///< of a way through the pipeline in forward order, way after way
  Indexed<StageId, std::vector<TrackId>> tracks_of;
  std::vector<TrackPair> pairs;  ///< none if a pair takes as long as its halves one after the other
  double pair_time = 0;
  ActivationModel activations;
  Indexed<StageId, double> limits;  ///< in the unit of activations
  double tolerance = 0;             ///< times closer than this are equal

  [[nodiscard]] static Letter letter(TrackId track, TrackWork work) { return 3 * track + static_cast<Letter>(work); }
  /// Of a letter that is no pair.
  [[nodiscard]] static TrackId track_of(Letter letter) { return letter / 3; }
  [[nodiscard]] static TrackWork work_of(Letter letter) { return static_cast<TrackWork>(letter % 3); }
  [[nodiscard]] Letter first_pair() const { return 3 * tracks.count(); }
  [[nodiscard]] bool is_pair(Letter letter) const { return letter >= first_pair(); }
  [[nodiscard]] const TrackPair& pair(Letter letter) const { return pairs[position_of(letter - first_pair())]; }
  /// The tracks whose next forward, input gradient and weight gradient a letter runs; -1: none.
  [[nodiscard]] TracksOfLetter tracks_of_letter(Letter letter) const;
  [[nodiscard]] double time(Letter letter) const;
  /// How long the halves of a pair take one after the other.
  [[nodiscard]] double apart(const TrackPair& pair) const;
  /// The least part of the time of its works that a rank takes for them, by its best pair; none: it has no pairs.
  [[nodiscard]] std::optional<double> least_share(StageId rank) const;
  /// The activations that a letter adds to those that its rank holds, at its start and at its end.
  [[nodiscard]] double taken(Letter letter) const;
  [[nodiscard]] double kept(Letter letter) const;
  [[nodiscard]] bool fits(StageId rank, const Word& word) const;
  [[nodiscard]] bool fits(const Words& words) const;
  [[nodiscard]] std::int64_t letters() const;  ///< of all words, without pairs
};

/// The problem of a request with valid sizes; `placement` and `chunks` say where stages stand. Throws ScheduleError for
/// limits under which no order exists and for times that make no sense.
[[nodiscard]] DesignProblem design_problem(const ScheduleRequest& request, StagePlacement placement,
                                           std::int32_t chunks);

/// The words of an order of the problem's shape. Whole backwards are split, and so are pairs that save no time.
[[nodiscard]] Words words_of(const DesignProblem& problem, const PipelineOrder& order);
[[nodiscard]] PipelineOrder order_of(const DesignProblem& problem, const Words& words);

}  // namespace lockstep::workloads
