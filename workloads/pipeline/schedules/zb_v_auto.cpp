// Automatic zero bubble on a V (Qi et al., "Pipeline Parallelism with Controllable Memory"). Which forwards and input
// gradients run in which turn follows from the shape; where the weight gradients go is searched.
//
// A microbatch passes over the ranks four times: forwards down from rank 0 and back up, input gradients the same way
// again. Leg 0 goes down, leg 1 comes up.
#include <algorithm>
#include <optional>

#include "workloads/pipeline/schedules/closed_form_private.hpp"
#include "workloads/pipeline/schedules/split_pipeline_private.hpp"
#include "workloads/pipeline/schedules/v_shape.hpp"

namespace lockstep::workloads {
namespace {

/// Which waits take a weight gradient that ends after them, if no other rank waits longer in all.
struct Choices {
  bool fill_down_backward;
  bool fill_forward;
};

class Search {
 public:
  /// `approved`: bubbles of an earlier try, to be kept below its longest.
  Search(const ScheduleRequest& request, const Indexed<StageId, double>& limits, Choices choices,
         const Indexed<StageId, double>& approved)
      : request_(request),
        choices_(choices),
        ranks_(request.ranks),
        microbatches_(request.microbatches),
        pipeline_(request, empty_v_order(request), limits),
        allowance_(approved) {
    const double longest = *std::max_element(approved.begin(), approved.end());
    for (auto& allowance : allowance_) allowance = longest - allowance;
  }

  SplitPipeline run() {
    fill_pipeline();
    for (std::int32_t turn = 0; turn < 2 * microbatches_; ++turn) {
      input_gradients();
      forwards();
    }
    for (std::int32_t r = 0; r < ranks_; ++r) pipeline_.settle_owed(r);
    return std::move(pipeline_);
  }

 private:
  [[nodiscard]] std::int32_t forward_stage(std::int32_t r, int leg) const { return leg == 0 ? r : 2 * ranks_ - 1 - r; }
  [[nodiscard]] std::int32_t backward_stage(std::int32_t r, int leg) const { return forward_stage(r, 1 - leg); }
  [[nodiscard]] std::int32_t forwards_of(std::int32_t r, int leg) const {
    return pipeline_.forwards(forward_stage(r, leg));
  }
  [[nodiscard]] std::int32_t forwards_of(std::int32_t r) const { return forwards_of(r, 0) + forwards_of(r, 1); }

  /// Everything before the first input gradient.
  void fill_pipeline() {
    const auto early = early_forwards();
    for (std::int32_t r = 0; r < ranks_; ++r) {
      for (std::int32_t i = 0; i < early[r]; ++i) pipeline_.forward(r);
    }
    for (std::int32_t r = ranks_; r-- > 0;) pipeline_.forward(forward_stage(r, 1));
    // Further down the first input gradient comes later: as many forwards as the rank before, one more of them upwards.
    int leg = 0;
    for (std::int32_t r = 1; r < ranks_; ++r) {
      const auto lags = [&] {
        const auto up = forwards_of(r - 1, 1);
        return forwards_of(r) < forwards_of(r - 1) || (forwards_of(r, 1) <= up && up < microbatches_);
      };
      for (; lags(); leg = 1 - leg) {
        for (std::int32_t i = r; i < ranks_; ++i) {
          const auto rank = leg == 0 ? i : ranks_ - 1 - (i - r);
          if (forwards_of(rank, leg) < microbatches_) pipeline_.forward(forward_stage(rank, leg));
        }
      }
    }
  }

  /// Downward forwards of each rank before its first upward one, from the last rank, which has one, to the first:
  /// as many as end before the upward one can start and as the tightest rank has memory for. Stages count as equally
  /// long here, else the turns that follow would ask for what has not been run.
  [[nodiscard]] Indexed<StageId, std::int32_t> early_forwards() const {
    double forward = 0;
    for (const auto& stage : request_.times.stages) {
      forward += stage.forward / static_cast<double>(request_.times.stages.size());
    }
    const auto& activations = request_.activations;
    double limit = pipeline_.limit(0);
    for (std::int32_t r = 1; r < ranks_; ++r) limit = std::min(limit, pipeline_.limit(r));
    const double room = std::max((limit - backward_reserve(activations)) / activations.forward, 2.0 * ranks_);

    Indexed<StageId, std::int32_t> early(ranks_, 1);
    const auto end = [&](std::int32_t r) { return r * (forward + request_.times.latency) + early[r] * forward; };
    double upward_end = end(ranks_ - 1) + forward;
    for (std::int32_t r = ranks_ - 1; r-- > 0;) {
      auto& count = early[r] = early[r + 1];
      const double upward_start = upward_end + request_.times.latency;
      // Kept free: for the upward forward, and for two more forwards for every rank before (fill_pipeline).
      while (count < microbatches_ && count + 2.0 + 2.0 * r <= room &&
             pipeline_.compare().at_most(end(r) + forward, upward_start)) {
        ++count;
      }
      upward_end = std::max(end(r), upward_start) + forward;
    }
    return early;
  }

