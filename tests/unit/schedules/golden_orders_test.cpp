// Generated orders against the published reference implementations (tests/data/pipeline/index.json says which), cell
// by cell: no number here is Lockstep's own. Where P does not divide M (P 4; M 3, 6 and 10) the orders follow from the
// rule of torch.distributed.pipelining's ScheduleInterleaved1F1B and ScheduleInterleavedZeroBubble: rounds = max(1, M
// div P) of M / rounds microbatches each, warm-up (V - 1) M / rounds + 2 (P - 1 - r) (zero bubble: + (P - 1 - r)), at
// most M V.
#include <gtest/gtest.h>

#include "tests/unit/schedules/golden_orders.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

struct Golden {
  const char* schedule;
  const char* prefix;
  std::size_t files;  ///< how many there are, so that none goes missing
};

class GoldenOrders : public testing::TestWithParam<Golden> {};

// Every rank runs the cells of the golden file, in its order.
TEST_P(GoldenOrders, SameCells) {
  const auto files = golden_files(GetParam().prefix);
  ASSERT_EQ(files.size(), GetParam().files);
  for (const auto& [file, sizes] : files) {
    SCOPED_TRACE(file);
    workloads::ScheduleRequest request;
    request.name = GetParam().schedule;
    request.ranks = sizes.at('P');
    request.microbatches = sizes.at('M');
    if (sizes.contains('V')) request.chunks = sizes.at('V');
    if (sizes.contains('N')) request.group = sizes.at('N');
    const auto order = make_order(request);
    const auto golden = golden_order(file, order.shape.placement);
    EXPECT_EQ(order.shape.virtual_stages(), golden.shape.virtual_stages());
    EXPECT_EQ(order.shape.microbatches, golden.shape.microbatches);
    EXPECT_EQ(order.to_string(), golden.to_string());
  }
}

INSTANTIATE_TEST_SUITE_P(LinearAndLooped, GoldenOrders,
                         testing::Values(Golden{"naive", "naive", 6}, Golden{"gpipe", "gpipe", 6},
                                         Golden{"1f1b", "1f1b", 6}, Golden{"interleaved", "interleaved1f1b", 15},
                                         Golden{"interleaved", "megatron_interleaved", 2}, Golden{"bfs", "bfs", 12},
                                         Golden{"zb-h1", "zbh1_light", 6}, Golden{"zb-h2", "zbh2", 6},
                                         Golden{"zb-1p", "zb1p_torch", 6},
                                         Golden{"interleaved-zb", "interleavedzb", 15},
                                         Golden{"overlap-1f1b", "megatron_combined1f1b", 12}),
                         [](const auto& golden) { return std::string(golden.param.prefix); });

}  // namespace
}  // namespace lockstep
