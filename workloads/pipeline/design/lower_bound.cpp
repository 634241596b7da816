#include "workloads/pipeline/design/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "workloads/pipeline/design/rank_pace.hpp"
#include "workloads/pipeline/design/word_timing.hpp"

namespace lockstep::workloads {

namespace {

constexpr std::int64_t most_sets = 40'000'000;  ///< works gone through to sum what a rank must do before another
constexpr int most_rounds = 4;
constexpr TrackWork works[] = {TrackWork::forward, TrackWork::input_gradient, TrackWork::weight_gradient};

/// A run of works with ascending times, each as long.
struct Run {
  const double* times;
  std::int64_t count, stride;
  double each;
};

/// When works that are there at `times` can all be done, at a rank's pace, at the earliest.
double done_by(std::span<Run> runs, const RankPace& pace) {
  double done = 0;
  while (true) {
    Run* next = nullptr;
    for (auto& run : runs) {
      if (run.count > 0 && (next == nullptr || *run.times < *next->times)) next = &run;
    }
    if (next == nullptr) return done;
    done = pace.done(std::max(done, *next->times), next->each);
    next->times += next->stride;
    --next->count;
  }
}

}  // namespace

class LeastTimesMaker {
 public:
  LeastTimesMaker(const DesignProblem& problem, LeastTimes& made) : problem_(problem), made_(made) {}

  void make() {
    std::size_t size = 0;
    for (const auto& track : problem_.tracks) {
      made_.first_.push_back(size);
      size += position_of(3 * track.count);
    }
    made_.before_.assign(size, 0);
    made_.after_.assign(size, 0);
    for (const auto id : problem_.tracks.ids()) least_times(id);
    std::int64_t sets = 0;
    for (const auto& track : problem_.tracks)
      sets += std::int64_t{track.count} * track.count * std::ssize(problem_.tracks_of[track.rank]) * 4;
    for (int round = 0; round < most_rounds; ++round) {
      const auto old_before = made_.before_, old_after = made_.after_;
      pass_before();
      pass_after();
      if (sets > most_sets) break;
      for (const auto id : problem_.tracks.ids()) {
        rank_before(id);
        rank_after(id);
      }
      if (made_.before_ == old_before && made_.after_ == old_after) break;
    }
    pass_before();
    pass_after();
    // Among equal bounds the busiest rank is named.
    std::vector<std::pair<double, StageId>> by_work;
    for (const auto rank : problem_.tracks_of.ids()) by_work.emplace_back(-work_of(rank), rank);
    std::sort(by_work.begin(), by_work.end());
    for (const auto& [work, rank] : by_work) bound_of(rank);
    bound_of_chains();
  }

 private:
  /// Times of a track in chains. A pair does the work of three in less than the sum.
  struct Times {
    std::array<double, 3> chain{};
    double weight_after = 0;  ///< least time from the end of an input gradient to that of the weight gradient
    std::vector<std::int32_t> gradients_before, weights_before;  ///< of the k-th forward, for memory
    double chunks = 0;  ///< of its way on its rank, up to its own: a microbatch that comes here is held by them all
  };

  [[nodiscard]] double& before(TrackId track, TrackWork work, std::int32_t k) {
    return made_.before_[made_.index(track, work, k)];
  }
  [[nodiscard]] double& after(TrackId track, TrackWork work, std::int32_t k) {
    return made_.after_[made_.index(track, work, k)];
  }
  static void raise(double& value, double to) { value = std::max(value, to); }

  void least_times(TrackId id) {
    const auto& track = problem_.tracks[id];
    Times times;
    const bool paired = problem_.least_share(track.rank).has_value();
    for (const auto work : works) {
      const double time = track.time(work);
      times.chain[position_of(work)] = paired ? std::min(time, problem_.pair_time) : time;
    }
    times.weight_after = paired ? 0 : track.weight_gradient;
    if (paired) times.chain[2] = 0;
    // When the k-th forward has started, the rank holds at least the activations of this track and of those of its
    // chunks that the microbatch has passed before.
    double chunks = 0;
    for (const auto other : problem_.tracks_of[track.rank]) {
      const auto& chunk = problem_.tracks[other];
      if (chunk.first == track.first && chunk.stage <= track.stage) ++chunks;
    }
    const auto& held = problem_.activations;
    const double limit = problem_.limits[track.rank];
    const double freed = -(held.input_gradient + held.weight_gradient);
    for (std::int32_t k = 0; k < track.count; ++k) {
      const double too_much = chunks * (k + 1) * held.forward - limit;
      const auto gradients = static_cast<std::int32_t>(std::ceil(too_much / (chunks * freed) - 1e-9));
      times.gradients_before.push_back(std::clamp(gradients, 0, k));
    }
    times.chunks = chunks;
    times_.push_back(std::move(times));
    for (std::int32_t k = 0; k < track.count; ++k) times_[id].weights_before.push_back(weights_needed(id, k, k));
  }

