// Public traces (tests/data/traces/SOURCES), replayed on their own machines.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <filesystem>

#include "sim/collectives/nccl_size.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/simulate.hpp"
#include "sim/studies/replay/replay.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "workloads/traces/named_collectives.hpp"
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
        "param/resnet_kineto.json.gz", "hta/trace_filter/sampled_rank-0.json.gz",
        "hta/trace_filter/sampled_rank-1.json.gz", "hta/trace_diff/control/control.json.gz",
        "hta/trace_diff/test/test.json.gz", "hta/df_index_resolver/df_index_resolver.json.gz",
        "hta/negative_queue_length_values_check/rank0.json.gz",
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz"}) {
    const auto replay = replay::replay_job(read({name}), {}, log);
    EXPECT_LT(std::abs(error(replay)), 1e-3) << name;
  }
}

// A ResNet of two ranks beside what its host called: both have the same 21 collectives, in the same order, and their
// sizes. On one node of eight H100 its gradients take less than they did.
TEST(PublicReplays, ResnetWithItsExecutionTrace) {
  const auto job =
      read({"hta/nccl_parser_config/nccl_data.json.gz", "param/1.1.0-chakra.0.0.4/resnet_2gpu_et.json.gz"});
  ASSERT_EQ(job.ranks.size(), 1u);
  EXPECT_EQ(job.ranks[0].collectives.count(), 21);
  Problems problems;
  const auto cluster = build_cluster(scenario::parse_cluster("dgx-h100:1", {"test", 0, 0}, "", problems));
  replay::ReplayOptions options;
  options.cluster = &cluster;
  const auto replay = replay::replay_job(job, options, log);
  for (const auto& row : replay.collectives) {
    if (row.kind == "all_reduce" && row.bytes > Bytes(1'000'000)) EXPECT_LT(row.simulated, row.recorded);
  }
  EXPECT_LE(replay.step, *replay.recorded_step * 1.001);
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

// The same traces beside what their hosts called: collectives agree one by one.
TEST(PublicReplays, DlrmWithExecutionTraces) {
  const auto alone = read({"param/dlrm_kineto"});
  const auto both = read({"param/dlrm_kineto", "param/dlrm_pytorch_et"});
  ASSERT_EQ(both.ranks.size(), 8u);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    for (const auto id : both.ranks[rank].collectives.ids()) {
      EXPECT_EQ(both.ranks[rank].collectives[id].kind, alone.ranks[rank].collectives[id].kind);
      EXPECT_EQ(both.ranks[rank].collectives[id].buffer, alone.ranks[rank].collectives[id].buffer);
    }
  }
}

