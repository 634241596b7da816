// Local updates (docs/models/local_updates.md). With T an inner step, t_f the reduction of fragment f alone, tau the
// delay, H inner steps and P fragments in a period:
//   exposed_f = max(0, t_f - tau T)                on links that inner steps do not use
//   mean step = T + sum_f (exposed_f + outer optimizer_f + slower_f) / H
//   bytes of all fragments = elements x bits / 8, so with bf16 those of the synchronous all-reduce
#include "sim/timing/outer_steps.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>

#include "sim/simulate.hpp"
#include "tests/unit/scenario/small_scenario.hpp"
#include "workloads/step/outer_step.hpp"

namespace lockstep {
namespace {

using test::Keys;
using test::refused;
using test::small_scenario;

/// Two sites of four chips on a slow network between pods, fast ones inside.
Keys two_sites(const std::string& local_updates, Keys more = {}) {
  Keys keys{{"model", "{type: two-matmul, layers: 6, d_model: 512, d_ff: 2048}"},
            {"cluster", "{chip: tpu-v5p, shape: [4], pods: 2, dcn: {like: ethernet-dcn, link: 1 Gbps}}"},
            {"mesh", "{fsdp: [x], data: [pod]}"},
            {"parallel", "{fsdp: 4, data: 2}"},
            {"batch", "{sequences: 64, sequence_length: 128}"}};
  if (!local_updates.empty()) keys.emplace_back("training", "{local_updates: {" + local_updates + "}}");
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

metrics::Metrics metrics_of(const scenario::Scenario& scenario, bool fold = true) {
  spdlog::logger silent("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.fold = fold;
  return simulate(scenario, options, silent).metrics;
}
metrics::Metrics metrics_of(const Keys& keys, bool fold = true) { return metrics_of(small_scenario(keys), fold); }

Bytes reduced(const metrics::Metrics& metrics) {
  Bytes sum(0);
  for (const auto& one : metrics.local_updates->reductions) sum += one.full_size * one.fragments;
  return sum;
}

/// Also of groups along other axes besides.
Bytes all_reduced_over(const std::string& axis, const metrics::Metrics& metrics) {
  Bytes sum(0);
  for (const auto& use : metrics.communication) {
    if (use.axis.find(axis) != std::string::npos && use.kind == workloads::CollectiveKind::all_reduce)
      sum += use.full_size;
  }
  return sum;
}

/// H = 1, P = 1, tau = 0, bf16: what the synchronous step reduces between sites, to the byte.
TEST(LocalUpdates, EveryStepReducesWhatTheSynchronousStepDoes) {
  const std::vector<Keys> cases{
      {},
      {{"parallel", "{data: 2}"}, {"mesh", "{data: [pod]}"}, {"cluster", "{chip: tpu-v5p, shape: [1], pods: 2}"}},
      {{"model", test::small_transformer}, {"parallel", "{tensor: 2, fsdp: 2, data: 2}"}, {"mesh", "{data: [pod]}"}},
      {{"model", test::small_mixture}, {"parallel", "{expert: 4, data: 2}"}, {"mesh", "{data: [pod]}"}},
  };
  for (const auto& more : cases) {
    auto synchronous = two_sites(""), local = two_sites("inner_steps: 1, precision: bf16");
    for (auto* keys : {&synchronous, &local}) keys->insert(keys->end(), more.begin(), more.end());
    const auto wanted = all_reduced_over("data", metrics_of(synchronous));
    const auto found = metrics_of(local);
    EXPECT_GT(wanted, Bytes(0));
    EXPECT_EQ(reduced(found), wanted);
    EXPECT_EQ(all_reduced_over("data", found), Bytes(0));  // the inner step reduces nothing between sites
    // Of two members, each sends all of it once: 2 (M - 1) / M = 1.
    EXPECT_DOUBLE_EQ(found.local_updates->sent_by_chip_of_period(), static_cast<double>(wanted.value()));
  }
}

/// Traffic of a step falls as 1 / H and as the bits; fragments only share it out.
TEST(LocalUpdates, TrafficFallsWithPeriodAndPrecision) {
  const auto sent = [](const std::string& updates) {
    const auto metrics = metrics_of(two_sites(updates));
    return metrics.local_updates->sent_by_chip_of_period() / static_cast<double>(metrics.local_updates->inner_steps);
  };
  const double every_step = sent("inner_steps: 1, precision: fp32");
  EXPECT_DOUBLE_EQ(sent("inner_steps: 50, precision: fp32"), every_step / 50);
  EXPECT_DOUBLE_EQ(sent("inner_steps: 50, fragments: 6, precision: fp32"), every_step / 50);
  EXPECT_DOUBLE_EQ(sent("inner_steps: 50, fragments: 6, delay: 8, precision: fp32"), every_step / 50);
  EXPECT_DOUBLE_EQ(sent("inner_steps: 10, precision: bf16"), every_step / 20);
  EXPECT_DOUBLE_EQ(sent("inner_steps: 10, precision: 8-bit"), every_step / 40);
  EXPECT_DOUBLE_EQ(sent("inner_steps: 10, fragments: 3, fragment_layers: sequential, precision: 4-bit"),
                   every_step / 80);
}

TEST(LocalUpdates, ExposedIsWhatTheDelayDoesNotHide) {
  int hidden = 0, exposed = 0;
  for (const std::string fragments : {"1", "6"}) {
    for (const std::int64_t delay : {0, 1, 2, 3, 5, 8, 13, 20}) {
      const auto metrics = metrics_of(two_sites("inner_steps: 120, fragments: " + fragments +
                                                ", delay: " + std::to_string(delay) + ", precision: bf16"));
      const auto& found = *metrics.local_updates;
      ASSERT_EQ(found.reductions.size(), 1u) << "layers are alike";
      const auto& one = found.reductions.front();
      const auto expected = std::max(Seconds(0), one.alone - found.inner_step * static_cast<double>(delay));
      EXPECT_NEAR(one.exposed / one.alone, expected / one.alone, 1e-9) << fragments << " " << delay;
      EXPECT_NEAR(one.reduction / one.alone, 1, 1e-9);
      EXPECT_EQ(one.slower, Seconds(0));
      EXPECT_EQ(one.optimizer, Seconds(0)) << "memory traffic is free at ideal rates";
      const auto mean = found.inner_step + expected * static_cast<double>(one.fragments) / 120;
      EXPECT_NEAR(metrics.step_time / mean, 1, 1e-9);
      (expected > Seconds(0) ? exposed : hidden) += 1;
    }
  }
  EXPECT_GT(hidden, 3);
  EXPECT_GE(exposed, 3);
}

TEST(LocalUpdates, LongerPeriodsLongerDelaysAndFewerBitsAreNoSlower) {
  const auto step = [](const std::string& updates) { return metrics_of(two_sites(updates)).step_time; };
  const auto falls = [&](const std::vector<std::string>& updates) {
    for (std::size_t i = 1; i < updates.size(); ++i)
      EXPECT_LE(step(updates[i]).value(), step(updates[i - 1]).value() * (1 + 1e-12)) << updates[i];
    EXPECT_LT(step(updates.back()), step(updates.front()));
  };
  falls({"inner_steps: 2", "inner_steps: 5", "inner_steps: 50", "inner_steps: 500"});
  falls({"inner_steps: 50, delay: 0", "inner_steps: 50, delay: 1", "inner_steps: 50, delay: 4",
         "inner_steps: 50, delay: 50"});
  falls({"inner_steps: 5, precision: fp32", "inner_steps: 5, precision: bf16", "inner_steps: 5, precision: 8-bit",
         "inner_steps: 5, precision: 4-bit"});
}

/// Halls of nodes whose FSDP collectives take the NICs through which sites reach each other.
Keys two_halls(const std::string& updates) {
  return {{"model", "{type: two-matmul, layers: 6, d_model: 2048, d_ff: 8192}"},
          {"cluster", "{node: {like: dgx-h100, chips: 2}, nodes: 2, halls: 2}"},
          {"mesh", "{fsdp: [gpu, node], data: [hall]}"},
          {"parallel", "{fsdp: 4, data: 2}"},
          {"batch", "{sequences: 64, sequence_length: 128}"},
          {"model_of_time", "calibrated"},
          {"training", "{local_updates: {" + updates + "}}"}};
}

TEST(LocalUpdates, SharedLinksSlowInnerStepsDown) {
  const auto found = *metrics_of(two_halls("inner_steps: 20, fragments: 2, delay: 10")).local_updates;
  for (const auto& one : found.reductions) {
    EXPECT_GT(one.slower, Seconds(0));
    EXPECT_GT(one.reduction, one.alone);
    EXPECT_GT(one.optimizer, Seconds(0)) << "outer gradient and update read and write memory";
  }
}

TEST(LocalUpdates, FoldingChangesNothing) {
  for (const auto& keys : {two_sites("inner_steps: 12, fragments: 4, delay: 2"),
                           two_halls("inner_steps: 12, fragments: 3, delay: 2, precision: 8-bit")}) {
    const auto folded = metrics_of(keys), whole = metrics_of(keys, false);
    EXPECT_NEAR(folded.step_time / whole.step_time, 1, 1e-9);
    ASSERT_EQ(folded.local_updates->reductions.size(), whole.local_updates->reductions.size());
    for (std::size_t i = 0; i < whole.local_updates->reductions.size(); ++i) {
      const auto& one = folded.local_updates->reductions[i];
      const auto& other = whole.local_updates->reductions[i];
      EXPECT_NEAR(one.reduction / other.reduction, 1, 1e-9);
      EXPECT_NEAR(one.extra().value(), other.extra().value(), 1e-9 * whole.step_time.value());
    }
  }
}

TEST(LocalUpdates, PartsOfTheMeanStepAddUp) {
  for (const auto& keys : {two_sites("inner_steps: 3"), two_halls("inner_steps: 12, fragments: 3, delay: 2")}) {
    const auto metrics = metrics_of(keys);
    const auto& parts = metrics.breakdown;
    EXPECT_NEAR((parts.compute + parts.exposed_comm + parts.bubble) / metrics.step_time, 1, 1e-9);
    Seconds path(0);
    for (const auto& part : metrics.critical_path.parts) path += part.time;
    EXPECT_NEAR(path / metrics.step_time, 1, 1e-9);
    const auto& found = *metrics.local_updates;
    EXPECT_NEAR(found.period() / (metrics.step_time * static_cast<double>(found.inner_steps)), 1, 1e-9);
  }
}

/// Stages of a pipeline reduce their own blocks: together every parameter once, in bf16.
TEST(LocalUpdates, FragmentsOfStagesMakeUpTheModel) {
  for (const std::string fragments : {"1", "3", "8"}) {
    const auto scenario =
        small_scenario(two_sites("inner_steps: 16, precision: bf16, fragments: " + fragments,
                                 {{"model", test::small_transformer},
                                  {"mesh", "{pipeline: [x], data: [pod]}"},
                                  {"parallel", "{pipeline: 4, data: 2}"},
                                  {"batch", "{sequences: 16, sequence_length: 16, microbatches: 4}"}}));
    const auto prepared = preparation::prepare_step(scenario);
    Bytes sum(0);
    for (std::int64_t fragment = 0; fragment < std::stoll(fragments); ++fragment) {
      const auto outer =
          build_outer_step(prepared.model.layers, prepared.pipeline, step_options(scenario, prepared.model), fragment);
      for (const auto id : outer.reductions) sum += outer.graph.op(id)->full_size;
    }
    EXPECT_EQ(sum, Bytes(2) * prepared.step.parameters);
  }
}

/// 8 bytes of each element of the optimizer's shard, and the largest fragment while it is under way.
TEST(LocalUpdates, HoldsAgreedParametersAndMomentum) {
  const auto memory = [](const std::string& updates, const std::string& parallel = "{fsdp: 4, data: 2}") {
    return metrics_of(two_sites(updates, {{"parallel", parallel}})).memory;
  };
  const auto synchronous = memory("");
  const std::int64_t elements = 6 * 2 * 512 * 2048 / 4;
  EXPECT_EQ(memory("inner_steps: 4").optimizer, synchronous.optimizer + Bytes(8) * elements);
  EXPECT_EQ(memory("inner_steps: 4").weights, synchronous.weights);
  const auto with_delay = memory("inner_steps: 12, fragments: 6, delay: 1, precision: 4-bit");
  EXPECT_EQ(with_delay.buffers, Bytes(elements / 6 / 2));
  auto keys = two_halls("inner_steps: 4, outer_state: host");
  const auto on_host = metrics_of(keys).memory;
  keys = two_halls("inner_steps: 4");
  const auto on_chip = metrics_of(keys).memory;
  EXPECT_EQ(on_chip.optimizer - on_host.optimizer, Bytes(8) * (6 * 2 * 2048 * 8192 / 4));
  EXPECT_EQ(on_host.host, Bytes(8) * (6 * 2 * 2048 * 8192 / 4));
}

/// Where the optimizer's state is split inside a site, the updated weights are gathered again, as after an inner step.
TEST(LocalUpdates, UpdatedWeightsAreGatheredInsideTheSite) {
  const auto step =
      small_scenario(two_sites("inner_steps: 4", {{"mesh", "{context: [x], data: [pod]}"},
                                                  {"model", test::small_transformer},
                                                  {"parallel", "{context: 4, data: 2, zero: {context: 1}}"}}));
  const auto prepared = preparation::prepare(step);
  const auto outer = build_outer_step(prepared.model.layers, prepared.pipeline, step_options(step, prepared.model), 0);
  Bytes gathered(0);
  for (auto id = outer.first_after; id < outer.graph.size(); ++id) {
    const auto& work = *outer.graph.op(id).what;
    if (work.collective == workloads::CollectiveKind::all_gather && work.full_size > Bytes(0))
      gathered += work.full_size;
  }
  EXPECT_GE(gathered.value(), 2 * metrics_of(step).parameters);
}

TEST(LocalUpdates, RefusesWhatOnlyTheMachineTells) {
  EXPECT_EQ(refused([] {
              (void)metrics_of(
                  two_sites("inner_steps: 4", {{"batch", "{sequences: 12, sequence_length: 16, microbatches: 4}"}}));
            }),
            "batch.sequences: 3 sequences of a microbatch do not divide over 2 sites along data [a multiple of 8]");
  spdlog::logger silent("test");
  SimulateOptions options;
  options.steps = 2;
  EXPECT_EQ(refused([&] { (void)simulate(small_scenario(two_sites("inner_steps: 4")), options, silent); }),
            "training.local_updates: draws of steps are not made site by site [local_updates: none, or lockstep run, "
            "compare and sweep]");
}

}  // namespace
}  // namespace lockstep
