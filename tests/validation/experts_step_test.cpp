// Steps of a mixture of experts: what dispatchers, delayed gradients of weights and the host's waiting change.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "sim/simulate.hpp"

namespace lockstep {
namespace {

/// DeepSeek's proportions in 8 layers, on nodes of 8 H800 whose experts span four of them.
scenario::Scenario scenario_of(const std::string& more, const std::string& time = "calibrated",
                               const std::string& pipeline = "") {
  return scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 8, d_model: 2048, heads: 16, vocabulary: 32000, moe: {experts: 64, "
      "experts_per_token: 8, d_ff: 1024, shared_experts: 1}}\ncluster: h800:8\nparallel: {expert: 32, " +
          std::string(pipeline.empty() ? "data: 2" : "pipeline: 2") + "}\nmodel_of_time: " + time +
          "\nbatch: {sequences: 512, sequence_length: 2048, microbatches: 4}\n" + pipeline + more,
      "experts", ".");
}

Simulation simulated(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, silent);
}
double time(const scenario::Scenario& scenario) { return simulated(scenario).metrics.step_time.value(); }
std::string dispatcher(const std::string& name, const std::string& more = "") {
  return "communication: {dispatcher: " + name + more + "}\n";
}

// 8 slots of a token go to 4 nodes: once to each costs 4 (1 - (3/4)^8) / 8 = 45 % of what NCCL sends, and the ways
// inside run beside it. Without a dispatcher's name the library's cheapest is taken, so that NCCL is no faster.
TEST(ExpertSteps, ForwardedTokensTakeLessTime) {
  for (const std::string rates : {"ideal", "calibrated"}) {
    const double nccl = time(scenario_of(dispatcher("nccl"), rates)),
                 deepep = time(scenario_of(dispatcher("deepep"), rates)), unnamed = time(scenario_of("", rates));
    EXPECT_LT(deepep, nccl) << rates;
    EXPECT_LE(unnamed, nccl * (1 + 1e-9)) << rates;
  }
  EXPECT_EQ(time(scenario_of(dispatcher("hybridep"), "ideal")), time(scenario_of(dispatcher("deepep"), "ideal")))
      << "they differ in their multiprocessors, which ideal rates do not know";
}

// More multiprocessors for transfers leave fewer for the shared expert beside them, which takes longer; 20 are the
// usual.
TEST(ExpertSteps, MultiprocessorsAreATax) {
  const auto computing = [](const std::string& more) {
    return simulated(scenario_of(dispatcher("deepep", more))).metrics.breakdown.compute;
  };
  const auto none = computing(", dispatcher_sms: 0"), usual = computing(""), half = computing(", dispatcher_sms: 66");
  EXPECT_LT(none, usual);
  EXPECT_LT(usual, half);
  EXPECT_EQ(computing(", dispatcher_sms: 20"), usual);
}

// Every forward of a layer with experts waits for the host, and nothing runs beside it: 8 layers x 4 microbatches.
TEST(ExpertSteps, WaitForTheHost) {
  const double plain = time(scenario_of(dispatcher("nccl"), "ideal"));
  const double waiting = time(scenario_of(dispatcher("nccl") + "routing: {counts_wait: 100 us}\n", "ideal"));
  EXPECT_NEAR(waiting - plain, 8 * 4 * 100e-6, 1e-6);
}

double flops_of(const Simulation& simulation) { return simulation.metrics.executed_flops.value(); }

// Megatron's overlapped 1F1B: the same work in less time where weights' gradients fill the time of transfers.
TEST(ExpertSteps, DelayedWeightGradientsFillTheTimeOfTransfers) {
  for (const std::string schedule : {"{schedule: overlap-1f1b, chunks: 2", "{schedule: 1f1b"}) {
    const auto now = simulated(scenario_of(dispatcher("nccl"), "ideal", "pipeline: " + schedule + "}\n"));
    const auto delayed =
        simulated(scenario_of(dispatcher("nccl"), "ideal", "pipeline: " + schedule + ", weight_gradients: delayed}\n"));
    EXPECT_DOUBLE_EQ(flops_of(delayed), flops_of(now)) << schedule;
    EXPECT_LT(delayed.metrics.step_time, now.metrics.step_time) << schedule;
  }
}

}  // namespace
}  // namespace lockstep
