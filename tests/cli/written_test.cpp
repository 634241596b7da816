// Where a command wrote its files is the last line of what it prints.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using Words = std::vector<std::string>;

struct Writing {
  std::string name;
  Words words;
  std::string last;  ///< what its last line holds after "written: "
};

class Written : public CommandLine, public testing::WithParamInterface<Writing> {};

const std::string example = LOCKSTEP_SCENARIOS "/small.yaml";

TEST_P(Written, IsTheLastLine) {
  const auto& [name, words, last] = GetParam();
  write("node.yaml",
        "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n"
        "cluster: h100:1\nparallel: {tensor: 2, data: 4}\nbatch: {sequences: 32, sequence_length: 512}\n"
        "search: {tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: none, microbatches: [2, 4]}\n"
        "reliability: {failures: {gpu: {of: chip, mtbf: 50000 h}}, restart: 5 min, checkpoint: {write_bandwidth: 1 "
        "TB/s}}\n");
  write("loop.yaml",
        "format: 1\npolicy: node.yaml\nrollouts: {prompts: 8, response_tokens: {mean: 50, most: 50}}\n"
        "generation: {tokens_per_s: 1000}\n");
  write("points.yaml", "scenario: node.yaml\nsweep: {grid: {batch.sequences: [32, 64]}}\n");
  auto text = good(words);
  ASSERT_TRUE(text.ends_with("\n"));
  text.pop_back();
  const auto line = text.substr(text.rfind('\n') + 1);
  EXPECT_THAT(line, testing::StartsWith("written: "));
  EXPECT_THAT(line, testing::HasSubstr(last));
}

// A file that a command was given is not one that it writes, under whatever name.
TEST_F(CommandLine, NothingIsWrittenOverAnInput) {
  const std::string text =
      "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n"
      "cluster: h100:1\nparallel: {data: 8}\nbatch: {sequences: 32, sequence_length: 512}\n";
  write("node.yaml", text);
  for (const Words& words : {Words{"run", "node.yaml", "--json", "node.yaml"},
                             {"run", "node.yaml", "--json", "./node.yaml"},
                             {"plan", "node.yaml", "--write", "node.yaml"},
                             {"compare", "node.yaml", "node.yaml", "--json", "node.yaml"}}) {
    const auto refused = run(words);
    EXPECT_EQ(refused.exit_code, 2) << words.front();
    EXPECT_THAT(refused.errors, testing::HasSubstr("node.yaml: is what the command reads; expected another file"));
    EXPECT_EQ(content("node.yaml"), text);
  }
}

const auto graph = std::string(LOCKSTEP_SCENARIOS "/../networks/two_leaves.csv");
const auto trace = std::string(LOCKSTEP_SCENARIOS "/../traces/kineto_rank0.json");

INSTANTIATE_TEST_SUITE_P(
    Commands, Written,
    testing::Values(
        Writing{"run", {"run", example, "--out", "o", "--json", "r.json", "--goal", "g.goal"}, "r.json"},
        Writing{"run_folder", {"run", example, "--out", "o"}, "o/"},
        Writing{"chakra", {"run", example, "--chakra", "ranks"}, "ranks/"},
        Writing{"plan", {"plan", "node.yaml", "--write", "best.yaml", "--out", "o"}, "best.yaml, o/"},
        Writing{"chips", {"plan", "node.yaml", "--chips", "8..16", "--json", "c.json"}, "c.json"},
        Writing{"compare", {"compare", example, example, "--out", "o"}, "o/"},
        Writing{"schedule",
                {"schedule", "1f1b", "--stages", "4", "--microbatches", "8", "--csv", "a.csv", "--svg", "a.svg"},
                "a.svg, a.csv"},
        Writing{"schedules",
                {"schedule", "1f1b", "zb-h1", "--stages", "4", "--microbatches", "8", "--json", "s.json"},
                "s.json"},
        Writing{"collective",
                {"collective", "all_reduce", "--cluster", "h100:1", "--group", "gpu", "--json", "c.json"},
                "c.json"},
        Writing{"goodput", {"goodput", "node.yaml", "--json", "g.json"}, "g.json"},
        Writing{"faults", {"faults", "node.yaml", "--json", "f.json"}, "f.json"},
        Writing{"rl", {"rl", "loop.yaml", "--json", "l.json"}, "l.json"},
        Writing{"roofline", {"roofline", example, "--out", "o"}, "o/"},
        Writing{"init",
                {"init", "llama-3-8b", "--cluster", "h100:1", "--batch-tokens", "512k", "--sequence-length", "4096",
                 "--out", "i.yaml"},
                "i.yaml"},
        Writing{
            "import", {"import", "network", graph, "--out", "graph.yaml", "--json", "g.json"}, "graph.yaml, g.json"},
        Writing{"replay", {"replay", trace, "--json", "r.json"}, "r.json"},
        Writing{"model", {"model", "llama-3-8b", "--json", "m.json"}, "m.json"},
        Writing{"check", {"check", example, "--json", "c.json"}, "c.json"},
        Writing{"sweep", {"sweep", "points.yaml", "--db", "p.db", "--export", "p.csv"}, "p.db, p.csv"}),
    [](const auto& writing) { return writing.param.name; });

}  // namespace
}  // namespace lockstep::test
