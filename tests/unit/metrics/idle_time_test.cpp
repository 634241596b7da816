// Why a rank of a pipeline waits: two stages of one rank each, two microbatches, 1F1B, drawn by hand. F takes 1 s, B 2
// s where nothing else is said. All causes and the computing together are the makespan.
#include <gtest/gtest.h>

#include "tests/unit/metrics/drawn_step.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

constexpr std::pair<double, double> absent{-1, -1};

class DrawnPipeline {
 public:
  DrawnPipeline() : drawn_(2) {
    drawn_.program.stage_of_rank = {0, 1};
    drawn_.program.communicators = {
        {"pipeline 0-1", 2, {{{0, 1}, {}}}}, {"x of stage 0", 0, {{{0}, {}}}}, {"x of stage 1", 0, {{{1}, {}}}}};
    drawn_.step.held.resize(2);
    workloads::ScheduleRequest request;
    request.name = "1f1b";
    request.ranks = 2;
    request.microbatches = 2;
    pipeline_.order = make_order(request);
  }

  workloads::OpId compute(std::int32_t stage, workloads::StepPass pass, double start, double end,
                          const std::vector<workloads::OpId>& after = {}) {
    workloads::StepOp op;
    op.stage = stage;
    op.pass = pass;
    return drawn_.add(
        {}, stage == 0 ? test::DrawnStep::Drawn{{start, end}, absent} : test::DrawnStep::Drawn{absent, {start, end}},
        after, op);
  }

  workloads::OpId send(double start, double end, workloads::OpId what) {
    const auto id = communication("pipeline", {{start, end}, {start, end}}, what);
    drawn_.program.ops.back().communicator = 0;
    return id;
  }

  workloads::OpId collective(std::int32_t stage, double start, double end, workloads::OpId what) {
    const auto id = communication(
        "x", stage == 0 ? test::DrawnStep::Drawn{{start, end}, absent} : test::DrawnStep::Drawn{absent, {start, end}},
        what);
    drawn_.program.ops.back().communicator = stage + 1;
    return id;
  }

  /// fill, drain, dependency, imbalance, transfer, collective
  void expect_idle(std::int32_t rank, const std::vector<double>& causes) {
    const auto timeline = drawn_.timeline();
    const auto idle = metrics::idle_of(drawn_.step, pipeline_, drawn_.program, timeline, std::vector{rank}).front();
    const std::vector<Seconds> got{idle.fill,      idle.drain,    idle.dependency,
                                   idle.imbalance, idle.transfer, idle.collective};
    for (std::size_t cause = 0; cause < got.size(); ++cause)
      EXPECT_NEAR(got[cause].value(), causes[cause], 1e-12) << "cause " << cause << " of rank " << rank;
    EXPECT_NEAR((idle.total() + metrics::breakdown_of(drawn_.program, timeline, rank).compute).value(),
                timeline.makespan().value(), 1e-12);
  }

 private:
  workloads::OpId communication(const std::string& axis, const test::DrawnStep::Drawn& spans, workloads::OpId what) {
    workloads::StepWork work;
    work.kind = workloads::StepWork::Kind::collective;
    work.axes = {axis};
    return drawn_.add(std::move(work), spans, {what});
  }

  test::DrawnStep drawn_;
  workloads::StepPipeline pipeline_;
};

using enum workloads::StepPass;

