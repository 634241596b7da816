// lockstep faults: its text fits a terminal, its JSON has the keys that the docs list, and mistakes end with 2.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/program_run.hpp"
#include "tests/cli/terminal_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

class Faults : public CommandLine {
 protected:
  /// Nodes on two leaves, each of which is the only way to its nodes.
  const Words on_nodes{"faults",
                       small,
                       "--set",
                       "cluster={node: dgx-h100, nodes: 8, fabric: {like: "
                       "infiniband-ndr-fat-tree, radix: 32}}",
                       "--set",
                       "parallel={}",
                       "--set",
                       "mesh={data: rest}",
                       "--set",
                       "batch.sequences=64"};
};

TEST_F(Faults, RanksLossesByWhatTheyCost) {
  const auto result = json(on_nodes);
  EXPECT_THAT(keys_of(result), UnorderedElementsAre("scenario", "step_time_s", "losses", "not_simulated"));
  ASSERT_GE(result["losses"].size(), 3u);
  for (const auto& loss : result["losses"]) {
    EXPECT_THAT(keys_of(loss), UnorderedElementsAre("part", "kind", "alike", "step_time_s", "partition"));
    EXPECT_NE(loss["partition"].is_null(), loss["step_time_s"].is_null()) << loss;
  }
  EXPECT_FALSE(result["losses"].front()["partition"].is_null());
  EXPECT_TRUE(result["losses"].back()["partition"].is_null());
}

TEST_F(Faults, OutHoldsTheStudyAndItsPage) {
  auto with_out = on_nodes;
  with_out.insert(with_out.end(), {"--out", "out"});
  EXPECT_EQ(run(with_out).exit_code, 0);
  EXPECT_EQ(files_in("out"), with_page({"faults.json", "report.html"}));
  EXPECT_EQ(json_file("out/faults.json"), json(on_nodes));
  if (has_page()) {
    EXPECT_THAT(content("out/report.html"), HasSubstr("<html"));
  }
}

// On a network from a file, hashed or sprayed, hosts and adapters have the file's names: gpu1 and gpu2 hang below leaf1
// alone, so without it no adapter reaches another.
TEST_F(Faults, NamesPartsOfAGraphAsItsFileDoes) {
  for (const char* routing : {"spray", "ecmp"}) {
    auto on_graph = on_nodes;
    on_graph[3] =
        std::string("cluster={node: {like: dgx-h100, nics: {count: 1, rate: 400 Gbps, pcie: 63 GB/s}}, graph: '") +
        LOCKSTEP_SCENARIOS + "/../networks/two_leaves.csv', routing: " + routing + "}";
    const auto text = json(on_graph)["losses"].dump();
    EXPECT_THAT(text, testing::AllOf(HasSubstr("leaf1"), HasSubstr("gpu1/nic0"))) << routing;
    EXPECT_THAT(text, testing::Not(testing::AnyOf(HasSubstr("chip("), HasSubstr("nic(")))) << routing;
  }
}

TEST_F(Faults, FitsATerminal) {
  std::istringstream lines(on_terminal(scratch, 80, on_nodes).output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 81u) << line;  // with its \r
  EXPECT_GE(count, 5);
}

TEST_F(Faults, RefusesNoLosses) {
  auto none = on_nodes;
  none.insert(none.end(), {"--most", "0"});
  EXPECT_EQ(run(none).exit_code, 2);
  EXPECT_THAT(run({"faults", "absent.yaml"}).errors, HasSubstr("absent.yaml"));
}

}  // namespace
}  // namespace lockstep::test