  /// One on every rank: the upward one if it can run as soon as the downward one.
  void input_gradients() {
    std::vector<std::int32_t> down;
    std::vector<std::int32_t> up;
    for (std::int32_t r = 0; r < ranks_; ++r) {
      const auto down_run = pipeline_.input_gradients(backward_stage(r, 0));
      const auto up_run = pipeline_.input_gradients(backward_stage(r, 1));
      const bool up_is_there = pipeline_.has_input_gradient_input(backward_stage(r, 1)) || down_run == microbatches_;
      (up_run < down_run && up_is_there ? up : down).push_back(r);
    }
    for (auto r = up.rbegin(); r != up.rend(); ++r) input_gradient(*r, 1);
    for (const auto r : down) input_gradient(r, 0);
  }

  void input_gradient(std::int32_t r, int leg) {
    const auto stage = backward_stage(r, leg);
    pipeline_.make_room_for_backward(r);
    fill_wait(r, pipeline_.input_gradient_arrival(stage), leg == 1 || choices_.fill_down_backward);
    pipeline_.input_gradient(stage);
  }

  /// At most one on every rank, rather upwards than downwards.
  void forwards() {
    for (std::int32_t r = 0; r < ranks_; ++r) {
      const auto stage = next_forward(r);
      if (!stage) continue;
      pipeline_.make_room_for_forward(r);
      fill_wait(r, pipeline_.forward_arrival(*stage), choices_.fill_forward);
      pipeline_.forward(*stage);
    }
  }

  [[nodiscard]] std::optional<std::int32_t> next_forward(std::int32_t r) const {
    const auto down = forward_stage(r, 0), up = forward_stage(r, 1);
    if (pipeline_.forwards(up) < pipeline_.forwards(down) && pipeline_.has_forward_input(up)) return up;
    if (pipeline_.forwards(down) < microbatches_ && pipeline_.has_forward_input(down)) return down;
    return std::nullopt;
  }

  void fill_wait(std::int32_t r, double arrival, bool beyond) {
    const double wait = pipeline_.fill_wait(r, arrival);
    const double spare = std::max(pipeline_.longest_bubble(), allowance_[r]) - pipeline_.bubble(r);
    if (beyond && !pipeline_.owed(r).empty() && pipeline_.compare().less(spare, wait)) pipeline_.weight_gradient(r);
  }

  const ScheduleRequest& request_;
  Choices choices_;
  std::int32_t ranks_;
  std::int32_t microbatches_;
  SplitPipeline pipeline_;
  Indexed<StageId, double> allowance_;
};

bool shorter(const SplitPipeline& a, const SplitPipeline& b) {
  return a.compare().less(a.longest_span(), b.longest_span());
}

/// Tries again as long as knowing the bubbles of the last try shortens the longest.
SplitPipeline search(const ScheduleRequest& request, const Indexed<StageId, double>& limits, Choices choices) {
  Indexed<StageId, double> bubbles(limits.size(), 0);
  auto best = Search(request, limits, choices, bubbles).run();
  while (true) {
    for (std::int32_t r = 0; r < request.ranks; ++r) bubbles[r] = best.bubble(r);
    auto next = Search(request, limits, choices, bubbles).run();
    if (!shorter(next, best)) return best;
    best = std::move(next);
  }
}

// Without a limit P microbatches, 2P activations of a chunk. Less does not work: to be busy until its first input
// gradient the last rank runs P microbatches, or all if there are fewer. v-half and v-min are for less memory.
PipelineOrder zb_v_auto_order(const ScheduleRequest& request) {
  const auto limits = limits_in_activations(request, 2, request.ranks, std::min(request.ranks, request.microbatches));
  std::optional<SplitPipeline> best;
  for (const bool fill_down_backward : {true, false}) {
    for (const bool fill_forward : {true, false}) {
      auto found = search(request, limits, {fill_down_backward, fill_forward});
      if (!best || shorter(found, *best)) best.emplace(std::move(found));
    }
  }
  return best->take_order();
}

std::optional<ClosedForm> form(const FormLetters& of) {
  const double limit = of.limit.value_or(of.P);
  return nothing_in_span(of, 2 * of.P, "M >= 2P")
      .needs("memory limit >= P", at_most(of.P, limit))
      .holds_under_limit()
      .finish(of, false);
}

}  // namespace

extern const Schedule zb_v_auto_schedule = {
    .name = "zb-v-auto",
    .summary = "automatic zero bubble on a V under a memory limit",
    .placement = StagePlacement::v,
    .usual_chunks = 2,
    .splits_backward = true,
    .chooses_by_time = true,
    .order = zb_v_auto_order,
    .closed_form = form,
};

}  // namespace lockstep::workloads
