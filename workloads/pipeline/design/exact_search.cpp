#include "workloads/pipeline/design/exact_search.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "workloads/pipeline/design/track_progress_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr double never = WordTiming::never;

class Branching {
 public:
  Branching(const DesignProblem& problem, const LeastTimes& least, double makespan, std::int64_t most_nodes)
      : problem_(problem),
        least_(least),
        most_nodes_(most_nodes),
        best_(makespan),
        tracks_(problem),
        work_(problem.tracks.count()),
        ranks_(problem.shape.ranks),
        words_(problem.shape.ranks),
        letters_left_(problem.letters()) {
    for (const auto id : problem.tracks.ids()) {
      const auto& track = problem.tracks[id];
      const double each = problem.least_share(track.rank).value_or(1);
      auto& work = work_[id];
      work = {each * track.forward, each * track.input_gradient, each * track.weight_gradient};
      ranks_[track.rank].left += track.count * (work[0] + work[1] + work[2]);
    }
  }

  ExactResult run() {
    branch(0);
    return {std::move(found_), best_, nodes_ <= most_nodes_};
  }

 private:
  struct Rank {
    double free = 0, held = 0;
    double left = 0;  ///< work
  };
  struct Option {
    double start = 0;
    StageId rank = 0;
    Letter letter = 0;
  };
  using Label = std::vector<double>;

  [[nodiscard]] bool has_room(StageId rank, Letter letter) const {
    return ranks_[rank].held + problem_.taken(letter) <= problem_.limits[rank];
  }

  /// Letters that can be next in the order of starts.
  void options(double last, std::vector<Option>& found) const {
    const auto add = [&](StageId rank, Letter letter, double ready) {
      const double start = std::max(ranks_[rank].free, ready);
      if (start < never && start >= last - problem_.tolerance && has_room(rank, letter))
        found.push_back({start, rank, letter});
    };
    for (const auto id : problem_.tracks.ids()) {
      const auto rank = problem_.tracks[id].rank;
      add(rank, DesignProblem::letter(id, TrackWork::input_gradient), tracks_.gradient_ready(id));
      add(rank, DesignProblem::letter(id, TrackWork::forward), tracks_.forward_ready(id));
      if (tracks_[id].weights < tracks_[id].gradients())
        add(rank, DesignProblem::letter(id, TrackWork::weight_gradient), 0);
    }
    for (std::size_t i = 0; i < problem_.pairs.size(); ++i) {
      const auto& pair = problem_.pairs[i];
      add(problem_.tracks[pair.forward].rank, problem_.first_pair() + static_cast<Letter>(i),
          std::max(tracks_.forward_ready(pair.forward), tracks_.gradient_ready(pair.backward)));
    }
    std::stable_sort(found.begin(), found.end(), [](const Option& a, const Option& b) { return a.start < b.start; });
  }

  /// The makespan that no order that begins like this can beat.
  [[nodiscard]] double bound(double last) {
    double bound = 0;
    // Earliest start of the next forward and the next input gradient of each track.
    auto& forward = forward_starts_;
    auto& gradient = gradient_starts_;
    forward.assign(problem_.tracks.count(), never);
    gradient.assign(problem_.tracks.count(), never);
    first_.assign(problem_.shape.ranks, never);
    for (const auto id : problem_.tracks.ids()) {
      const auto& track = problem_.tracks[id];
      const auto k = tracks_[id].forwards();
      if (k == track.count) continue;
      double start = std::max(ranks_[track.rank].free, last);
      if (track.before >= 0) {
        const auto& before = tracks_[track.before];
        const double input = before.forwards() > k ? before.forward_ends[position_of(k)]
                                                   : forward[track.before] + shortest(track.before, TrackWork::forward);
        start = std::max(start, input + track.latency_before);
      }
      forward[id] = start;
      first_[track.rank] = std::min(first_[track.rank], start);
      bound = std::max(bound, start + shortest(id, TrackWork::forward) + least_.after(id, TrackWork::forward, k));
    }
    for (auto id = problem_.tracks.count(); id-- > 0;) {
      const auto& track = problem_.tracks[id];
      const auto k = tracks_[id].gradients();
      if (tracks_[id].weights < track.count && tracks_[id].weights < k)
        first_[track.rank] = std::min(first_[track.rank], std::max(ranks_[track.rank].free, last));
      if (k == track.count) continue;
      double start = std::max(ranks_[track.rank].free, last);
      if (tracks_[id].forwards() == k) start = std::max(start, forward[id] + shortest(id, TrackWork::forward));
      if (track.after >= 0) {
        const auto& after = tracks_[track.after];
        const double input = after.gradients() > k
                                 ? after.gradient_ends[position_of(k)]
                                 : gradient[track.after] + shortest(track.after, TrackWork::input_gradient);
        start = std::max(start, input + track.latency_after);
      }
      gradient[id] = start;
      first_[track.rank] = std::min(first_[track.rank], start);
      bound = std::max(
          bound, start + shortest(id, TrackWork::input_gradient) + least_.after(id, TrackWork::input_gradient, k));
    }
    for (const auto rank : ranks_.ids()) {
      if (first_[rank] < never) bound = std::max(bound, first_[rank] + ranks_[rank].left);
    }
    return bound;
  }
  [[nodiscard]] double shortest(TrackId id, TrackWork work) const {
    const double time = problem_.tracks[id].time(work);
    return problem_.pairs.empty() ? time : std::min(time, problem_.pair_time);
  }

