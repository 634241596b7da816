// Public traces (tests/data/traces/SOURCES) as they are: the counts, bytes and durations that other programs find in
// them (jq and a reader of forty lines). Their folder is cmake -DLOCKSTEP_PUBLIC_TRACES=FOLDER.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "workloads/traces/read_traces.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;
using workloads::RecordedEvent;

workloads::RecordedJob read(const std::vector<std::string>& names) {
  std::vector<std::filesystem::path> files;
  for (const auto& name : names) files.push_back(std::filesystem::path(LOCKSTEP_PUBLIC_TRACES) / name);
  return workloads::read_traces(files);
}

std::map<CollectiveKind, int> kinds(const workloads::RecordedRank& rank) {
  std::map<CollectiveKind, int> kinds;
  for (const auto& collective : rank.collectives) {
    if (collective.kind) ++kinds[*collective.kind];
  }
  return kinds;
}

using Kinds = std::map<CollectiveKind, int>;

// 3,643 COMP nodes (most of the host) and 21 COLL, of which 7 on the device with comm_type: 5 all-reduces, 2
// broadcasts; 381,795 us in all; 181,878 data dependences and 3,664 control dependences, which go round in circles with
// those.
TEST(PublicTraces, ChakraFeeder) {
  const auto job = read({"tests/data/chakra.0.et"});
  const auto& rank = job.ranks[0];
  const auto counts = workloads::counts(rank);
  EXPECT_EQ(rank.events.count(), 3664);
  EXPECT_EQ(counts.collectives, 7);
  EXPECT_EQ(kinds(rank), (Kinds{{CollectiveKind::all_reduce, 5}, {CollectiveKind::broadcast, 2}}));
  Seconds sum(0);
  for (const auto& event : rank.events) sum += event.duration;
  EXPECT_NEAR(sum.value(), 381795e-6, 1e-9);
  EXPECT_EQ(counts.dependences, 181'878);
  EXPECT_THAT(job.guessed, testing::Contains(testing::HasSubstr("in circles")));
}

TEST(PublicTraces, ChakraJson) {
  const auto whole = read({"jsonData/chakra.0.json"});
  EXPECT_EQ(whole.ranks[0].events.count(), 3664);
  EXPECT_EQ(workloads::counts(whole.ranks[0]).collectives, 7);
  const auto small = read({"jsonData/small_chakra.0.json"});
  EXPECT_EQ(small.ranks[0].events.count(), 7);
  EXPECT_EQ(workloads::counts(small.ranks[0]).collectives, 1);
}

// ASTRA-sim's microbenchmarks: one collective of 1 MiB on each rank.
TEST(PublicTraces, AstraSimMicrobenchmarks) {
  const std::map<std::string, CollectiveKind> of_name = {{"all_reduce", CollectiveKind::all_reduce},
                                                         {"all_gather", CollectiveKind::all_gather},
                                                         {"all_to_all", CollectiveKind::all_to_all},
                                                         {"reduce_scatter", CollectiveKind::reduce_scatter}};
  for (const auto& [name, kind] : of_name) {
    for (const int ranks : {4, 8, 16}) {
      std::vector<std::string> files;
      for (int rank = 0; rank < ranks; ++rank)
        files.push_back("examples/workload/microbenchmarks/" + name + "/" + std::to_string(ranks) + "npus_1MB/" + name +
                        "." + std::to_string(rank) + ".et");
      const auto job = read(files);
      EXPECT_EQ(job.world, ranks);
      for (const auto& rank : job.ranks) {
        ASSERT_EQ(rank.collectives.count(), 1);
        EXPECT_EQ(rank.collectives[0].kind, kind);
        EXPECT_EQ(rank.collectives[0].buffer, Bytes(1 << 20));
      }
    }
  }
}

// 2,700 kernels, of which 21 of NCCL: 15 all-reduces and 6 broadcasts among ranks 0 and 1; 960 copies and 114 fills.
TEST(PublicTraces, KinetoWithArguments) {
  const auto job = read({"hta/nccl_parser_config/nccl_data.json.gz"});
  const auto& rank = job.ranks[0];
  const auto counts = workloads::counts(rank);
  EXPECT_EQ(job.world, 2);
  EXPECT_EQ(counts.kernels, 2700 - 21);
  EXPECT_EQ(counts.collectives, 21);
  EXPECT_EQ(counts.copies, 960 + 114);
  EXPECT_EQ(kinds(rank), (Kinds{{CollectiveKind::all_reduce, 15}, {CollectiveKind::broadcast, 6}}));
  EXPECT_EQ(rank.steps.size(), 3u);
  for (const auto& event : rank.events) {
    if (event.kind == RecordedEvent::Kind::collective) {
      EXPECT_TRUE(rank.collectives[event.collective].buffer);
    }
  }
}

// What a reader of a few lines of Python counts in them: kernels, copies, kernels of NCCL, marked steps, and the sum of
// the durations of the rank's own kernels in whole microseconds.
TEST(PublicTraces, OtherKinetoTraces) {
  struct Known {
    std::string file;
    std::int64_t kernels, copies, collectives, steps;
    double micros;
  };
  const std::string paths = "hta/critical_path/", alexnet = "benchmark_result_2869224_1695835535_trace.json.gz";
  const std::vector<Known> all = {
      {"hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 4350, 1745, 0, 5, 468154},
      {"hta/negative_queue_length_values_check/rank0.json.gz", 6000, 1667, 80, 5, 211100},
      {"hta/trace_filter/sampled_rank-0.json.gz", 1144, 50, 10, 2, 210320},
      {"hta/trace_filter/sampled_rank-1.json.gz", 1094, 50, 10, 2, 271973},
      {"hta/trace_diff/control/control.json.gz", 8508, 882, 60, 6, 283278},
      {"hta/trace_diff/test/test.json.gz", 9812, 5756, 64, 6, 550517},
      {"hta/df_index_resolver/df_index_resolver.json.gz", 17350, 2920, 2020, 5, 620516},
      {paths + "alexnet/" + alexnet, 79, 19, 0, 0, 10692},
      {paths + "simple_add/benchmark_result_493459_1694039959_trace.json.gz", 79, 19, 0, 0, 10728},
      {paths + "cuda_event_sync/event_sync_trace.json.gz", 4, 1, 0, 1, 49},
      {paths + "cuda_event_sync_multi_stream/event_sync_trace.json.gz", 3, 3, 0, 0, 369},
      {"hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 14, 2, 0, 2, 111},
      {"param/linear_kineto.json.gz", 8716, 1640, 0, 0, 369343},
      {"param/resnet_kineto.json.gz", 9628, 485, 0, 0, 4103141}};
  for (const auto& known : all) {
    const auto job = read({known.file});
    const auto counts = workloads::counts(job.ranks[0]);
    EXPECT_EQ(counts.kernels, known.kernels) << known.file;
    EXPECT_EQ(counts.copies, known.copies) << known.file;
    EXPECT_EQ(counts.collectives, known.collectives) << known.file;
    EXPECT_EQ(std::ssize(job.ranks[0].steps), known.steps) << known.file;
    EXPECT_NEAR(counts.kernel_time.value() * 1e6, known.micros, 1) << known.file;
  }
}

// Host traces without collectives, and traces of other chips' hosts, have nothing to replay.
TEST(PublicTraces, NothingToReplay) {
  for (const std::string name : {"param/linear_et.json.gz", "hta/rank_non_gpu/rank_non_gpu.json.gz",
                                 "hta/mtia_trace_single_rank/mtia_rank_0.json.gz"}) {
    try {
      (void)read({name});
      FAIL() << name;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("the trace has neither kernels nor collectives")) << name;
    }
  }
}

// Eight ranks of DLRM: on each 5 all-to-alls and 3 all-reduces, whose sizes stand on annotations of the host.
TEST(PublicTraces, Dlrm) {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(LOCKSTEP_PUBLIC_TRACES) / "param/dlrm_kineto"))
    files.push_back("param/dlrm_kineto/" + entry.path().filename().string());
  const auto job = read(files);
  ASSERT_EQ(job.ranks.size(), 8u);
  EXPECT_EQ(job.world, 8);
  for (const auto& rank : job.ranks) {
    EXPECT_EQ(kinds(rank), (Kinds{{CollectiveKind::all_reduce, 3}, {CollectiveKind::all_to_all, 5}})) << rank.rank;
    for (const auto& collective : rank.collectives) EXPECT_TRUE(collective.buffer);
  }
  // Rank 0's first all-to-all: 6144 floats; its all-reduces in order 394241, 112 and 226960 floats.
  EXPECT_EQ(job.ranks[0].collectives[0].buffer, Bytes(6144 * 4));
  std::vector<std::int64_t> reduced;
  for (const auto& collective : job.ranks[0].collectives) {
    if (collective.kind == CollectiveKind::all_reduce) reduced.push_back(collective.buffer->value() / 4);
  }
  EXPECT_THAT(reduced, testing::UnorderedElementsAre(394241, 112, 226960));
}

