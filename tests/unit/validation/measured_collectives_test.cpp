// Measured collectives: what a row says, where its machine stands, errors by network. nccl-tests: busbw = size / time x
// 2 (N-1)/N for an all-reduce.
#include "sim/studies/validation/measured_collectives.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string header =
    "collective,chip,n_ranks,nodes,intra_net,inter_net,size_bytes,time_us,algbw_gbs,busbw_gbs,source,verified,notes\n";
const std::filesystem::path catalog = std::filesystem::path(source_dir) / "topologies/catalog";

std::vector<validation::MeasuredCollective> rows_of(const std::string& rows, Problems& problems) {
  const CsvTable table(header + rows, "own.csv", problems);
  EXPECT_TRUE(validation::has_collective_columns(table));
  return validation::read_measured_collectives(table, "own", problems);
}

// 1 GiB at a bus bandwidth of 350 GB/s on 8 ranks: 2^30 x 14/8 / 350e9 s; at an algorithm's of 200: 2^30 / 200e9. Zeros
// are bandwidths of short messages, rounded.
TEST(MeasuredCollectiveRows, TimesComeFromBandwidths) {
  Problems problems;
  const auto rows = rows_of(
      "all_reduce,dgx-h100,8,1,,,1073741824,,,350,s,read,\nall_reduce,dgx-h100,8,1,,,1073741824,,200,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,33.4,0.00,0.00,s,read,\n",
      problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows[0].seconds, 1073741824.0 * 14 / 8 / 350e9, 1e-15);
  EXPECT_NEAR(rows[1].seconds, 1073741824.0 / 200e9, 1e-15);
  EXPECT_NEAR(rows[2].seconds, 33.4e-6, 1e-18);
  EXPECT_EQ(rows[2].where.line, 4);
}

/// The columns that problems name, in the order of their places.
std::vector<std::string> keys_of(const std::function<void()>& read) {
  std::vector<std::string> keys;
  try {
    read();
  } catch (const ConfigError& error) {
    for (const auto& problem : error.problems()) keys.push_back(std::to_string(problem.where.line) + " " + problem.key);
  }
  return keys;
}

TEST(MeasuredCollectiveRows, EveryMistakeHasItsPlace) {
  Problems problems;
  const auto rows = rows_of(
      "all_reduce,dgx-h100,1,1,,,8,33,,,s,read,\nall_reduce,dgx-h100,8,1,,,1e18,33,,,s,read,\n"
      "psum,dgx-h100,8,1,,,8,33,,,s,read,\nall_reducer,dgx-h100,8,1,,,8,33,,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,0,,,s,read,\nall_reduce,dgx-h100,8,1,,,8,-1,,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,nan,,,s,read,\nall_reduce,dgx-h100,8,1,,,8,,,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,,0.00,,s,read,\nall_reduce,dgx-h100,65537,1,,,8,33,,,s,read,\n"
      "all_reduce,dgx-h100,8,65537,,,8,33,,,s,read,\nall_reduce,,8,1,,,,33,,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,1e30,,,s,read,\n",
      problems);
  EXPECT_TRUE(rows.empty());
  EXPECT_THAT(
      keys_of([&] { problems.throw_if_any(); }),
      ElementsAre("2 n_ranks", "3 size_bytes", "4 collective", "5 collective", "6 time_us", "7 time_us", "8 time_us",
                  "9 time_us", "10 time_us", "11 n_ranks", "12 nodes", "13 chip", "13 size_bytes", "14 time_us"));
}

