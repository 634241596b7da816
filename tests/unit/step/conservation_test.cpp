// The step does what its sharded layers say. With M microbatches every forward and backward step of a layer runs M
// times, in FLOPs, bytes of memory and bytes of communication; reductions of each microbatch run M times too; what
// follows the last microbatch and the update runs once on each stage that has a copy of the weights. This does not
// depend on the order of the pipeline, nor on how collectives are put together.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "tests/unit/step/pipelined.hpp"
#include "tests/unit/workloads/step_reach.hpp"

namespace lockstep::test {
namespace {

/// Bytes by what they are for, collective and axes.
using Moved =
    std::map<std::tuple<workloads::CollectiveRole, workloads::CollectiveKind, workloads::AxisNames>, std::int64_t>;

void add(Moved& moved, workloads::CollectiveRole role, const std::vector<workloads::DerivedCollective>& collectives,
         std::int64_t times) {
  for (const auto& one : collectives) moved[{role, one.kind, one.axes}] += times * one.full_size.value();
}

Moved said_by(const Derived& model, const workloads::StepPipeline& pipeline) {
  const auto microbatches = pipeline.order.shape.microbatches;
  Moved moved;
  for (int block = 0; block < blocks(model); ++block) {
    const auto& kind = kind_of_block(model, block);
    for (const auto* pass : {&kind.forward, &kind.backward}) {
      for (const auto& step : *pass) {
        if (step.kind == workloads::StepWork::Kind::collective)
          moved[{step.role, step.collective, step.axes}] += microbatches * step.full_size.value();
      }
    }
    const auto copies = std::ssize(stages_of_block(pipeline, block));
    for (const auto& update : kind.weights) {
      add(moved, workloads::CollectiveRole::gradient, update.each_microbatch, microbatches);
      add(moved, workloads::CollectiveRole::gradient, update.last_microbatch, copies);
      add(moved, workloads::CollectiveRole::weight, update.publish, copies);
    }
  }
  return moved;
}

Moved done_in(const workloads::StepGraph& graph) {
  Moved moved;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    const bool between_stages = op->axes == workloads::AxisNames{"pipeline"};
    if (op->kind == workloads::StepWork::Kind::collective && !between_stages && op->full_size != Bytes(4))
      moved[{op->role, op->collective, op->axes}] += op->full_size.value();
  }
  return moved;
}

std::vector<workloads::Parallel> plans() {
  return {{.data = 4, .zero = 1},
          {.data = 2, .fsdp = 4},
          {.fsdp = 2, .tensor = 2},
          {.tensor = 4, .sequence_parallel = false},
          {.data = 2, .fsdp = 2, .tensor = 2, .zero = 2}};
}

TEST(StepConservation, BytesOfEveryScheduleAreThoseOfTheLayers) {
  for (const auto& parallel : plans()) {
    const auto model = derived(transformer(pipeline_layers), parallel);
    for (const workloads::Schedule& schedule : workloads::schedules()) {
      SCOPED_TRACE(std::string(schedule.name));
      const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
      ASSERT_EQ(done_in(build_step(model.kinds, model.order, pipeline, {})), said_by(model, pipeline));
    }
  }
}

TEST(StepConservation, BytesDoNotDependOnHowCollectivesArePutTogether) {
  using enum workloads::Bucketing::Unit;
  for (const auto& parallel : plans()) {
    const auto model = derived(transformer(pipeline_layers), parallel);
    for (const auto* schedule : {"1f1b", "interleaved", "zb-h1", "dualpipe"}) {
      const auto pipeline = on_schedule(model, schedule, pipeline_ranks, pipeline_microbatches);
      const auto expected = said_by(model, pipeline);
      for (const auto& buckets : {workloads::Bucketing{matrix, Bytes(0)}, workloads::Bucketing{size, Bytes(5000)},
                                  workloads::Bucketing{size, Bytes(1 << 30)}}) {
        workloads::StepOptions options;
        options.gradient_buckets = buckets;
        options.weight_buckets.unit = buckets.unit == matrix ? matrix : layer;
        options.publish_ahead = buckets.unit == matrix;
        ASSERT_EQ(done_in(build_step(model.kinds, model.order, pipeline, options)), expected) << schedule;
      }
    }
  }
}

// Every compute step of every block, once for each microbatch: by name, block, pass and microbatch.
TEST(StepConservation, EveryStepRunsOnceForEachMicrobatch) {
  const auto model = derived(transformer(pipeline_layers), workloads::Parallel{.fsdp = 2, .tensor = 2});
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(std::string(schedule.name));
    const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
    const auto graph = build_step(model.kinds, model.order, pipeline, {});
    std::map<std::tuple<int, workloads::StepPass, std::int32_t, const workloads::StepWork*>, int> runs;
    double flops = 0;
    std::int64_t traffic = 0;
    for (workloads::OpId id = 0; id < graph.size(); ++id) {
      const auto& op = graph.op(id);
      if (op->kind != workloads::StepWork::Kind::compute || op.pass == workloads::StepPass::update) continue;
      ASSERT_EQ((++runs[{op.block, op.pass, op.microbatch, op.what}]), 1) << op->name;
      ASSERT_EQ(op.stage, pipeline.order.shape.rank_of(pipeline.stage_of_block(op.block), op.microbatch));
      flops += op->flops.value();
      traffic += op->traffic.value();
    }
    double said_flops = 0;
    std::int64_t said_traffic = 0;
    for (int block = 0; block < blocks(model); ++block) {
      for (const auto* pass : {&kind_of_block(model, block).forward, &kind_of_block(model, block).backward}) {
        for (const auto& step : *pass) {
          if (step.kind != workloads::StepWork::Kind::compute) continue;
          said_flops += pipeline_microbatches * step.flops.value();
          said_traffic += pipeline_microbatches * step.traffic.value();
        }
      }
    }
    ASSERT_EQ(flops, said_flops);
    ASSERT_EQ(traffic, said_traffic);
  }
}

