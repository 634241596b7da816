// Collectives of a recorded rank beside those of a scenario. The scenario: data parallelism over a ring of four chips,
// three layers of two weights of D x F = 1024 x 4096. Its gradients are all-reduced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/against.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;

const preparation::PreparedStep& prepared() {
  static const auto made = preparation::prepare_step(scenario::scenario_of_text(R"(format: 1
model: {type: two-matmul, layers: 3, d_model: 1024, d_ff: 4096}
cluster: tpu-v5p:1x1x4
parallel: {data: 4}
batch: {sequences: 8, sequence_length: 128}
)",
                                                                                "test", ""));
  return made;
}

std::vector<replay::ComparedCollective> compared(const Job& made, std::size_t rank = 0) {
  return replay::compared_collectives(made.job, made.job.ranks[rank], prepared());
}

/// What the scenario derives, as a job that has recorded exactly that.
std::vector<replay::ComparedCollective> derived() { return compared(Job(4)); }

Job job_of(const std::vector<replay::ComparedCollective>& rows) {
  Job made(4);
  for (const auto& row : rows) {
    for (int i = 0; i < row.derived; ++i) {
      made.collective(0, 1);
      made.last(0).buffer = row.bytes;
    }
  }
  return made;
}

// Bytes in a step = layers x 2 x D F x 2 bytes of bf16, whatever the sizes of its single collectives.
TEST(Against, WhatAScenarioDerives) {
  std::int64_t bytes = 0;
  for (const auto& row : derived()) {
    EXPECT_EQ(row.kind, "all_reduce");
    EXPECT_EQ(row.members, 4);
    EXPECT_EQ(row.recorded, 0);
    bytes += row.bytes->value() * static_cast<std::int64_t>(row.derived);
  }
  EXPECT_EQ(bytes, std::int64_t{3} * 2 * 1024 * 4096 * 2);
}

// The same collectives agree; one more of them does not, and comes first.
TEST(Against, WhatAgreesComesLast) {
  auto made = job_of(derived());
  for (const auto& row : compared(made)) EXPECT_EQ(row.recorded, row.derived);
  made.collective(0, 1, CollectiveKind::broadcast);
  made.last(0).buffer = Bytes(8);
  const auto rows = compared(made);
  ASSERT_EQ(rows.size(), derived().size() + 1);
  EXPECT_EQ(rows[0].kind, "broadcast");
  EXPECT_EQ(rows[0].recorded, 1);
  EXPECT_EQ(rows[0].derived, 0);
}

// Rows that differ stand by bytes, the most first; unknown bytes are none.
TEST(Against, MostBytesFirst) {
  Job made(4);
  for (const std::int64_t bytes : {10, 1'000'000'000, 200}) {
    made.collective(0, 1, CollectiveKind::broadcast);
    made.last(0).buffer = Bytes(bytes);
  }
  made.collective(0, 1, CollectiveKind::broadcast);
  made.last(0).buffer.reset();
  std::vector<std::int64_t> bytes;
  for (const auto& row : compared(made)) {
    if (row.kind == "broadcast") bytes.push_back(row.bytes.value_or(Bytes(-1)).value());
  }
  EXPECT_THAT(bytes, testing::ElementsAre(1'000'000'000, 200, 10, -1));
}

// A trace of s marked steps counts each collective 1 / s times: three in two steps are 1.5 in one.
TEST(Against, CountsAreOfOneStep) {
  Job made(4);
  for (int i = 0; i < 3; ++i) {
    made.collective(0, 1, CollectiveKind::broadcast);
    made.last(0).buffer = Bytes(1'000'000'000);
  }
  made.job.ranks[0].steps = {{micros(0), micros(1), "1"}, {micros(1), micros(2), "2"}};
  EXPECT_DOUBLE_EQ(compared(made)[0].recorded, 1.5);
}

// Transfers are among two, whatever their group; a shard of b bytes is b x members; unknown kinds have their own row.
TEST(Against, KindsSizesAndBytes) {
  Job transfer(4);
  transfer.sends(0, 1, 1);
  transfer.last(0).buffer = Bytes(1'000'000'000);
  EXPECT_EQ(compared(transfer)[0].kind, "point_to_point");
  EXPECT_EQ(compared(transfer)[0].members, 2);
  Job shard(4);
  shard.collective(0, 1, CollectiveKind::all_gather);
  shard.last(0).buffer = Bytes(1'000'000'000);
  shard.last(0).buffer_is_shard = true;
  EXPECT_EQ(compared(shard)[0].bytes, Bytes(4'000'000'000));
  shard.last(0).kind.reset();
  EXPECT_EQ(compared(shard)[0].kind, "unknown");
}

TEST(Against, ARankThatTheScenarioDoesNotHave) {
  Job made(5);
  try {
    (void)compared(made, 4);
    FAIL() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "rank4: is of rank 4, the scenario has 4; expected a scenario of this job");
  }
}

}  // namespace
}  // namespace lockstep::test
