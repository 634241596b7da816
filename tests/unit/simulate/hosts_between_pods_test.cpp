// Hosts that move data between pods hold their chips, for B log2(n) of n pods, for each MiB or longer collective of
// what is reduced (docs/models/network.md). Between two pods of v5e, whose `ethernet-dcn` has B = 9 ms, the backward of
// a model of L layers, embedding, unembedding and norm holds them at least L times.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cmath>

#include "sim/simulate.hpp"
#include "sim/studies/sensitivity/elasticity.hpp"

namespace lockstep {
namespace {

constexpr double barrier_s = 9e-3;
constexpr int layers = 4;

scenario::Scenario two_pods(const std::string& d_ff, const std::string& more = "",
                            const std::string& barrier = "9 ms") {
  return scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 4, d_model: 1024, d_ff: " + d_ff +
          ", heads: 8, kv_heads: 8, head_size: 128, vocabulary: 32000, mlp: gated}\n"
          "cluster: {chip: tpu-v5e, shape: [4, 4], pods: 2, dcn: {like: ethernet-dcn, barrier: " +
          barrier + "}}\nparallel: {fsdp: 16, data: 2}\nbatch: {sequences: 64, sequence_length: 2048}\n" + more,
      "two pods", ".");
}

SimulateOptions on_max_min(bool fold = true) {
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.fold = fold;
  return options;
}

Simulation simulated(const std::string& d_ff, const std::string& more = "", const std::string& barrier = "9 ms") {
  spdlog::logger silent("test");
  return simulate(two_pods(d_ff, more, barrier), on_max_min(), silent);
}

TEST(HostsBetweenPods, HoldTheChipsOnceForEachLayer) {
  const auto with = simulated("4096"), without = simulated("4096", "", "0 ms");
  const double held = (with.metrics.step_time - without.metrics.step_time).value() / barrier_s;
  EXPECT_GT(held, layers - 1) << "little of it is hidden";
  EXPECT_LT(held, layers + 4);
}

// It is no computing: breakdown and critical path give it to the collectives for which the hosts work.
TEST(HostsBetweenPods, AreCommunication) {
  const auto with = simulated("4096"), without = simulated("4096", "", "0 ms");
  EXPECT_NEAR(with.metrics.breakdown.compute.value(), without.metrics.breakdown.compute.value(),
              0.02 * without.metrics.breakdown.compute.value());
  double exposed = 0;
  for (const auto& use : with.metrics.communication) {
    exposed += use.exposed.value();
    EXPECT_LE(use.exposed.value(), use.busy.value() * (1 + 1e-9)) << use.axis;
  }
  EXPECT_NEAR(exposed, with.metrics.breakdown.exposed_comm.value(), 1e-9);
  Seconds computing(0), waiting(0);
  for (const auto& part : with.metrics.critical_path.parts) {
    if (part.kind == metrics::CriticalPart::Kind::latency) waiting += part.time;
    if (part.kind == metrics::CriticalPart::Kind::compute) computing += part.time;
  }
  EXPECT_GE(waiting.value(), layers * barrier_s);
  EXPECT_LE(computing.value(), with.metrics.breakdown.compute.value() * (1 + 1e-9));
}

// A layer that reduces less than 1 MiB is held for its part of the time: 3 x 1024 x d_ff weights of 2 B and attention's
// 4 x 1024^2 over 16 chips are 0.7 MB at d_ff = 512 and 1 MiB at 1365, and the step knows no jump there.
TEST(HostsBetweenPods, HoldSmallLayersToo) {
  double before = 0;
  for (const auto* d_ff : {"512", "768", "1024", "1280", "1536"}) {
    const double step = simulated(d_ff).metrics.step_time.value();
    const double held = (step - simulated(d_ff, "", "0 ms").metrics.step_time.value()) / barrier_s;
    EXPECT_GT(held, 1.5) << d_ff;
    if (before > 0) EXPECT_LT(held, before + 1) << d_ff;
    before = held;
  }
}

// Weights gathered between pods in each microbatch, far below 1 MiB: folding in time keeps what each of them is held
// for.
TEST(HostsBetweenPods, AreFoldedInTime) {
  const auto scenario = scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 1, d_model: 32, d_ff: 128, heads: 1, kv_heads: 1, head_size: 32, vocabulary: 128}\n"
      "cluster: {chip: tpu-v5e, shape: [4, 4], pods: 2}\nparallel: {fsdp: 32}\n"
      "batch: {sequences: 4096, sequence_length: 1024, microbatches: 128}\n",
      "small gathers", ".");
  spdlog::logger silent("test");
  const auto step = [&](bool fold) { return simulate(scenario, on_max_min(fold), silent).metrics.step_time.value(); };
  EXPECT_NEAR(step(true), step(false), 1e-6 * step(false));
}

// The hosts are no slower where a chip is: its computing takes twice as long, and nothing else does.
TEST(HostsBetweenPods, AreNotSlowedDownByASlowChip) {
  const std::string slow = "perturbations: [{chip: [0, 0, 0], slowdown: 2}]\n";
  const auto even = simulated("4096"), uneven = simulated("4096", slow);
  EXPECT_LE((uneven.metrics.step_time - even.metrics.step_time).value(),
            even.metrics.breakdown.compute.value() * (1 + 1e-6));
}

// What faster parts save together is at most the step.
TEST(HostsBetweenPods, StayWhenTheMachineIsFaster) {
  spdlog::logger silent("test");
  const auto simulation = sensitivity::simulate_with_elasticity(two_pods("4096"), on_max_min(), silent);
  ASSERT_FALSE(simulation.elasticity.empty());
  double all = 0;
  for (const auto& one : simulation.elasticity) all += one.gain();
  EXPECT_LE(all, 1.001);
  EXPECT_GT(all, 0);
}

}  // namespace
}  // namespace lockstep
