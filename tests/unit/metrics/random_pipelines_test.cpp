// Idle times of pipelines in which nothing communicates but the stages with one another: the bubble of the step and of
// the span is then that of the schedule alone (pipeline_timing.hpp), whatever the times of stages and sends; and if all
// stages are alike and sends take no time, all of it is fill, drain and dependency.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/metrics/drawn_step.hpp"
#include "tests/unit/schedules/small_request.hpp"

namespace lockstep {
namespace {

/// A rank for each place of the pipeline, cells where time_order puts them, sends where they end.
class TimedPipeline {
 public:
  TimedPipeline(const workloads::ScheduleRequest& request, const workloads::PipelineTimes& times)
      : drawn_(request.ranks) {
    pipeline_.order = make_order(request);
    timing_ = time_order(pipeline_.order, times);
    drawn_.program.stage_of_rank.clear();
    for (std::int32_t rank = 0; rank < request.ranks; ++rank) drawn_.program.stage_of_rank.push_back(rank);
    drawn_.step.held.resize(static_cast<std::size_t>(request.ranks));
    std::map<std::int32_t, workloads::OpId> last;  // by rank
    for (const auto& [rank, cell] : timing_.by_start) {
      const auto& action = pipeline_.order.ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cell)].first;
      const auto span = timing_.spans[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cell)];
      std::vector<workloads::OpId> after;
      for (const auto& needed : inputs_of(action)) {
        const auto found = made_.find(key(needed));
        if (found != made_.end()) after.push_back(arrived(found->second, needed, rank, times.latency));
      }
      if (last.contains(rank)) after.push_back(last[rank]);
      workloads::StepOp op;
      op.stage = rank;
      op.pass = action.work == workloads::PipelineWork::forward ? workloads::StepPass::forward
                                                                : workloads::StepPass::backward;
      const auto id = drawn_.add({}, only(rank, span.start, span.end), after, op);
      made_[key(action)] = {id, span.end};
      last[rank] = id;
    }
  }

  [[nodiscard]] const workloads::PipelineTiming& timing() const { return timing_; }
  [[nodiscard]] std::vector<metrics::IdleTime> idle() const {
    const auto timeline = drawn_.timeline();
    return metrics::idle_of(drawn_.step, pipeline_, drawn_.program, timeline, drawn_.program.stage_of_rank);
  }

 private:
  struct Made {
    workloads::OpId op;
    double end;
  };
  using Key = std::tuple<workloads::PipelineWork, std::int32_t, std::int32_t>;
  /// A whole backward makes the gradient of the input too.
  static Key key(const workloads::PipelineAction& action) {
    const auto work =
        action.work == workloads::PipelineWork::backward ? workloads::PipelineWork::input_gradient : action.work;
    return {work, action.stage, action.microbatch};
  }

  [[nodiscard]] static std::vector<workloads::PipelineAction> inputs_of(const workloads::PipelineAction& action) {
    using enum workloads::PipelineWork;
    const auto [work, stage, microbatch] = action;
    if (work == forward) return {{forward, stage - 1, microbatch}};
    if (work == weight_gradient) return {{input_gradient, stage, microbatch}};
    return {{forward, stage, microbatch}, {input_gradient, stage + 1, microbatch}};
  }

  [[nodiscard]] test::DrawnStep::Drawn only(std::int32_t rank, double start, double end) const {
    test::DrawnStep::Drawn spans(drawn_.program.stage_of_rank.size(), {-1, -1});
    spans[static_cast<std::size_t>(rank)] = {start, end};
    return spans;
  }

  /// What was made on another rank is sent from there.
  workloads::OpId arrived(const Made& made, const workloads::PipelineAction& action, std::int32_t rank,
                          double latency) {
    const auto from = pipeline_.order.shape.rank_of(action.stage, action.microbatch);
    if (from == rank) return made.op;
    workloads::StepWork work;
    work.kind = workloads::StepWork::Kind::collective;
    work.axes = {"pipeline"};
    auto spans = only(rank, made.end, made.end + latency);
    spans[static_cast<std::size_t>(from)] = spans[static_cast<std::size_t>(rank)];
    const auto id = drawn_.add(std::move(work), spans, {made.op});
    drawn_.program.ops.back().communicator = static_cast<std::int32_t>(drawn_.program.communicators.size());
    drawn_.program.communicators.push_back({"send", 0, {{{from, rank}, {}}}});
    return id;
  }

  test::DrawnStep drawn_;
  workloads::StepPipeline pipeline_;
  workloads::PipelineTiming timing_;
  std::map<Key, Made> made_;
};

class RandomPipelines : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Metrics, RandomPipelines, testing::Values("gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(RandomPipelines, TheBubbleIsThatOfTheSchedule) {
  std::mt19937 random(1);
  const auto drawn = [&](int most) { return static_cast<double>(1 + random() % static_cast<unsigned>(most)) / 8; };
  for (int round = 0; round < 20; ++round) {
    const auto asked = test::request_of(GetParam(), 2 + static_cast<std::int32_t>(random() % 3), 8);
    workloads::PipelineTimes times;
    times.stages.clear();
    for (std::int32_t stage = 0; stage < asked.ranks * asked.chunks.value_or(1); ++stage)
      times.stages.push_back({drawn(16), drawn(16), drawn(16)});
    times.latency = round % 2 == 0 ? 0 : drawn(8);
    const TimedPipeline pipeline(asked, times);
    const auto idle = pipeline.idle();
    for (std::size_t rank = 0; rank < idle.size(); ++rank) {
      EXPECT_NEAR(idle[rank].step_bubble().value(), pipeline.timing().bubble_step[rank], 1e-9) << "rank " << rank;
      EXPECT_NEAR(idle[rank].span_bubble().value(), pipeline.timing().bubble_span[rank], 1e-9) << "rank " << rank;
      EXPECT_EQ(idle[rank].collective, Seconds(0));
      if (times.latency == 0) {
        EXPECT_EQ(idle[rank].transfer, Seconds(0));
      }
      EXPECT_GE(idle[rank].imbalance, Seconds(0));
    }
  }
}

TEST_P(RandomPipelines, EvenStagesHaveNoImbalance) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    const TimedPipeline pipeline(test::request_of(GetParam(), ranks, 12), {});
    const auto idle = pipeline.idle();
    for (std::size_t rank = 0; rank < idle.size(); ++rank) {
      EXPECT_NEAR(idle[rank].fill.value(), pipeline.timing().spans[rank].front().start, 1e-9);
      EXPECT_NEAR(idle[rank].drain.value(), pipeline.timing().makespan - pipeline.timing().spans[rank].back().end,
                  1e-9);
      EXPECT_NEAR(idle[rank].dependency.value(), pipeline.timing().bubble_span[rank], 1e-9);
      EXPECT_NEAR(idle[rank].imbalance.value(), 0, 1e-9);
    }
  }
}

}  // namespace
}  // namespace lockstep
