// Traces of the ranks of one job put together: whose they are, what they must agree on, and the groups beside them.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "tests/unit/traces/small_traces.hpp"
#include "workloads/traces/trace_folder.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using workloads::RecordedJob;

/// A folder of files that is gone after the test.
class TraceJobs : public testing::Test {
 protected:
  TraceJobs() : folder_(std::filesystem::path(testing::TempDir()) / ("traces_" + name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TraceJobs() override { std::filesystem::remove_all(folder_); }
  TraceJobs(const TraceJobs&) = delete;
  TraceJobs& operator=(const TraceJobs&) = delete;

  std::filesystem::path file(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string refused(const std::vector<std::filesystem::path>& files) {
    try {
      (void)workloads::read_traces(files);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

 private:
  static std::string name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
  std::filesystem::path folder_;
};

/// One compute node of `micros`, and a collective of group "0".
std::string chakra(int micros) {
  return proto::metadata() + proto::message(proto::number(1, 1) + proto::number(3, 4) + proto::number(7, micros)) +
         proto::message(proto::number(1, 2) + proto::number(3, 7) + proto::attribute("comm_type", std::int64_t{0}) +
                        proto::attribute("comm_size", 8) + proto::attribute("pg_name", proto::text(29, "0")));
}

std::string kineto(const std::string& information) {
  return R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 2, "args": {"stream": 7}}])" +
         information + "}";
}

/// By rank: the duration of its first event in whole microseconds.
std::map<int, long> micros_of(const RecordedJob& job) {
  std::map<int, long> micros;
  for (const auto& rank : job.ranks) micros[rank.rank] = std::lround(rank.events[0].duration.value() * 1e6);
  return micros;
}

using Micros = std::map<int, long>;

// The number in a file's name is its rank: before the ending, packed or not, and behind "rank" or "worker". Each file's
// node takes 100 us and its rank's number, and the files are given in reverse.
TEST_F(TraceJobs, RanksOfNames) {
  const std::vector<std::array<std::string, 3>> names{{"job.0.et", "job.1.et", "job.2.et"},
                                                      {"job.0.et.gz", "job.1.et.gz", "job.2.et.gz"},
                                                      {"rank0.json", "rank-1.json.gz", "x_rank_2.et"},
                                                      {"worker0_step_12.pt", "worker1_step_12.pt", "worker2.7.pt"}};
  for (const auto& three : names) {
    std::vector<std::filesystem::path> files;
    for (int rank = 2; rank >= 0; --rank) {
      const auto& name = three[position_of(rank)];
      files.push_back(file(name, name.ends_with("gz") ? packed(chakra(100 + rank)) : chakra(100 + rank)));
    }
    const auto job = workloads::read_traces(files);
    EXPECT_EQ(micros_of(job), (Micros{{0, 100}, {1, 101}, {2, 102}})) << three[0];
    EXPECT_EQ(job.world, 3);
  }
}

// Names without a number that can be a rank (none, negative, seven digits, not only digits): the place in the list.
TEST_F(TraceJobs, RanksOfPlaces) {
  const std::vector<std::string> names{"a.et", "b.-3.et", "c.1234567.et", "d.2x.et", "ranks.et", "worker_9999999.et"};
  std::vector<std::filesystem::path> files;
  Micros expected;
  for (const auto& name : names) {
    const auto place = static_cast<int>(files.size());
    expected[place] = 10 + place;
    files.push_back(file(name, chakra(10 + place)));
  }
  EXPECT_EQ(micros_of(workloads::read_traces(files)), expected);
}

// What the trace says goes before its name.
TEST_F(TraceJobs, RanksOfTraces) {
  const auto job = workloads::read_traces({file("x.0.json", kineto(R"(, "distributedInfo": {"rank": 1})")),
                                           file("x.1.json", kineto(R"(, "distributedInfo": {"rank": 0})"))});
  EXPECT_EQ(job.ranks[0].file, path("x.1.json"));
  EXPECT_EQ(job.ranks[1].file, path("x.0.json"));
}

// In each of the six orders of three files the ranks are the same, and so are their group and its size, which only the
// third knows.
TEST_F(TraceJobs, OrderOfFiles) {
  const auto with = [&](int rank, const std::string& arguments) {
    return file("x.json.rank" + std::to_string(rank),
                R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": 1, "dur": )" +
                    std::to_string(rank + 1) + R"(, "args": {"stream": 7, "Process Group Name": "0")" + arguments +
                    "}}]}");
  };
  std::vector<std::filesystem::path> files{with(0, ""), with(1, ""), with(2, ", \"Group size\": 3")};
  std::sort(files.begin(), files.end());
  const auto first = workloads::read_traces(files);
  ASSERT_EQ(first.groups.count(), 1);
  EXPECT_EQ(first.groups[0].size, 3);
  while (std::next_permutation(files.begin(), files.end())) EXPECT_EQ(told(workloads::read_traces(files)), told(first));
}

// All files' problems at once, each with its file; of the good ones nothing is returned.
TEST_F(TraceJobs, AllProblems) {
  const auto good = file("good.0.et", chakra(1));
  const auto empty = file("empty", ""), other = file("b.1.json", "{}"), json = file("c.2.json", kineto(""));
  EXPECT_EQ(
      refused({good, path("nowhere"), empty, other, json, good}),
      path("b.1.json") +
          ": is no trace of a known format; expected one of Kineto, NCCL inspector, flight recorder, Chakra JSON, "
          "PyTorch execution trace, Chakra\n" +
          path("c.2.json") +
          ": is a Kineto trace, the others are of Chakra; expected traces of one job and one kind\n" + path("empty") +
          ": the file is empty; expected a trace\n" + path("good.0.et") + ": is of rank 0, as is " + path("good.0.et") +
          "; expected one trace of each rank\n" + path("nowhere") + ": no such file");
}

// Two traces that say different numbers of ranks are not of one job.
TEST_F(TraceJobs, SizesOfJobs) {
  const auto of = [&](int rank, int world) {
    return file("x." + std::to_string(rank) + "." + std::to_string(world),
                kineto(", \"distributedInfo\": {\"rank\": " + std::to_string(rank) +
                       ", \"world_size\": " + std::to_string(world) + "}"));
  };
  EXPECT_EQ(workloads::read_traces({of(0, 8), of(1, 8), of(2, 0)}).world, 8) << "0 tells nothing";
  const auto other = of(1, 4);
  EXPECT_EQ(refused({of(0, 8), other}),
            other.string() +
                ": distributedInfo.world_size: the job has 4 ranks, the other traces' job has 8; expected "
                "traces of one job");
}

// After each file the share of files that are done.
TEST_F(TraceJobs, Progress) {
  std::vector<double> shares;
  (void)workloads::read_traces(
      {file("a.0.et", chakra(1)), file("a.1.et", chakra(1)), file("a.2.et", chakra(1)), file("a.3.et", chakra(1))},
      [&](double share) { shares.push_back(share); });
  EXPECT_THAT(shares, ElementsAre(0.25, 0.5, 0.75, 1));
}

/// A kernel of NCCL in each of these microseconds, with these arguments.
std::string reduced(int rank, const std::vector<int>& starts, const std::string& arguments,
                    const std::string& kind = "AllReduce") {
  std::string text =
      R"({"distributedInfo": {"rank": )" + std::to_string(rank) + R"(, "world_size": 2}, "traceEvents": [)";
  for (const int start : starts)
    text += R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_)" + kind + R"(", "ts": )" + std::to_string(start) +
            R"(, "dur": 4, "args": {"stream": 7)" + arguments + "}},\n";
  return text + "{}]}";
}
const std::string group_0 =
    R"(, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Group size": 2, "In msg nelems": 8, "dtype": "Float")";

// Rank 1's kernels say nothing of their collectives; rank 0 is in the same group and calls as many: they are the same.
// With one collective less, or with others, rank 1's stay unknown, and that is said.
TEST_F(TraceJobs, CollectivesOfAPeer) {
  const auto good = file("a.0.json", reduced(0, {10, 20}, group_0));
  const auto job = workloads::read_traces({good, file("a.1.json", reduced(1, {11, 21}, ""))});
  for (const auto& rank : job.ranks) {
    ASSERT_EQ(rank.collectives.count(), 2);
    for (const auto& collective : rank.collectives) {
      EXPECT_EQ(job.groups[collective.group].name, "0");
      EXPECT_EQ(collective.buffer, Bytes(32));
    }
  }
  EXPECT_THAT(job.guessed, ElementsAre(testing::StartsWith("The trace says nothing of the collectives of rank 1;")));
  for (const auto& other : {reduced(1, {11}, ""), reduced(1, {11, 21}, "", "AllGather_RING_LL")}) {
    const auto apart = workloads::read_traces({good, file("a.1.json", other)});
    EXPECT_FALSE(apart.ranks[1].collectives[0].buffer);
    EXPECT_THAT(apart.missing,
                testing::Contains(testing::StartsWith("The trace says nothing of the collectives of rank 1, and no")));
  }
}

// 40 us of a kernel lie under the one before it: told, once for the job. Microseconds are usual and are not.
TEST_F(TraceJobs, OverlappingKernels) {
  const auto kernels = [&](int second) {
    return file("k.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 100, "dur": 50, "args":
{"stream": 7}}, {"ph": "X", "cat": "kernel", "name": "b", "ts": )" +
                              std::to_string(second) + R"(, "dur": 90, "args": {"stream": 7}}]})");
  };
  EXPECT_THAT(
      workloads::read_traces({kernels(110)}).guessed,
      ElementsAre("On 1 rank 1 kernel begins before the one before it on its stream ends, by 40.00 us; it counts "
                  "from that end."));
  EXPECT_THAT(workloads::read_traces({kernels(147)}).guessed, ElementsAre());
}

