// lockstep import.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using Words = std::vector<std::string>;

class ImportCommand : public CommandLine {
 protected:
  const std::string files = LOCKSTEP_SCENARIOS "/../networks/";
};

// The file by hand: gpu-1 and gpu-2 with two adapters each and a nameless host with two; leaf # 1 has 3 x 400 Gb/s down
// and 2 x 800 up, leaf-2 has 400 + 200 + 40 down and 800 up.
TEST_F(ImportCommand, JsonOfANetwork) {
  const auto network = json({"import", "network", files + "small.ibnetdiscover"});
  EXPECT_THAT(keys_of(network), IsSupersetOf(Words{"switches", "hosts", "adapters", "cables", "switches_by_level",
                                                   "cables_by_speed", "oversubscription", "notes", "file_format"}));
  EXPECT_EQ(network["switches"], 3);
  EXPECT_EQ(network["hosts"], 3);
  EXPECT_EQ(network["adapters"], 6);
  EXPECT_EQ(network["cables"], 9);
  EXPECT_EQ(network["switches_by_level"], nlohmann::json({{"1", 2}, {"2", 1}}));
  EXPECT_EQ(network["cables_by_speed"], nlohmann::json({{"4xNDR", 4}, {"4xHDR", 1}, {"4xFDR10", 1}, {"4xXDR", 3}}));
  const auto& leaf = network["oversubscription"]["leaf # 1"];
  EXPECT_EQ(leaf["down"], 3);
  EXPECT_EQ(leaf["up"], 2);
  EXPECT_EQ(leaf["ratio"], 0.75);
  EXPECT_EQ(network["oversubscription"]["MF0;leaf-2:MQM9701/U1"]["ratio"], 0.8);
  EXPECT_TRUE(network["oversubscription"]["core"]["ratio"].is_null());
}

TEST_F(ImportCommand, JsonOfANode) {
  const auto node = json({"import", "network", files + "h100_node.xml"});
  EXPECT_EQ(node["gpus"], 4);
  EXPECT_EQ(node["nics"], 3);
  EXPECT_EQ(node["nvlinks_per_gpu"], 18);
  EXPECT_EQ(node["nearest_nic"],
            nlohmann::json({{"GPU0", "mlx5_0"}, {"GPU1", "mlx5_1"}, {"GPU2", "mlx5_0"}, {"GPU3", "mlx5_1"}}));
}

// What is written with --out is read as the same network, and written again as the same bytes.
TEST_F(ImportCommand, WritesAGraph) {
  for (const char* file : {"small.ibnetdiscover", "slurm_tree.conf", "astra_sim.yml", "small.graphml"}) {
    auto first = json({"import", "network", files + file, "--out", "graph.yaml"});
    auto second = json({"import", "network", "graph.yaml", "--out", "again.yaml"});
    EXPECT_EQ(content("graph.yaml"), content("again.yaml"));
    for (auto* one : {&first, &second}) {
      one->erase("file_format");
      one->erase("notes");
    }
    EXPECT_EQ(first, second);
  }
  EXPECT_THAT(files_in("."), testing::UnorderedElementsAre("again.yaml", "graph.yaml"));
}

// A node without NVLink is written as the node of a scenario, which runs on two of them, is checked and has
// collectives.
TEST_F(ImportCommand, WritesANodeThatRuns) {
  static_cast<void>(good(
      {"import", "network", files + "pcie_topo.txt", "--chip", "h100", "--nic", "100 Gbps", "--out", "node.yaml"}));
  write(
      "step.yaml",
      "format: 1\nmodel: {type: two-matmul, layers: 4, d_model: 512, d_ff: 2048}\ncluster: {node: node.yaml, nodes: 2, "
      "fabric: infiniband-hdr}\nparallel: {data: 16}\nbatch: {sequences: 16, sequence_length: 64}\n");
  EXPECT_GT(json({"run", "step.yaml"})["step_time_s"], 0);
  EXPECT_THAT(good({"check", "step.yaml"}), HasSubstr("ok"));
  EXPECT_THAT(good({"collective", "all_reduce", "--cluster", "step.yaml", "--group", "gpu", "--bytes", "64MiB"}),
              HasSubstr("ring"));
  write("none.yaml",
        "format: 1\nmodel: {type: two-matmul, layers: 4, d_model: 512, d_ff: 2048}\ncluster: {node: gone.yaml}\n"
        "parallel: {data: 8}\nbatch: {sequences: 8, sequence_length: 64}\n");
  EXPECT_THAT(run({"run", "none.yaml"}).errors,
              HasSubstr("none.yaml:3:17: cluster.node: there is no file 'gone.yaml'"));
}