  void pass_before() {
    using enum TrackWork;
    std::int32_t most = 0;
    for (const auto& track : problem_.tracks) most = std::max(most, track.count);
    for (std::int32_t k = 0; k < most; ++k) {
      for (const auto id : problem_.tracks.ids()) {
        const auto& track = problem_.tracks[id];
        if (k >= track.count) continue;
        const auto& times = times_[id];
        auto& start = before(id, forward, k);
        if (k > 0) raise(start, before(id, forward, k - 1) + times.chain[0]);
        if (track.before >= 0)
          raise(start, before(track.before, forward, k) + times_[track.before].chain[0] + track.latency_before);
        if (const auto needed = times.gradients_before[position_of(k)]; needed > 0)
          raise(start, before(id, input_gradient, needed - 1) + times.chain[1]);
        if (const auto needed = times.weights_before[position_of(k)]; needed > 0)
          raise(start, before(id, weight_gradient, needed - 1) + times.chain[2]);
      }
      for (auto id = problem_.tracks.count(); id-- > 0;) {
        const auto& track = problem_.tracks[id];
        if (k >= track.count) continue;
        const auto& times = times_[id];
        auto& start = before(id, input_gradient, k);
        raise(start, before(id, forward, k) + times.chain[0]);
        if (k > 0) raise(start, before(id, input_gradient, k - 1) + times.chain[1]);
        if (track.after >= 0)
          raise(start, before(track.after, input_gradient, k) + times_[track.after].chain[1] + track.latency_after);
        auto& weight = before(id, weight_gradient, k);
        raise(weight, start + (times.weight_after > 0 ? times.chain[1] : 0));
        if (k > 0) raise(weight, before(id, weight_gradient, k - 1) + times.chain[2]);
      }
    }
  }

  void pass_after() {
    using enum TrackWork;
    std::int32_t most = 0;
    for (const auto& track : problem_.tracks) most = std::max(most, track.count);
    // The first forward that needs so many gradients.
    for (auto k = most; k-- > 0;) {
      for (const auto id : problem_.tracks.ids()) {
        const auto& track = problem_.tracks[id];
        if (k >= track.count) continue;
        const auto& times = times_[id];
        auto& weight = after(id, weight_gradient, k);
        if (k + 1 < track.count) raise(weight, after(id, weight_gradient, k + 1) + times.chain[2]);
        auto& left = after(id, input_gradient, k);
        raise(left, after(id, weight_gradient, k) + times.weight_after);
        if (k + 1 < track.count) raise(left, after(id, input_gradient, k + 1) + times.chain[1]);
        if (track.before >= 0)
          raise(left, after(track.before, input_gradient, k) + times_[track.before].chain[1] + track.latency_before);
        const auto first_needing = [&](const std::vector<std::int32_t>& needed) {
          return static_cast<std::int32_t>(std::upper_bound(needed.begin(), needed.end(), k) - needed.begin());
        };
        if (const auto f = first_needing(times.gradients_before); f < track.count)
          raise(left, after(id, forward, f) + times.chain[0]);
        if (const auto f = first_needing(times.weights_before); f < track.count)
          raise(weight, after(id, forward, f) + times.chain[0]);
      }
      for (auto id = problem_.tracks.count(); id-- > 0;) {
        const auto& track = problem_.tracks[id];
        if (k >= track.count) continue;
        auto& left = after(id, forward, k);
        raise(left, after(id, input_gradient, k) + times_[id].chain[1]);
        if (k + 1 < track.count) raise(left, after(id, forward, k + 1) + times_[id].chain[0]);
        if (track.after >= 0)
          raise(left, after(track.after, forward, k) + times_[track.after].chain[0] + track.latency_after);
      }
    }
  }

