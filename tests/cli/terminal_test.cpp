// Tables fit the terminal that they are printed on; what goes into a pipe is as wide as it wants.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"
#include "tests/cli/terminal_run.hpp"

namespace lockstep::test {
namespace {

using Words = std::vector<std::string>;

/// Letters of the widest line; a terminal ends lines with "\r\n".
std::size_t widest(const std::string& text) {
  std::size_t widest = 0, letters = 0;
  bool escape = false;  // such as what clears the rest of a line
  for (const char c : text) {
    if (c == '\x1b' || escape) {
      escape = c == '\x1b' || c == '[';
      continue;
    }
    if (c == '\n' || c == '\r') letters = 0;  // a progress line is written over itself
    if (c != '\n' && c != '\r' && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
      widest = std::max(widest, ++letters);
  }
  return widest;
}

std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r'; });
  return text;
}

struct Wide {
  std::string name;
  Words words;
};

class Terminal : public CommandLine, public testing::WithParamInterface<Wide> {};

// Each of these is wider than 80 columns in a pipe. Where nothing has to go on below with its first column again, all
// letters are there in some order: cells that go on in the next line change it, so they are counted.
TEST_P(Terminal, TablesFit) {
  const auto& words = GetParam().words;
  write("node.yaml",
        "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n"
        "cluster: h100:1\nbatch: {sequences: 32, sequence_length: 512}\n"
        "search: {tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: none, microbatches: [2, 4]}\n");
  const auto piped = good(words);
  if (GetParam().name != "replay") {  // which folds piped text too
    EXPECT_GT(widest(piped), 80U);
  }
  for (const int columns : {80, 120}) {
    const auto shown = on_terminal(scratch / "work", columns, words);
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_LE(widest(shown.output), static_cast<std::size_t>(columns)) << shown.output;
    auto all = without_space(piped), seen = without_space(shown.output);
    std::sort(all.begin(), all.end());
    std::sort(seen.begin(), seen.end());
    EXPECT_TRUE(std::includes(seen.begin(), seen.end(), all.begin(), all.end())) << shown.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Terminal,
    testing::Values(Wide{"plan", {"plan", "node.yaml"}}, Wide{"models", {"list", "models"}},
                    Wide{"schedules", {"list", "schedules"}},
                    Wide{"comparison",
                         {"schedule", "1f1b", "zb-h1", "dualpipe", "--stages", "4", "--microbatches", "8"}},
                    Wide{"replay",
                         {"replay", LOCKSTEP_SCENARIOS "/../traces/kineto_rank0.json",
                          LOCKSTEP_SCENARIOS "/../traces/kineto_rank1.json", "--cluster", "dgx-h100:1"}},
                    Wide{"roofline", {"roofline", LOCKSTEP_SCENARIOS "/small.yaml"}}, Wide{"help", {"--help"}},
                    Wide{"help_of_run", {"run", "--help"}}, Wide{"model", {"model", "llama-3-8b"}},
                    Wide{"check", {"check", LOCKSTEP_SCENARIOS "/../../../scenarios/llama3-70b-v5p.yaml"}},
                    Wide{"collective", {"collective", "all_reduce", "--cluster", "dgx-h100:2", "--group", "gpu+node"}}),
    [](const auto& wide) { return wide.param.name; });

}  // namespace
}  // namespace lockstep::test
