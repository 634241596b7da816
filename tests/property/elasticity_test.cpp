// d ln T / d ln p by re-simulation, where it is known. If the step takes T = s T + (1 - s) T and only the first part
// scales with 1/p, raising p by k makes it T (1 - s (1 - 1/k)), so (T' / T - 1) / (1 - 1/k) = -s.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <map>
#include <sstream>

#include "sim/studies/isolated.hpp"
#include "sim/studies/sensitivity/elasticity.hpp"
#include "tests/property/random_scenarios.hpp"
#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;

struct Answer {
  std::map<std::string, double> elasticity;
  std::map<metrics::CriticalPart::Kind, double> share;  ///< of the critical path
};

Answer simulated(const Case& one, engine::EngineKind engine = engine::EngineKind::simgrid) {
  SCOPED_TRACE(one.to_string());
  engine::load(engine);
  const auto text = studies::in_child([&] {
    spdlog::logger silent("test");
    SimulateOptions options;
    options.engine = engine;
    const auto simulation = sensitivity::simulate_with_elasticity(one.load(), options, silent);
    std::ostringstream out;
    out.precision(17);
    for (const auto& [parameter, value, is_rate] : simulation.elasticity) out << parameter << '\n' << value << '\n';
    out << "parts\n";
    for (const auto& part : simulation.metrics.critical_path.parts)
      out << static_cast<int>(part.kind) << ' ' << part.time / simulation.metrics.step_time << '\n';
    return out.str();
  });
  Answer answer;
  std::istringstream in(text);
  for (std::string parameter, value; std::getline(in, parameter) && parameter != "parts";) {
    std::getline(in, value);
    answer.elasticity[parameter] = std::stod(value);
  }
  int kind = 0;
  for (double share = 0; in >> kind >> share;) answer.share[static_cast<metrics::CriticalPart::Kind>(kind)] += share;
  return answer;
}

const std::vector<engine::EngineKind> engines{engine::EngineKind::simgrid, engine::EngineKind::reference};

Case two_matmul(const std::string& cluster, const std::string& parallel, std::vector<scenario::KeyOverride> more = {}) {
  std::vector<scenario::KeyOverride> keys{{"cluster", cluster}, {"parallel", parallel}};
  keys.insert(keys.end(), more.begin(), more.end());
  return {"validation_grid_two_matmul.yaml", keys};
}

// One chip computes all the time: T is FLOPs over the rate.
TEST(Elasticity, OfAComputeBoundStepIsTheRates) {
  for (const auto engine : engines) {
    const auto answer = simulated(two_matmul("tpu-v5p:1", "{data: 1}"), engine);
    ASSERT_EQ(answer.elasticity.size(), 1U);
    EXPECT_NEAR(answer.elasticity.at("compute rate"), -1, 1e-9);
  }
}

// Under the roofline a step of few tokens is weights read at the memory's bandwidth: at 8 tokens a product does about 8
// FLOPs a byte, and the chip needs 166 to be busy.
TEST(Elasticity, OfAMemoryBoundStepIsTheMemorys) {
  const auto answer =
      simulated(two_matmul("tpu-v5p:1", "{data: 1}",
                           {{"model_of_time", "roofline"}, {"batch.sequences", "8"}, {"batch.sequence_length", "1"}}));
  EXPECT_NEAR(answer.elasticity.at("memory bandwidth"), -1, 1e-9);
  EXPECT_NEAR(answer.elasticity.at("compute rate"), 0, 1e-9);
}

// 8 tokens over a ring of 8: one token a chip computes 4 D F FLOPs a layer and gathers 4 D F bytes, so that T is the
// ring's V/W to one part in C/W ~ 5000 and, with 64 MiB a layer at 90 GB/s against 4 us a gather, 1 % latency.
TEST(Elasticity, OfACommunicationBoundRingIsItsLinks) {
  for (const auto engine : engines) {
    const auto answer = simulated(
        two_matmul("tpu-v5p:8", "{fsdp: 8}", {{"batch.sequences", "8"}, {"batch.sequence_length", "1"}}), engine);
    EXPECT_NEAR(answer.elasticity.at("ici bandwidth"), -1, 0.03);
    EXPECT_NEAR(answer.elasticity.at("compute rate"), 0, 0.01);
    EXPECT_NEAR(answer.elasticity.at("latency"), 0, 0.03);
    EXPECT_GT(answer.elasticity.at("latency"), 0);
  }
}

