// lockstep check.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Check : public CommandLine {
 protected:
  const std::string two_matmul = LOCKSTEP_SCENARIOS "/small_two_matmul.yaml";
};

TEST_F(Check, SaysOneLinePerFile) {
  const auto text = good({"check", small, two_matmul});
  EXPECT_THAT(text, StartsWith(small + ": ok; memory peak "));
  EXPECT_THAT(text, HasSubstr("\n" + two_matmul + ": ok; memory peak "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

// Plain data parallelism keeps 10 bytes of each of 70 billion parameters on every chip of 96 GB.
TEST_F(Check, NotFittingIsAnAnswer) {
  EXPECT_THAT(good({"check", small, "--set", "model=llama-3-70b", "--set", "mesh={data: rest}", "--set",
                    "parallel={data: 64}"}),
              HasSubstr("does NOT fit"));
  EXPECT_THAT(good({"check", small}), HasSubstr(", fits "));
}

TEST_F(Check, TellsTheProblemsOfAllFilesAndTheGoodOnes) {
  write("a.yaml", "format: 2\n");
  write("b.yaml", "formt: 1\n");
  const auto done = run({"check", "a.yaml", small, "b.yaml", "none.yaml"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.output, StartsWith(small + ": ok"));
  EXPECT_THAT(done.errors, StartsWith("a.yaml:1:1: model: missing"));
  EXPECT_THAT(done.errors, HasSubstr("\na.yaml:1:9: format: format 2 is not known"));
  EXPECT_THAT(done.errors, HasSubstr("\nb.yaml:1:1: formt: unknown key; did you mean `format`"));
  EXPECT_THAT(done.errors, HasSubstr("\nnone.yaml: no such file"));
}

TEST_F(Check, SetHoldsForEveryFile) {
  const auto done = run({"check", "--set", "batch.sequences=abc", small, two_matmul});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.errors, StartsWith("--set batch.sequences: "));
}

}  // namespace
}  // namespace lockstep::test