  /// Whether an earlier state was as far and nowhere later. If not, this one is kept.
  bool ruled_out(double last) {
    std::string key;
    Label label{last};
    const auto late = [&](double time) { label.push_back(std::max(time, last)); };
    for (const auto& track : tracks_) {
      for (const auto count : {track.forwards(), track.gradients(), track.weights}) {
        key.push_back(static_cast<char>(count));
        key.push_back(static_cast<char>(count >> 8));
      }
    }
    for (const auto& rank : ranks_) late(rank.free);
    for (const auto id : problem_.tracks.ids()) {
      const auto& track = problem_.tracks[id];
      if (track.after >= 0 && problem_.tracks[track.after].rank != track.rank) {
        for (auto k = tracks_[track.after].forwards(); k < tracks_[id].forwards(); ++k)
          late(tracks_[id].forward_ends[position_of(k)] + track.latency_after);
      }
      if (track.before >= 0 && problem_.tracks[track.before].rank != track.rank) {
        for (auto k = tracks_[track.before].gradients(); k < tracks_[id].gradients(); ++k)
          late(tracks_[id].gradient_ends[position_of(k)] + track.latency_before);
      }
    }
    auto& known = states_[key];
    const auto nowhere_later = [&](const Label& a, const Label& b) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] > b[i] + 1e-3 * problem_.tolerance) return false;
      }
      return true;
    };
    if (std::any_of(known.begin(), known.end(), [&](const Label& other) { return nowhere_later(other, label); }))
      return true;
    std::erase_if(known, [&](const Label& other) { return nowhere_later(label, other); });
    known.push_back(std::move(label));
    return false;
  }

  void branch(double last) {
    if (letters_left_ == 0) {
      double makespan = 0;
      for (const auto& rank : ranks_) makespan = std::max(makespan, rank.free);
      if (makespan < best_ - problem_.tolerance) {
        best_ = makespan;
        found_ = words_;
      }
      return;
    }
    if (nodes_ > most_nodes_ || bound(last) >= best_ - problem_.tolerance || ruled_out(last)) return;
    ++nodes_;
    std::vector<Option> found;
    options(last, found);
    for (const auto& option : found) take(option);
  }

  void take(const Option& option) {
    auto& rank = ranks_[option.rank];
    const auto before = rank;
    const auto letter = option.letter;
    const auto on = problem_.tracks_of_letter(letter);
    const std::int64_t works = problem_.is_pair(letter) ? 3 : 1;
    rank.free = option.start + problem_.time(letter);
    rank.held += problem_.kept(letter);
    if (on.forward >= 0) rank.left -= work_[on.forward][0];
    if (on.input_gradient >= 0) rank.left -= work_[on.input_gradient][1];
    if (on.weight_gradient >= 0) rank.left -= work_[on.weight_gradient][2];
    tracks_.put(on, rank.free);
    letters_left_ -= works;
    words_[option.rank].push_back(letter);
    branch(option.start);
    words_[option.rank].pop_back();
    letters_left_ += works;
    tracks_.take_back(on);
    ranks_[option.rank] = before;
  }

  const DesignProblem& problem_;
  const LeastTimes& least_;
  std::int64_t most_nodes_, nodes_ = 0;
  double best_;
  ProgressOfTracks tracks_;
  Indexed<TrackId, std::array<double, 3>> work_;  ///< of one microbatch, in the least time that it can take
  Indexed<StageId, Rank> ranks_;
  Words words_;
  std::optional<Words> found_;
  std::int64_t letters_left_;
  std::unordered_map<std::string, std::vector<Label>> states_;
  Indexed<TrackId, double> forward_starts_, gradient_starts_;
  Indexed<StageId, double> first_;
};

}  // namespace

ExactResult exact_search(const DesignProblem& problem, const LeastTimes& least, double makespan,
                         std::int64_t most_nodes) {
  return Branching(problem, least, makespan, most_nodes).run();
}

}  // namespace lockstep::workloads
