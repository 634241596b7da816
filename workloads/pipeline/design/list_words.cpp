#include "workloads/pipeline/design/list_words.hpp"

#include <algorithm>

#include "workloads/pipeline/design/word_timing.hpp"

namespace lockstep::workloads {
namespace {

constexpr double never = WordTiming::never;

class Listing {
 public:
  Listing(const DesignProblem& problem, const ListRule& rule)
      : problem_(problem), rule_(rule), tracks_(problem.tracks.count()), ranks_(problem.shape.ranks) {
    words_.resize(problem.shape.ranks);
    for (const auto& tracks : problem.tracks_of) {
      for (const auto id : tracks) {
        // Room is left for the later chunks of the microbatch on this rank, else the first chunks of many fill it up.
        const auto& track = problem.tracks[id];
        for (const auto other : tracks) {
          const auto& chunk = problem.tracks[other];
          if (chunk.first == track.first && chunk.stage > track.stage)
            tracks_[id].reserve += problem.activations.forward;
        }
        tracks_[id].forward_ends.reserve(position_of(track.count));
        tracks_[id].gradient_ends.reserve(position_of(track.count));
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
  struct Progress {
    std::vector<double> forward_ends, gradient_ends;
    std::int32_t weights = 0;
    double reserve = 0;
    [[nodiscard]] std::int32_t forwards() const { return static_cast<std::int32_t>(forward_ends.size()); }
    [[nodiscard]] std::int32_t gradients() const { return static_cast<std::int32_t>(gradient_ends.size()); }
  };
  struct Rank {
    double free = 0, held = 0;
    double start = never;  ///< of the letter that it takes next
    Letter letter = -1;
  };

  /// When the input of a track's next forward is there; `never` if that is not known yet or there is none left.
  [[nodiscard]] double forward_ready(TrackId id) const {
    const auto& track = problem_.tracks[id];
    const auto k = tracks_[id].forwards();
    if (k == track.count) return never;
    if (track.before < 0) return 0;
    const auto& before = tracks_[track.before];
    return before.forwards() > k ? before.forward_ends[position_of(k)] + track.latency_before : never;
  }
  [[nodiscard]] double gradient_ready(TrackId id) const {
    const auto& track = problem_.tracks[id];
    const auto k = tracks_[id].gradients();
    if (k >= tracks_[id].forwards()) return never;
    if (track.after < 0) return 0;
    const auto& after = tracks_[track.after];
    return after.gradients() > k ? after.gradient_ends[position_of(k)] + track.latency_after : never;
  }

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
      const double in = std::max(state.free, gradient_ready(id));
      if (in < gradient.ready && state.held + std::max(0.0, memory.input_gradient) <= problem_.limits[rank])
        gradient = {in, DesignProblem::letter(id, TrackWork::input_gradient)};
      const double f = std::max(state.free, forward_ready(id));
      // The chunk that is furthest through the model goes first.
      if (f < never && f <= forward.ready + problem_.tolerance) {
        const double room = memory.forward + tracks_[id].reserve + std::max(0.0, memory.input_gradient);
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
      const double ready = std::max({state.free, forward_ready(both.forward), gradient_ready(both.backward)});
      const double room = memory.forward + tracks_[both.forward].reserve + std::max(0.0, memory.input_gradient);
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
    const double end = state.start + problem_.time(letter);
    words_[rank].push_back(letter);
    state.free = end;
    state.held += problem_.kept(letter);
    std::int64_t done = 1;
    if (problem_.is_pair(letter)) {
      const auto& pair = problem_.pair(letter);
      tracks_[pair.forward].forward_ends.push_back(end);
      tracks_[pair.backward].gradient_ends.push_back(end);
      ++tracks_[pair.backward].weights;
      wake(problem_.tracks[pair.forward].after);
      wake(problem_.tracks[pair.backward].before);
      done = 3;
    } else if (letter % 3 == 0) {
      tracks_[letter / 3].forward_ends.push_back(end);
      wake(problem_.tracks[letter / 3].after);
    } else if (letter % 3 == 1) {
      tracks_[letter / 3].gradient_ends.push_back(end);
      wake(problem_.tracks[letter / 3].before);
    } else {
      ++tracks_[letter / 3].weights;
    }
    choose(rank);
    return done;
  }
  void wake(TrackId track) {
    if (track >= 0) choose(problem_.tracks[track].rank);
  }

  const DesignProblem& problem_;
  const ListRule& rule_;
  Indexed<TrackId, Progress> tracks_;
  Indexed<StageId, Rank> ranks_;
  Words words_;
};

}  // namespace

std::optional<Words> list_words(const DesignProblem& problem, const ListRule& rule) {
  return Listing(problem, rule).run();
}

}  // namespace lockstep::workloads
