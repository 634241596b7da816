// Execution traces of the host beside Kineto traces that say nothing of their collectives.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;

class HostTraces : public testing::Test {
 protected:
  HostTraces() : folder_(std::filesystem::path(testing::TempDir()) / "host_traces") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~HostTraces() override { std::filesystem::remove_all(folder_); }
  HostTraces(const HostTraces&) = delete;
  HostTraces& operator=(const HostTraces&) = delete;

  std::filesystem::path file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  /// Two kernels of NCCL, of which the second was launched first.
  std::filesystem::path kineto() const {
    const auto kernel = [](int number, int start) {
      return R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": )" +
             std::to_string(number) + R"(, "dur": 1, "args": {"correlation": )" + std::to_string(number) +
             R"(}}, {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "ts": )" + std::to_string(start) +
             R"(, "dur": 5, "args": {"stream": )" + std::to_string(20 + number) + R"(, "correlation": )" +
             std::to_string(number) + "}}";
    };
    return file("rank0.json", R"({"distributedInfo": {"rank": 0, "world_size": 4}, "traceEvents": [)" + kernel(2, 10) +
                                  ", " + kernel(1, 30) + "]}");
  }

  std::filesystem::path calls(const std::vector<std::string>& names, const std::string& name = "et_rank0.json") const {
    std::string nodes;
    int id = 0;
    for (const auto& one : names) {
      ++id;
      nodes +=
          (nodes.empty() ? "" : ", ") + std::string(R"({"id": )") + std::to_string(id) +
          R"(, "name": "record_param_comms", "attrs": [{"name": "collective_name", "type": "string", "value": ")" +
          one +
          R"("}, {"name": "dtype", "type": "string", "value": "Float"}, {"name": "in_msg_nelems", "type": "int", "value": )" +
          std::to_string(100 * id) + R"(}, {"name": "pg_name", "type": "string", "value": "7"}, )" +
          R"({"name": "pg_size", "type": "int", "value": 4}, {"name": "global_rank_start", "type": "int", "value": 0}, )" +
          R"({"name": "global_rank_stride", "type": "int", "value": 1}]})";
    }
    return file(name, R"({"schema": "1.1.0", "nodes": [)" + nodes + "]}");
  }

  std::string refused(const std::vector<std::filesystem::path>& files) const {
    try {
      (void)workloads::read_traces(files);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::filesystem::path folder_;
};

// The first call, of 100 floats, is the kernel that was launched first and ran last; nothing is missing any more.
TEST_F(HostTraces, CallsCompleteKernels) {
  const auto alone = workloads::read_traces({kineto()});
  EXPECT_THAT(alone.missing, testing::Contains(HasSubstr("does not tell the kind")));
  for (const bool first : {true, false}) {
    const auto et = calls({"all_to_all", "allreduce"});
    const auto job = workloads::read_traces(first ? std::vector{et, kineto()} : std::vector{kineto(), et});
    ASSERT_EQ(job.ranks.size(), 1u);
    EXPECT_EQ(job.format, "Kineto");
    const auto& made = job.ranks[0].collectives;
    EXPECT_EQ(made[0].kind, workloads::CollectiveKind::all_reduce);
    EXPECT_EQ(made[0].buffer, Bytes(800));
    EXPECT_EQ(made[1].kind, workloads::CollectiveKind::all_to_all);
    EXPECT_EQ(made[1].buffer, Bytes(400));
    EXPECT_THAT(job.groups[made[0].group].ranks, testing::ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(made[0].sequence, 0);
    EXPECT_EQ(made[1].sequence, 1) << "of one group";
    EXPECT_THAT(job.missing, testing::Not(testing::Contains(HasSubstr("does not tell the kind"))));
  }
}

TEST_F(HostTraces, CallsOfOtherSteps) {
  EXPECT_THAT(refused({kineto(), calls({"allreduce"})}), HasSubstr("has 1 collectives, "));
  EXPECT_THAT(refused({kineto(), calls({"allreduce", "allreduce"}, "et_rank3.json")}),
              HasSubstr("is of rank 3, of which there is no trace of the device"));
  const auto told =
      file("rank0.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1,
"dur": 2, "args": {"stream": 7}}]})");
  EXPECT_THAT(refused({told, calls({"all_to_all"})}), HasSubstr("calls all_to_all as collective 0, in "));
}

}  // namespace
}  // namespace lockstep::test