  /// Chunks of the same way on the same rank.
  template <class Visit>
  void for_each_chunk(TrackId id, Visit visit) {
    const auto& track = problem_.tracks[id];
    for (const auto other : problem_.tracks_of[track.rank]) {
      if (problem_.tracks[other].first == track.first) visit(other, problem_.tracks[other].stage - track.stage);
    }
  }
  [[nodiscard]] Run run_from(TrackId track, TrackWork work, std::int64_t count) {
    return {&before(track, work, 0), count, 1, problem_.tracks[track].time(work)};
  }
  /// Reads `after` values, which fall with k, from the last one back.
  [[nodiscard]] Run run_back(TrackId track, TrackWork work, std::int64_t count) {
    return {&after(track, work, problem_.tracks[track].count - 1), count, -1, problem_.tracks[track].time(work)};
  }

  /// How fast a rank works: alone until the first gradient of a pair may start, or, counted from the end, until its
  /// last forward has ended.
  [[nodiscard]] RankPace pace_before(StageId rank) {
    return pace(rank, [&](const TrackPair& pair) { return before(pair.backward, TrackWork::input_gradient, 0); });
  }
  [[nodiscard]] RankPace pace_after(StageId rank) {
    return pace(rank, [&](const TrackPair& pair) {
      return after(pair.forward, TrackWork::forward, problem_.tracks[pair.forward].count - 1);
    });
  }
  template <class Alone>
  [[nodiscard]] RankPace pace(StageId rank, Alone alone) const {
    RankPace made{WordTiming::never, problem_.least_share(rank).value_or(1)};
    for (const auto& pair : problem_.pairs) {
      if (problem_.tracks[pair.forward].rank == rank) made.alone = std::min(made.alone, alone(pair));
    }
    return made;
  }

  /// Weight gradients that have to end before the k-th forward where so many input gradients have.
  [[nodiscard]] std::int32_t weights_needed(TrackId id, std::int32_t k, std::int32_t gradients) const {
    const auto& held = problem_.activations;
    if (times_[id].chunks > 1 || held.weight_gradient >= 0) return 0;
    const double left =
        (k + 1) * held.forward + gradients * held.input_gradient - problem_.limits[problem_.tracks[id].rank];
    return std::clamp(static_cast<std::int32_t>(std::ceil(left / -held.weight_gradient - 1e-9)), 0, gradients);
  }

  /// The work of its rank that a forward comes after, whichever gradients make room for it.
  double forward_after_room(TrackId id, std::int32_t k, const RankPace& pace) {
    using enum TrackWork;
    double least = WordTiming::never;
    std::vector<Run> runs;
    for (auto gradients = times_[id].gradients_before[position_of(k)]; gradients <= k; ++gradients) {
      runs.clear();
      for_each_chunk(id, [&](TrackId other, VirtualStageId further) {
        if (further <= 0) runs.push_back(run_from(other, forward, k + (further < 0 ? 1 : 0)));
        if (further >= 0) runs.push_back(run_from(other, input_gradient, gradients));
      });
      const auto weights = weights_needed(id, k, gradients);
      runs.push_back(run_from(id, weight_gradient, weights));
      least = std::min(least, done_by(runs, pace));
      if (weights == 0 || before(id, input_gradient, gradients) >= least) break;
    }
    return least;
  }

  void rank_before(TrackId id) {
    using enum TrackWork;
    std::vector<Run> runs;
    const auto pace = pace_before(problem_.tracks[id].rank);
    for (std::int32_t k = 0; k < problem_.tracks[id].count; ++k) {
      raise(before(id, forward, k), forward_after_room(id, k, pace));
      runs.clear();
      for_each_chunk(id, [&](TrackId other, VirtualStageId further) {
        runs.push_back(run_from(other, forward, k + 1));
        if (further >= 0) runs.push_back(run_from(other, input_gradient, k + (further > 0 ? 1 : 0)));
      });
      raise(before(id, input_gradient, k), done_by(runs, pace));
    }
  }