// The text fits a terminal and says what was left out.
TEST_F(ImportCommand, TextFitsEightyColumns) {
  for (const char* file : {"small.ibnetdiscover", "slurm_tree.conf", "rails.yaml", "h100_node.xml", "h100_topo.txt"}) {
    std::istringstream text(good({"import", "network", files + file}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80u) << file << ": " << line;
  }
  EXPECT_THAT(good({"import", "network", files + "small.ibnetdiscover"}),
              testing::AllOf(HasSubstr("3 hosts, 6 adapters"), HasSubstr("1 aggregation node")));
}

// The page shows what the program prints, with four spaces before each line.
TEST_F(ImportCommand, PrintsWhatThePageShows) {
  std::ifstream page(LOCKSTEP_SCENARIOS "/../../../docs/howto/bring_your_network.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::istringstream printed(good({"import", "network", files + "small.ibnetdiscover"}));
  std::string shown;
  for (std::string line; std::getline(printed, line);) shown += (line.empty() ? "" : "    ") + line + "\n";
  EXPECT_THAT(text, HasSubstr(shown));
}

TEST_F(ImportCommand, RefusesInOneLineAndWritesNothing) {
  write("parts.conf", "SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=b1\n");
  const auto parts = run({"import", "network", "parts.conf", "--out", "graph.yaml"});
  EXPECT_EQ(parts.exit_code, 2);
  EXPECT_EQ(
      parts.errors,
      "parts.conf: the network is in 2 parts without a cable between them: 2 hosts such as 'a1' and 1 host such as "
      "'b1'; expected a network in which every host reaches every other\n");
  EXPECT_THAT(files_in("."), ElementsAre("parts.conf"));
  EXPECT_THAT(run({"import", "network", files + "h100_node.xml", "--out", "node.yaml"}).errors,
              HasSubstr("its GPUs have links of their own, NVLink; expected a node of the catalog"));
  EXPECT_THAT(run({"import", "network", files + "small.csv", "--chip", "h100"}).errors,
              HasSubstr("--chip: the file describes a network, not a node; expected no --chip"));
  EXPECT_THAT(
      run({"import", "network", files + "pcie_topo.txt", "--chip", "h100", "--nic", "fast", "--out", "n.yaml"}).errors,
      HasSubstr("--nic: "));
  // What an option says is told of the option, not of the file that would have been written.
  const auto node_with = [&](const std::string& chip, const std::string& rate) {
    return run({"import", "network", files + "pcie_topo.txt", "--chip", chip, "--nic", rate, "--out", "n.yaml"}).errors;
  };
  EXPECT_EQ(node_with("l40s", "0 Gbps"), "--nic: `0 Gbps` is zero; expected a bandwidth such as 90 GB/s or 400 Gbps\n");
  EXPECT_EQ(node_with("l40s", "1 bps"), "--nic: `1 bps` is too small; expected a rate from 1.00 kB/s to 1.00 EB/s\n");
  EXPECT_EQ(node_with("tpu-v5p", "100 Gbps"),
            "--chip: 'tpu-v5p' is the TPU v5p, which nvidia-smi topo -m does not describe; expected a GPU of NVIDIA\n");
  EXPECT_EQ(node_with("l40", "100 Gbps"),
            "--chip: 'l40' is not in the catalog; expected a name from the catalog; did you mean `l40s`\n");
  EXPECT_EQ(run({"import", "network", files + "pcie_topo.txt", "--chip", "l40s"}).errors,
            "--chip: is for the node that --out writes; expected --out too\n");
  EXPECT_THAT(files_in("."), ElementsAre("parts.conf"));
  EXPECT_THAT(run({"import", "cluster", "parts.conf"}).errors,
              HasSubstr("'cluster' cannot be imported; expected network or recipe"));
}

const std::string recipe = LOCKSTEP_SCENARIOS "/../recipes/megatron/mixtral_8x7b.sh";

// 32 chips are pipeline 4 x expert 8. What is written with --out is what is printed without, and check takes it.
TEST_F(ImportCommand, WritesTheScenarioOfARecipe) {
  const auto printed = good({"import", "recipe", recipe, "--cluster", "h100:4"});
  EXPECT_THAT(printed, HasSubstr("  pipeline: 4  # --pipeline-model-parallel-size, line "));
  EXPECT_THAT(good({"import", "recipe", recipe, "--cluster", "h100:4", "--out", "mine.yaml"}),
              HasSubstr("--no-masked-softmax-fusion, line "));
  EXPECT_EQ(content("mine.yaml"), printed);
  EXPECT_THAT(good({"check", "mine.yaml"}), HasSubstr("mine.yaml: ok; memory peak "));
}

TEST_F(ImportCommand, JsonOfARecipe) {
  const auto all = json({"import", "recipe", recipe, "--cluster", "h100:4", "--set", "batch.sequences=512"});
  EXPECT_THAT(keys_of(all),
              IsSupersetOf(Words{"file_format", "scenario", "lines", "without_counterpart", "without_influence"}));
  EXPECT_THAT(all["scenario"].get<std::string>(), HasSubstr("sequences: 512  # --set"));
  EXPECT_GT(all["without_influence"], 0);
}

TEST_F(ImportCommand, RefusesOptionsOfTheOther) {
  EXPECT_THAT(run({"import", "recipe", recipe, "--cluster", "h100:4", "--nic", "400 Gbps"}).errors,
              HasSubstr("--nic: does not belong to a recipe; expected no --nic"));
  EXPECT_THAT(run({"import", "network", files + "small.csv", "--cluster", "h100:4"}).errors,
              HasSubstr("--cluster: does not belong to a network; expected no --cluster"));
  EXPECT_THAT(run({"import", "recipe", recipe}).errors, HasSubstr("--cluster: is missing"));
  EXPECT_THAT(run({"import", "recipe", recipe, "--cluster", "h100:3"}).errors, HasSubstr("mixtral_8x7b.sh:"));
}

}  // namespace
}  // namespace lockstep::test
