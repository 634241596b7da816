// A step folded in time stands for the whole: the operation with number n in the whole step is a simulated operation o
// and a copy c of the period, and
//   span(n) = span(o) + c x period,   to rounding,
// and where kernels and collectives slow each other down, to 5e-7 of the step's time; the same work for the same
// microbatch, waiting for the same operations. Sums over the whole are those of its parts.
#include "sim/timing/timed_step.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/metrics/link_loads.hpp"
#include "sim/simulate.hpp"
#include "sim/timing/whole_step.hpp"
#include "tests/source_dir.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using Overrides = std::vector<scenario::KeyOverride>;

scenario::Scenario alike(std::int32_t microbatches, Overrides overrides) {
  overrides.push_back({"batch", "{sequences: " + std::to_string(8 * microbatches) +
                                    ", sequence_length: 512, microbatches: " + std::to_string(microbatches) + "}"});
  return load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios/pipeline_alike.yaml", overrides);
}

/// Every schedule on four stages; and layouts with shared links, uneven stages, slow chips, a host that launches.
std::vector<Overrides> cases() {
  std::vector<Overrides> result;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (!schedule.takes_slices) result.push_back({{"pipeline", "{schedule: " + std::string(schedule.name) + "}"}});
  }
  result.push_back({{"model.layers", "16"}, {"pipeline", "{schedule: interleaved, chunks: 4}"}});
  const Overrides on_torus{{"cluster", "tpu-v5p:4x2"}, {"mesh", "{fsdp: [y], pipeline: [x]}"}};
  const Overrides on_gpus{{"cluster", "{node: dgx-h100, nodes: 4}"}, {"mesh", "{pipeline: [node], fsdp: [gpu]}"}};
  const auto with = [](Overrides base, const Overrides& more) {
    base.insert(base.end(), more.begin(), more.end());
    return base;
  };
  result.push_back(with(on_torus, {{"parallel", "{pipeline: 4, fsdp: 2}"}}));
  result.push_back(with(on_torus, {{"parallel", "{pipeline: 4, fsdp: 2}"}, {"model.layers", "7"}}));
  result.push_back(
      with(on_torus, {{"parallel", "{pipeline: 4, fsdp: 2}"}, {"perturbations", "[{chip: [3, 1], slowdown: 1.25}]"}}));
  result.push_back(with(on_gpus, {{"parallel", "{pipeline: 4, fsdp: 8}"}}));
  result.push_back(with(on_gpus, {{"parallel", "{pipeline: 4, fsdp: 8}"}, {"model_of_time", "calibrated"}}));
  result.push_back(with(on_gpus, {{"parallel", "{pipeline: 4, fsdp: 8}"}, {"pipeline", "{schedule: dualpipe}"}}));
  result.push_back({{"cluster", "tpu-v5p:4"}, {"mesh", "{fsdp: [x]}"}, {"parallel", "{fsdp: 4}"}, {"pipeline", "{}"}});
  return result;
}

std::string text_of(const Overrides& overrides) {
  std::string text;
  for (const auto& [key, value] : overrides) text += key + "=" + value + " ";
  return text;
}

/// The part of the step's time by which dates and times of the folded step may be off, beside `rounding`.
double allowed(const scenario::Scenario& scenario, double rounding) {
  return scenario.time_model == cost::TimeModel::calibrated ? 5e-7 : rounding;
}

/// Nothing if the scenario is refused: not every schedule takes every number of microbatches.
std::optional<preparation::PreparedStep> prepared(const scenario::Scenario& scenario) {
  try {
    return preparation::prepare_step(scenario);
  } catch (const ConfigError&) {
    return {};
  }
}

void expect_same_work(const workloads::StepOp& simulated, const workloads::StepOp& whole) {
  EXPECT_EQ(simulated->name, whole->name);
  EXPECT_EQ(simulated.pass, whole.pass);
  EXPECT_EQ(simulated.stage, whole.stage);
  EXPECT_EQ(simulated.other_stage, whole.other_stage);
  EXPECT_EQ(simulated.block, whole.block);
}

