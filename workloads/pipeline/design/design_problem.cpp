#include "workloads/pipeline/design/design_problem.hpp"

#include <algorithm>
#include <deque>

#include "sim/core/quantity_text.hpp"
#include "workloads/pipeline/schedules/split_pipeline_private.hpp"

namespace lockstep::workloads {
namespace {

/// Ways through the pipeline: all microbatches one way, or each half from its own end.
void add_way(DesignProblem& problem, const PipelineTimes& times, MicrobatchId first, MicrobatchId count) {
  if (count == 0) return;
  const auto& shape = problem.shape;
  const auto start = problem.tracks.count();
  for (VirtualStageId stage = 0; stage < shape.virtual_stages(); ++stage) {
    const auto& time = times.of(stage);
    Track track{.rank = shape.rank_of(stage, first), .stage = stage, .first = first, .count = count};
    track.forward = time.forward;
    track.input_gradient = time.input_gradient;
    track.weight_gradient = time.weight_gradient;
    if (stage > 0) {
      track.before = start + stage - 1;
      auto& before = problem.tracks[track.before];
      before.after = start + stage;
      track.latency_before = before.latency_after = before.rank == track.rank ? 0 : times.latency;
    }
    problem.tracks_of[track.rank].push_back(problem.tracks.count());
    problem.tracks.push_back(track);
  }
}

/// Every forward beside every whole backward of a rank whose pair is shorter than the two.
void add_pairs(DesignProblem& problem, double pair_time) {
  problem.pair_time = pair_time;
  for (const auto& tracks : problem.tracks_of) {
    for (const auto f : tracks) {
      for (const auto b : tracks) {
        if (pair_time < problem.apart({f, b}) - problem.tolerance) problem.pairs.push_back({f, b});
      }
    }
  }
}

/// Until its gradient comes back to the last of a rank's chunks, a microbatch is held by all of them.
void refuse_limits_without_an_order(const ScheduleRequest& request, std::int32_t chunks) {
  const double least = 1 + backward_reserve(request.activations) / (request.activations.forward * chunks);
  for (std::size_t i = 0; i < request.memory_limit.size(); ++i) {
    const double limit = request.memory_limit[i];
    if (limit * (1 + 1e-9) >= least) continue;
    throw ScheduleError("memory-limit",
                        "no order exists with " + exact(limit) + " microbatches on rank " + std::to_string(i) +
                            ", which holds a whole one" + (chunks > 1 ? ", on all its chunks," : "") +
                            " when its gradient comes back",
                        "at least " + exact(least));
  }
}

}  // namespace

TracksOfLetter DesignProblem::tracks_of_letter(Letter letter) const {
  if (is_pair(letter)) return {pair(letter).forward, pair(letter).backward, pair(letter).backward};
  const auto track = track_of(letter);
  switch (work_of(letter)) {
    case TrackWork::forward: return {.forward = track};
    case TrackWork::input_gradient: return {.input_gradient = track};
    case TrackWork::weight_gradient: break;
  }
  return {.weight_gradient = track};
}

double DesignProblem::time(Letter letter) const {
  return is_pair(letter) ? pair_time : tracks[track_of(letter)].time(work_of(letter));
}

double DesignProblem::apart(const TrackPair& pair) const {
  const auto& backward = tracks[pair.backward];
  return tracks[pair.forward].forward + backward.input_gradient + backward.weight_gradient;
}

std::optional<double> DesignProblem::least_share(StageId rank) const {
  std::optional<double> least;
  for (const auto& pair : pairs) {
    if (tracks[pair.forward].rank == rank) least = std::min(least.value_or(1), pair_time / apart(pair));
  }
  return least;
}

double DesignProblem::taken(Letter letter) const {
  if (is_pair(letter)) return activations.forward + std::max(0.0, activations.input_gradient);
  return std::max(0.0, kept(letter));
}

double DesignProblem::kept(Letter letter) const {
  if (is_pair(letter)) return activations.forward + activations.input_gradient + activations.weight_gradient;
  switch (work_of(letter)) {
    case TrackWork::forward: return activations.forward;
    case TrackWork::input_gradient: return activations.input_gradient;
    case TrackWork::weight_gradient: break;
  }
  return activations.weight_gradient;
}

bool DesignProblem::fits(StageId rank, const Word& word) const {
  double held = 0;
  for (const auto letter : word) {
    if (held + taken(letter) > limits[rank]) return false;
    held += kept(letter);
  }
  return true;
}

bool DesignProblem::fits(const Words& words) const {
  return std::all_of(words.ids().begin(), words.ids().end(), [&](StageId rank) { return fits(rank, words[rank]); });
}

std::int64_t DesignProblem::letters() const {
  std::int64_t count = 0;
  for (const auto& track : tracks) count += std::int64_t{3} * track.count;
  return count;
}

DesignProblem design_problem(const ScheduleRequest& request, StagePlacement placement, std::int32_t chunks) {
  DesignProblem problem;
  problem.shape = {placement, request.ranks, chunks, request.microbatches, 1};
  refuse_limits_without_an_order(request, chunks);
  const bool both_ends = placement == StagePlacement::bidirectional;
  const double usual = std::min(request.ranks + (both_ends ? 1 : 0), request.microbatches);
  problem.limits = limits_in_activations(request, chunks, usual, 1);
  problem.activations = request.activations;
  double longest = request.times.latency;
  for (const auto& stage : request.times.stages)
    longest = std::max({longest, stage.forward, stage.input_gradient, stage.weight_gradient});
  problem.tolerance = 1e-9 * longest;
  problem.tracks_of.resize(request.ranks);
  const auto half = both_ends ? request.microbatches / 2 : 0;
  add_way(problem, request.times, 0, half);
  add_way(problem, request.times, half, request.microbatches - half);
  if (request.times.pair) add_pairs(problem, *request.times.pair);
  return problem;
}

Words words_of(const DesignProblem& problem, const PipelineOrder& order) {
  const auto stages = problem.shape.virtual_stages();
  const auto half = problem.tracks.count() > stages ? problem.tracks.front().count : 0;
  const auto track_of = [&](const PipelineAction& action) {
    return half > 0 && action.microbatch >= half ? stages + action.stage : action.stage;
  };
  Words words(order.ranks.count());
  for (const auto rank : order.ranks.ids()) {
    auto& word = words[rank];
    const auto add = [&](const PipelineAction& action) {
      const auto track = track_of(action);
      if (action.work == PipelineWork::forward) return word.push_back(DesignProblem::letter(track, TrackWork::forward));
      if (action.work != PipelineWork::weight_gradient)
        word.push_back(DesignProblem::letter(track, TrackWork::input_gradient));
      if (action.work != PipelineWork::input_gradient)
        word.push_back(DesignProblem::letter(track, TrackWork::weight_gradient));
    };
    for (const auto& cell : order.ranks[rank]) {
      if (cell.second) {
        const bool forward_first = cell.first.work == PipelineWork::forward;
        const auto f = track_of(forward_first ? cell.first : *cell.second);
        const auto b = track_of(forward_first ? *cell.second : cell.first);
        const auto found = std::find_if(problem.pairs.begin(), problem.pairs.end(),
                                        [&](const TrackPair& pair) { return pair.forward == f && pair.backward == b; });
        if (found != problem.pairs.end()) {
          word.push_back(problem.first_pair() + static_cast<Letter>(found - problem.pairs.begin()));
          continue;
        }
      }
      for_each_action(cell, add);
    }
  }
  return words;
}

PipelineOrder order_of(const DesignProblem& problem, const Words& words) {
  PipelineOrder order;
  order.shape = problem.shape;
  order.ranks.resize(words.count());
  struct Done {
    MicrobatchId forwards = 0, gradients = 0;
    std::deque<MicrobatchId> owed;  ///< weight gradients; those of pairs never are
  };
  Indexed<TrackId, Done> done(problem.tracks.count());
  const auto forward = [&](TrackId id) {
    const auto& track = problem.tracks[id];
    return PipelineAction{PipelineWork::forward, track.stage, track.first + done[id].forwards++};
  };
  for (const auto rank : words.ids()) {
    auto& cells = order.ranks[rank];
    for (const auto letter : words[rank]) {
      const auto on = problem.tracks_of_letter(letter);
      if (on.input_gradient < 0 && on.weight_gradient < 0) {
        cells.push_back({forward(on.forward), {}});
        continue;
      }
      const auto id = std::max(on.input_gradient, on.weight_gradient);
      const auto& track = problem.tracks[id];
      auto& of_track = done[id];
      if (problem.is_pair(letter)) {
        const auto first = forward(on.forward);
        cells.push_back(
            {first, PipelineAction{PipelineWork::backward, track.stage, track.first + of_track.gradients++}});
      } else if (on.input_gradient >= 0) {
        of_track.owed.push_back(track.first + of_track.gradients++);
        cells.push_back({{PipelineWork::input_gradient, track.stage, of_track.owed.back()}, {}});
      } else {
        cells.push_back({{PipelineWork::weight_gradient, track.stage, of_track.owed.front()}, {}});
        of_track.owed.pop_front();
      }
    }
  }
  return order;
}

}  // namespace lockstep::workloads
