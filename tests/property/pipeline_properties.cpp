#include "tests/property/pipeline_properties.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "sim/program/fold.hpp"

namespace lockstep::test {
namespace {

const program::ProgramOp& op_at(const SimulatedStep& step, std::int32_t op) {
  return step.program.ops[static_cast<std::size_t>(op)];
}
const workloads::StepOp& vertex_at(const SimulatedStep& step, std::int32_t op) {
  return step.preparation.step.op(op_at(step, op).vertex);
}
std::array<const timeline::Timeline*, 2> both(const SimulatedStep& step) { return {&step.simgrid, &step.reference}; }
std::int32_t stage_of(const SimulatedStep& step, std::int32_t rank) {
  return step.program.stage_of_rank[static_cast<std::size_t>(rank)];
}
const workloads::ShardedLayer& kind_of(const SimulatedStep& step, int block) {
  return step.preparation.model
      .layers[static_cast<std::size_t>(step.preparation.pipeline.kinds[static_cast<std::size_t>(block)])];
}
const workloads::PipelineShape& shape_of(const SimulatedStep& step) { return step.preparation.pipeline.order.shape; }
double ranks_of_a_stage(const SimulatedStep& step) {
  return static_cast<double>(step.program.ranks()) / shape_of(step).ranks;
}

/// The stages that an operation of the step concerns.
std::set<std::int32_t> stages_of(const SimulatedStep& step, const workloads::StepOp& op) {
  std::set<std::int32_t> stages;
  for (std::int32_t stage = 0; stage < shape_of(step).ranks; ++stage) {
    if (op.stage == stage || op.other_stage == stage || op.stage == workloads::StepOp::every_stage)
      stages.insert(stage);
  }
  return stages;
}

/// Name and shapes of a block's backward steps that its input's gradient waits for; they tell I from W.
std::set<std::string> of_input_gradient(const workloads::ShardedLayer& block) {
  std::set<std::string> input, weight;
  const auto waited_for = steps_of_input_gradient(block);
  for (std::size_t i = 0; i < block.backward.size(); ++i) {
    if (block.backward[i].kind == workloads::BlockStep::Kind::compute)
      (waited_for[i] ? input : weight).insert(block.backward[i].name + block.backward[i].detail);
  }
  for (const auto& name : input) EXPECT_FALSE(weight.contains(name)) << name << " cannot be told apart";
  return input;
}

using ActionKey =
    std::tuple<std::int32_t, std::int32_t, workloads::PipelineWork>;  // part of the model, microbatch, work
ActionKey key_of(const workloads::PipelineAction& action) { return {action.stage, action.microbatch, action.work}; }

/// From the start of an action's first compute operation to the end of its last, on one rank.
std::map<ActionKey, timeline::Interval> spans_of_actions(const SimulatedStep& step, const timeline::Timeline& timeline,
                                                         std::int32_t rank, const std::set<ActionKey>& whole) {
  std::map<ActionKey, timeline::Interval> spans;
  std::map<int, std::set<std::string>> of_input;  // by block
  for (std::int32_t op = 0; op < timeline.ops(); ++op) {
    const auto& vertex = vertex_at(step, op);
    if (op_at(step, op).kind != program::ProgramOp::Kind::compute || vertex.pass == workloads::StepPass::update ||
        !timeline.took_part(op, rank))
      continue;
    ActionKey key{step.preparation.pipeline.stage_of_block(vertex.block), vertex.microbatch,
                  workloads::PipelineWork::forward};
    if (vertex.pass == workloads::StepPass::backward) {
      std::get<2>(key) = workloads::PipelineWork::backward;
      if (!whole.contains(key)) {
        const auto [known, is_new] = of_input.try_emplace(vertex.block);
        if (is_new) known->second = of_input_gradient(kind_of(step, vertex.block));
        std::get<2>(key) = known->second.contains(vertex->name + vertex->detail)
                               ? workloads::PipelineWork::input_gradient
                               : workloads::PipelineWork::weight_gradient;
      }
    }
    const auto span = timeline.span(op, rank);
    const auto [found, is_new] = spans.try_emplace(key, span);
    if (!is_new) found->second = {std::min(found->second.start, span.start), std::max(found->second.end, span.end)};
  }
  return spans;
}

}  // namespace

void expect_dependencies_meet(const SimulatedStep& step) {
  for (workloads::OpId id = 0; id < step.preparation.step.size(); ++id) {
    const auto here = stages_of(step, step.preparation.step.op(id));
    for (const auto before : step.preparation.step.predecessors(id)) {
      const auto there = stages_of(step, step.preparation.step.op(before));
      ASSERT_TRUE(std::any_of(here.begin(), here.end(), [&](auto stage) { return there.contains(stage); }))
          << id << " after " << before;
    }
    for (std::int32_t rank = 0; rank < step.program.ranks(); ++rank) {
      for (const auto* timeline : both(step))
        ASSERT_EQ(timeline->took_part(id, rank), here.contains(stage_of(step, rank))) << id << " on rank " << rank;
    }
  }
}

void expect_every_pass_once(const SimulatedStep& step) {
  const auto& preparation = step.preparation;
  std::map<std::tuple<int, workloads::StepPass, std::int32_t>, std::multiset<std::string>> ran;
  double flops = 0;
  for (workloads::OpId id = 0; id < preparation.step.size(); ++id) {
    const auto& op = preparation.step.op(id);
    flops += op->flops.value();
    if (op->kind == workloads::StepOp::Kind::compute && op.pass != workloads::StepPass::update)
      ran[{op.block, op.pass, op.microbatch}].insert(op->name + op->detail);
  }
  for (int block = 0; block < static_cast<int>(preparation.pipeline.kinds.size()); ++block) {
    for (const auto pass : {workloads::StepPass::forward, workloads::StepPass::backward}) {
      std::multiset<std::string> wanted;
      for (const auto& one :
           pass == workloads::StepPass::forward ? kind_of(step, block).forward : kind_of(step, block).backward) {
        if (one.kind == workloads::BlockStep::Kind::compute) wanted.insert(one.name + one.detail);
      }
      for (std::int32_t m = 0; m < step.scenario.batch.microbatches; ++m) {
        ASSERT_EQ((ran[{block, pass, m}]), wanted) << "block " << block << " microbatch " << m;
      }
    }
  }
  EXPECT_EQ(ran.size(),
            preparation.pipeline.kinds.size() * 2 * static_cast<std::size_t>(step.scenario.batch.microbatches));
  const auto& batch = step.scenario.batch;
  const double tokens = static_cast<double>(batch.sequences * batch.sequence_length);
  const double model =
      3 * tokens *
      forward_flops_per_token(step.scenario.model, batch.sequence_length, step.scenario.training.causal_attention);
  EXPECT_NEAR(flops * ranks_of_a_stage(step) / model, 1, 1e-9);
}

void expect_schedules_order(const SimulatedStep& step) {
  const auto& order = step.preparation.pipeline.order;
  std::set<ActionKey> all, whole;
  for (const auto& cells : order.ranks) {
    for (const auto& cell : cells) {
      for_each_action(cell, [&](const workloads::PipelineAction& action) {
        all.insert(key_of(action));
        if (action.work == workloads::PipelineWork::backward) whole.insert(key_of(action));
      });
    }
  }
  for (const auto* timeline : both(step)) {
    std::size_t found = 0;
    std::set<std::int32_t> stages;
    for (std::int32_t rank = 0; rank < step.program.ranks(); ++rank) {
      const auto stage = stage_of(step, rank);
      const bool first_of_stage = stages.insert(stage).second;
      const auto spans = spans_of_actions(step, *timeline, rank, whole);
      if (first_of_stage) found += spans.size();
      Seconds free(0);
      for (const auto& cell : order.ranks[static_cast<std::size_t>(stage)]) {
        Seconds end = free;
        for_each_action(cell, [&](const workloads::PipelineAction& action) {
          const auto span = spans.find(key_of(action));
          ASSERT_NE(span, spans.end()) << action.to_string() << " does not run on stage " << stage;
          ASSERT_GE(span->second.start, free) << cell.to_string() << " on stage " << stage;
          end = std::max(end, span->second.end);
        });
        if (testing::Test::HasFatalFailure()) return;
        free = end;
      }
    }
    EXPECT_EQ(found, all.size());
  }
}

void expect_sends(const SimulatedStep& step) {
  const auto& shape = shape_of(step);
  std::map<std::tuple<std::int32_t, std::int32_t, workloads::StepPass>, int> wanted, sent;
  for (std::int32_t m = 0; m < shape.microbatches; ++m) {
    for (std::int32_t part = 0; part + 1 < shape.virtual_stages(); ++part) {
      const auto here = shape.rank_of(part, m);
      const auto there = shape.rank_of(part + 1, m);
      if (here == there) continue;
      ++wanted[{here, there, workloads::StepPass::forward}];
      ++wanted[{there, here, workloads::StepPass::backward}];
    }
  }
  // The residual stream of a microbatch in bf16, split over all ranks of a stage.
  const auto& batch = step.scenario.batch;
  const double boundary =
      static_cast<double>(batch.sequences / batch.microbatches * batch.sequence_length * step.scenario.model.d_model) *
      2 / ranks_of_a_stage(step);
  for (workloads::OpId id = 0; id < step.preparation.step.size(); ++id) {
    const auto& op = step.preparation.step.op(id);
    if (op->kind != workloads::StepOp::Kind::collective || op->collective != workloads::CollectiveKind::point_to_point)
      continue;
    ++sent[{op.stage, op.other_stage, op.pass}];
    EXPECT_DOUBLE_EQ(static_cast<double>(op->full_size.value()), boundary);
  }
  EXPECT_EQ(sent, wanted);
  // What is sent is in the sender's memory until it has left, and in the receiver's from then on.
  std::set<workloads::OpId> left, arrived;
  for (const auto& buffer : step.preparation.step.buffers) {
    if (buffer.producer < 0) continue;
    if (step.preparation.step.op(buffer.producer).other_stage == buffer.stage) arrived.insert(buffer.producer);
    for (const auto reader : buffer.readers) {
      if (step.preparation.step.op(reader).stage == buffer.stage) left.insert(reader);
    }
  }
  for (workloads::OpId id = 0; id < step.preparation.step.size(); ++id) {
    if (step.preparation.step.op(id)->collective != workloads::CollectiveKind::point_to_point) continue;
    ASSERT_TRUE(left.contains(id) && arrived.contains(id)) << id;
  }
}

void expect_held_weights(const SimulatedStep& step) {
  const auto& preparation = step.preparation;
  const auto& shape = shape_of(step);
  const auto last = static_cast<std::int32_t>(shape.virtual_stages()) - 1;
  const bool bidirectional = shape.placement == workloads::StagePlacement::bidirectional && shape.ranks > 1;
  const bool apart = shape.rank_of(0, 0) != shape.rank_of(last, 0) && !bidirectional;
  std::int64_t weights = 0, elements = 0, parameters = 0;
  for (int block = 0; block < static_cast<int>(preparation.pipeline.kinds.size()); ++block) {
    for (const auto& update : kind_of(step, block).weights) {
      const bool tied = update.weight == "Wembed" && step.scenario.model.tied_embeddings && apart;
      const int copies = tied || bidirectional ? 2 : 1;
      weights += copies * update.stored.value();
      elements += copies * update.optimizer_elements;
      parameters += copies * update.parameters;
    }
  }
  workloads::HeldMemory sum;
  for (const auto& held : preparation.step.held) {
    sum.weights += held.weights;
    sum.optimizer += held.optimizer;
  }
  EXPECT_EQ(sum.weights.value(), weights);
  EXPECT_EQ(sum.optimizer.value(), elements * 8);
  EXPECT_EQ(preparation.step.parameters, count_parameters(step.scenario.model).total());
  if (step.program.ranks() == shape.ranks) {
    EXPECT_EQ(sum.weights.value(), 2 * parameters);  // bf16, and nobody to share with
  }
}

void expect_idle_adds_up(const SimulatedStep& step) {
  for (const auto* timeline : both(step)) {
    std::vector<std::int32_t> ranks;
    for (std::int32_t rank = 0; rank < step.program.ranks(); ++rank) ranks.push_back(rank);
    const auto idle =
        metrics::idle_of(step.preparation.step, step.preparation.pipeline, step.program, *timeline, ranks);
    const double makespan = timeline->makespan().value();
    for (const auto rank : ranks) {
      const auto& one = idle[static_cast<std::size_t>(rank)];
      for (const auto cause : {one.fill, one.drain, one.dependency, one.imbalance, one.transfer, one.collective})
        EXPECT_GE(cause.value(), -1e-12 * makespan);
      EXPECT_NEAR((one.total() + metrics::breakdown_of(step.program, *timeline, rank).compute).value() / makespan, 1,
                  1e-9)
          << "rank " << rank;
    }
  }
}

void expect_memory_returns(const SimulatedStep& step) {
  for (std::int32_t rank = 0; rank < step.program.ranks(); ++rank) {
    const auto curve = metrics::memory_curve(step.preparation.step, step.program, step.simgrid, rank);
    for (const auto& point : curve) {
      for (const auto size : {point.weights, point.gradients, point.optimizer, point.activations, point.other()})
        ASSERT_GE(size.value(), 0);
    }
    const auto& held = step.preparation.step.held[static_cast<std::size_t>(stage_of(step, rank))];
    ASSERT_EQ(curve.back().total(), held.weights + held.optimizer);
  }
  // Whatever is in memory was made by an operation of that stage, and so was whatever reads it.
  for (const auto& buffer : step.preparation.step.buffers) {
    if (buffer.size.value() == 0) continue;
    ASSERT_GE(buffer.producer, 0);
    ASSERT_TRUE(stages_of(step, step.preparation.step.op(buffer.producer)).contains(buffer.stage));
    for (const auto reader : buffer.readers)
      ASSERT_TRUE(stages_of(step, step.preparation.step.op(reader)).contains(buffer.stage));
  }
}

void expect_folding_is_exact(const SimulatedStep& step) {
  const auto quotient = fold(step.program);
  check(quotient.program);
  const auto folded = timeline_of(quotient.program, engine::EngineKind::simgrid);
  for (std::int32_t op = 0; op < step.simgrid.ops(); ++op) {
    for (std::int32_t rank = 0; rank < step.simgrid.ranks(); ++rank) {
      const auto lane = quotient.ranks.class_of_rank[static_cast<std::size_t>(rank)];
      ASSERT_EQ(step.simgrid.took_part(op, rank), folded.took_part(op, lane));
      if (!folded.took_part(op, lane)) continue;
      ASSERT_EQ(step.simgrid.span(op, rank), folded.span(op, lane)) << "op " << op << " rank " << rank;
    }
  }
}

}  // namespace lockstep::test
