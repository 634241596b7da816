// Jobs on the network of two leaves (two_leaves.hpp): gpu1 and gpu2 on leaf1, gpu3 and gpu4 on leaf2, each leaf with a
// cable to each of two spines.
#include "sim/studies/jobs/job_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "sim/simulate.hpp"
#include "tests/unit/scenario/two_leaves.hpp"

namespace lockstep {
namespace {

using jobs::HostShares;
using test::on_two_leaves;
using test::with_uplinks;
using testing::HasSubstr;

/// The job on two of the four hosts, by number from 0.
scenario::Scenario on_hosts(scenario::Scenario scenario, std::vector<topologies::HostId> hosts) {
  scenario.cluster.units = static_cast<int>(hosts.size());
  scenario.batch.sequences = 4;
  std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind).hosts = std::move(hosts);
  return scenario;
}

std::vector<jobs::SharedRun> study(const std::vector<scenario::Scenario>& scenarios, std::vector<HostShares> shares,
                                   Seconds second_start = Seconds(0)) {
  spdlog::logger log("quiet");
  jobs::JobOptions options;
  options.shares = std::move(shares);
  options.steps = 3;
  std::vector<jobs::Job> all;
  for (const auto& scenario : scenarios) all.push_back({scenario, all.empty() ? Seconds(0) : second_start});
  return study_jobs(all, options, log);
}

Seconds step_of(const scenario::Scenario& scenario) {
  spdlog::logger log("quiet");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, log).metrics.step_time;
}

/// On leaves of their own jobs share nothing: every step is that of `lockstep run`.
TEST(JobStudy, JobsOnTheirOwnLeavesDoNotMeet) {
  for (const char* routing : {"spray", "ecmp"}) {
    const auto network = with_uplinks(on_two_leaves(routing), 0.25);
    const auto runs = study({on_hosts(network, {0, 1}), on_hosts(network, {2, 3})}, {HostShares::as_given});
    ASSERT_EQ(runs.size(), 1u);
    for (const auto& job : runs.front().jobs) {
      EXPECT_EQ(job.alone, step_of(on_hosts(network, {0, 1}))) << routing;
      EXPECT_GE(job.steps.size(), 3u) << routing;
      EXPECT_NEAR(job.slowdown(), 0, 1e-12) << routing;
    }
    EXPECT_TRUE(runs.front().links.empty()) << routing;
  }
}

/// Both jobs across the leaves, sprayed over two uplinks of 100 Gb/s a leaf together with a NIC of 400 Gb/s a host:
/// alone a job has 200 Gb/s, together in step each has 100 Gb/s, which is what it has alone where uplinks have half the
/// rate.
TEST(JobStudy, EqualJobsHalveTheUplinks) {
  const auto network = with_uplinks(on_two_leaves("spray"), 0.25);
  const auto runs = study({on_hosts(network, {0, 2}), on_hosts(network, {1, 3})}, {HostShares::as_given});
  const auto half = step_of(on_hosts(with_uplinks(network, 0.5), {0, 2}));
  for (const auto& job : runs.front().jobs) {
    EXPECT_NEAR(job.mean() / half, 1, 1e-9);
    EXPECT_GT(job.slowdown(), 0.1);
  }
  ASSERT_FALSE(runs.front().links.empty());
  const auto& link = runs.front().links.front();
  EXPECT_THAT(link.name, HasSubstr("leaf"));
  EXPECT_NEAR(link.used_by_job[0], link.used_by_job[1], 1e-9);
  EXPECT_GT(link.used(), 0.5);
  EXPECT_LE(link.used(), 1 + 1e-9);
}

/// A link is used by a job for the bytes of its steps: used x rate x time = steps x bytes of a step, here the same for
/// both jobs, so that a job that starts later does not change its share while both run.
TEST(JobStudy, PackedHostsMeetLessThanInterleavedOnes) {
  const auto network = with_uplinks(on_two_leaves("spray"), 0.25);
  const auto runs = study({on_hosts(network, {0, 2}), on_hosts(network, {1, 3})},
                          {HostShares::as_given, HostShares::packed, HostShares::interleaved});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_NEAR(runs[1].jobs.front().slowdown(), 0, 1e-12);
  EXPECT_TRUE(runs[1].links.empty());
  EXPECT_EQ(runs[0].jobs.front().mean(), runs[2].jobs.front().mean());
  EXPECT_NEAR(runs[1].sum_of_relative_steps(runs[1]), 2, 1e-12);
  EXPECT_LT(runs[1].sum_of_relative_steps(runs[2]), 2);
}