// On another network every stream's time is accounted for, recorded and replayed: kernels, collectives and the reasons
// for standing still add up to its end. So they explain the difference between the two.
TEST(PublicReplays, DlrmOnAnotherNetworkIsExplained) {
  Problems problems;
  const auto cluster = build_cluster(scenario::parse_cluster("dgx-a100:1", {"test", 0, 0}, "", problems));
  replay::ReplayOptions options;
  options.cluster = &cluster;
  const auto replay = replay::replay_job(read({"param/dlrm_kineto"}), options, log);
  const auto sum = [](const replay::StreamShares& shares) {
    return shares.kernels + shares.collectives + shares.launches + shares.streams + shares.ranks + shares.unexplained;
  };
  Seconds recorded(0), simulated(0);
  for (const auto& row : replay.collectives) {
    if (row.kind != "all_to_all") continue;
    recorded += row.recorded;
    simulated += row.simulated;
  }
  EXPECT_GT(std::abs(simulated / recorded - 1), 0.1) << "another network";
  for (const auto& rank : replay.ranks) {
    for (const auto& stream : rank.streams) {
      if (stream.name == "host") continue;
      EXPECT_NEAR(sum(stream.recorded).value(), (stream.recorded_end - rank.later).value(), 2e-6) << stream.name;
      EXPECT_NEAR(sum(stream.simulated).value(), (stream.simulated_end - rank.later).value(), 2e-6) << stream.name;
    }
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

// ASTRA-sim's ring of eight: in each of 14 steps every rank sends an eighth of 1 MiB to the next; 7 of the steps are
// followed by 7 us of adding up. All ranks send at once over links of their own: 14 transfers and 49 us.
TEST(PublicReplays, AstraSimCustomRing) {
  const std::string folder = "examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB";
  std::vector<std::string> files;
  for (int rank = 0; rank < 8; ++rank) files.push_back(folder + "/custom_allreduce." + std::to_string(rank) + ".et");
  const auto job = read(files);
  for (const auto& rank : job.ranks) EXPECT_EQ(workloads::counts(rank).collectives, 28);
  Problems problems;
  const auto cluster = build_cluster(scenario::parse_cluster("dgx-h100:1", {"test", 0, 0}, "", problems));
  replay::ReplayOptions options;
  options.cluster = &cluster;
  const auto replay = replay::replay_job(job, options, log);
  ASSERT_EQ(replay.collectives.size(), 1u);
  EXPECT_EQ(replay.collectives[0].count, 8 * 14);
  EXPECT_EQ(replay.collectives[0].bytes, Bytes(1 << 17));
  const auto one = replay.collectives[0].simulated / static_cast<double>(8 * 14);
  EXPECT_NEAR(replay.step / (one * 14.0 + Seconds(49e-6)), 1, 1e-9);
}

/// The pair of a forward and a backward that a scenario's schedule overlaps, from its first operation to its last.
Seconds pair_of(const std::string& file) {
  const auto scenario = scenario::load_scenario(scenario::data_root() / "scenarios" / file);
  SimulateOptions options;
  options.engine = engine::EngineKind::reference;
  const auto simulation = simulate(scenario, options, log);
  Seconds first(1e9), last(0);
  for (std::int32_t id = 0; id < simulation.run.timeline.ops(); ++id) {
    if (simulation.preparation.step.op(simulation.program.ops[id].vertex).pair == 0) continue;
    const auto span = simulation.run.timeline.span(id, 0);
    first = std::min(first, span.start);
    last = std::max(last, span.end);
  }
  return last - first;
}

// DeepSeek's profile from its first kernel to its last, without the pauses above 100 us that nothing explains, is the
// pair of the scenario that was cut from it by hand, which has no pauses either.
TEST(PublicReplays, DeepSeekIsTheScenarioCutByHand) {
  replay::ReplayOptions options;
  options.longest_pause = Seconds(100e-6);
  const auto replay = replay::replay_job(read({"train.json"}), options, log);
  const auto kernels = replay.step - replay.ranks[0].first;
  EXPECT_NEAR(kernels / pair_of("deepseek-v3-pair.yaml"), 1, 0.005);
}

// Its dispatches and combines as all-to-alls of 4096 tokens to 8 experts on 64 ranks, 7168 values of 1 byte and their
// scales there, of 2 bytes back: on 800 Gb/s they take less than on 400, and the step no more.
TEST(PublicReplays, DeepSeekOnOtherNetworks) {
  auto job = read({"train.json"});
  Problems problems;
  const auto list =
      YamlView::from_text(R"([{kernels: "internode::dispatch", kind: all_to_all, bytes: 242 MB, copies: [8, 8, 4]},
{kernels: "internode::combine", kind: all_to_all, bytes: 470 MB, copies: [8, 8, 4]}])",
                          "named", problems);
  workloads::name_collectives(list, job);
  problems.throw_if_any();
  std::vector<Seconds> steps, exchanges;
  for (const std::string rate : {"400", "800"}) {
    const auto scenario = scenario::scenario_of_text(
        "{format: 1, model: {type: two-matmul, layers: 1, d_model: 64, d_ff: 128}, parallel: {data: 64}, batch: "
        "{sequences: "
        "64, sequence_length: 8}, cluster: {node: {like: dgx-h100, nics: {count: 8, rate: " +
            rate + " Gbps, pcie: 128 GB/s}}, nodes: 8, fabric: {like: infiniband-ndr-rail, link: " + rate + " Gbps}}}",
        "net", "");
    const auto cluster = preparation::cluster_of(scenario);
    replay::ReplayOptions options;
    options.cluster = &cluster;
    const auto replay = replay::replay_job(job, options, log);
    steps.push_back(replay.step);
    exchanges.push_back(replay.collectives[0].simulated + replay.collectives[1].simulated);
  }
  EXPECT_LT(exchanges[1] * 1.4, exchanges[0]);
  EXPECT_LE(steps[1], steps[0]);
}

}  // namespace
}  // namespace lockstep::test