// 14,392 nodes, of which 27 record_param_comms with arguments but those that only wait: 15 all-reduces, 6 broadcasts.
TEST(PublicTraces, ExecutionTraces) {
  const auto two = read({"param/1.1.0-chakra.0.0.4/resnet_2gpu_et.json.gz"});
  EXPECT_EQ(kinds(two.ranks[0]), (Kinds{{CollectiveKind::all_reduce, 15}, {CollectiveKind::broadcast, 6}}));
  const auto dlrm = read({"param/dlrm_pytorch_et/dlrm_eg_0.json"});
  EXPECT_EQ(kinds(dlrm.ranks[0]), (Kinds{{CollectiveKind::all_reduce, 3}, {CollectiveKind::all_to_all, 5}}));
}

// DeepSeek's profile: 963 kernels, 8 copies and 12 fills; none is NCCL's, since its all-to-alls are kernels of its own.
TEST(PublicTraces, DeepSeek) {
  const auto job = read({"train.json"});
  const auto counts = workloads::counts(job.ranks[0]);
  EXPECT_EQ(job.world, 64);
  EXPECT_EQ(counts.kernels, 963);
  EXPECT_EQ(counts.copies, 20);
  EXPECT_EQ(counts.collectives, 0);
}

}  // namespace
}  // namespace lockstep::test