// Dates and durations between quotes are read, and that is said.
TEST_F(TraceJobs, TimesAsText) {
  const auto job = workloads::read_traces(
      {file("k.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": "100", "dur": "2.5", "args":
{"stream": 7}}]})")});
  EXPECT_NEAR(job.ranks[0].events[0].duration.value(), 2.5e-6, 1e-15);
  EXPECT_THAT(job.guessed, ElementsAre("Times stand in the trace as text; read as microseconds."));
}

// A kernel without a duration takes no time, and that is said.
TEST_F(TraceJobs, NoDuration) {
  const auto job = workloads::read_traces({file(
      "k.json", R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 100, "args": {"stream": 7}}]})")});
  EXPECT_EQ(job.ranks[0].events[0].duration, Seconds(0));
  EXPECT_THAT(job.missing, testing::Contains("Of some kernels the trace has no duration; they take no time."));
}

// Of a folder the traces of the device are taken, with the execution traces beside Kineto's; what else is a trace or
// none is told. Two kinds that would both do are refused, and a file that ends like the traces must be one.
TEST_F(TraceJobs, Folders) {
  const auto folder = std::filesystem::path(path("")).parent_path().string();
  const auto copy = [&](const std::string& name) { (void)file(name, trace_bytes(name)); };
  const auto names = [&] {
    std::vector<std::string> list;
    for (const auto& one : workloads::trace_files({folder}).files) list.push_back(one.filename().string());
    return list;
  };
  const auto refused_folder = [&]() -> std::string {
    try {
      (void)workloads::trace_files({folder});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused_folder(), folder + ": the folder has no traces; expected one file for each rank");
  copy("flight_recorder_rank0.json");
  EXPECT_THAT(names(), ElementsAre("flight_recorder_rank0.json")) << "nothing better";
  copy("nccl_inspector.log");
  EXPECT_EQ(refused_folder(),
            folder +
                ": traces of several kinds that would each do: 1 file of NCCL inspector (nccl_inspector.log), 1 file "
                "of flight recorder (flight_recorder_rank0.json); expected a folder of one kind, or the files by name");
  copy("kineto_rank0.json");
  copy("execution_trace.json");
  (void)file("README.md", "# what we ran");
  (void)file("broken.json", "{");
  EXPECT_THAT(names(), ElementsAre("broken.json", "execution_trace.json", "kineto_rank0.json"));
  EXPECT_THAT(workloads::trace_files({folder}).left_out,
              ElementsAre("Not read, in " + folder + ": 1 file of NCCL inspector (nccl_inspector.log).",
                          "Not read, in " + folder + ": 1 file of flight recorder (flight_recorder_rank0.json).",
                          "Not read, in " + folder + ": 1 file of no known format (README.md)."));
  copy("chakra.1.et");
  EXPECT_THAT(refused_folder(), testing::HasSubstr("1 file of Chakra (chakra.1.et), 1 file of Kineto (kineto_rank0"));
}

// Groups beside the traces fill in those that are only named; every list that is none is refused by its name.
TEST_F(TraceJobs, GroupsBesideThem) {
  auto job = workloads::read_traces({file("a.0.et", chakra(1)), file("a.1.et", chakra(1)), file("a.2.et", chakra(1))});
  const auto groups = file("groups.json", R"({"0": [2, 0, 1], "9": [1]})");
  workloads::read_trace_groups(groups, job);
  ASSERT_EQ(job.groups.count(), 1);
  EXPECT_THAT(job.groups[0].ranks, ElementsAre(2, 0, 1));
  EXPECT_EQ(job.groups[0].size, 3);
  workloads::read_trace_groups(file("more.json", R"({"0": [1]})"), job);
  EXPECT_THAT(job.groups[0].ranks, ElementsAre(2, 0, 1)) << "known ranks stay";

  const auto wrong = file("wrong.json", R"({"a": [], "b": [0, 0], "c": [3], "d": [-1], "e": "[0]", "f": 1, "g": [1]})");
  const auto line = [&](const std::string& key) {
    return wrong.string() + ": " + key + ": is no list of ranks; expected different ranks from 0 to 2";
  };
  try {
    workloads::read_trace_groups(wrong, job);
    FAIL() << "nothing was refused";
  } catch (const ConfigError& error) {
    std::string expected;
    for (const std::string key : {"a", "b", "c", "d", "e", "f"}) expected += (expected.empty() ? "" : "\n") + line(key);
    EXPECT_EQ(error.what(), expected);
  }
}

// How much a rank recorded: kernels of 100 and 20 us, a collective of 8 bytes, a dependence.
TEST(TraceCounts, OfARank) {
  const auto job = workloads::read_trace_bytes(
      R"({"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 100}, {"Id": 2, "NodeType": 4, "runtime": 20, "data_deps": [1]},
{"Id": 3, "NodeType": 2, "runtime": 5}, {"Id": 4, "NodeType": 1}, {"Id": 5, "NodeType": 7, "comm_type": 0, "comm_size": 8, "runtime": 7},
{"Id": 6, "NodeType": 7, "comm_type": 0}]})",
      "t");
  const auto counts = workloads::counts(job.ranks[0]);
  EXPECT_EQ(counts.kernels, 2);
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.host, 1);
  EXPECT_EQ(counts.collectives, 2);
  EXPECT_EQ(counts.dependences, 1);
  EXPECT_EQ(counts.communicated, Bytes(8));
  EXPECT_NEAR(counts.kernel_time.value(), 120e-6, 1e-15);
  EXPECT_NEAR(counts.collective_time.value(), 7e-6, 1e-15);
}

}  // namespace
}  // namespace lockstep::test