// Every buffer is made before it is read, on the same stage, and every reader waits for the operation that makes it.
TEST(StepConservation, ReadersOfEveryScheduleWaitForWhatTheyRead) {
  auto model = derived(transformer(pipeline_layers), workloads::Parallel{.data = 2, .tensor = 2, .zero = 2});
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(std::string(schedule.name));
    const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
    const auto graph = build_step(model.kinds, model.order, pipeline, {.gradient_reduce_element = Bytes(4)});
    std::map<workloads::OpId, std::vector<bool>> waited;
    ASSERT_FALSE(graph.buffers.empty());
    for (const auto& buffer : graph.buffers) {
      ASSERT_GE(buffer.producer, 0);
      for (const auto reader : buffer.readers) {
        auto& of_reader = waited[reader];
        if (of_reader.empty()) of_reader = waited_for(graph, reader);
        ASSERT_TRUE(of_reader[static_cast<std::size_t>(buffer.producer)])
            << graph.op(reader)->name << " reads what " << graph.op(buffer.producer)->name << " makes";
        ASSERT_EQ(graph.op(reader).stage, buffer.stage) << graph.op(reader)->name;
      }
    }
  }
}

// Between two parts of the model that stand on different stages every microbatch is sent once each way.
TEST(StepConservation, SendsAreAsManyAsHops) {
  const auto model = derived(transformer(pipeline_layers), workloads::Parallel{.data = 2});
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(std::string(schedule.name));
    const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
    const auto& shape = pipeline.order.shape;
    std::map<std::tuple<workloads::StepPass, std::int32_t, std::int32_t>, int> expected,
        sent;  // pass, from and to; of all microbatches
    for (std::int32_t part = 0; part + 1 < shape.virtual_stages(); ++part) {
      for (std::int32_t m = 0; m < shape.microbatches; ++m) {
        const auto from = shape.rank_of(part, m), to = shape.rank_of(part + 1, m);
        if (from == to) continue;
        ++expected[{workloads::StepPass::forward, from, to}];
        ++expected[{workloads::StepPass::backward, to, from}];
      }
    }
    const auto graph = build_step(model.kinds, model.order, pipeline, {});
    for (workloads::OpId id = 0; id < graph.size(); ++id) {
      const auto& op = graph.op(id);
      if (is_send(op)) ++sent[{op.pass, op.stage, op.other_stage}];
    }
    EXPECT_EQ(sent, expected);
  }
}

