// States of the machine that do not stop a run: their speed is that of the step simulated so.
#include "sim/studies/goodput/run_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "tests/unit/scenario/two_leaves.hpp"

namespace lockstep {
namespace {

spdlog::logger quiet("quiet");

Seconds step_of(const scenario::Scenario& scenario) {
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, quiet).metrics.step_time;
}

scenario::Scenario with(scenario::Scenario scenario, const scenario::ReliabilitySpec& spec) {
  scenario.reliability = spec;
  return scenario;
}

goodput::FoundFacts facts_of(const scenario::Scenario& scenario, goodput::FactsOptions options = {}) {
  return run_facts(scenario, preparation::prepare_step(scenario), step_of(scenario), options, quiet);
}

scenario::InterruptionClass goes_on(scenario::Component of, std::optional<std::int64_t> tier = {}) {
  scenario::InterruptionClass one;
  one.name = "part";
  one.of = of;
  one.tier = tier;
  one.mtbf = Seconds(1e7);
  one.repair = Seconds(3600);
  one.stops = false;
  return one;
}

scenario::ReliabilitySpec spec_of(const scenario::InterruptionClass& one) {
  scenario::ReliabilitySpec spec;
  spec.classes = {one};
  spec.checkpoint.write = BytesPerSecond(1e9);
  spec.checkpoint.read = BytesPerSecond(1e9);
  spec.checkpoint.size = Bytes(1'000'000'000);
  return spec;
}

// Two spines carry as one; without one the leaves have half the rate between them.
TEST(RunFacts, WithoutASpineTheStepIsThatOfHalfTheUplinks) {
  const auto scenario = test::with_uplinks(test::on_two_leaves("spray"), 0.2);
  const auto found = facts_of(with(scenario, spec_of(goes_on(scenario::Component::network_switch, 2))));
  ASSERT_EQ(found.facts.broken.size(), 1U);
  ASSERT_EQ(found.facts.broken[0].size(), 1U);
  EXPECT_EQ(found.facts.broken[0][0].alike, 2);
  EXPECT_DOUBLE_EQ(found.facts.broken[0][0].speed, step_of(scenario) / step_of(test::with_uplinks(scenario, 0.5)));
  EXPECT_LT(found.facts.broken[0][0].speed, 1);
}

// Without a leaf its hosts are cut off: the class stops the job after all, and is waited for.
TEST(RunFacts, APartWithoutWhichNoPathIsLeftStopsTheJob) {
  for (const char* routing : {"spray", "ecmp"}) {
    const auto scenario = with(test::on_two_leaves(routing), spec_of(goes_on(scenario::Component::network_switch)));
    const auto found = facts_of(scenario);
    const auto model = run_model(scenario, found.facts);
    ASSERT_EQ(model.causes.size(), 2U) << routing;
    double stopping = 0, going_on = 0;
    for (const auto& cause : model.causes) (cause.stops ? stopping : going_on) += cause.rate;
    EXPECT_DOUBLE_EQ(stopping, 2 / 1e7) << "the leaves";
    EXPECT_DOUBLE_EQ(going_on, 2 / 1e7) << "the spines";
    EXPECT_DOUBLE_EQ(model.failure_rate(), 2 / 1e7);
  }
}

// A chip that computes twice as long: the step is that of the perturbation.
TEST(RunFacts, ASlowChipSlowsTheStepAsItsPerturbationDoes) {
  auto one = goes_on(scenario::Component::chip);
  one.slowdown = 2;
  const auto scenario = test::on_two_leaves();
  const auto found = facts_of(with(scenario, spec_of(one)));
  auto slow = scenario;
  slow.perturbations.emplace_back(program::SlowChip{{0, 0}, false, 2});
  ASSERT_EQ(found.facts.broken[0].size(), 1U) << "all chips do the same";
  EXPECT_EQ(found.facts.broken[0][0].alike, 4);
  EXPECT_DOUBLE_EQ(found.facts.broken[0][0].speed, step_of(scenario) / step_of(slow));
}

TEST(RunFacts, ANicOfWhichHalfIsLeftSlowsTheStepAsItsPerturbationDoes) {
  auto one = goes_on(scenario::Component::nic);
  one.bandwidth = 0.5;
  const auto scenario = test::on_two_leaves();
  const auto found = facts_of(with(scenario, spec_of(one)));
  ASSERT_EQ(found.facts.broken[0].size(), 1U);
  EXPECT_EQ(found.facts.broken[0][0].alike, 4);
  EXPECT_LT(found.facts.broken[0][0].speed, 1);
}

/// A host with one NIC has no other: without it the job stops.
TEST(RunFacts, AHostWithOneNicStops) {
  const auto found = facts_of(with(test::on_two_leaves(), spec_of(goes_on(scenario::Component::nic))));
  ASSERT_EQ(found.facts.broken[0].size(), 1U);
  EXPECT_EQ(found.facts.broken[0][0].speed, 0);
}

/// Eight nodes, a replica on each chip of a pair: tensor 2, data 32.
scenario::Scenario small(const std::string& more) {
  return scenario::scenario_of_text(
      "format: 1\nmodel: {layers: 4, d_model: 1024, d_ff: 4096, heads: 16, vocabulary: 32000}\n"
      "cluster: {node: dgx-h100, nodes: 8, fabric: roce-400g}\nparallel: {tensor: 2, data: 32, zero: 1}\n"
      "batch: {sequences: 64, sequence_length: 512}\nreliability:\n  restart: 1 min\n" +
          more,
      "test.yaml", ".");
}

// A NIC that is gone leaves seven of eight to its host, which carry what it carried.
TEST(RunFacts, AHostGoesOnOverItsOtherNics) {
  const auto scenario = small(
      "  failures: {rail: {of: nic, mtbf: 5000 h, repair: 1 h, stops: false}}\n  checkpoint: {write_bandwidth: 1 "
      "GB/s}\n");
  const auto found = facts_of(scenario);
  ASSERT_FALSE(found.facts.broken[0].empty());
  auto without = scenario;
  for (int nic = 0; nic < 8; ++nic)
    without.perturbations.emplace_back(program::DegradedNode{"nic(0," + std::to_string(nic) + ")", 7.0 / 8});
  EXPECT_DOUBLE_EQ(found.facts.broken[0][0].speed, step_of(scenario) / step_of(without));
  EXPECT_LT(found.facts.broken[0][0].speed, 1);
}

// A missing host takes four of the 32 replicas and an eighth of the batch: the speed is 7/8 of the tokens in the step
// of seven nodes.
TEST(RunFacts, AnElasticRunIsAsFastAsTheSmallerMachine) {
  const auto scenario = small(
      "  elastic: true\n  repair: 1 h\n  failures: {gpu: {of: chip, mtbf: 5000 h}}\n  checkpoint: {write_bandwidth: 1 "
      "GB/s}\n");
  const auto found = facts_of(scenario);
  auto smaller = scenario;
  smaller.cluster.units = 7;
  smaller.batch.sequences = 56;
  for (auto& request : smaller.mesh) {
    if (request.name == "data") request.size = 28;
  }
  ASSERT_EQ(found.facts.speeds.size(), 2U);
  EXPECT_DOUBLE_EQ(found.facts.speeds[0], 7.0 / 8 * (step_of(scenario) / step_of(smaller)));
  EXPECT_GT(found.facts.speeds[0], 7.0 / 8) << "collectives of fewer chips are no slower";
  EXPECT_LT(found.facts.speeds[1], found.facts.speeds[0]);
}

// All hosts hold the same, so each writes an eighth; it reads what its chips hold.
TEST(RunFacts, HostsWriteWhatTheyHold) {
  const auto scenario =
      small("  failures: {gpu: {of: chip, mtbf: 5000 h}}\n  checkpoint: {host_bandwidth: 1 GB/s, size: 80 GB}\n");
  const auto found = facts_of(scenario);
  EXPECT_NEAR(found.facts.share_of_writer, 1.0 / 8, 1e-12);
  const auto model = run_model(scenario, found.facts);
  EXPECT_NEAR(model.write.value(), 10, 1e-9);
  EXPECT_NEAR(model.read.value(), static_cast<double>(found.facts.host_reads.value()) / 1e9, 1e-9);
  EXPECT_GT(found.facts.host_reads, Bytes(0));
}

// Each of 16 data-parallel replicas of two chips is a site; a host reads what its four replicas hold, wherever it is.
TEST(RunFacts, SitesOfLocalUpdatesHaveTheirOwnState) {
  const auto on = [](const char* place) {
    return scenario::scenario_of_text(
        "format: 1\nmodel: {layers: 4, d_model: 1024, d_ff: 4096, heads: 16, vocabulary: 32000}\n"
        "cluster: {node: dgx-h100, nodes: 4}\nparallel: {tensor: 2, data: 16}\n"
        "batch: {sequences: 64, sequence_length: 512}\n"
        "training: {local_updates: {inner_steps: 10, outer_state: " +
            std::string(place) +
            "}}\nreliability:\n  restart: 1 min\n  failures: {gpu: {of: chip, mtbf: 5000 h}}\n  checkpoint: "
            "{host_bandwidth: 1 GB/s}\n",
        "test.yaml", ".");
  };
  const auto found = facts_of(on("chip"));
  const auto parameters = found.facts.parameters;
  EXPECT_EQ(found.facts.sites, 16);
  EXPECT_EQ(run_model(on("chip"), found.facts).checkpoint, Bytes((16 * 10 + 8) * parameters));
  EXPECT_EQ(facts_of(on("host")).facts.host_reads, found.facts.host_reads);
  EXPECT_NEAR(static_cast<double>(found.facts.host_reads.value()) / (4.0 * 18.0 * static_cast<double>(parameters)), 1,
              0.01)
      << "norms are there twice";
}

// Written at half the rate of the NICs, from which collectives have the other half: the step is that of half the NICs.
TEST(RunFacts, WritingOverTheNicsTakesTheirRate) {
  const auto scenario = small(
      "  failures: {gpu: {of: chip, mtbf: 5000 h}}\n  checkpoint: {over: nics, mode: asynchronous, stall: 1 s, size: "
      "80 "
      "GB}\n");
  const auto found = facts_of(scenario);
  auto halved = scenario;
  halved.cluster.background.push_back({"nic(*", 0.5});
  EXPECT_DOUBLE_EQ(found.facts.speed_while_writing, step_of(scenario) / step_of(halved));
  EXPECT_LT(found.facts.speed_while_writing, 1);
  // 8 NICs of 50 GB/s, half of them.
  EXPECT_NEAR(run_model(scenario, found.facts).write.value(), 10.0 / 200, 1e-9);
}

}  // namespace
}  // namespace lockstep
