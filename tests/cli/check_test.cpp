// lockstep check.
#include <gmock/gmock.h>

#include <random>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::Not;
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

// The figures of the line, and those of `run`; --fail-if-unfit is an answer by exit code, after the line.
TEST_F(Check, JsonHasTheFiguresOfEachFile) {
  const auto rows = json({"check", small, two_matmul})["scenarios"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(keys_of(rows[0]), testing::UnorderedElementsAre("scenario", "step_time_s", "peak_bytes", "capacity_bytes",
                                                              "fits", "verdict", "weights_and_optimizer_bytes",
                                                              "rank_classes", "layout", "notes"));
  const auto run_of_it = json({"run", small, "--engine", "max_min"});
  EXPECT_EQ(rows[0]["step_time_s"], run_of_it["step_time_s"]);
  EXPECT_EQ(rows[0]["peak_bytes"], run_of_it["memory"]["peak_bytes"]);
  EXPECT_EQ(rows[0]["fits"], true);
}

TEST_F(Check, FailsIfUnfitWhereThatIsAsked) {
  const std::vector<std::string> unfit{
      "check", small, "--set", "model=llama-3-70b", "--set", "mesh={data: rest}", "--set", "parallel={data: 64}"};
  EXPECT_EQ(run(unfit).exit_code, 0);
  auto strict = unfit;
  strict.emplace_back("--fail-if-unfit");
  const auto done = run(strict);
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.output, HasSubstr("does NOT fit"));
  EXPECT_EQ(done.errors, "");
  EXPECT_EQ(run({"check", small, "--fail-if-unfit"}).exit_code, 0);
}

// What the reader of a network's file assumed stands below the line of its scenario.
TEST_F(Check, PrintsTheNotesOnAGraph) {
  EXPECT_THAT(
      good({"check", small, "--set", "cluster={graph: ../networks/slurm_block.conf, node: {like: dgx-h100, chips: 1}}",
            "--set", "parallel={data: 8}", "--set", "mesh={data: rest}"}),
      HasSubstr("\n  note: Blocks are scheduled in sizes of 4,8 nodes.\n"));
  EXPECT_THAT(good({"check", small}), Not(HasSubstr("note:")));
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
  write("b.yaml", "formt: 1\nmodel: llama-3-8b\n");
  const auto done = run({"check", "a.yaml", small, "b.yaml", "none.yaml"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.output, StartsWith(small + ": ok"));
  EXPECT_THAT(done.errors, StartsWith("a.yaml:1:1: model: missing"));
  EXPECT_THAT(done.errors, HasSubstr("\na.yaml:1:9: format: format 2 is not known"));
  EXPECT_THAT(done.errors, HasSubstr("\nb.yaml:1:1: formt: unknown key; did you mean `format`"));
  EXPECT_THAT(done.errors, HasSubstr("\nnone.yaml: no such file"));
}

// How long gathered weights and gradients are held depends on the network, so only the step itself tells the memory:
// here two axes share links, the loss needs no more than its logits, and the peak is 7.13 GB where collectives without
// contention give 7.10.
TEST_F(Check, TellsTheMemoryOfTheStepThatRunSimulates) {
  const std::string contended = LOCKSTEP_SCENARIOS "/../../../scenarios/llama2-13b-fsdp-tp-line.yaml";
  const std::vector<std::string> at_peak{"--set", "model_of_time=ideal", "--set", "training.cross_entropy=in place"};
  const auto peak = [&](const std::string& after, std::vector<std::string> command) {
    command.insert(command.end(), at_peak.begin(), at_peak.end());
    const auto text = good(command);
    const auto at = text.find(after) + after.size();
    return text.substr(at, text.find(" of ", at) - at);
  };
  const auto checked = peak("memory peak ", {"check", contended});
  EXPECT_EQ(checked, peak(": peak ", {"run", contended}));
  EXPECT_NE(checked, peak(": peak ", {"run", contended, "--engine", "reference"}))
      << "a scenario in which contention moves the peak";
}

// Jitter makes 4,096 ranks differ: minutes of simulation, for which check does not keep anyone waiting.
TEST_F(Check, DoesNotSimulateForMinutes) {
  const std::string jittered = LOCKSTEP_SCENARIOS "/../../../scenarios/llama3-405b-pipeline-v5p.yaml";
  EXPECT_THAT(good({"check", jittered, "--set", "perturbations=[{jitter: 0.02, seed: 7}]"}),
              testing::AllOf(HasSubstr("ok; weights + optimizer "),
                             HasSubstr("4,096 classes of ranks are too many to simulate here"),
                             testing::Not(HasSubstr("fit"))));
}

/// Numbers that are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}
  const std::string& one_of(const std::vector<std::string>& words) { return words[generator_() % words.size()]; }

 private:
  std::mt19937_64 generator_;
};