// Machines that the catalog does not have, each once.
TEST(MeasuredCollectiveRows, EveryUnknownMachineIsTold) {
  Problems problems;
  const auto rows = rows_of(
      "all_reduce,abacus,8,1,,,8,33,,,s,read,\nall_reduce,dgx-h100,9,1,,,8,33,,,s,read,\n"
      "all_reduce,dgx-h100,15,2,,,8,33,,,s,read,\nall_reduce,abacus,8,1,,,16,33,,,s,read,\n"
      "all_reduce,TPU v9,8,1,,,8,33,,,s,read,\nall_reduce,tpu-v5e,512,1,,,8,33,,,s,read,\n",
      problems);
  problems.throw_if_any();
  EXPECT_THAT(keys_of([&] { (void)validation::validate_collectives(rows, catalog); }),
              ElementsAre("2 chip", "3 n_ranks", "4 n_ranks", "6 chip", "7 n_ranks"));
}

// A row that its table leaves out is not read; spellings of nccl-tests and of this program are one; a table needs one
// column of times and no machine's network.
TEST(MeasuredCollectiveRows, SpellingsAndColumns) {
  Problems problems;
  const CsvTable table(
      "collective,chip,n_ranks,size_bytes,time_us,left_out\nalltoall,dgx-h100,8,8,33,\nall_to_all,dgx-h100,8,8,33,\n"
      "psum,x,1,0,0,what it counts is not said\nreduce_scatter_perf,dgx-h100,8,8,33,\n",
      "own.csv", problems);
  EXPECT_TRUE(validation::has_collective_columns(table));
  const auto rows = validation::read_measured_collectives(table, "own", problems);
  problems.throw_if_any();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].kind, workloads::CollectiveKind::all_to_all);
  EXPECT_EQ(rows[1].kind, workloads::CollectiveKind::all_to_all);
  EXPECT_EQ(rows[2].kind, workloads::CollectiveKind::reduce_scatter);
  const CsvTable without("collective,chip,n_ranks,size_bytes\nalltoall,dgx-h100,8,8\n", "own.csv", problems);
  EXPECT_TRUE(validation::read_measured_collectives(without, "own", problems).empty());
  EXPECT_EQ(problems.size(), 1U);
}

// A ring of X chips with two links of W one way each: an all-gather of V takes V (X-1)/X / (2 W) and more. TPU v4 and
// v5e have 45 GB/s a link, v5p and v6e 90, TPU7x 100; every chip is on its own slice. A slice of 8 is 2 x 2 x 2 or, of
// two axes, 2 x 4.
TEST(MeasuredCollectiveRows, TpusAreTheirOwn) {
  Problems problems;
  const double size = 16.0 * (1 << 30);
  const auto rows = rows_of(
      "all_gather (1 axis of 4x4x4),TPU v4,4,,,,17179869184,1000,,,s,,\n"
      "all_gather (16-ring axis of 8x16),tpu-v5e,16,,,,17179869184,1000,,,s,,\n"
      "all_gather (1 axis of 4x4x4),TPU v5p,4,,,,17179869184,1000,,,s,,\n"
      "all_gather (16-ring axis of 8x16),TPU v6e-128,16,,,,17179869184,1000,,,s,,\n"
      "all_gather (1 axis of 4x4x4),TPU7x (Ironwood),4,,,,17179869184,1000,,,s,,\n"
      "all_gather,tpu-v5p,64,,,,17179869184,1000,,,s,,\nall_gather,TPU v5p,8,,,,17179869184,1000,,,s,,\n",
      problems);
  problems.throw_if_any();
  const auto made = validation::validate_collectives(rows, catalog);
  ASSERT_EQ(made.size(), 7U);
  const double links[] = {45e9, 45e9, 90e9, 90e9, 100e9};
  for (std::size_t i = 0; i < 5; ++i) {
    const double x = rows[i].ranks;
    EXPECT_NEAR(made[i].predicted_s / (size * (x - 1) / x / (2 * links[i])), 1, 0.01) << rows[i].chip;
  }
  EXPECT_EQ(made[0].network, "ICI of tpu-v4");
  EXPECT_EQ(made[4].network, "ICI of tpu-v7x");
  EXPECT_LT(made[5].predicted_s, made[2].predicted_s / 2) << "a cube has three axes";
  EXPECT_NE(made[6].predicted_s, made[5].predicted_s);
}

