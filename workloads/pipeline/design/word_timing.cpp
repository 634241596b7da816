#include "workloads/pipeline/design/word_timing.hpp"

#include <algorithm>

namespace lockstep::workloads {

WordTiming::WordTiming(const DesignProblem& problem)
    : problem_(problem),
      forwards_(problem.tracks.count()),
      gradients_(problem.tracks.count()),
      weights_(problem.tracks.count(), 0),
      starts_(problem.shape.ranks),
      ends_(problem.shape.ranks),
      next_(problem.shape.ranks, 0) {
  std::size_t base = 0;
  for (const auto track : problem.tracks.ids()) {
    forwards_[track].base = gradients_[track].base = base;
    base += position_of(problem.tracks[track].count);
  }
  forward_ends_.resize(base);
  gradient_ends_.resize(base);
  forward_places_.resize(base);
  gradient_places_.resize(base);
  const auto letters = problem.first_pair() + std::ssize(problem.pairs);
  for (Letter letter = 0; letter < letters; ++letter) times_.push_back(problem.time(letter));
}

void WordTiming::wake(Done& done, TrackId waiting) {
  if (!done.awaited) return;
  done.awaited = false;
  able_.push_back(problem_.tracks[waiting].rank);
}

bool WordTiming::forward_input(TrackId id, double& ready) {
  const auto& track = problem_.tracks[id];
  if (track.before < 0) return true;
  auto& before = forwards_[track.before];
  const auto k = forwards_[id].count;
  if (before.count <= k) {
    before.awaited = true;
    return false;
  }
  ready = std::max(ready, forward_ends_[before.base + position_of(k)] + track.latency_before);
  return true;
}

bool WordTiming::gradient_input(TrackId id, double& ready) {
  const auto& track = problem_.tracks[id];
  const auto k = gradients_[id].count;
  if (forwards_[id].count <= k) return false;  // its own rank has it later
  if (track.after < 0) return true;
  auto& after = gradients_[track.after];
  if (after.count <= k) {
    after.awaited = true;
    return false;
  }
  ready = std::max(ready, gradient_ends_[after.base + position_of(k)] + track.latency_after);
  return true;
}

void WordTiming::finish_forward(TrackId id, Place place, double end) {
  auto& done = forwards_[id];
  const auto k = done.base + position_of(done.count++);
  forward_ends_[k] = end;
  forward_places_[k] = place;
  wake(done, problem_.tracks[id].after);
}

void WordTiming::finish_gradient(TrackId id, Place place, double end) {
  auto& done = gradients_[id];
  const auto k = done.base + position_of(done.count++);
  gradient_ends_[k] = end;
  gradient_places_[k] = place;
  wake(done, problem_.tracks[id].before);
}

bool WordTiming::run_on(StageId rank, const Word& word) {
  auto& at = next_[rank];
  auto &starts = starts_[rank], &ends = ends_[rank];
  const auto size = static_cast<std::int32_t>(word.size());
  double free = at == 0 ? 0 : ends[position_of(at - 1)];
  for (; at < size; ++at) {
    const auto letter = word[position_of(at)];
    double ready = free;
    const bool is_pair = problem_.is_pair(letter);
    const auto track = DesignProblem::track_of(letter);
    const auto kind = is_pair ? 3 : static_cast<int>(DesignProblem::work_of(letter));
    if (kind == 0) {
      if (!forward_input(track, ready)) return false;
    } else if (kind == 1) {
      if (!gradient_input(track, ready)) return false;
    } else if (kind == 2) {
      if (gradients_[track].count <= weights_[track]) return false;
      ++weights_[track];
    } else {
      const auto& pair = problem_.pair(letter);
      if (!forward_input(pair.forward, ready) || !gradient_input(pair.backward, ready)) return false;
    }
    free = ready + times_[position_of(letter)];
    starts[position_of(at)] = ready;
    ends[position_of(at)] = free;
    const Place place{rank, at};
    if (kind == 0) finish_forward(track, place, free);
    if (kind == 1) finish_gradient(track, place, free);
    if (kind == 3) {
      const auto& pair = problem_.pair(letter);
      finish_forward(pair.forward, place, free);
      finish_gradient(pair.backward, place, free);
      ++weights_[pair.backward];
    }
  }
  return true;
}

double WordTiming::run(const Words& words) {
  for (const auto track : problem_.tracks.ids()) {
    forwards_[track].count = gradients_[track].count = weights_[track] = 0;
    forwards_[track].awaited = gradients_[track].awaited = false;
  }
  able_.clear();
  for (const auto rank : words.ids()) {
    next_[rank] = 0;
    starts_[rank].resize(words[rank].size());
    ends_[rank].resize(words[rank].size());
    able_.push_back(words.count() - 1 - rank);
  }
  while (!able_.empty()) {
    const auto rank = able_.back();
    able_.pop_back();
    (void)run_on(rank, words[rank]);
  }
  double makespan = 0;
  for (const auto rank : words.ids()) {
    if (position_of(next_[rank]) != words[rank].size()) return never;
    if (!ends_[rank].empty()) makespan = std::max(makespan, ends_[rank].back());
  }
  return makespan;
}

std::vector<WordTiming::Place> WordTiming::critical_path(const Words& words) const {
  Place place;
  double latest = -1;
  for (const auto rank : words.ids()) {
    if (ends_[rank].empty() || ends_[rank].back() <= latest) continue;
    latest = ends_[rank].back();
    place = {rank, static_cast<std::int32_t>(ends_[rank].size()) - 1};
  }
  // Which microbatch a letter stands for: its rank's letters of the kind before it, found from the end.
  Indexed<TrackId, std::array<std::int32_t, 2>> run;
  for (const auto track : problem_.tracks.ids()) run.push_back({forwards_[track].count, gradients_[track].count});
  Indexed<StageId, std::int32_t> counted(words.count());
  for (const auto rank : words.ids()) counted[rank] = static_cast<std::int32_t>(words[rank].size());
  const auto count_back = [&](Place to) {
    for (auto& at = counted[to.rank]; at > to.at;) {
      const auto letter = words[to.rank][position_of(--at)];
      const auto on = problem_.tracks_of_letter(letter);
      if (on.forward >= 0) --run[on.forward][0];
      if (on.input_gradient >= 0) --run[on.input_gradient][1];
    }
  };
  std::vector<Place> path;
  while (true) {
    path.push_back(place);
    count_back(place);
    const double start = this->start(place);
    const auto letter = words[place.rank][position_of(place.at)];
    const auto on = problem_.tracks_of_letter(letter);
    const auto forward = on.forward, backward = on.input_gradient;
    std::optional<Place> previous;
    if (place.at > 0 && end({place.rank, place.at - 1}) == start) previous = Place{place.rank, place.at - 1};
    const auto from = [&](const Done& done, const std::vector<double>& ends, const std::vector<Place>& places,
                          std::int32_t k, double latency) {
      const auto index = done.base + position_of(k);
      if (!previous && ends[index] + latency == start) previous = places[index];
    };
    if (forward >= 0 && problem_.tracks[forward].before >= 0)
      from(forwards_[problem_.tracks[forward].before], forward_ends_, forward_places_, run[forward][0],
           problem_.tracks[forward].latency_before);
    if (backward >= 0 && problem_.tracks[backward].after >= 0)
      from(gradients_[problem_.tracks[backward].after], gradient_ends_, gradient_places_, run[backward][1],
           problem_.tracks[backward].latency_after);
    if (!previous) return path;
    place = *previous;
  }
}

double WordTiming::longest_span(const Words& words) const {
  double longest = 0;
  for (const auto rank : words.ids()) {
    if (!ends_[rank].empty()) longest = std::max(longest, ends_[rank].back() - starts_[rank].front());
  }
  return longest;
}

}  // namespace lockstep::workloads
