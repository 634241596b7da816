#include "tests/property/step_properties.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <array>

#include "sim/studies/isolated.hpp"

namespace lockstep::test {
namespace {

const program::ProgramOp& op_at(const SimulatedStep& step, std::int32_t op) {
  return step.program.ops[static_cast<std::size_t>(op)];
}
std::array<const timeline::Timeline*, 2> both(const SimulatedStep& step) { return {&step.simgrid, &step.reference}; }

}  // namespace

void expect_time_adds_up(const SimulatedStep& step) {
  for (const auto* timeline : both(step)) {
    for (std::int32_t rank = 0; rank < timeline->ranks(); ++rank) {
      const auto part = metrics::breakdown_of(step.program, *timeline, rank);
      EXPECT_GE(part.compute.value(), 0);
      EXPECT_GE(part.exposed_comm.value(), 0);
      EXPECT_GE(part.bubble.value(), 0);
      const double sum = (part.compute + part.exposed_comm + part.bubble).value();
      EXPECT_NEAR(sum / timeline->makespan().value(), 1, 1e-9) << "rank " << rank;
    }
  }
}

void expect_dependencies_hold(const SimulatedStep& step) {
  for (const auto* timeline : both(step)) {
    for (std::int32_t op = 0; op < timeline->ops(); ++op) {
      for (std::int32_t rank = 0; rank < timeline->ranks(); ++rank) {
        if (!timeline->took_part(op, rank)) {
          ASSERT_GT(step.preparation.step.held.size(), 1U)
              << "op " << op << " rank " << rank << ", and there is one stage";
          continue;
        }
        const auto span = timeline->span(op, rank);
        ASSERT_LE(span.start, span.end);
        const auto expect_after = [&](std::int32_t before) {
          if (!timeline->took_part(before, rank)) return;
          ASSERT_GE(span.start, timeline->span(before, rank).end)
              << "op " << op << " after " << before << " on rank " << rank;
        };
        // The program leaves out of the step's dependencies what goes without saying.
        for (const auto before : op_at(step, op).predecessors) expect_after(before);
        for (const auto before : step.preparation.step.waits_for(op_at(step, op).vertex)) expect_after(before);
      }
    }
  }
}

void expect_streams_do_one_thing(const SimulatedStep& step) {
  const auto streams = static_cast<std::int32_t>(step.program.streams.size());
  for (const auto* timeline : both(step)) {
    for (std::int32_t rank = 0; rank < timeline->ranks(); ++rank) {
      for (std::int32_t stream = 0; stream < streams; ++stream) {
        std::vector<timeline::Interval> spans;
        for (std::int32_t op = 0; op < timeline->ops(); ++op) {
          const auto& occupied = op_at(step, op).streams;
          if (!timeline->took_part(op, rank)) continue;
          const auto span = timeline->span(op, rank);
          if (span.start < span.end && std::find(occupied.begin(), occupied.end(), stream) != occupied.end())
            spans.push_back(span);
        }
        std::sort(spans.begin(), spans.end(),
                  [](const timeline::Interval& a, const timeline::Interval& b) { return a.start < b.start; });
        for (std::size_t i = 1; i < spans.size(); ++i) {
          ASSERT_LE(spans[i - 1].end, spans[i].start)
              << "rank " << rank << " stream " << step.program.streams[static_cast<std::size_t>(stream)];
        }
      }
    }
  }
}

void expect_not_faster_than_possible(const SimulatedStep& step) {
  const double bound = std::max(step.critical_path(), step.busiest_stream()).value();
  for (const auto* timeline : both(step)) EXPECT_GE(timeline->makespan().value(), bound * (1 - 1e-9));
}

void expect_compute_is_the_models(const SimulatedStep& step) {
  const auto rates = preparation::rates_of(step.scenario);
  double flops = 0;
  double computed = 0;
  for (std::int32_t op = 0; op < step.simgrid.ops(); ++op) {
    if (op_at(step, op).kind != program::ProgramOp::Kind::compute) continue;
    const double work = step.preparation.step.op(op_at(step, op).vertex)->flops.value();
    const auto span = step.simgrid.span(op, 0);
    flops += work;
    computed += (span.end - span.start).value();
  }
  const double at_peak = flops / rates.flops.value();
  if (rates.model == cost::TimeModel::ideal) {
    EXPECT_NEAR(computed / at_peak, 1, 1e-9);
  } else {
    EXPECT_GE(computed, at_peak * (1 - 1e-9));
  }
  const auto& batch = step.scenario.batch;
  const double tokens = static_cast<double>(batch.sequences * batch.sequence_length);
  const double model = tokens * training_flops_per_token(step.scenario.model, batch.sequence_length,
                                                         step.scenario.training.causal_attention);
  const auto& scenario = step.scenario;
  if (scenario.model.recurrence || scenario.step.optimizer.kind == workloads::OptimizerKind::muon) {
    EXPECT_GT(flops, 0) << "kernels do other work than MFU counts: block_models_test, muon_test";
    return;
  }
  const bool more = scenario.model.mtp_modules > 0 || scenario.derive.recompute.any() ||
                    scenario.routing.capacity_factor || !scenario.derive.balanced_context;
  if (more) {
    EXPECT_GT(flops * step.program.ranks() / model, 1);
  } else {
    EXPECT_NEAR(flops * step.program.ranks() / model, 1, 1e-9);
  }
}

void expect_contention_only_slows(const SimulatedStep& step) {
  for (std::int32_t op = 0; op < step.simgrid.ops(); ++op) {
    if (op_at(step, op).kind != program::ProgramOp::Kind::collective) continue;
    const double alone = step.alone(op_at(step, op)).value();
    EXPECT_GE(op_at(step, op).closed_form.value(), alone * (1 - 1e-9));
    for (std::int32_t rank = 0; rank < step.simgrid.ranks(); ++rank) {
      const auto span = step.simgrid.span(op, rank);
      ASSERT_GE((span.end - span.start).value(), alone - 1e-11) << "op " << op << " rank " << rank;
    }
  }
  const double contended = step.simgrid.makespan().value();
  EXPECT_GE(contended, step.same_order_without_contention().value() * (1 - 1e-9));
  // With several microbatches a delay can change which of two ready operations a stream takes, to good effect
  // (Graham's anomaly of list scheduling); with one the order of a step hardly leaves a choice.
  if (step.scenario.batch.microbatches == 1) {
    EXPECT_GE(contended, step.reference.makespan().value() * (1 - 1e-9));
  }
}

void expect_critical_path_explains(const SimulatedStep& step) {
  for (const auto* timeline : both(step)) {
    const auto path = metrics::critical_path_of(step.preparation.step, step.program, *timeline);
    ASSERT_FALSE(path.spans.empty());
    EXPECT_EQ(path.spans.front().span.start, Seconds(0));
    EXPECT_EQ(path.spans.back().span.end, timeline->makespan());
    for (std::size_t i = 0; i < path.spans.size(); ++i) {
      const auto& now = path.spans[i];
      ASSERT_EQ(now.span, timeline->span(now.op, now.rank));
      ASSERT_EQ(now.why == metrics::CriticalSpan::Why::start, i == 0);
      if (i == 0) continue;
      const auto& before = path.spans[i - 1];
      ASSERT_EQ(before.span.end, now.span.start) << "a gap before op " << now.op;
      ASSERT_TRUE(timeline->took_part(now.op, before.rank));
      const auto& waits = op_at(step, now.op).predecessors;
      const auto& held = op_at(step, before.op).streams;
      const bool needed = std::find(waits.begin(), waits.end(), before.op) != waits.end();
      const bool taken = std::find_first_of(held.begin(), held.end(), op_at(step, now.op).streams.begin(),
                                            op_at(step, now.op).streams.end()) != held.end();
      ASSERT_TRUE(now.why == metrics::CriticalSpan::Why::stream ? taken && !needed : needed)
          << "op " << now.op << " after " << before.op;
    }
    double sum = 0;
    for (const auto& part : path.parts) {
      EXPECT_GT(part.time.value(), 0);
      sum += part.time.value();
    }
    EXPECT_NEAR(sum / timeline->makespan().value(), 1, 1e-12);
  }
}

void expect_facade_agrees(const SimulatedStep& step) {
  spdlog::logger silent("test");
  const auto outcome = studies::simulate_isolated(step.scenario, engine::EngineKind::simgrid, silent);
  const auto part = metrics::breakdown_of(step.program, step.simgrid, metrics::critical_rank(step.simgrid));
  const double makespan = step.simgrid.makespan().value();
  EXPECT_NEAR(outcome.step_s, makespan, 1e-9 * makespan);
  EXPECT_NEAR(outcome.compute_s, part.compute.value(), 1e-9 * makespan);
  EXPECT_NEAR(outcome.exposed_comm_s + outcome.bubble_s, (part.exposed_comm + part.bubble).value(), 1e-9 * makespan);
}

}  // namespace lockstep::test
