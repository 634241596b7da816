// Measured collectives: what a row says, where its machine stands, errors by network. nccl-tests: busbw = size / time x
// 2 (N-1)/N for an all-reduce.
#include "sim/studies/validation/measured_collectives.hpp"

#include <gmock/gmock.h>

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
  return validation::read_measured_collectives(table, "own");
}

// 1 GiB at a bus bandwidth of 350 GB/s on 8 ranks: 2^30 x 14/8 / 350e9 s; at an algorithm's of 200: 2^30 / 200e9. Zeros
// are bandwidths of short messages, rounded.
TEST(MeasuredCollectiveRows, TimesComeFromBandwidths) {
  Problems problems;
  const auto rows = rows_of(
      "all_reduce,dgx-h100,8,1,,,1073741824,,,350,s,read,\nall_reduce,dgx-h100,8,1,,,1073741824,,200,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,33.4,0.00,0.00,s,read,\npsum,dgx-h100,8,1,,,8,33.4,,,s,read,\n"
      "all_reduce,dgx-h100,8,1,,,8,,0.00,,s,read,\n",
      problems);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_NEAR(rows[0].seconds, 1073741824.0 * 14 / 8 / 350e9, 1e-15);
  EXPECT_NEAR(rows[1].seconds, 1073741824.0 / 200e9, 1e-15);
  EXPECT_NEAR(rows[2].seconds, 33.4e-6, 1e-18);
  EXPECT_EQ(rows[2].where.line, 4);
}

TEST(MeasuredCollectiveRows, MistakesHaveTheirPlace) {
  Problems problems;
  (void)rows_of("all_reduce,dgx-h100,1,1,,,8,33,,,s,read,\nall_reduce,dgx-h100,8,1,,,1e18,33,,,s,read,\n", problems);
  ASSERT_EQ(problems.list().size(), 2U);
  EXPECT_EQ(problems.list()[0].where.line, 2);
  EXPECT_EQ(problems.list()[1].key, "size_bytes");
  for (const std::string row :
       {"all_reduce,abacus,8,1,,,8,33,,,s,read,\n", "all_reduce,dgx-h100,9,1,,,8,33,,,s,read,\n",
        "all_reduce,dgx-h100,15,2,,,8,33,,,s,read,\n"}) {
    Problems none;
    const auto rows = rows_of(row, none);
    try {
      (void)validation::validate_collectives(rows, catalog);
      FAIL() << row;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("own.csv:2:1")) << row;
    }
  }
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
  EXPECT_EQ(made[1].network, "infiniband-ndr-rail");
  EXPECT_EQ(made[2].network, "NVLink 4");
  EXPECT_THAT(made[2].choice, HasSubstr("ring"));
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