// A machine with every rate k times as high and 1/k of the latency takes 1/k of the time, whatever contends with what.
// So by Euler the elasticities of the rates less that of the latency add up to -1 where T is smooth: these steps are
// not near another order of operations.
TEST(Elasticity, RatesAndLatencyAddUpToMinusOne) {
  for (const auto engine : engines) {
    for (const auto& one :
         {two_matmul("tpu-v5p:4x4", "{tensor: 4, fsdp: 4}",
                     {{"batch.sequences", "16"}, {"batch.sequence_length", "64"}}),
          two_matmul("tpu-v5p:4x2x2", "{tensor: 2, fsdp: 8}",
                     {{"mesh", "{tensor: [x/2], fsdp: rest}"}, {"communication.prefetch", "0"}}),
          two_matmul("tpu-v5p:4", "{pipeline: 4}",
                     {{"pipeline", "{schedule: 1f1b}"}, {"batch.microbatches", "8"}, {"model.layers", "4"}})}) {
      const auto answer = simulated(one, engine);
      double sum = 0;
      for (const auto& [parameter, value] : answer.elasticity) {
        sum += parameter == "latency" ? -value : value;
        EXPECT_TRUE(parameter == "latency" ? value >= -1e-9 : value <= 1e-9)
            << parameter << " " << value << " of " << one.to_string();
      }
      EXPECT_NEAR(sum, -1, 1e-6) << one.to_string();
    }
  }
}

// Without contention the derivative of the longest path is its composition: the share of compute is the elasticity of
// the rate, and so on, exactly as far as the path stays where it is.
TEST(Elasticity, WithoutContentionIsTheCompositionOfTheCriticalPath) {
  for (const auto engine : engines) {
    const auto answer = simulated(two_matmul("tpu-v5p:4x4", "{tensor: 4, fsdp: 4}",
                                             {{"mesh", "{tensor: [y], fsdp: [x]}"}, {"batch.sequences", "16"}}),
                                  engine);
    EXPECT_EQ(answer.share.count(metrics::CriticalPart::Kind::contention), 0U);
    const auto share = [&](metrics::CriticalPart::Kind kind) {
      return answer.share.contains(kind) ? answer.share.at(kind) : 0.0;
    };
    const double compute = share(metrics::CriticalPart::Kind::compute) + share(metrics::CriticalPart::Kind::update);
    EXPECT_NEAR(answer.elasticity.at("compute rate"), -compute, 1e-3);
    EXPECT_NEAR(answer.elasticity.at("latency"), share(metrics::CriticalPart::Kind::latency), 1e-3);
    EXPECT_NEAR(answer.elasticity.at("ici bandwidth"), -share(metrics::CriticalPart::Kind::transfer), 1e-2);
  }
}

// The step is simulated before the better machines have answered: only their answers end the work.
TEST(Elasticity, ProgressEndsWithTheLastSimulation) {
  const auto told = studies::in_child([] {
    spdlog::logger silent("test");
    std::string stages;
    SimulateOptions options;
    options.progress = [&](std::string_view stage, double) {
      if (!stages.ends_with(std::string(stage) + "\n")) stages += std::string(stage) + "\n";
    };
    (void)sensitivity::simulate_with_elasticity(two_matmul("tpu-v5p:4", "{fsdp: 4}").load(), options, silent);
    return stages;
  });
  EXPECT_EQ(told, "preparing\nsimulating\nsimulating better machines\ndone\n");
}

/// T on a machine on which every parameter that is listed is better by k, over T / k; and the sum of elasticities,
/// rates less times.
struct Homogeneity {
  double together = 0, sum = 0;
};

Homogeneity homogeneity(const test::Prepared& made, engine::EngineKind engine) {
  const sensitivity::MachineParameters parameters(made.scenario, made.preparation, made.folded, engine);
  const bool contention = engine != engine::EngineKind::reference;
  const double step_s = test::step_s(made.folded.program, contention);
  constexpr double k = 1.25, better = 1.001;
  auto machine = parameters.as_it_is();
  Homogeneity result;
  for (const auto& parameter : parameters.list()) {
    parameter.improve(machine, k);
    auto one = parameters.as_it_is();
    parameter.improve(one, better);
    result.sum += (test::step_s(parameters.program_on(one), contention) / step_s - 1) / (1 - 1 / better);
  }
  result.together = test::step_s(parameters.program_on(machine), contention) * k / step_s;
  return result;
}

