#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "workloads/pipeline/schedules/schedules_private.hpp"

namespace lockstep::workloads {
namespace {

using enum PipelineWork;

/// Each rank, whenever it is free, runs what its rule prefers among what is ready: F takes 1, B takes 2.
class GreedyWave {
 public:
  explicit GreedyWave(PipelineOrder order) : order_(std::move(order)), waiting_(order_.ranks.size()) {}

  PipelineOrder run() {
    admit();
    for (std::int64_t now = 0;;) {
      // Ranks decide only once everything that ends now has ended.
      for (const auto rank : std::exchange(idle_, {})) start(rank, now);
      if (running_.empty()) return std::move(order_);
      for (now = running_.top().end; !running_.empty() && running_.top().end == now; running_.pop())
        finish(running_.top());
    }
  }

 private:
  struct Running {
    std::int64_t end;
    std::int32_t rank;
    PipelineAction action;
    bool operator<(const Running& other) const { return std::tie(end, rank) > std::tie(other.end, other.rank); }
  };
  /// Backwards before forwards, the oldest first; of forwards the deepest, which comes back soonest.
  struct RunsLater {
    static auto key(const PipelineAction& a) {
      const auto depth = -a.stage;
      return a.work == backward ? std::tuple{0, a.microbatch, depth} : std::tuple{1, depth, a.microbatch};
    }
    bool operator()(const PipelineAction& a, const PipelineAction& b) const { return key(a) > key(b); }
  };
  struct Rank {
    std::priority_queue<PipelineAction, std::vector<PipelineAction>, RunsLater> ready;
    bool busy = false;
  };

  Rank& rank(StageId index) { return waiting_[index]; }

  /// At most P microbatches are on their way at once.
  void admit() {
    for (; admitted_ < order_.shape.microbatches && admitted_ - left_ < order_.shape.ranks; ++admitted_)
      offer({forward, 0, admitted_});
  }
  void offer(const PipelineAction& action) {
    const auto on = order_.shape.rank_of(action.stage, action.microbatch);
    rank(on).ready.push(action);
    if (!rank(on).busy) idle_.push_back(on);
  }
  void start(std::int32_t on, std::int64_t now) {
    auto& ready = rank(on).ready;
    if (rank(on).busy || ready.empty()) return;
    const auto action = ready.top();
    ready.pop();
    rank(on).busy = true;
    order_.ranks[on].push_back({action, {}});
    running_.push({now + (action.work == forward ? 1 : 2), on, action});
  }
  void finish(const Running& ended) {
    rank(ended.rank).busy = false;
    idle_.push_back(ended.rank);
    const auto [work, stage, microbatch] = ended.action;
    const auto last_stage = order_.shape.virtual_stages() - 1;
    if (work == forward) {
      offer(stage < last_stage ? PipelineAction{forward, stage + 1, microbatch}
                               : PipelineAction{backward, stage, microbatch});
    } else if (stage > 0) {
      offer({backward, stage - 1, microbatch});
    } else {
      ++left_;
      admit();
    }
  }

  PipelineOrder order_;
  Indexed<StageId, Rank> waiting_;
  std::priority_queue<Running> running_;
  std::vector<std::int32_t> idle_;
  std::int32_t admitted_ = 0;
  std::int32_t left_ = 0;
};

std::optional<ScheduleProblem> wave_rule(const ScheduleRequest& request) {
  if (*request.chunks % 2 == 0) return {};
  return ScheduleProblem{"chunks", "wave with " + std::to_string(*request.chunks) + " chunks per rank",
                         "an even number: every wave goes down the ranks and up again"};
}

/// Hanayo: V / 2 waves over the ranks, down and up again. The paper gives the placement and the preferences; the
/// order is ours, a list schedule of them.
PipelineOrder wave_order(const ScheduleRequest& request) {
  return GreedyWave(empty_order(request, StagePlacement::wave, *request.chunks)).run();
}

}  // namespace

extern const Schedule wave_schedule = {
    .name = "wave",
    .summary = "Hanayo: one or more waves over the ranks",
    .placement = StagePlacement::wave,
    .usual_chunks = 2,
    .own_rule = wave_rule,
    .order = wave_order,
};

}  // namespace lockstep::workloads
