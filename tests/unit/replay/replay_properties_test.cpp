// What must hold of every replay, on random small jobs: ranks with kernels of whole microseconds and collectives of all
// ranks, of which some kernels wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/program/fold.hpp"
#include "sim/studies/replay/replay_program.hpp"
#include "tests/unit/replay/hand_job.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// From `least` to `most`; the same on every machine.
  std::int32_t between(std::int32_t least, std::int32_t most) {
    return least + static_cast<std::int32_t>(engine_() % static_cast<std::uint32_t>(most - least + 1));
  }

 private:
  std::mt19937 engine_;
};

/// As a machine records it: a collective begins on each rank when that rank is ready and ends on all when the last to
/// come has had it for its time. Every second rank does the same as the one before it where `alike`. Clocks differ.
Job recorded_job(std::uint32_t seed, bool dated, bool alike = false) {
  Random random(seed);
  const auto ranks = 2 * random.between(1, 3);
  const auto rounds = random.between(1, 5);
  Job made(ranks);
  std::vector<double> ready, clock;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    clock.push_back(rank == 0 ? 0 : random.between(0, 1000));
    ready.push_back(random.between(0, 40));
  }
  if (!dated) std::fill(ready.begin(), ready.end(), 0);
  std::vector<double> joined = ready;
  for (std::int32_t round = 0; round < rounds; ++round) {
    std::vector<double> called;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const double duration = alike && rank % 2 == 1 ? ready[at - 1] - joined[at - 1] : random.between(5, 90);
      auto& kernel = dated ? made.kernel_at(at, clock[at] + ready[at], duration) : made.kernel(at, duration * 1e-6);
      if (round > 0) kernel.after = {2 * round - 1};
      joined[at] = ready[at];
      ready[at] += duration;
      called.push_back(ready[at]);
    }
    const double end = *std::max_element(called.begin(), called.end()) + random.between(5, 60);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      auto& collective = dated ? made.collective_at(at, clock[at] + called[at], end - called[at])
                               : made.collective(at, (end - called[at]) * 1e-6);
      collective.after = {2 * round};
      made.last(at).buffer = Bytes(1'000'000 * (1 + round));
      ready[at] = end;
    }
  }
  return made;
}

constexpr std::uint32_t jobs = 60;

// On the recorded machine every rank ends when it did: replayed = recorded, rank by rank, with nothing unexplained.
TEST(ReplayProperties, TheRecordedMachineTakesTheRecordedTimes) {
  for (std::uint32_t seed = 0; seed < jobs; ++seed) {
    const auto replay = recorded_job(seed, true).run();
    ASSERT_TRUE(replay.recorded_step);
    EXPECT_NEAR(replay.step.value(), replay.recorded_step->value(), 1e-11) << seed;
    for (const auto& rank : replay.ranks) {
      EXPECT_NEAR(rank.simulated.value(), rank.recorded->value(), 1e-11) << seed << " rank " << rank.rank;
      EXPECT_NEAR(rank.gaps.unexplained.value(), 0, 1e-11) << seed;
      EXPECT_GE(rank.waited.value(), -1e-15) << seed;
    }
  }
}

// A faster clock is never slower, nor faster than its factor: step / c <= step at c <= step.
TEST(ReplayProperties, AFasterClockIsNeverSlower) {
  for (std::uint32_t seed = 0; seed < jobs; ++seed) {
    const auto made = recorded_job(seed, seed % 2 == 0);
    const double step = made.run().step.value();
    double before = step;
    for (const double clock : {1.25, 2.0, 8.0}) {
      replay::ReplayOptions options;
      options.clock = clock;
      const double now = made.run(options).step.value();
      EXPECT_LT(now, before) << seed;
      EXPECT_GE(now, step / clock - 1e-12) << seed;
      before = now;
    }
  }
}

// The order in which ranks are listed is no property of the job: turned round, each rank ends when it did before.
TEST(ReplayProperties, TheOrderOfRanksDoesNotMatter) {
  for (std::uint32_t seed = 0; seed < jobs; ++seed) {
    auto made = recorded_job(seed, seed % 2 == 0);
    const auto before = made.run();
    std::reverse(made.job.ranks.begin(), made.job.ranks.end());
    const auto after = made.run();
    EXPECT_NEAR(after.step.value(), before.step.value(), 1e-11) << seed;
    for (std::size_t i = 0; i < before.ranks.size(); ++i) {
      const auto& same = after.ranks[before.ranks.size() - 1 - i];
      EXPECT_EQ(same.rank, before.ranks[i].rank);
      EXPECT_NEAR(same.simulated.value(), before.ranks[i].simulated.value(), 1e-11) << seed;
      EXPECT_NEAR(same.later.value(), before.ranks[i].later.value(), 1e-11) << seed;
      EXPECT_NEAR(same.waited.value(), before.ranks[i].waited.value(), 1e-11) << seed;
    }
  }
}

// A job on a ring of chips takes the same whether ranks that do the same are folded into one or not.
TEST(ReplayProperties, FoldedIsUnfolded) {
  spdlog::logger log("test");
  std::int32_t folds = 0;
  for (std::uint32_t seed = 0; seed < jobs; ++seed) {
    const auto made = recorded_job(seed, false, true);
    const auto cluster = torus({static_cast<int>(made.job.ranks.size())}, always);
    replay::ReplayOptions options;
    options.cluster = &cluster;
    std::vector<replay::RankWork> works;
    for (const auto& rank : made.job.ranks) works.push_back(replay::work_of(rank, false));
    const auto written = replay_program(made.job, works, replay::matched_collectives(made.job, works), options);
    const auto folded = program::fold(written.program);
    const auto whole = program::unfolded(written.program);
    folds += folded.ranks.count() < whole.ranks.count() ? 1 : 0;
    const engine::EngineOptions engine{engine::EngineKind::max_min, {}, false};
    const auto small = engine::run(folded.program, engine, log), large = engine::run(whole.program, engine, log);
    for (topologies::RankId rank = 0; rank < written.program.ranks(); ++rank) {
      for (const auto op : written.operations[static_cast<std::size_t>(rank)]) {
        EXPECT_NEAR(small.timeline.span(op, folded.ranks.class_of_rank[rank]).end.value(),
                    large.timeline.span(op, rank).end.value(), 1e-12)
            << seed;
      }
    }
  }
  EXPECT_GT(folds, 0) << "no job had ranks to fold";
}

}  // namespace
}  // namespace lockstep::test