/// Draws keys that give a step times that belong neither to a chip nor to a network.
void draw_others(test::RandomScenario& drawn) {
  if (drawn.one_in(2))
    drawn.set("training.offload",
              drawn.one_of({"{optimizer: true}", "{activation_layers: 2}",
                            "{optimizer: true, activation_layers: 2, host_memory_bandwidth: 20 GB/s}"}));
  if (drawn.one_in(3)) drawn.set("training.step_overhead", "1 ms");
  if (drawn.one_in(3))
    drawn.set("perturbations",
              "[{random_chips: 2, seed: 3, slowdown: 1.1}, {jitter: 0.02, seed: 5}, {random_links: 1, seed: 2, "
              "bandwidth: 0.5}]");
  if (drawn.one_in(3)) drawn.set("model_of_time", drawn.one_of({"ideal", "roofline"}));
}

// All parameters at once: nothing of a step's time is left out, whatever contends with what. One by one the
// elasticities then add up to -1, unless two chains of one length, or two orders of operations, meet within the change.
TEST(Elasticity, OfAllParametersTogetherIsMinusOne) {
  int smooth = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    test::RandomScenario drawn(seed);
    drawn.draw_calibrated();
    draw_others(drawn);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + drawn.text());
    const auto made = test::prepared(drawn);
    if (!made) continue;
    for (const auto engine : {engine::EngineKind::reference, engine::EngineKind::max_min}) {
      const auto found = homogeneity(*made, engine);
      EXPECT_NEAR(found.together, 1, 1e-9);
      smooth += std::abs(found.sum + 1) < 1e-6 ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(all, 40);
  EXPECT_GT(smooth, all * 3 / 4);
}

// Measured operations on a pipeline whose transfers go over the network: times of a profile are a parameter too.
TEST(Elasticity, OfMeasuredOperationsAddsUpToo) {
  test::RandomScenario drawn(1);
  drawn.set("model.replay",
            "{layers: 4, boundary: 64 MB, forward: [{name: F, time: 1 ms}, {name: send, time: 300 us, on: net}], "
            "backward: [{name: B, time: 2 ms}, {name: back, time: 300 us, on: net}]}");
  for (const auto& [key, value] :
       std::vector<scenario::KeyOverride>{{"cluster", "h100:1"},
                                          {"parallel", "{pipeline: 4, data: 2}"},
                                          {"batch", "{sequences: 16, sequence_length: 1024, microbatches: 8}"}})
    drawn.set(key, value);
  const auto found = homogeneity(test::prepared(drawn).value(), engine::EngineKind::max_min);
  EXPECT_NEAR(found.together, 1, 1e-9);
  EXPECT_NEAR(found.sum, -1, 1e-6);
}

// One chip whose optimizer is on the host, with one layer and no compute to speak of (16 tokens): per parameter 2 bytes
// of gradient go down, 22 - 2 + 2 bytes are read and written there and 2 bytes of weight come up, one after the other.
// At 50 GB/s and 15 GB/s (v5p) 22/50 : 4/15, or 62 % and 38 % of the step.
TEST(Elasticity, OfAnUpdateOnTheHostIsItsMemorysAndThatOfTheWayThere) {
  const auto answer =
      simulated(two_matmul("tpu-v5p:1", "{data: 1}",
                           {{"model.layers", "1"},
                            {"batch.sequences", "16"},
                            {"batch.sequence_length", "1"},
                            {"training.offload", "{optimizer: true, host_memory_bandwidth: 50 GB/s}"}}));
  const double memory = 22.0 / 50, way = 4.0 / 15;
  EXPECT_NEAR(answer.elasticity.at("host memory bandwidth"), -memory / (memory + way), 0.01);
  EXPECT_NEAR(answer.elasticity.at("pcie bandwidth"), -way / (memory + way), 0.01);
  EXPECT_NEAR(answer.share.at(metrics::CriticalPart::Kind::offload), 1, 0.01);
}

}  // namespace
}  // namespace lockstep
