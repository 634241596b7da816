// lockstep jobs: text, JSON and page of several jobs on one network, and what it refuses.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Words = std::vector<std::string>;

class Jobs : public CommandLine {
 protected:
  /// A job on hosts of the network of two leaves.
  std::string job(const std::string& name, const std::string& hosts) {
    write(name, "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 4096, d_ff: 8192}\ncluster: {graph: '" +
                    std::string(LOCKSTEP_SCENARIOS) +
                    "/../networks/two_leaves.csv', node: {like: dgx-h100, chips: 1}, placement: {hosts: '" + hosts +
                    "'}}\nparallel: {data: 2}\nbatch: {sequences: 8, sequence_length: 16}\n");
    return name;
  }
  void refused(const Words& arguments, const std::string& place, const std::string& text) {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, AllOf(HasSubstr(place), HasSubstr(text)));
  }
};

TEST_F(Jobs, SaysHowMuchJobsSlowEachOtherDown) {
  const Words both{"jobs",  job("west.yaml", "gpu1,gpu3"), job("east.yaml", "gpu2,gpu4"), "--hosts", "given", "--hosts",
                   "packed"};
  EXPECT_THAT(good(both),
              AllOf(HasSubstr("step together"), HasSubstr("no link between switches carries more than one job"),
                    HasSubstr("shortest steps, all jobs together: hosts packed")));
  const auto result = json(both);
  ASSERT_EQ(result["runs"].size(), 2u);
  EXPECT_EQ(result["runs"][0]["hosts"], "as given");
  EXPECT_EQ(result["runs"][0]["jobs"][0]["scenario"], "west");
  EXPECT_NEAR(result["runs"][1]["jobs"][0]["slowdown"].get<double>(), 0, 1e-9);
  EXPECT_TRUE(result["runs"][1]["shared_links"].empty());
  auto with_out = both;
  with_out.insert(with_out.end(), {"--out", "out"});
  (void)good(with_out);
  EXPECT_EQ(files_in("out"), with_page({"jobs.json", "jobs.svg", "report.html"}));
  EXPECT_EQ(json_file("out/jobs.json"), result);
}

/// Each job has a host on either leaf; on a leaf of its own no job meets another, and nothing is better than that.
TEST_F(Jobs, FindsTheBestHosts) {
  const Words both{"jobs", job("west.yaml", "gpu1,gpu3"), job("east.yaml", "gpu2,gpu4"), "--hosts", "best"};
  EXPECT_THAT(good(both), AllOf(HasSubstr("choices of 4 hosts tried, seed 1"),
                                HasSubstr("no choice is better: no job is faster than alone on its best hosts")));
  const auto result = json(both)["runs"][0];
  EXPECT_EQ(result["hosts"], "best");
  for (const auto& job : result["jobs"])
    EXPECT_THAT(job["host_names"], testing::AnyOf(Words{"gpu1", "gpu2"}, Words{"gpu3", "gpu4"}));
  for (const auto& slowdown : result["search"]["slowdowns"]) EXPECT_NEAR(slowdown.get<double>(), 0, 1e-12);
  EXPECT_EQ(json(both), json(both));
}

/// Four nodes with one NIC each below leaves of two: a job of two nodes has a leaf for itself, unless jobs are dealt
/// out.
TEST_F(Jobs, MeetOnAGeneratedFabric) {
  for (const std::string name : {"one.yaml", "two.yaml"})
    write(
        name,
        "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 4096, d_ff: 8192}\ncluster: {node: {like: dgx-h100, "
        "chips: 1}, nodes: 2, fabric: {like: infiniband-ndr-fat-tree, radix: 4}}\nparallel: {data: 2}\nbatch: "
        "{sequences: 8, sequence_length: 16}\n");
  const auto result = json({"jobs", "one.yaml", "two.yaml", "--hosts", "given", "--hosts", "interleaved"});
  EXPECT_TRUE(result["runs"][0]["shared_links"].empty());
  EXPECT_EQ(result["runs"][0]["jobs"][1]["host_names"], (Words{"host2", "host3"}));
  EXPECT_NEAR(result["runs"][0]["jobs"][0]["step_time_s"].get<double>(),
              json({"run", "one.yaml"})["step_time_s"].get<double>(), 1e-9);
  EXPECT_FALSE(result["runs"][1]["shared_links"].empty());
  refused({"jobs", "one.yaml", "two.yaml", "--nodes", "3"}, "--nodes", "at least the 4 that the jobs have together");
  const auto more = json({"jobs", "one.yaml", "two.yaml", "--nodes", "8", "--hosts", "best", "--free", "host[4-7]"});
  EXPECT_EQ(more["runs"][0]["search"]["hosts"], 8);
}

TEST_F(Jobs, RefusesInOneLineEach) {
  const auto west = job("west.yaml", "gpu1,gpu3"), east = job("east.yaml", "gpu2,gpu4");
  refused({"jobs", west}, "scenarios", "there are 1; expected 2 to 16 scenarios");
  refused({"jobs", west, east, "--start", "1 s"}, "--start", "has 1 times; expected one for each scenario");
  refused({"jobs", west, east, "--start", "0 s", "--start", "soon"}, "--start", "'soon'");
  refused({"jobs", west, east, "--hosts", "scattered"}, "--hosts", "expected given, packed, interleaved or best");
  refused({"jobs", west, east, "--free", "gpu1"}, "--free", "expected --hosts best");
  refused({"jobs", west, east, "--hosts", "best", "--free", "gpu[4-5]"}, "--free", "the network has no gpu5");
  refused({"jobs", west, east, "--nodes", "8"}, "--nodes", "only for generated fabrics");
  refused({"jobs", west, job("both.yaml", "gpu3,gpu4")}, "both.yaml:3:", "host gpu3 is also one of west");
  refused({"jobs", west, small}, "small.yaml", "jobs meet on the network of a file");
}

}  // namespace
}  // namespace lockstep::test
