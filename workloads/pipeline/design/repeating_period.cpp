#include "workloads/pipeline/design/repeating_period.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace lockstep::workloads {
namespace {

constexpr int most_places = 500;  ///< tried for one period
constexpr int most_periods = 24;
constexpr double period_step = 0.025;  ///< of the shortest
constexpr std::size_t wanted = 3;

/// Places the works of one microbatch in time such that the same works, a period later each time, never meet.
class Period {
 public:
  Period(const DesignProblem& problem, double period)
      : problem_(problem), period_(period), busy_(problem.shape.ranks), left_(problem.shape.ranks, 0) {
    for (const auto id : problem.tracks.ids()) {
      starts_.push_back({0, 0, 0});
      left_[problem.tracks[id].rank] += 2;
    }
  }

  /// The works by start, unrolled for every microbatch; nothing if no period of this length was found.
  std::optional<Words> run() {
    if (!place(0)) return std::nullopt;
    Words words(problem_.shape.ranks);
    for (const auto rank : words.ids()) {
      std::vector<std::pair<double, Letter>> letters;
      for (const auto id : problem_.tracks_of[rank]) {
        for (const auto work : {TrackWork::forward, TrackWork::input_gradient, TrackWork::weight_gradient}) {
          for (std::int32_t k = 0; k < problem_.tracks[id].count; ++k)
            letters.emplace_back(starts_[id][position_of(work)] + k * period_, DesignProblem::letter(id, work));
        }
      }
      std::stable_sort(letters.begin(), letters.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [start, letter] : letters) words[rank].push_back(letter);
    }
    return words;
  }

 private:
  struct Interval {
    double from, time;  ///< from: 0 to a period
  };

  [[nodiscard]] double phase(double time) const {
    const double left = std::fmod(time, period_);
    return left < 0 ? left + period_ : left;
  }

  /// Whether a rank is free for so long from a time on, in every period.
  [[nodiscard]] bool is_free(StageId rank, double start, double time) const {
    const double slack = problem_.tolerance;
    if (time > period_ + slack) return false;
    const double from = phase(start);
    return std::all_of(busy_[rank].begin(), busy_[rank].end(), [&](const Interval& other) {
      if (time <= slack || other.time <= slack) return true;
      double after = other.from - from;  // from our start to the other's next
      if (after < -slack) after += period_;
      double before = from - other.from;
      if (before < -slack) before += period_;
      return after >= time - slack && before >= other.time - slack;
    });
  }

  /// Starts to try, soonest first: at once, or flush with what is there, with or without room for a weight gradient.
  [[nodiscard]] std::vector<double> starts_to_try(TrackId id, TrackWork work, double soonest) const {
    const auto& track = problem_.tracks[id];
    const double time = track.time(work);
    std::vector<double> starts{soonest};
    const auto add = [&](double at) { starts.push_back(soonest + phase(at - soonest)); };
    for (const auto& other : busy_[track.rank]) {
      const double end = other.from + other.time;
      for (const double room : {0.0, track.weight_gradient}) {
        add(end + room);
        add(other.from - time - room);
      }
    }
    std::sort(starts.begin(), starts.end());
    std::erase_if(starts, [&](double start) { return !is_free(track.rank, start, time); });
    const auto same = [&](double a, double b) { return std::abs(a - b) <= problem_.tolerance; };
    starts.erase(std::unique(starts.begin(), starts.end(), same), starts.end());
    return starts;
  }