// Each stage holds the weights of its blocks, and where microbatches come from both ends each block stands twice.
TEST(StepConservation, StagesHoldTheirBlocksWeights) {
  const auto model = derived(transformer(pipeline_layers), workloads::Parallel{.fsdp = 4});
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    SCOPED_TRACE(std::string(schedule.name));
    const auto pipeline = on_schedule(model, std::string(schedule.name), pipeline_ranks, pipeline_microbatches);
    std::vector<std::int64_t> weights(pipeline_ranks, 0), states(pipeline_ranks, 0);
    std::int64_t parameters = 0;
    for (int block = 0; block < blocks(model); ++block) {
      for (const auto& update : kind_of_block(model, block).weights) {
        parameters += update.parameters;
        for (const auto stage : stages_of_block(pipeline, block)) {
          weights[static_cast<std::size_t>(stage)] += update.stored.value();
          states[static_cast<std::size_t>(stage)] += 8 * update.optimizer_elements;  // Adam's two moments in fp32
        }
      }
    }
    const auto graph = build_step(model.kinds, model.order, pipeline, {.memory_overhead = Bytes(77)});
    ASSERT_EQ(graph.held.size(), weights.size());
    for (std::size_t stage = 0; stage < weights.size(); ++stage) {
      EXPECT_EQ(graph.held[stage].weights.value(), weights[stage]);
      EXPECT_EQ(graph.held[stage].optimizer.value(), states[stage]);
      EXPECT_EQ(graph.held[stage].overhead, Bytes(77));
    }
    EXPECT_EQ(graph.parameters, parameters) << "of one copy, however many stand on the stages";
  }
}

// Tokens that come to the fullest rank's experts: its routed steps have load times the even work, drawn for each layer
// and microbatch; all else stays as it is.
TEST(StepConservation, RoutedWorkFollowsTheLoadOfExperts) {
  const auto model = derived(mixture(2), workloads::Parallel{.expert = 4});
  workloads::StepOptions options{.microbatches = 2};
  options.expert_load = {0.5, 3, 8, 4};
  const auto graph = model.step(options);
  const auto even = model.step({.microbatches = 2});
  ASSERT_EQ(graph.size(), even.size());
  int routed = 0;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    if (op.pass == workloads::StepPass::update || op->role != workloads::CollectiveRole::activation) continue;
    const auto& steps = op.pass == workloads::StepPass::forward ? kind_of_block(model, op.block).forward
                                                                : kind_of_block(model, op.block).backward;
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const auto& one) { return one.name == op->name && one.detail == op->detail; });
    if (step == steps.end()) continue;
    const double load = step->routed ? options.expert_load.fullest(op.block, op.microbatch) : 1;
    routed += step->routed ? 1 : 0;
    EXPECT_DOUBLE_EQ(op->flops.value(), step->flops.value() * load);
    EXPECT_NEAR(static_cast<double>(op->traffic.value()), static_cast<double>(step->traffic.value()) * load, 1);
    EXPECT_NEAR(static_cast<double>(op->full_size.value()), static_cast<double>(step->full_size.value()) * load, 1);
  }
  EXPECT_GT(routed, 20);
}

}  // namespace
}  // namespace lockstep::test
