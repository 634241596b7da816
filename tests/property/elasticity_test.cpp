// d ln T / d ln p by re-simulation, where it is known. If the step takes T = s T + (1 - s) T and only the first part
// scales with 1/p, raising p by h = 1 % makes it T (1 - s (1 - 1/(1 + h))), so the one-sided logarithmic difference is
//   e(s) = ln(1 - s (1 - 1/(1 + h))) / ln(1 + h),   e(1) = -1,   e(s) = -s + O(h).
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <cmath>
#include <map>
#include <sstream>

#include "sim/isolated.hpp"
#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;

constexpr double h = 0.01;
double elasticity_of_share(double share) { return std::log(1 - share * (1 - 1 / (1 + h))) / std::log(1 + h); }

struct Answer {
  std::map<std::string, double> elasticity;
  std::map<CriticalPart::Kind, double> share;  ///< of the critical path
};

Answer simulated(const Case& one, EngineKind engine = EngineKind::simgrid) {
  SCOPED_TRACE(one.to_string());
  const auto text = in_child([&] {
    spdlog::logger silent("test");
    SimulateOptions options;
    options.engine = engine;
    options.elasticity = true;
    const auto simulation = simulate(one.load(), options, silent);
    std::ostringstream out;
    out.precision(17);
    for (const auto& [parameter, value, is_rate] : simulation.elasticity) out << parameter << '\n' << value << '\n';
    out << "parts\n";
    for (const auto& part : simulation.metrics.critical_path.parts) out << static_cast<int>(part.kind) << ' ' << part.time / simulation.metrics.step_time << '\n';
    return out.str();
  });
  Answer answer;
  std::istringstream in(text);
  for (std::string parameter, value; std::getline(in, parameter) && parameter != "parts";) {
    std::getline(in, value);
    answer.elasticity[parameter] = std::stod(value);
  }
  int kind = 0;
  for (double share = 0; in >> kind >> share;) answer.share[static_cast<CriticalPart::Kind>(kind)] += share;
  return answer;
}

const std::vector<EngineKind> engines{EngineKind::simgrid, EngineKind::reference};

Case two_matmul(const std::string& cluster, const std::string& parallel, std::vector<KeyOverride> more = {}) {
  std::vector<KeyOverride> keys{{"cluster", cluster}, {"parallel", parallel}};
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
  const auto answer = simulated(two_matmul("tpu-v5p:1", "{data: 1}", {{"model_of_time", "roofline"}, {"batch.sequences", "8"}, {"batch.sequence_length", "1"}}));
  EXPECT_NEAR(answer.elasticity.at("memory bandwidth"), -1, 1e-9);
  EXPECT_NEAR(answer.elasticity.at("compute rate"), 0, 1e-9);
}

// 8 tokens over a ring of 8: one token a chip computes 4 D F FLOPs a layer and gathers 4 D F bytes, so that T is the ring's
// V/W to one part in C/W ~ 5000 and, with 64 MiB a layer at 90 GB/s against 4 us a gather, 1 % latency.
TEST(Elasticity, OfACommunicationBoundRingIsItsLinks) {
  for (const auto engine : engines) {
    const auto answer = simulated(two_matmul("tpu-v5p:8", "{fsdp: 8}", {{"batch.sequences", "8"}, {"batch.sequence_length", "1"}}), engine);
    EXPECT_NEAR(answer.elasticity.at("ici bandwidth"), -1, 0.03);
    EXPECT_NEAR(answer.elasticity.at("compute rate"), 0, 0.01);
    EXPECT_NEAR(answer.elasticity.at("latency"), 0, 0.03);
    EXPECT_GT(answer.elasticity.at("latency"), 0);
  }
}

// A machine with every rate k times as high and 1/k of the latency takes 1/k of the time, whatever contends with what. So
// by Euler the elasticities of the rates less that of the latency add up to -1, but for O(h), where T is smooth: these
// steps are not near another order of operations.
TEST(Elasticity, RatesAndLatencyAddUpToMinusOne) {
  for (const auto engine : engines) {
    for (const auto& one : {two_matmul("tpu-v5p:4x4", "{tensor: 4, fsdp: 4}", {{"batch.sequences", "16"}, {"batch.sequence_length", "64"}}),
                            two_matmul("tpu-v5p:4x2x2", "{tensor: 2, fsdp: 8}", {{"mesh", "{tensor: [x/2], fsdp: rest}"}, {"communication.prefetch", "0"}}),
                            two_matmul("tpu-v5p:4", "{pipeline: 4}", {{"pipeline", "{schedule: 1f1b}"}, {"batch.microbatches", "8"}, {"model.layers", "4"}})}) {
      const auto answer = simulated(one, engine);
      double sum = 0;
      for (const auto& [parameter, value] : answer.elasticity) {
        sum += parameter == "latency" ? -value : value;
        EXPECT_TRUE(parameter == "latency" ? value >= -1e-9 : value <= 1e-9) << parameter << " " << value << " of " << one.to_string();
      }
      EXPECT_NEAR(sum, -1, 0.02) << one.to_string();
    }
  }
}

// Without contention the derivative of the longest path is its composition: the share of compute is the elasticity of the
// rate, and so on, exactly as far as the path stays where it is.
TEST(Elasticity, WithoutContentionIsTheCompositionOfTheCriticalPath) {
  for (const auto engine : engines) {
    const auto answer = simulated(two_matmul("tpu-v5p:4x4", "{tensor: 4, fsdp: 4}", {{"mesh", "{tensor: [y], fsdp: [x]}"}, {"batch.sequences", "16"}}), engine);
    EXPECT_EQ(answer.share.count(CriticalPart::Kind::contention), 0U);
    const auto share = [&](CriticalPart::Kind kind) { return answer.share.contains(kind) ? answer.share.at(kind) : 0.0; };
    const double compute = share(CriticalPart::Kind::compute) + share(CriticalPart::Kind::update);
    EXPECT_NEAR(answer.elasticity.at("compute rate"), elasticity_of_share(compute), 1e-3);
    EXPECT_NEAR(answer.elasticity.at("latency"), -elasticity_of_share(share(CriticalPart::Kind::latency)), 1e-3);
    EXPECT_NEAR(answer.elasticity.at("ici bandwidth"), elasticity_of_share(share(CriticalPart::Kind::transfer)), 1e-2);
  }
}

}  // namespace
}  // namespace lockstep
