#pragma once
/// When the letters of words run, for a search that times very many: buffers are kept from one timing to the next.
#include <limits>
#include <utility>
#include <vector>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

class WordTiming {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Place {
    StageId rank = 0;
    std::int32_t at = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };

  explicit WordTiming(const DesignProblem& problem);
  /// The makespan; `never` if the words wait for each other in a circle or do not hold every letter that others wait
  /// for.
  double run(const Words& words);

  // These describe the last run that came to its end:
  [[nodiscard]] double start(Place place) const { return starts_[place.rank][position_of(place.at)]; }
  [[nodiscard]] double end(Place place) const { return ends_[place.rank][position_of(place.at)]; }
  /// The letters on a longest chain of waits, last to first: each starts when the next in the list ends or arrives.
  [[nodiscard]] std::vector<Place> critical_path(const Words& words) const;
  [[nodiscard]] double longest_span(const Words& words) const;

 private:
  struct Done {
    std::int32_t count = 0;
    std::size_t base = 0;  ///< of the track's microbatches in ends and places
    bool awaited = false;  ///< by the rank of the stage after (forwards) or before (gradients)
  };
  [[nodiscard]] bool run_on(StageId rank, const Word& word);
  [[nodiscard]] bool forward_input(TrackId track, double& ready);
  [[nodiscard]] bool gradient_input(TrackId track, double& ready);
  void finish_forward(TrackId track, Place place, double end);
  void finish_gradient(TrackId track, Place place, double end);
  void wake(Done& done, TrackId waiting);

  const DesignProblem& problem_;
  std::vector<double> times_;  ///< of each letter
  Indexed<TrackId, Done> forwards_, gradients_;
  Indexed<TrackId, std::int32_t> weights_;
  std::vector<double> forward_ends_, gradient_ends_;
  std::vector<Place> forward_places_, gradient_places_;
  Indexed<StageId, std::vector<double>> starts_, ends_;
  Indexed<StageId, std::int32_t> next_;
  std::vector<StageId> able_;
};

}  // namespace lockstep::workloads