/// worst(choice) = max over jobs of mean step / least step alone - 1. The search's choice has the least of all three
/// ways to halve four hosts, each simulated as given.
TEST(JobStudy, TheBestHostsAreTheBestOfAll) {
  const auto network = with_uplinks(on_two_leaves("spray"), 0.25);
  auto large = on_hosts(network, {0, 2});
  large.batch.sequences = 16;
  const auto small = on_hosts(network, {1, 3});
  const auto moved = [](scenario::Scenario scenario, std::vector<topologies::HostId> hosts) {
    std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind).hosts = std::move(hosts);
    return scenario;
  };
  const auto best = study({large, small}, {HostShares::best}).front();
  ASSERT_TRUE(best.search.has_value());
  const auto worst = [&](const jobs::SharedRun& run) {
    double most = -1;
    for (std::size_t job = 0; job < 2; ++job) most = std::max(most, run.jobs[job].mean() / best.search->alone[job] - 1);
    return most;
  };
  double least = 1e9;
  for (const int other : {1, 2, 3}) {
    std::vector<topologies::HostId> rest;
    for (const int host : {1, 2, 3}) {
      if (host != other) rest.push_back(host);
    }
    const auto run = study({moved(large, {0, other}), moved(small, rest)}, {HostShares::as_given}).front();
    least = std::min(least, worst(run));
    for (std::size_t job = 0; job < 2; ++job) EXPECT_GE(run.jobs[job].alone, best.search->alone[job]);
  }
  EXPECT_NEAR(worst(best), least, 1e-12);
  EXPECT_EQ(best.beyond_best_alone(0), best.jobs[0].mean() / best.search->alone[0] - 1);
  EXPECT_GT(worst(study({large, small}, {HostShares::as_given}).front()), least + 0.01);
}

/// While one job computes the other has the links for itself, so a start in between makes neither slower than in step.
TEST(JobStudy, JobsOutOfStepAreNotSlower) {
  const auto network = with_uplinks(on_two_leaves("spray"), 0.25);
  const std::vector<scenario::Scenario> both{on_hosts(network, {0, 2}), on_hosts(network, {1, 3})};
  const auto in_step = study(both, {HostShares::as_given}).front();
  const auto apart = study(both, {HostShares::as_given}, 0.4 * in_step.jobs.front().alone).front();
  for (std::size_t job = 0; job < 2; ++job) EXPECT_LE(apart.jobs[job].slowdown(), in_step.jobs[job].slowdown() + 1e-9);
  EXPECT_EQ(apart.from, 0.4 * in_step.jobs.front().alone);
}

TEST(JobStudy, RefusesWhatCannotShareANetwork) {
  const auto network = on_two_leaves("spray");
  EXPECT_THAT(test::refused([&] {
                study({on_hosts(network, {0, 2}), on_hosts(network, {2, 3})}, {HostShares::packed});
              }),
              HasSubstr("host gpu3 is also one of small.yaml [hosts that no other job has]"));
  EXPECT_THAT(test::refused([&] {
                study({on_hosts(network, {0, 2}), test::small_scenario()}, {HostShares::packed});
              }),
              HasSubstr("cluster.graph: missing: jobs meet on the network of a file"));
  EXPECT_THAT(test::refused([&] {
                study({on_hosts(network, {0, 2}), on_hosts(with_uplinks(network, 0.5), {1, 3})}, {HostShares::packed});
              }),
              HasSubstr("cluster.graph: is another network than that of small.yaml"));
  EXPECT_THAT(test::refused([&] {
                study({on_hosts(network, {0, 2}), on_hosts(on_two_leaves("ecmp"), {1, 3})}, {HostShares::packed});
              }),
              HasSubstr("cluster.routing: is another than that of small.yaml"));
  auto slower = on_hosts(network, {1, 3});
  slower.cluster.fabric.efficiency = 0.5;
  EXPECT_THAT(test::refused([&] {
                study({on_hosts(network, {0, 2}), slower}, {HostShares::as_given});
              }),
              HasSubstr("another rate than the jobs before it do"));
}

}  // namespace
}  // namespace lockstep