  /// Places the forwards of all tracks from first to last, then the input gradients from last to first.
  bool place(std::int32_t step) {
    const auto count = problem_.tracks.count();
    if (step == 2 * count) return true;
    if (++places_ > most_places) return false;
    const bool is_forward = step < count;
    const auto id = is_forward ? step : 2 * count - 1 - step;
    const auto work = is_forward ? TrackWork::forward : TrackWork::input_gradient;
    const auto& track = problem_.tracks[id];
    double soonest = 0;
    if (is_forward && track.before >= 0)
      soonest = starts_[track.before][0] + problem_.tracks[track.before].forward + track.latency_before;
    if (!is_forward) soonest = starts_[id][0] + track.forward;
    if (!is_forward && track.after >= 0)
      soonest = std::max(soonest,
                         starts_[track.after][1] + problem_.tracks[track.after].input_gradient + track.latency_after);
    auto& busy = busy_[track.rank];
    for (const double start : starts_to_try(id, work, soonest)) {
      const auto before = busy.size();
      starts_[id][position_of(work)] = start;
      busy.push_back({phase(start), track.time(work)});
      --left_[track.rank];
      const bool whole = left_[track.rank] > 0 || (place_weights(track.rank) && fits(track.rank));
      if (whole && place(step + 1)) return true;
      ++left_[track.rank];
      busy.resize(before);
      if (places_ > most_places) return false;
    }
    return false;
  }

  /// The longest first, each as soon as there is room.
  bool place_weights(StageId rank) {
    auto tracks = problem_.tracks_of[rank];
    std::stable_sort(tracks.begin(), tracks.end(), [&](TrackId a, TrackId b) {
      return problem_.tracks[a].weight_gradient > problem_.tracks[b].weight_gradient;
    });
    for (const auto id : tracks) {
      const auto& track = problem_.tracks[id];
      const auto starts = starts_to_try(id, TrackWork::weight_gradient, starts_[id][1] + track.input_gradient);
      if (starts.empty()) return false;
      starts_[id][2] = starts.front();
      busy_[rank].push_back({phase(starts.front()), track.weight_gradient});
    }
    return true;
  }

  /// Whether a rank stays within its limit once the pipeline is full, at the start of everything that takes memory.
  bool fits(StageId rank) const {
    const auto& tracks = problem_.tracks_of[rank];
    const auto periods = [&](double time) { return std::floor((time + problem_.tolerance) / period_); };
    for (const auto id : tracks) {
      for (const int work : {0, 1}) {
        const double now = starts_[id][position_of(work)];
        double held = 0;
        for (const auto other : tracks) {
          const auto& track = problem_.tracks[other];
          const auto& starts = starts_[other];
          const double forwards = periods(now - starts[0]);
          const double gradients = periods(now - starts[1] - track.input_gradient);
          const double weights = periods(now - starts[2] - track.weight_gradient);
          held += problem_.activations.forward * forwards + problem_.activations.input_gradient * gradients +
                  problem_.activations.weight_gradient * weights;
          // Each count is too low by one, which cancels: the three add up to nothing.
        }
        if (work == 1) held += std::max(0.0, problem_.activations.input_gradient);
        if (held > problem_.limits[rank]) return false;
      }
    }
    return true;
  }

  const DesignProblem& problem_;
  double period_;
  int places_ = 0;
  Indexed<TrackId, std::array<double, 3>> starts_;
  Indexed<StageId, std::vector<Interval>> busy_;
  Indexed<StageId, std::int32_t> left_;  ///< forwards and input gradients still to be placed
};

}  // namespace

std::vector<Words> repeating_period_words(const DesignProblem& problem) {
  std::vector<Words> found;
  if (problem.tracks.count() != problem.shape.virtual_stages() || !problem.pairs.empty()) return found;
  double shortest = 0;
  for (const auto& tracks : problem.tracks_of) {
    double work = 0;
    for (const auto id : tracks)
      work += problem.tracks[id].forward + problem.tracks[id].input_gradient + problem.tracks[id].weight_gradient;
    shortest = std::max(shortest, work);
  }
  if (shortest <= 0) return found;
  for (int i = 0; i < most_periods && found.size() < wanted; ++i) {
    if (auto words = Period(problem, shortest * (1 + i * period_step)).run()) found.push_back(std::move(*words));
  }
  return found;
}

}  // namespace lockstep::workloads
