// Kernels that a file calls collectives.
#include "workloads/traces/named_collectives.hpp"

#include <gmock/gmock.h>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

workloads::RecordedJob three_kernels() {
  return workloads::read_trace_bytes(R"({"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "ep::dispatch<8>", "ts": 1, "dur": 5, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 7, "dur": 5, "args": {"stream": 7}},
{"ph": "X", "cat": "kernel", "name": "ep::dispatch<8>", "ts": 13, "dur": 6, "args": {"stream": 7}}]})",
                                     "t");
}

std::string named(const std::string& yaml, workloads::RecordedJob& job) {
  Problems problems;
  try {
    workloads::name_collectives(YamlView::from_text(yaml, "c.yaml", problems), job);
    problems.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Both dispatches become the first and second all-to-all of four ranks; the gemm stays a kernel.
TEST(NamedCollectives, KernelsBecomeCollectives) {
  auto job = three_kernels();
  ASSERT_EQ(named(R"([{kernels: dispatch, kind: all_to_all, ranks: 4, bytes: 2 MB, copies: [8, 4, 2]}])", job), "");
  const auto& rank = job.ranks[0];
  EXPECT_EQ(workloads::counts(rank).kernels, 1);
  ASSERT_EQ(rank.collectives.count(), 2);
  for (const std::int32_t i : {0, 1}) {
    const auto& made = rank.collectives[i];
    EXPECT_EQ(made.kind, workloads::CollectiveKind::all_to_all);
    EXPECT_EQ(made.buffer, Bytes(2'000'000));
    EXPECT_EQ(made.sequence, i);
    EXPECT_EQ(job.groups[made.group].size, 4);
    EXPECT_EQ(made.copies, (workloads::TokenCopies{8, 4, 2}));
  }
  EXPECT_EQ(rank.events[2].collective, 1);
}

TEST(NamedCollectives, Refusals) {
  auto job = three_kernels();
  using testing::HasSubstr;
  EXPECT_THAT(named("[{kernels: combine, kind: all_to_all, bytes: 1 MB}]", job),
              HasSubstr("no kernel's name contains 'combine'"));
  EXPECT_THAT(named("[{kernels: gemm, kind: all_to_none, bytes: 1 MB}]", job), HasSubstr("all_to_none"));
  EXPECT_THAT(named("[{kernels: gemm, kind: all_to_all, bytes: 1 MB, ranks: 9}]", job), HasSubstr("c.yaml:1:"));
  EXPECT_THAT(named("[{kernels: gemm, kind: all_to_all, bytes: 1 MB, copies: [1, 2]}]", job),
              HasSubstr("is no list of three"));
  EXPECT_THAT(named("[{kernels: gemm, kind: all_to_all, byte: 1 MB}]", job), HasSubstr("bytes"));
  EXPECT_THAT(named("{kernels: gemm}", job), HasSubstr("c.yaml"));
}

}  // namespace
}  // namespace lockstep::test