  void rank_after(TrackId id) {
    using enum TrackWork;
    std::vector<Run> runs;
    const auto count = problem_.tracks[id].count;
    const auto pace = pace_after(problem_.tracks[id].rank);
    for (std::int32_t k = 0; k < count; ++k) {
      const auto left = count - k;
      runs.clear();
      for_each_chunk(id, [&](TrackId other, VirtualStageId further) {
        if (further <= 0) runs.push_back(run_back(other, input_gradient, left - (further == 0 ? 1 : 0)));
        // In a pair an input gradient ends together with a weight gradient.
        const bool together = further == 0 && times_[id].weight_after == 0;
        if (further <= 0) runs.push_back(run_back(other, weight_gradient, left - (together ? 1 : 0)));
      });
      const auto forwards_after = [&](const std::vector<std::int32_t>& needed) {
        return std::ssize(needed) - (std::upper_bound(needed.begin(), needed.end(), k) - needed.begin());
      };
      runs.push_back(run_back(id, forward, forwards_after(times_[id].gradients_before)));
      raise(after(id, input_gradient, k), done_by(runs, pace));
      runs.clear();
      runs.push_back(run_back(id, weight_gradient, left - 1));
      runs.push_back(run_back(id, forward, forwards_after(times_[id].weights_before)));
      raise(after(id, weight_gradient, k), done_by(runs, pace));
      runs.clear();
      for_each_chunk(id, [&](TrackId other, VirtualStageId further) {
        if (further >= 0) runs.push_back(run_back(other, forward, left - (further == 0 ? 1 : 0)));
        runs.push_back(run_back(other, input_gradient, left));
        runs.push_back(run_back(other, weight_gradient, left));
      });
      raise(after(id, forward, k), done_by(runs, pace));
    }
  }

  /// All works of a rank at its pace, interrupted for those with more time after them.
  void bound_of(StageId rank) {
    std::vector<RankJob> jobs;
    for (const auto id : problem_.tracks_of[rank]) {
      for (const auto work : works) {
        for (std::int32_t k = 0; k < problem_.tracks[id].count; ++k)
          jobs.push_back({before(id, work, k), problem_.tracks[id].time(work), after(id, work, k)});
      }
    }
    const double bound = least_makespan(std::move(jobs), pace_before(rank), pace_after(rank).alone, problem_.tolerance);
    take({bound, rank,
          "the work of rank " + std::to_string(rank) +
              ", with the least time that must pass before and after each part of it"});
  }

  [[nodiscard]] double work_of(StageId rank) const {
    double sum = 0;
    for (const auto id : problem_.tracks_of[rank]) {
      const auto& track = problem_.tracks[id];
      sum += track.count * (track.forward + track.input_gradient + track.weight_gradient);
    }
    return sum;
  }

  void bound_of_chains() {
    for (const auto id : problem_.tracks.ids()) {
      for (const auto work : works) {
        for (std::int32_t k = 0; k < problem_.tracks[id].count; ++k)
          take({before(id, work, k) + times_[id].chain[position_of(work)] + after(id, work, k),
                problem_.tracks[id].rank,
                "what comes before and after one work of rank " + std::to_string(problem_.tracks[id].rank) +
                    ", with the waits that memory forces"});
      }
    }
  }

  void take(LeastTimes::Bound bound) {
    if (bound.makespan > made_.bound_.makespan + problem_.tolerance || made_.bound_.why.empty())
      made_.bound_ = std::move(bound);
  }

  const DesignProblem& problem_;
  LeastTimes& made_;
  Indexed<TrackId, Times> times_;
};

LeastTimes::LeastTimes(const DesignProblem& problem) : problem_(&problem) { LeastTimesMaker(problem, *this).make(); }

double LeastTimes::before(TrackId track, TrackWork work, std::int32_t k) const {
  return before_[index(track, work, k)];
}

double LeastTimes::after(TrackId track, TrackWork work, std::int32_t k) const { return after_[index(track, work, k)]; }

std::size_t LeastTimes::index(TrackId track, TrackWork work, std::int32_t k) const {
  return first_[track] + position_of(work) * position_of(problem_->tracks[track].count) + position_of(k);
}

}  // namespace lockstep::workloads