// Sends of 0.5 s:
//   rank 0  F0 0-1  F1 1-2                        B0 5-7               B1 8-10
//   rank 1            F0 1.5-2.5  B0 2.5-4.5  F1 4.5-5.5  B1 5.5-7.5
// Rank 1 waits 1.5 s for its first pass, the send included, and 2.5 s after its last. Rank 0 waits 2-5 and 7-8: of that
// the send of F1 takes 2-2.5, those of B0 and B1 4.5-5 and 7.5-8, and for 2 s and 0.5 s rank 1 computes. With even
// stages and no sends it would have waited 3 s, so none of this is imbalance.
TEST(IdleTimeTest, FillDrainDependencyAndTransfer) {
  DrawnPipeline drawn;
  const auto f00 = drawn.compute(0, forward, 0, 1);
  const auto f01 = drawn.compute(0, forward, 1, 2, {f00});
  const auto first = drawn.send(1, 1.5, f00);
  const auto second = drawn.send(2, 2.5, f01);
  const auto f10 = drawn.compute(1, forward, 1.5, 2.5, {first});
  const auto b10 = drawn.compute(1, backward, 2.5, 4.5, {f10});
  const auto f11 = drawn.compute(1, forward, 4.5, 5.5, {second, b10});
  const auto b11 = drawn.compute(1, backward, 5.5, 7.5, {f11});
  const auto third = drawn.send(4.5, 5, b10);
  const auto fourth = drawn.send(7.5, 8, b11);
  const auto b00 = drawn.compute(0, backward, 5, 7, {third, f01});
  drawn.compute(0, backward, 8, 10, {fourth, b00});
  drawn.expect_idle(0, {0, 0, 2.5, 0, 1.5, 0});
  drawn.expect_idle(1, {1.5, 2.5, 0, 0, 0, 0});
}

// Stage 1 takes twice as long, sends nothing:
//   rank 0  F0 0-1  F1 1-2              B0 7-9            B1 13-15
//   rank 1          F0 1-3   B0 3-7     F1 7-9   B1 9-13
// Rank 0 waits 5 + 4 = 9 s. Two stages of the mean, F 1.5 and B 3, would make it wait for a B and then for an F, 4.5 s:
// the other 4.5 s are imbalance.
TEST(IdleTimeTest, ImbalanceIsWhatEvenStagesWouldNotWait) {
  DrawnPipeline drawn;
  const auto f00 = drawn.compute(0, forward, 0, 1);
  const auto f01 = drawn.compute(0, forward, 1, 2, {f00});
  const auto f10 = drawn.compute(1, forward, 1, 3, {drawn.send(1, 1, f00)});
  const auto b10 = drawn.compute(1, backward, 3, 7, {f10});
  const auto b00 = drawn.compute(0, backward, 7, 9, {drawn.send(7, 7, b10), f01});
  const auto f11 = drawn.compute(1, forward, 7, 9, {b10});
  const auto b11 = drawn.compute(1, backward, 9, 13, {f11});
  drawn.compute(0, backward, 13, 15, {drawn.send(13, 13, b11), b00});
  drawn.expect_idle(0, {0, 0, 4.5, 4.5, 0, 0});
  drawn.expect_idle(1, {1, 2, 0, 0, 0, 0});
}

// Collectives on another axis: rank 0 has one of its own, 2-2.5, and one at the end, 10-11; rank 1 has one between its
// first F and B, 2-3, and rank 0 waits for that B: of its gap 2.5-5, half a second is that collective's and two its own
// dependency. Of 7-8 all is rank 1's B.
//   rank 0  F0 0-1  F1 1-2  x 2-2.5            B0 5-7          B1 8-10   x 10-11
//   rank 1          F0 1-2  x 2-3     B0 3-5   F1 5-6  B1 6-8
// Rank 1's wait for the end of the step is drain, and nobody's collective: 8-11.
TEST(IdleTimeTest, CollectivesOfOnesOwnAndOfAnotherStage) {
  DrawnPipeline drawn;
  const auto f00 = drawn.compute(0, forward, 0, 1);
  const auto f01 = drawn.compute(0, forward, 1, 2, {f00});
  drawn.collective(0, 2, 2.5, f01);
  const auto f10 = drawn.compute(1, forward, 1, 2, {drawn.send(1, 1, f00)});
  const auto b10 = drawn.compute(1, backward, 3, 5, {drawn.collective(1, 2, 3, f10)});
  const auto b00 = drawn.compute(0, backward, 5, 7, {drawn.send(5, 5, b10), f01});
  const auto f11 = drawn.compute(1, forward, 5, 6, {b10});
  const auto b11 = drawn.compute(1, backward, 6, 8, {f11});
  const auto b01 = drawn.compute(0, backward, 8, 10, {drawn.send(8, 8, b11), b00});
  drawn.collective(0, 10, 11, b01);
  drawn.expect_idle(0, {0, 0, 3, 0, 0, 0.5 + 0.5 + 1});
  drawn.expect_idle(1, {1, 3, 0, 0, 0, 1});
}

}  // namespace
}  // namespace lockstep
