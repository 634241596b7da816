#include "workloads/pipeline/design/list_words.hpp"

#include <algorithm>

#include "workloads/pipeline/design/track_progress_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr double never = WordTiming::never;

class Listing {
 public:
  Listing(const DesignProblem& problem, const ListRule& rule)
      : problem_(problem),
        rule_(rule),
        tracks_(problem),
        reserves_(problem.tracks.count(), 0),
        ranks_(problem.shape.ranks) {
    words_.resize(problem.shape.ranks);
    for (const auto& tracks : problem.tracks_of) {
      for (const auto id : tracks) {
        // Room is left for the later chunks of the microbatch on this rank, else the first chunks of many fill it up.
        const auto& track = problem.tracks[id];
        for (const auto other : tracks) {
          const auto& chunk = problem.tracks[other];
          if (chunk.first == track.first && chunk.stage > track.stage) reserves_[id] += problem.activations.forward;
        }
      }
    }
  }

  std::optional<Words> run() {
    for (const auto rank : ranks_.ids()) choose(rank);
    for (auto left = problem_.letters(); left > 0;) {
      StageId first = 0;
      for (const auto rank : ranks_.ids()) {
        if (ranks_[rank].start < ranks_[first].start) first = rank;
      }
      if (ranks_[first].start == never) return std::nullopt;
      left -= commit(first);
    }
    return std::move(words_);
  }

 private:
  struct Rank {
    double free = 0, held = 0;
    double start = never;  ///< of the letter that it takes next
    Letter letter = -1;
  };

  struct Option {
    double ready = never;
    Letter letter = -1;
  };

  void choose(StageId rank) {
    auto& state = ranks_[rank];
    state.start = never;
    const auto& memory = problem_.activations;
    Option forward, gradient, weight, pair;
    bool blocked = false;
    for (const auto id : problem_.tracks_of[rank]) {
      const double in = std::max(state.free, tracks_.gradient_ready(id));
      if (in < gradient.ready && state.held + std::max(0.0, memory.input_gradient) <= problem_.limits[rank])
        gradient = {in, DesignProblem::letter(id, TrackWork::input_gradient)};
      const double f = std::max(state.free, tracks_.forward_ready(id));
      // The chunk that is furthest through the model goes first.
      if (f < never && f <= forward.ready + problem_.tolerance) {
        const double room = memory.forward + reserves_[id] + std::max(0.0, memory.input_gradient);
        if (state.held + room <= rule_.caps[rank])
          forward = {f, DesignProblem::letter(id, TrackWork::forward)};
        else
          blocked = true;
      }
      if (weight.letter < 0 && tracks_[id].gradients() > tracks_[id].weights)
        weight = {state.free, DesignProblem::letter(id, TrackWork::weight_gradient)};
    }
    for (std::size_t i = 0; i < problem_.pairs.size(); ++i) {
      const auto& both = problem_.pairs[i];
      if (problem_.tracks[both.forward].rank != rank) continue;
      const double ready =
          std::max({state.free, tracks_.forward_ready(both.forward), tracks_.gradient_ready(both.backward)});
      const double room = memory.forward + reserves_[both.forward] + std::max(0.0, memory.input_gradient);
      if (ready < pair.ready && state.held + room <= rule_.caps[rank])
        pair = {ready, problem_.first_pair() + static_cast<Letter>(i)};
    }
    const Option chosen = best(rank, forward, gradient, weight, pair, blocked);
    state.start = chosen.ready;
    state.letter = chosen.letter;
  }

  [[nodiscard]] Option best(StageId rank, const Option& forward, const Option& gradient, const Option& weight,
                            const Option& pair, bool blocked) const {
    const double now = ranks_[rank].free;
    const double same = problem_.tolerance;
    if (pair.ready < never && pair.ready <= std::min({forward.ready, gradient.ready}) + rule_.hold * problem_.pair_time)
      return pair;
    if (rule_.weights_first && weight.letter >= 0) return weight;
    if (gradient.ready <= now + same) return gradient;
    Option next = forward;
    if (forward.letter >= 0 && gradient.ready <= forward.ready + rule_.hold * problem_.time(forward.letter))
      next = gradient;
    if (gradient.ready < next.ready) next = gradient;
    if (weight.letter < 0) return next;
    if (blocked && next.letter != forward.letter) return weight;
    const double time = problem_.time(weight.letter);
    return now + time <= next.ready + rule_.patience * time + same && next.ready > now + same ? weight : next;
  }

  std::int64_t commit(StageId rank) {
    auto& state = ranks_[rank];
    const auto letter = state.letter;
    const auto on = problem_.tracks_of_letter(letter);
    words_[rank].push_back(letter);
    state.free = state.start + problem_.time(letter);
    state.held += problem_.kept(letter);
    tracks_.put(on, state.free);
    if (on.forward >= 0) wake(problem_.tracks[on.forward].after);
    if (on.input_gradient >= 0) wake(problem_.tracks[on.input_gradient].before);
    choose(rank);
    return problem_.is_pair(letter) ? 3 : 1;
  }
  void wake(TrackId track) {
    if (track >= 0) choose(problem_.tracks[track].rank);
  }

  const DesignProblem& problem_;
  const ListRule& rule_;
  ProgressOfTracks tracks_;
  Indexed<TrackId, double> reserves_;  ///< room that a forward leaves for later chunks
  Indexed<StageId, Rank> ranks_;
  Words words_;
};

}  // namespace

std::optional<Words> list_words(const DesignProblem& problem, const ListRule& rule) {
  return Listing(problem, rule).run();
}

}  // namespace lockstep::workloads
