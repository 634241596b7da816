// lockstep rl: text and JSON of an iteration of post-training, and what it refuses.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Rl : public CommandLine {
 protected:
  Rl() {
    write("policy.yaml",
          "format: 1\nmodel: {layers: 2, d_model: 256, d_ff: 512, heads: 4, vocabulary: 512}\n"
          "cluster: {node: dgx-h100, nodes: 2}\nparallel: {tensor: 4, data: 4}\n"
          "batch: {sequences: 16, sequence_length: 64, microbatch_size: 1}\n");
    write("loop.yaml", loop);
  }
  /// What is said of the loop with a line in place of another.
  std::string complaint(const std::string& line, const std::string& instead) {
    auto text = loop;
    const auto at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    write("wrong.yaml", text.replace(at, line.size(), instead));
    const auto result = run({"rl", "wrong.yaml"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    return result.errors;
  }

  const std::string loop =
      "format: 1\n"
      "policy: policy.yaml\n"
      "rollouts: {prompts: 8, generations: 4, response_tokens: {mean: 48, most: 48}}\n"
      "generation: {chips_of_replica: 4, sequences: 8, tokens_per_s: 800}\n"
      "mode: synchronous\n";
};

TEST_F(Rl, SaysHowLongAnIterationTakes) {
  EXPECT_THAT(good({"rl", "loop.yaml"}), AllOf(HasSubstr("loop: 8 prompts x 4 responses, 48 tokens each in the mean"),
                                               HasSubstr("iteration "), HasSubstr("one pool: the phases take turns")));
  const auto result = json({"rl", "loop.yaml"});
  // 32 responses on four replicas of eight sequences: one round of 48 tokens at 8 / 800 s each.
  EXPECT_NEAR(result["phases"]["generation_s"].get<double>(), 0.48, 1e-12);
  const auto off = json({"rl", "loop.yaml", "--set", "generation.nodes=1", "--set", "mode=one step off"});
  EXPECT_LT(off["iteration_s"].get<double>(), 1.5 * 2 * 0.48);
  EXPECT_EQ(off["training_bubble_s"], off["exposed_generation_s"]);
  EXPECT_EQ(good({"rl", "loop.yaml", "--json", "loop.json"}), good({"rl", "loop.yaml"}) + "written: loop.json\n");
  EXPECT_EQ(json_file("loop.json"), result);
}

TEST_F(Rl, ComparesSplits) {
  const Words words{"rl", "loop.yaml", "--set", "generation.nodes=1", "--nodes", "4"};
  EXPECT_THAT(good(words), HasSubstr("shortest iteration: "));
  EXPECT_EQ(json(words)["splits"].size(), 2u);  // one node of training, or two; not three for 16 sequences
}

TEST_F(Rl, RefusesWhatIsWrong) {
  EXPECT_EQ(complaint("policy: policy.yaml\n", ""),
            "wrong.yaml:1:1: policy: missing; expected the scenario of the policy's training\n");
  EXPECT_THAT(complaint("policy.yaml", "none.yaml"),
              AllOf(StartsWith("wrong.yaml:2:9: policy: "), HasSubstr("none.yaml")));
  EXPECT_EQ(complaint("sequences: 8, tokens_per_s: 800", "sequences: 0, tokens_per_s: 0, tokens_per_s_alone: 5"),
            "wrong.yaml:4:46: generation.sequences: `0` is too small; expected a whole number from 1 to 1000000\n"
            "wrong.yaml:4:63: generation.tokens_per_s: `0` is too small; expected a number from 0.001 to 1e+12\n");
  EXPECT_THAT(complaint("chips_of_replica: 4", "nodes: 1000000"),
              HasSubstr("wrong.yaml:4:21: generation.nodes: both pools"));
  EXPECT_THAT(complaint("tokens_per_s: 800", "time: 1"), HasSubstr("wrong.yaml:4:"));
  EXPECT_EQ(
      complaint("tokens_per_s: 800", "sequence: 8"),
      "wrong.yaml:4:13: generation: has neither a rate nor a time; expected tokens_per_s of a replica, or time of "
      "the phase\nwrong.yaml:4:49: generation.sequence: unknown key; did you mean `sequences`\n");
  EXPECT_EQ(
      complaint("tokens_per_s: 800", "tokens_per_s: 800, tokens_per_s_alone: 90"),
      "wrong.yaml:4:88: generation.tokens_per_s_alone: a sequence alone is slower than one of 8; expected at least "
      "tokens_per_s / sequences\n");
  EXPECT_EQ(
      complaint("mean: 48", "mean: 49"),
      "wrong.yaml:3:64: rollouts.response_tokens.mean: is more than the 48 tokens at which the engine stops; expected "
      "at most that\n");
  EXPECT_EQ(
      complaint("mode: synchronous", "mode: one step off"),
      "wrong.yaml:5:7: mode: generation and training take turns on the same chips; expected generation.nodes, a pool "
      "of its own\n");
  EXPECT_EQ(
      complaint("chips_of_replica: 4", "chips_of_replica: 3"),
      "wrong.yaml:4:32: generation.chips_of_replica: 3 chips of a replica do not divide the 16 of the pool; expected a "
      "divisor of 16\n");
  const auto one_pool = run({"rl", "loop.yaml", "--nodes", "4"});
  EXPECT_EQ(one_pool.exit_code, 2);
  EXPECT_THAT(one_pool.errors, HasSubstr("one pool cannot be split"));
}

}  // namespace
}  // namespace lockstep::test