// A node of the catalog by its name, alone and in pairs; a whole node where the row says that NVLS is off has no switch
// that adds up.
TEST(MeasuredCollectiveRows, MachinesByNameOrByWords) {
  Problems problems;
  const auto made = validation::validate_collectives(
      rows_of(
          "all_reduce,dgx-h100,8,1,,,1073741824,4000,,,s,read,\nall_reduce,dgx-h100,16,2,,,1073741824,4000,,,s,read,\n"
          "all_reduce,H100 8x,8,1,,,1073741824,4000,,,s,read,NVLS off\n",
          problems),
      catalog);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[0].network, "dgx-h100");
  EXPECT_THAT(made[0].choice, HasSubstr("in-network"));
  EXPECT_EQ(made[1].network, "infiniband-ndr-rail of dgx-h100");
  EXPECT_EQ(made[2].network, "NVLink 4");
  EXPECT_THAT(made[2].choice, HasSubstr("ring"));
}

// Eight H100 on one board are the same machine, whoever's network leads to the next board.
TEST(MeasuredCollectiveRows, OneBoardOfH100IsTheSameEverywhere) {
  for (const std::string size : {"1024", "65536", "4194304", "1073741824"}) {
    Problems problems;
    std::string text;
    for (const std::string kind : {"all_reduce", "all_gather", "alltoall"}) {
      for (const std::string node : {"dgx-h100", "a3-high-h100", "a3-mega-h100", "p5-h100"})
        text += kind + "," + node + ",8,1,,," + size + ",100,,,s,,\n";
    }
    const auto made = validation::validate_collectives(rows_of(text, problems), catalog);
    problems.throw_if_any();
    for (std::size_t i = 0; i < made.size(); ++i)
      EXPECT_DOUBLE_EQ(made[i].predicted_s, made[i / 4 * 4].predicted_s) << made[i].row.chip << " " << size;
  }
}

validation::ValidatedCollective of_error(const std::string& network, double bytes, double error) {
  validation::ValidatedCollective made;
  made.row.table = "t";
  made.row.bytes = bytes;
  made.row.seconds = 1;
  made.network = network;
  made.predicted_s = 1 + error;
  return made;
}

// Sizes 2, 4, 30 %: median 4 %, 90th percentile 4 + 0.8 x 26 = 24.8 %, which is more than 20 %; bias: the median of -4,
// 2, 30. A short message of -29 % is within its target.
TEST(CollectiveErrors, ByNetworkAndLength) {
  const double mib = 1 << 20;
  const std::vector<validation::ValidatedCollective> rows{of_error("a", 64 * mib, 0.02), of_error("a", 65 * mib, -0.04),
                                                          of_error("a", 1024 * mib, 0.3),
                                                          of_error("a", 63 * mib, -0.29)};
  const auto errors = validation::errors_of(rows);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_FALSE(errors[0].is_long);
  EXPECT_TRUE(errors[0].meets());
  EXPECT_EQ(errors[1].rows, 3U);
  EXPECT_NEAR(errors[1].median_abs, 0.04, 1e-12);
  EXPECT_NEAR(errors[1].p90_abs, 0.248, 1e-12);
  EXPECT_NEAR(errors[1].bias, 0.02, 1e-12);
  EXPECT_FALSE(errors[1].meets());
  EXPECT_EQ(errors[1].worst, &rows[2]);
  std::vector<double> worst;
  for (const auto* row : validation::worst_first(rows)) worst.push_back(row->error());
  EXPECT_THAT(worst, ElementsAre(testing::DoubleNear(-0.29, 1e-12), testing::DoubleNear(0.3, 1e-12),
                                 testing::DoubleNear(-0.04, 1e-12), testing::DoubleNear(0.02, 1e-12)));
}

}  // namespace
}  // namespace lockstep