// One list of refusals and one memory: whatever scenario it is, `check` ends as `run` does.
TEST_F(Check, SaysWhatRunSaysOfRandomScenarios) {
  Dice dice(20261122);
  int accepted = 0;
  constexpr int scenarios = 60;
  for (int i = 0; i < scenarios; ++i) {
    const std::string text =
        "format: 1\nmodel: " +
        dice.one_of({"{type: two-matmul, layers: 4, d_model: 512, d_ff: 2048}",
                     "{layers: 8, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 2048}",
                     "{layers: 4, d_model: 512, d_ff: 1024, heads: 8, vocabulary: 2048, moe: {experts: 8, "
                     "experts_per_token: 2, d_ff: 512}}"}) +
        "\ncluster: " +
        dice.one_of({"tpu-v5p:4x2", "h100", "tpu-v5e:8", "{node: {like: dgx-h100, chips: 4}, nodes: 2}"}) +
        "\nparallel: " +
        dice.one_of({"{fsdp: 8}", "{data: 8, zero: 1}", "{tensor: 2, fsdp: 4}", "{pipeline: 2, data: 4}",
                     "{expert: 4, fsdp: 2}", "{context: 2, fsdp: 4}", "{tensor: 16}"}) +
        "\nbatch: {sequences: " + dice.one_of({"16", "64", "24"}) +
        ", sequence_length: " + dice.one_of({"256", "4096", "100000", "100000000"}) +
        ", microbatches: " + dice.one_of({"1", "2", "3", "8"}) + "}\ntraining: {" +
        dice.one_of({"", "attention: unfused", "recompute: full", "precision: fp8", "offload: {activation_layers: 2}",
                     "dropout: true", "offload: {optimizer: true}"}) +
        "}\nmodel_of_time: " + dice.one_of({"ideal", "roofline", "calibrated"}) + "\n";
    SCOPED_TRACE(text);
    write("random.yaml", text);
    const auto checked = run({"check", "random.yaml"}), ran = run({"run", "random.yaml"});
    ASSERT_EQ(checked.exit_code, ran.exit_code) << checked.errors << ran.errors;
    ASSERT_EQ(checked.errors, ran.errors);
    if (ran.exit_code != 0) continue;
    ++accepted;
    const auto after = [](const std::string& output, const std::string& words) {
      const auto at = output.find(words) + words.size();
      return output.substr(at, output.find_first_of("(,;", at) - at);
    };
    ASSERT_EQ(after(checked.output, "memory peak ").substr(0, 8), after(ran.output, ": peak ").substr(0, 8))
        << checked.output;
  }
  EXPECT_GT(accepted, scenarios / 4);
  EXPECT_LT(accepted, scenarios);
}

TEST_F(Check, SetHoldsForEveryFile) {
  const auto done = run({"check", "--set", "batch.sequences=abc", small, two_matmul});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.errors, StartsWith("--set batch.sequences: "));
}

// A slice that its vendor does not schedule is simulated, and a note says so: in the line of check, in the text of run
// and in its JSON. A slice that it schedules has none.
TEST_F(Check, NotesWhatCannotBeScheduled) {
  const auto scenario = [](const std::string& shape, const std::string& chips) {
    return "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 1024, d_ff: 4096}\ncluster: tpu-v5p:" + shape +
           "\nparallel: {data: " + chips + "}\nbatch: {sequences: " + chips + ", sequence_length: 64}\n";
  };
  write("pod.yaml", scenario("16x20x28", "8960"));
  write("slice.yaml", scenario("8x8x16_twisted", "1024"));
  const std::string note =
      "a slice of 16x20x28 (8960 chips) cannot be scheduled: the largest job on tpu-v5p has 6144 chips";
  EXPECT_THAT(good({"check", "pod.yaml"}), testing::EndsWith("; note: " + note + "\n"));
  EXPECT_THAT(good({"run", "pod.yaml"}), testing::HasSubstr("\nnote: " + note + "\n"));
  EXPECT_EQ(json({"run", "pod.yaml"})["notes"], nlohmann::json::array({note}));
  EXPECT_THAT(good({"check", "slice.yaml"}), testing::Not(testing::HasSubstr("note:")));
  EXPECT_EQ(json({"run", "slice.yaml"})["notes"], nlohmann::json::array());
  EXPECT_EQ(json({"run", "slice.yaml"})["cluster"], "tpu-v5p 8x8x16 twisted");
}

}  // namespace
}  // namespace lockstep::test
