// Rates and times of a run from the scenario's `reliability` and the parts of its cluster.
#include <gtest/gtest.h>

#include "sim/studies/goodput/renewal.hpp"
#include "sim/studies/goodput/run_model.hpp"

namespace lockstep {
namespace {

/// Two nodes of eight on a fat tree of one leaf; `more` is YAML under `reliability`.
scenario::Scenario scenario_with(const std::string& more, const std::string& cluster = "{node: dgx-h100, nodes: 2}") {
  return scenario::scenario_of_text("format: 1\nmodel: llama-2-7b\ncluster: " + cluster +
                                        "\nbatch: {sequences: 16, sequence_length: 128}\nreliability:\n" + more,
                                    "test.yaml", ".");
}

const std::string basics =
    "  restart: 100 s\n  detection: 20 s\n  checkpoint: {size: 1 TB, write_bandwidth: 10 GB/s, read_bandwidth: 20 "
    "GB/s}\n";
const goodput::RunFacts facts{0, 8, Seconds(1)};

// 16 GPUs of 1,600 h: one failure in 100 h. 2 hosts of which 2 of 4 failed in 100 h: one in 100 h.
TEST(RunModel, RatesAreThoseOfAllComponents) {
  const auto model =
      run_model(scenario_with(basics + "  failures:\n    gpu: {of: chip, mtbf: 1600 h}\n    host: {of: host, observed: "
                                       "{failures: 2, over: 100 h, among: 4}}\n"
                                       "    bug: {of: job, mtbf: 50 h}\n    nic: {of: nic, count: 10, mtbf: 1000 h}\n  "
                                       "  any: {of: host, observed: {failures: 3, over: 300 h}}\n"),
                facts);
  EXPECT_EQ(model.causes[0].count, 16);
  EXPECT_DOUBLE_EQ(model.causes[0].rate, 1 / 360e3);
  EXPECT_DOUBLE_EQ(model.causes[1].rate, 1 / 360e3);
  EXPECT_DOUBLE_EQ(model.causes[2].rate, 1 / 180e3);
  EXPECT_DOUBLE_EQ(model.causes[3].rate, 1 / 360e3);
  EXPECT_DOUBLE_EQ(model.causes[4].rate, 1 / 360e3) << "among as many as there are";
  EXPECT_DOUBLE_EQ(model.failure_rate(), 6 / 360e3);
}

// 1 TB at 10 GB/s: written in 100 s, read in 50. 20 + 100 + 50 s to recover; a class has its own detection; a planned
// stop needs none.
TEST(RunModel, TimesAreThoseOfTheCheckpointAndTheClass) {
  const auto model = run_model(
      scenario_with(
          basics +
          "  repair: 1 h\n  failures:\n    gpu: {of: chip, mtbf: 1600 h}\n    bug: {of: job, mtbf: 50 h, detection: 30 "
          "min}\n"
          "    stop: {of: job, mtbf: 50 h, planned: true}\n    cable: {of: link, mtbf: 9 years, repair: 2 h}\n"),
      facts);
  EXPECT_EQ(model.stall, Seconds(100));
  EXPECT_EQ(model.until_durable, Seconds(0));
  EXPECT_EQ(model.causes[0].recovery, Seconds(170));
  EXPECT_EQ(model.causes[1].recovery, Seconds(1950));
  EXPECT_EQ(model.causes[2].recovery, Seconds(150));
  EXPECT_EQ(model.causes[0].repair, Seconds(3600));
  EXPECT_TRUE(model.causes[0].spared);
  EXPECT_EQ(model.causes[1].repair, Seconds(0));
  EXPECT_EQ(model.causes[3].repair, Seconds(7200));
  EXPECT_FALSE(model.causes[3].spared);
  EXPECT_DOUBLE_EQ(model.interval.value(), best_interval(model).value());
}

TEST(RunModel, AnAsynchronousCheckpointIsWrittenBesideTraining) {
  const auto model =
      run_model(scenario_with("  restart: 0 s\n  checkpoint: {size: 1 TB, write_bandwidth: 10 GB/s, mode: "
                              "asynchronous, stall: 3 s}\n  failures: {bug: {of: job, mtbf: 50 h}}\n"),
                facts);
  EXPECT_EQ(model.stall, Seconds(3));
  EXPECT_EQ(model.until_durable, Seconds(100));
  EXPECT_EQ(model.least_interval(), Seconds(100));
  EXPECT_EQ(model.read, Seconds(100)) << "as fast as writing";
}

// The halved rate is that of writing beside training; at a restart nothing else uses the NICs: 1 TB over 16 x 50 GB/s.
TEST(RunModel, ARestartReadsAtTheWholeRateOfTheNics) {
  const auto model =
      run_model(scenario_with("  restart: 0 s\n  checkpoint: {size: 1 TB, over: nics, mode: asynchronous, stall: 3 s}\n"
                              "  failures: {bug: {of: job, mtbf: 50 h}}\n"),
                facts);
  EXPECT_EQ(model.write, Seconds(2.5));
  EXPECT_EQ(model.read, Seconds(1.25));
}

// 16 chips on two hosts with three spare hosts of eight.
TEST(RunModel, SpareHostsArePaidFor) {
  EXPECT_EQ(goodput::paid_chips(scenario_with(basics + "  spares: 3\n  failures: {bug: {of: job, mtbf: 50 h}}\n")), 40);
}

// The weights of two sites differ, and so do their inner optimizers: 2 x 10 bytes a parameter. What they agree on, 8
// bytes of global parameters and momentum, is the same on both and saved once.
TEST(RunModel, ACheckpointOfLocalUpdatesHasEverySitesState) {
  const auto scenario = scenario::scenario_of_text(
      "format: 1\nmodel: llama-2-7b\ncluster: {node: dgx-h100, nodes: 2}\nparallel: {tensor: 8, data: 2}\n"
      "batch: {sequences: 16, sequence_length: 128}\ntraining: {local_updates: {inner_steps: 10}}\nreliability:\n"
      "  restart: 0 s\n  checkpoint: {write_bandwidth: 10 GB/s}\n  failures: {bug: {of: job, mtbf: 50 h}}\n",
      "test.yaml", ".");
  goodput::RunFacts of_sites{1000, 1, Seconds(1)};
  of_sites.sites = 2;
  EXPECT_EQ(goodput::run_model(scenario, of_sites).checkpoint, Bytes(2 * 10'000 + 8'000));
}

// Weights in 16 bits and Adam's two moments in 32: 10 bytes a parameter.
TEST(RunModel, ACheckpointIsWeightsAndOptimizerState) {
  const auto scenario = scenario_with(
      "  restart: 0 s\n  checkpoint: {write_bandwidth: 10 GB/s}\n  failures: {bug: {of: job, mtbf: 50 h}}\n");
  EXPECT_EQ(goodput::run_model(scenario, {1000, 1, Seconds(1)}).checkpoint, Bytes(10'000));
}

// A missing host of 8 takes its 8 chips' replicas, or all of a replica of 16 of the 32.
TEST(RunModel, AnElasticRunLosesWholeReplicas) {
  const auto scenario = scenario_with(basics + "  elastic: true\n  failures: {gpu: {of: chip, mtbf: 1600 h}}\n",
                                      "{node: dgx-h100, nodes: 4}");
  EXPECT_EQ(goodput::run_model(scenario, {0, 1, Seconds(1)}).share_of_host, 0.25);
  EXPECT_EQ(goodput::run_model(scenario, {0, 16, Seconds(1)}).share_of_host, 0.5);
}

// 16 NICs on one leaf: 16 cables of tier 1 with 32 optics; there is no tier 2, which only a class that asks for it
// minds.
TEST(RunModel, PartsOfNetworksAreCountedByTier) {
  const auto model = run_model(
      scenario_with(basics +
                    "  failures:\n    leaf: {of: switch, tier: 1, mtbf: 100 h}\n    cable: {of: link, tier: 1, "
                    "mtbf: 100 h}\n    optic: {of: optic, mtbf: 100 h}\n"),
      facts);
  EXPECT_EQ(model.causes[0].count, 8);
  EXPECT_EQ(model.causes[1].count, 16);
  EXPECT_EQ(model.causes[2].count, 64);
}

// A torus of 4x4x4: each of 64 chips has a cable on each of three closed axes. Its 16 hosts have one each to their
// switch.
TEST(RunModel, CablesOfATorusAreOfTierNought) {
  const auto scenario = scenario_with(
      basics + "  failures:\n    torus: {of: link, tier: 0, mtbf: 100 h}\n    all: {of: link, mtbf: 100 h}\n",
      "tpu-v5p:4x4x4");
  const auto model = run_model(scenario, facts);
  EXPECT_EQ(model.causes[0].count, 192);
  EXPECT_EQ(model.causes[1].count, 192 + 16);
}

// The catalog's table holds for the parts that there are; one row's rate can be taken alone.
TEST(RunModel, PublishedRatesAreThoseOfTheCatalog) {
  const auto table = run_model(scenario_with(basics + "  failures: published\n"), facts);
  ASSERT_EQ(table.causes.size(), scenario::published_failures().size());
  const auto alone = run_model(scenario_with(basics + "  failures: {gpu: {of: chip, mtbf: published}}\n"), facts);
  EXPECT_EQ(alone.causes[0].rate, table.causes[0].rate);
  EXPECT_EQ(table.causes[0].count, 16);
  const auto node = run_model(scenario_with(basics + "  failures: published\n", "{node: dgx-h100, nodes: 1}"), facts);
  EXPECT_EQ(node.causes.size(), 2U) << "a node alone has neither switches nor cables";
}

// 1 TB from two hosts at 5 GB/s each is 100 s; the storage at 20 GB/s would take 50 s. Over NICs: 2 x 8 x 50 GB/s.
TEST(RunModel, ACheckpointIsAsSlowAsItsHosts) {
  const std::string failures = "  restart: 0 s\n  failures: {bug: {of: job, mtbf: 50 h}}\n";
  const auto by_host = run_model(
      scenario_with(failures + "  checkpoint: {size: 1 TB, host_bandwidth: 5 GB/s, write_bandwidth: 20 GB/s}\n"),
      facts);
  EXPECT_EQ(by_host.write, Seconds(100));
  const auto by_storage = run_model(
      scenario_with(failures + "  checkpoint: {size: 1 TB, host_bandwidth: 50 GB/s, write_bandwidth: 20 GB/s}\n"),
      facts);
  EXPECT_EQ(by_storage.write, Seconds(50));
  const auto over_nics = run_model(scenario_with(failures + "  checkpoint: {size: 1 TB, over: nics}\n"), facts);
  EXPECT_EQ(over_nics.write, Seconds(1.25));
  // The host that holds two thirds of it needs two thirds of the time of all of it.
  goodput::RunFacts uneven = facts;
  uneven.share_of_writer = 2.0 / 3;
  EXPECT_NEAR(
      run_model(scenario_with(failures + "  checkpoint: {size: 1 TB, host_bandwidth: 5 GB/s}\n"), uneven).write.value(),
      1e12 * 2 / 3 / 5e9, 1e-6);
}

// Parts whose loss comes to the same are one cause; those without which the job cannot go on stop it.
TEST(RunModel, AClassThatDoesNotStopTheJobIsSplitByItsParts) {
  auto simulated = facts;
  simulated.broken = {{{"a", 4, 0.9}, {"b", 8, 0.9}, {"c", 4, 0.0}}};
  const auto model = run_model(
      scenario_with(basics +
                    "  failures:\n    cable: {of: link, count: 16, mtbf: 1600 h, repair: 2 h, stops: false}\n"),
      simulated);
  ASSERT_EQ(model.causes.size(), 2U);
  EXPECT_EQ(model.causes[0].speed, 0.9);
  EXPECT_FALSE(model.causes[0].stops);
  EXPECT_DOUBLE_EQ(model.causes[0].rate, 0.75 / 360e3);
  EXPECT_TRUE(model.causes[1].stops);
  EXPECT_DOUBLE_EQ(model.causes[1].rate, 0.25 / 360e3);
  EXPECT_EQ(model.causes[1].repair, Seconds(7200));
}

std::string problem_of(const std::string& more, const std::string& cluster, goodput::RunFacts of) {
  try {
    (void)run_model(scenario_with(more, cluster), of);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(RunModel, RefusesWhatCannotBe) {
  const std::string bug = "  failures: {bug: {of: job, mtbf: 50 h}}\n";
  const std::string two = "{node: dgx-h100, nodes: 2}";
  EXPECT_EQ(problem_of(basics + "  failures:\n    cable: {of: link, mtbf: 1 h}\n", "{node: dgx-h100, nodes: 1}", facts),
            "test.yaml:10:12: reliability.failures.cable: the cluster has no link; expected count: how many there are, "
            "or another component");
  EXPECT_EQ(problem_of(basics + "  failures: {gpu: {of: chip, mtbf: 8 s}}\n", two, facts),
            "test.yaml:9:19: reliability.failures.gpu: happens every 500.00 ms, more than once in a step of 1.00 s; "
            "expected a longer time between failures of one of the 16");
  EXPECT_EQ(problem_of(basics + "  failures:\n    core: {of: switch, tier: 3, mtbf: 1 h}\n", two, facts),
            "test.yaml:10:11: reliability.failures.core: the cluster has no switch of tier 3; expected count: how many "
            "there are, or another component");
  EXPECT_EQ(problem_of("  restart: 1 s\n  checkpoint: {write_bandwidth: 1 GB/s}\n" + bug, two, facts),
            "test.yaml:7:15: reliability.checkpoint: has no size, and without a model there are no weights to derive "
            "it from; expected size: such as 5 TB");
  EXPECT_EQ(problem_of("  restart: 1 s\n  checkpoint: {size: 1 GB, write_bandwidth: 1 GB/s, interval: 1 s}\n" + bug,
                       two, {0, 8, Seconds(2)}),
            "test.yaml:7:63: reliability.checkpoint.interval: is shorter than a step; expected at least 2.00 s");
  EXPECT_EQ(problem_of("  restart: 1 h\n  checkpoint: {size: 1 GB, write_bandwidth: 1 GB/s}\n  failures: {bug: {of: "
                       "job, mtbf: 2 min}}\n",
                       two, facts),
            "test.yaml:6:3: reliability: the run does not get on: it is interrupted every 2.0 min on average, and most "
            "of its "
            "time goes to recovery; expected longer times between failures, shorter ones to recover");
  EXPECT_EQ(
      problem_of("  restart: 1 s\n  checkpoint: {size: 1 GB, write_bandwidth: 1 GB/s, interval: 1000 years}\n" + bug,
                 two, facts),
      "test.yaml:6:3: reliability: the run does not get on: it is interrupted every 2.1 days on average, and most "
      "of its time goes to work done again; expected a shorter interval between checkpoints, longer times "
      "between failures");
  EXPECT_EQ(
      problem_of("  restart: 1 s\n  checkpoint: {size: 1 GB, write_bandwidth: 1 GB/s}\n  repair: 1e8 years\n"
                 "  elastic: true\n  failures: {gpu: {of: chip, mtbf: 100 h}}\n",
                 two, facts),
      "test.yaml:6:3: reliability: the run does not get on: it is interrupted every 6.2 h on average, and most of "
      "its time goes to missing hosts; expected a shorter repair, or more spares");
}

}  // namespace
}  // namespace lockstep