TEST(TimedStep, StandsForEveryOperationOfTheWhole) {
  spdlog::logger silent("test");
  int folded_cases = 0, unknown = 0, needs = 0;
  for (const auto& overrides : cases()) {
    SCOPED_TRACE(text_of(overrides));
    const auto scenario = alike(80, overrides);
    const auto preparation = prepared(scenario);
    if (!preparation) continue;
    const auto folded = fold(lower_with_perturbations(scenario, *preparation));
    const auto whole = engine::run(folded.program, {engine::EngineKind::max_min, {}, false}, silent).timeline;
    const auto timed =
        timing::timed_step(scenario, *preparation, preparation->model.layers,
                           step_options(scenario, preparation->model), {{engine::EngineKind::max_min}}, silent);
    const auto& timeline = timed.run.timeline;
    const auto& repetition = timeline.repetition();
    folded_cases += repetition.copies > 0 ? 1 : 0;

    const timing::WholeStep numbered(preparation->pipeline.order, timed.step, timeline);
    ASSERT_EQ(std::ssize(numbered.runs()), whole.ops());
    ASSERT_EQ(timeline.whole_ops(), whole.ops());
    ASSERT_EQ(timeline.ranks(), whole.ranks());
    const double rounding = allowed(scenario, 1e-12) * whole.makespan().value();
    EXPECT_NEAR(timeline.makespan().value(), whole.makespan().value(), rounding);
    for (std::int32_t number = 0; number < whole.ops(); ++number) {
      const auto& run = numbered.runs()[static_cast<std::size_t>(number)];
      ASSERT_EQ(numbered.number(run), number);
      const auto& simulated = timed.step.op(run.op);
      const auto& expected = preparation->step.op(number);
      expect_same_work(simulated, expected);
      ASSERT_EQ(repetition.microbatch(run.op, run.copy, simulated.microbatch), expected.microbatch) << number;
      for (std::int32_t rank = 0; rank < whole.ranks(); ++rank) {
        ASSERT_EQ(timeline.took_part(run.op, rank), whole.took_part(number, rank));
        if (!whole.took_part(number, rank)) continue;
        const auto span = timeline.span(run.op, rank, run.copy);
        ASSERT_NEAR(span.start.value(), whole.span(number, rank).start.value(), rounding) << number;
        ASSERT_NEAR(span.end.value(), whole.span(number, rank).end.value(), rounding) << number;
      }
      if (run.op >= timed.step.first_update) continue;  // waits for the gradients of every microbatch
      const auto& needed = folded.program.ops[static_cast<std::size_t>(number)].predecessors;
      for (const auto before : timed.folded.program.ops[static_cast<std::size_t>(run.op)].predecessors) {
        const auto found = numbered.number_before(run, before);
        ++needs;
        unknown += found < 0 ? 1 : 0;
        if (found < 0) continue;
        EXPECT_TRUE(std::find(needed.begin(), needed.end(), found) != needed.end()) << number << " needs " << found;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(folded_cases, 19);
  EXPECT_LT(unknown * 20, needs) << "hardly any cannot be told";
}

void expect_near(Seconds folded, Seconds whole, Seconds most, const char* what) {
  EXPECT_NEAR(folded.value(), whole.value(), most.value()) << what;
}

void expect_same(const metrics::Breakdown& folded, const metrics::Breakdown& whole, Seconds most) {
  expect_near(folded.compute, whole.compute, most, "compute");
  expect_near(folded.exposed_comm, whole.exposed_comm, most, "exposed communication");
  expect_near(folded.bubble, whole.bubble, most, "bubble");
}

void expect_same(const metrics::IdleTime& folded, const metrics::IdleTime& whole, Seconds most) {
  expect_near(folded.fill, whole.fill, most, "fill");
  expect_near(folded.drain, whole.drain, most, "drain");
  expect_near(folded.dependency + folded.imbalance, whole.dependency + whole.imbalance, most, "dependency");
  expect_near(folded.transfer, whole.transfer, most, "transfer");
  expect_near(folded.collective, whole.collective, most, "collective");
}

/// Bytes of a class of links over the step, and how long it is busy.
std::map<std::int32_t, metrics::LinkLoad> loads_of(const Simulation& simulation) {
  std::map<std::int32_t, metrics::LinkLoad> loads;
  for (const auto& load :
       metrics::link_loads(simulation.program, simulation.run.phases, simulation.link_members,
                           {Seconds(0), simulation.metrics.step_time}, simulation.run.timeline.repetition()))
    loads.emplace(load.link, load);
  return loads;
}

TEST(TimedStep, HasTheMetricsOfTheWhole) {
  spdlog::logger silent("test");
  for (const auto& overrides : cases()) {
    SCOPED_TRACE(text_of(overrides));
    const auto scenario = alike(80, overrides);
    if (!prepared(scenario)) continue;
    SimulateOptions options{engine::EngineKind::max_min, true, {}, true, 0};
    const auto folded = simulate(scenario, options, silent);
    options.fold = false;
    const auto whole = simulate(scenario, options, silent);
    const auto& one = folded.metrics;
    const auto& other = whole.metrics;
    const auto most = other.step_time * allowed(scenario, 1e-11);
    expect_near(one.step_time, other.step_time, most, "step");
    EXPECT_DOUBLE_EQ(one.executed_flops.value(), other.executed_flops.value());
    ASSERT_EQ(one.stages.size(), other.stages.size());
    for (std::size_t stage = 0; stage < one.stages.size(); ++stage) {
      expect_same(one.stages[stage].breakdown, other.stages[stage].breakdown, most);
      expect_same(one.stages[stage].idle, other.stages[stage].idle, most);
      EXPECT_EQ(one.stages[stage].memory.peak, other.stages[stage].memory.peak);
      EXPECT_EQ(one.stages[stage].memory.peak_microbatch, other.stages[stage].memory.peak_microbatch);
      expect_near(one.stages[stage].memory.peak_at, other.stages[stage].memory.peak_at, most, "peak at");
      const auto curve =
          metrics::memory_curve(folded.preparation.step, folded.program, folded.run.timeline, one.stages[stage].rank);
      const auto expected =
          metrics::memory_curve(whole.preparation.step, whole.program, whole.run.timeline, other.stages[stage].rank);
      double area = 0, expected_area = 0;  // byte seconds
      for (std::size_t i = 1; i < curve.size(); ++i)
        area += static_cast<double>(curve[i - 1].total().value()) * (curve[i].time - curve[i - 1].time).value();
      for (std::size_t i = 1; i < expected.size(); ++i)
        expected_area +=
            static_cast<double>(expected[i - 1].total().value()) * (expected[i].time - expected[i - 1].time).value();
      EXPECT_NEAR(area, expected_area, allowed(scenario, 1e-10) * expected_area);
    }
    ASSERT_EQ(one.communication.size(), other.communication.size());
    for (std::size_t i = 0; i < one.communication.size(); ++i) {
      EXPECT_EQ(one.communication[i].count, other.communication[i].count);
      EXPECT_EQ(one.communication[i].full_size, other.communication[i].full_size);
      expect_near(one.communication[i].busy, other.communication[i].busy, most, "busy");
      expect_near(one.communication[i].exposed, other.communication[i].exposed, most, "exposed");
    }
    const auto loads = loads_of(folded), expected_loads = loads_of(whole);
    for (const auto& [link, load] : loads) {
      const auto& expected = expected_loads.at(link);
      EXPECT_NEAR(load.bytes, expected.bytes, 1e-9 * expected.bytes);
      EXPECT_NEAR(load.busy, expected.busy, allowed(scenario, 1e-9));
      EXPECT_NEAR(load.peak, expected.peak, 1e-6) << "short flows at late dates";
    }
    Seconds parts(0), reached(0);
    for (const auto& part : one.critical_path.parts) parts += part.time;
    expect_near(parts, other.step_time, most, "critical path");
    std::int64_t spans = 0, rank_changes = 0;
    std::int32_t rank = -1;
    for_each_span(one.critical_path, folded.run.timeline.repetition().length(), [&](const metrics::CriticalSpan& span) {
      expect_near(span.span.start, reached, most, "a gap in the critical path");
      reached = span.span.end;
      rank_changes += spans > 0 && span.rank != rank ? 1 : 0;
      rank = span.rank;
      ++spans;
    });
    EXPECT_EQ(one.critical_path.length(), spans);
    EXPECT_EQ(one.critical_path.rank_changes(), rank_changes);
    expect_near(reached, other.step_time, most, "the end of the critical path");
    if (HasFailure()) return;
  }
}

// A thousand microbatches more make the step longer by a thousand periods and take no more operations to simulate.
TEST(TimedStep, IsFlatInMicrobatches) {
  spdlog::logger silent("test");
  std::vector<std::int32_t> simulated;
  for (const std::int32_t microbatches : {1000, 10'000, 100'000}) {
    const auto scenario = alike(microbatches, {});
    SimulateOptions options;
    options.engine = engine::EngineKind::max_min;
    const auto run = simulate(scenario, options, silent);
    simulated.push_back(run.run.timeline.ops());
    EXPECT_LT(run.metrics.critical_path.spans.size(), 3000U);
    const double each = 3 * 2 * 4 * (8.0 * 512) * 1024 * 4096 / 1e14;
    EXPECT_NEAR(run.metrics.step_time.value(), (microbatches + 4 - 1) * each, 1e-4 * microbatches * each);
  }
  EXPECT_EQ(simulated.front(), simulated.back());
  EXPECT_LT(simulated.front(), 3000);
}

/// 405B's layers, of which the last stage has fewer, at calibrated rates: transfers between stages slow the kernels
/// beside them and are delayed by them.
scenario::Scenario uneven_and_calibrated(std::int32_t microbatches) {
  const auto count = std::to_string(microbatches);
  return scenario::load_scenario(
      std::filesystem::path(source_dir) / "scenarios/llama3-405b-h100.yaml",
      {{"model",
        "{type: transformer, layers: 30, d_model: 16384, d_ff: 53248, heads: 128, kv_heads: 8, "
        "vocabulary: 128256}"},
       {"model_of_time", "calibrated"},
       {"cluster", "h100:64"},
       {"mesh", "{tensor: [gpu], pipeline: [node/8], data: rest}"},
       {"parallel", "{tensor: 8, pipeline: 8, data: 8, zero: 1}"},
       {"batch",
        "{sequences: " + std::to_string(8 * microbatches) + ", sequence_length: 8192, microbatches: " + count + "}"}});
}

// The distance d to the cycle shrinks by a factor r from one period to the next, so dates agree to rounding after about
// a hundred microbatches only. But all later periods together move the step by d r / (1 - r), which is below 5e-7 of
// its time long before.
TEST(TimedStep, StopsNearACycleThatIsReachedLate) {
  spdlog::logger silent("test");
  for (const std::int32_t microbatches : {512, 513, 2048}) {
    const auto scenario = uneven_and_calibrated(microbatches);
    const auto preparation = preparation::prepare(scenario);
    const auto timed = timing::timed_step(scenario, preparation, preparation.model.layers,
                                          step_options(scenario, preparation.model), {}, silent);
    const auto& timeline = timed.run.timeline;
    ASSERT_GT(timeline.repetition().copies, 0) << microbatches;
    EXPECT_LT(5 * timeline.ops(), timeline.whole_ops());
    EXPECT_EQ(timed.run.kind, engine::EngineKind::max_min) << "which has found the period";
    if (microbatches != 513) continue;
    const auto step = preparation::prepare_step(scenario);
    const auto folded = fold(lower_with_perturbations(scenario, step));
    const auto whole = engine::run(folded.program, {engine::EngineKind::max_min}, silent).timeline;
    const timing::WholeStep numbered(step.pipeline.order, timed.step, timeline);
    ASSERT_EQ(std::ssize(numbered.runs()), whole.ops());
    double most_s = 0;
    for (std::int32_t number = 0; number < whole.ops(); ++number) {
      const auto& [op, copy] = numbered.runs()[static_cast<std::size_t>(number)];
      for (const auto rank : whole.ranks_of(number)) {
        const auto span = timeline.span(op, rank, copy), expected = whole.span(number, rank);
        most_s = std::max(
            {most_s, std::abs((span.start - expected.start).value()), std::abs((span.end - expected.end).value())});
      }
    }
    EXPECT_LE(std::abs((timeline.makespan() - whole.makespan()).value()), 5e-7 * whole.makespan().value());
    EXPECT_LE(most_s, 1e-6 * whole.makespan().value());
  }
}

}  // namespace
}  // namespace lockstep
