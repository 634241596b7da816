// Public traces (tests/data/traces/SOURCES), replayed on their own machines.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <filesystem>

#include "sim/collectives/nccl_size.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/replay/replay.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "workloads/traces/read_traces.hpp"

namespace lockstep::test {
namespace {

spdlog::logger log("test");

workloads::RecordedJob read(const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> files;
  for (const auto& name : names) {
    const auto place = std::filesystem::path(LOCKSTEP_PUBLIC_TRACES) / name;
    if (!std::filesystem::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
  }
  return workloads::read_traces(files);
}

double error(const replay::Replay& replay) { return replay.step / *replay.recorded_step - 1; }

// One rank: nothing waits for others, so only the reasons for starts can be wrong.
TEST(PublicReplays, SingleRanks) {
  for (const std::string name :
       {"hta/nccl_parser_config/nccl_data.json.gz", "train.json", "param/linear_kineto.json.gz",
        "param/resnet_kineto.json.gz", "hta/trace_filter/sampled_rank-0.json.gz"}) {
    const auto replay = replay::replay_job(read({name}), {}, log);
    EXPECT_LT(std::abs(error(replay)), 1e-3) << name;
  }
}

// Eight ranks of DLRM began 0 to 7.5 ms after the first and waited 1.5 to 11 ms of their 12.5 to 20 ms inside
// collectives. All that is thrown away comes back: each rank ends when it did.
TEST(PublicReplays, Dlrm) {
  const auto replay = replay::replay_job(read({"param/dlrm_kineto"}), {}, log);
  ASSERT_EQ(replay.ranks.size(), 8u);
  for (const auto& rank : replay.ranks) {
    EXPECT_LT(std::abs(rank.simulated / *rank.recorded - 1), 0.005) << rank.rank;
    EXPECT_GT(rank.waited.value(), 1e-3);
  }
}

// ASTRA-sim's microbenchmarks take what the cheapest algorithm takes alone; an all-gather of 1 MiB from each of n ranks
// fills n MiB.
TEST(PublicReplays, AstraSimMicrobenchmarks) {
  Problems problems;
  const auto cluster = build_cluster(scenario::parse_cluster("dgx-h100:1", {"test", 0, 0}, "", problems));
  replay::ReplayOptions options;
  options.cluster = &cluster;
  for (const std::string name : {"all_reduce", "all_gather", "all_to_all", "reduce_scatter"}) {
    const auto replay =
        replay::replay_job(read({"examples/workload/microbenchmarks/" + name + "/8npus_1MB"}), options, log);
    ASSERT_EQ(replay.collectives.size(), 1u);
    EXPECT_EQ(replay.collectives[0].kind, name);
    EXPECT_EQ(replay.collectives[0].bytes, Bytes((name == "all_gather" ? 8 : 1) << 20));
    EXPECT_NEAR(replay.step / replay.collectives[0].simulated, 1, 1e-9);
  }
}

}  // namespace
}  // namespace lockstep::test
