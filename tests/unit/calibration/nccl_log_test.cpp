// The output of nccl-tests as it stands in a terminal.
#include "sim/studies/calibration/nccl_log.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lockstep::test {
namespace {

class NcclLog : public testing::Test {
 protected:
  std::vector<calibration::TimedCollective> read(const std::string& text, const calibration::NcclRun& run = {},
                                                 const std::string& name = "run.log") {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    problems_ = Problems();
    return read_nccl_log(folder_ / name, run, problems_);
  }
  ~NcclLog() override { std::filesystem::remove_all(folder_); }
  std::vector<std::string> mistakes() const {
    std::vector<std::string> what;
    for (const auto& problem : problems_.list()) what.push_back(problem.what);
    return what;
  }
  Problems problems_;

 private:
  /// Tests run beside each other.
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("lockstep_nccl_" + std::to_string(::getpid()));
};

std::string ranks(int count, int of_a_host) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
      "validation: 1 graph: 0\n#\n# Using devices\n";
  for (int rank = 0; rank < count; ++rank) {
    text += "#  Rank " + std::to_string(rank) + " Group  0 Pid  " + std::to_string(4000 + rank) + " on   node" +
            std::to_string(rank / of_a_host) + " device  " + std::to_string(rank % of_a_host) +
            " [0000:19:00] NVIDIA H100 80GB HBM3\n";
  }
  return text +
         "#\n#                                                              out-of-place                       "
         "in-place\n"
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
         "busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n";
}

const std::string rows =
    "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    48.00   21.85   38.23     "
    " 0\n"
    "     2097152        524288     float     sum      -1    60.00   34.95   61.17      0    59.00   35.54   62.20     "
    " 0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 49.5\n";

TEST_F(NcclLog, RanksHostsSizesAndTimes) {
  const auto timed = read(ranks(16, 8) + rows, {"all_reduce", 0});
  EXPECT_THAT(mistakes(), testing::IsEmpty());
  ASSERT_EQ(timed.size(), 2U);
  EXPECT_EQ(timed[0].kind, workloads::CollectiveKind::all_reduce);
  EXPECT_EQ(timed[0].ranks, 16);
  EXPECT_EQ(timed[0].nodes, 2);
  EXPECT_EQ(timed[0].size, Bytes(1048576));
  EXPECT_DOUBLE_EQ(timed[0].time.value(), 50e-6);
  EXPECT_DOUBLE_EQ(timed[1].time.value(), 60e-6);
}

// The kind stands in newer logs, or in the file's name; what the caller says comes first.
TEST_F(NcclLog, TheKindIsFoundWhereItStands) {
  EXPECT_EQ(read("# Collective test starting: all_gather_perf\n" + ranks(8, 8) + rows).at(0).kind,
            workloads::CollectiveKind::all_gather);
  EXPECT_EQ(read(ranks(8, 8) + rows, {}, "reduce_scatter.txt").at(0).kind, workloads::CollectiveKind::reduce_scatter);
  EXPECT_EQ(read("# Collective test starting: all_gather_perf\n" + ranks(8, 8) + rows, {"alltoall", 0}).at(0).kind,
            workloads::CollectiveKind::all_to_all);
  EXPECT_TRUE(read(ranks(8, 8) + rows).empty());
  EXPECT_THAT(mistakes(), testing::ElementsAre("does not say which collective ran"));
}

// An all-to-all's printed size is what one rank sends; the array is N times that.
TEST_F(NcclLog, AllToAllsCountWhatARankSends) {
  EXPECT_EQ(read(ranks(8, 8) + rows, {"alltoall", 0}).at(0).size, Bytes(1048576));
}

TEST_F(NcclLog, OlderLogsHaveNoRoot) {
  const auto timed =
      read(ranks(8, 8) +
               "     1048576        262144     float    50.00   20.97   36.70      0    48.00   21.85   38.23      0\n",
           {"all_gather", 0});
  ASSERT_EQ(timed.size(), 1U);
  EXPECT_DOUBLE_EQ(timed[0].time.value(), 50e-6);
}

TEST_F(NcclLog, WhatIsMissingIsSaid) {
  EXPECT_TRUE(read("nothing of the kind\n", {"all_reduce", 0}).empty());
  EXPECT_THAT(mistakes(),
              testing::ElementsAre("has no rows of nccl-tests", "does not say on how many ranks and nodes it ran"));
  EXPECT_TRUE(read(ranks(9, 8) + rows, {"all_reduce", 0}).empty());
  EXPECT_THAT(mistakes(), testing::ElementsAre("9 ranks are not spread evenly over 2 nodes"));
  Problems problems;
  (void)calibration::read_nccl_log("/nowhere/at/all.log", {}, problems);
  EXPECT_FALSE(problems.empty());
}

// Sizes that no whole number of 64 bits holds, and half a byte.
TEST_F(NcclLog, SizesAndTimesOfNothingAreSaid) {
  const auto row = [](const std::string& size, const std::string& micros) {
    return "     " + size + "  262144  float  " + micros + "  20.97   36.70      0    48.00   21.85   38.23      0\n";
  };
  EXPECT_TRUE(
      read(ranks(8, 8) + row("1e300", "50.00") + row("0.5", "50.00") + row("1048576", "1e300"), {"all_to_all", 0})
          .empty());
  EXPECT_THAT(mistakes(),
              testing::ElementsAre("'1e300' is not the size of a collective", "'0.5' is not the size of a collective",
                                   "'1e300' is not the time of a collective", "has no rows of nccl-tests"));
  Problems problems;
  EXPECT_TRUE(
      calibration::read_timed_collectives(
          CsvTable("collective,ranks,nodes,bytes,seconds\nalltoall,1000000,1,2000000000000,1\n", "own.csv", problems))
          .empty());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems.list().front().what, "'2000000000000' is not the size of a collective");
}

}  // namespace
}  // namespace lockstep::test
