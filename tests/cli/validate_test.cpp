// lockstep validate.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "tests/cli/program_run.hpp"
#include "tests/cli/share_of_the_machine.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

// One chip at peak rate: 2 matmuls of 64 x 128 and their like, 3 x 2 FLOPs a weight and token; the second row is twice
// the first.
const std::string own =
    "model,layers,d_model,d_ff,heads,vocabulary,cluster,sequences,sequence_length,measured_step_s,measured_peak_bytes,"
    "source\n"
    "mine,2,64,128,4,256,tpu-v5p:1x1x1,4,64,1e-6,1000000,a log\n"
    "mine,2,64,128,4,256,tpu-v5p:1x1x1,8,64,2e-6,,a log\n"
    "mine,2,64,128,4,256,tpu-v5p:1x1x1,16,64,3e-6,,a log\n";

class Validate : public CommandLine {};

TEST_F(Validate, OwnRunsWithErrorsByFamily) {
  write("own.csv", own);
  const auto made = json({"validate", "own.csv", "--model-of-time", "ideal"});
  ASSERT_EQ(made["rows"].size(), 3U);
  ASSERT_EQ(made["families"].size(), 2U);
  double sum = 0;
  for (const auto& row : made["rows"]) {
    const double measured = row["measured_s"], predicted = row["predicted_s"];
    EXPECT_NEAR(row["error_pct"], 100 * (predicted / measured - 1), 1e-9);
    EXPECT_EQ(row["skipped_because"], nullptr);
    sum += std::abs(row["error_pct"].get<double>());
  }
  EXPECT_NEAR(made["rows"][1]["predicted_s"].get<double>() / made["rows"][0]["predicted_s"].get<double>(), 2, 1e-6);
  EXPECT_THAT(keys_of(made["families"][0]),
              UnorderedElementsAre("table", "family", "rows", "skipped", "mean_abs_pct", "median_abs_pct",
                                   "max_abs_pct", "bias_pct", "spearman", "memory_rows", "memory_mean_abs_pct",
                                   "memory_bias_pct", "ran", "said_not_to_fit"));
  EXPECT_EQ(made["families"][0]["table"], "own");
  EXPECT_EQ(made["families"][1]["family"], "mine");
  EXPECT_NEAR(made["families"][0]["mean_abs_pct"], sum / 3, 1e-9);
  EXPECT_EQ(made["families"][0]["spearman"], 1);
  EXPECT_EQ(made["families"][0]["memory_rows"], 1);
  EXPECT_THAT(good({"validate", "own.csv"}), HasSubstr("worst rows"));
}

TEST_F(Validate, FolderHasTheSameDocument) {
  write("own.csv", own);
  (void)good({"validate", "own.csv", "--model-of-time", "ideal", "--out", "made"});
  EXPECT_EQ(json_file("made/validation.json"), json({"validate", "own.csv", "--model-of-time", "ideal"}));
}

// Simulations run beside each other; the answer does not show it.
TEST_F(Validate, JobsDoNotChangeTheAnswer) {
  write("own.csv", own);
  EXPECT_EQ(good({"validate", "own.csv", "--jobs", "1", "--json", "-"}),
            good({"validate", "own.csv", "--jobs", "3", "--json", "-"}));
}

TEST_F(Validate, MistakesInOwnRunsAreTheUsers) {
  write("own.csv",
        own + "mine,2,64,128,5,256,tpu-v5p:1x1x1,16,64,3e-6,,a log\nmine,2,64,128,4,256,tpu-v5q:1,16,64,3e-6,,a log\n");
  const auto made = run({"validate", "own.csv"});
  EXPECT_EQ(made.exit_code, 2);
  EXPECT_EQ(made.output, "");
  EXPECT_THAT(made.errors, HasSubstr("own.csv:5:"));
  EXPECT_THAT(made.errors, HasSubstr("own.csv:6:21: cluster: "));
  EXPECT_EQ(run({"validate", "no_such_table"}).exit_code, 2);
  EXPECT_THAT(run({"validate", "torchtitann"}).errors, HasSubstr("did you mean `torchtitan`"));
  EXPECT_EQ(run({"validate", "--data", "nowhere"}).exit_code, 2);
}

// Files of the published names in a folder of the user's go through the same rule as those of the program.
TEST_F(Validate, DataInAFolder) {
  const std::string header =
      "model,layers,d_model,seq,gbs,mbs,precision,chip,n_chips,tp,pp,cp,vp,ga,tokens_per_s_per_gpu,tflops_per_gpu,step_"
      "time_s_derived,source,verified\n";
  std::filesystem::create_directories(scratch / "work" / "data");
  write("data/megatron_llama3_fp8_h100.csv",
        header +
            "LLAMA3-8B,32,4096,8192,16,1,BF16,H100 (DGX),8,1,1,2,1,4,10000,,,nowhere,\nSomething "
            "else,32,4096,8192,16,1,BF16,H100 (DGX),8,1,1,2,1,4,10000,,,nowhere,\n");
  write("data/notes.csv", "a,b\n1,2\n");
  const auto made = json({"validate", "--data", "data", "--model-of-time", "ideal"});
  ASSERT_EQ(made["rows"].size(), 2U);
  EXPECT_NEAR(made["rows"][0]["measured_s"], 16.0 * 8192 / (10000 * 8), 1e-9);
  EXPECT_GT(made["rows"][0]["predicted_s"], 0);
  EXPECT_EQ(made["rows"][1]["skipped_because"], "no shape of 'Something else'");
  EXPECT_EQ(made["families"][0]["skipped"], 1);
  EXPECT_THAT(good({"validate", "--data", "data", "--model-of-time", "ideal"}),
              AllOf(HasSubstr("  1 of megatron_llama3_fp8_h100: no shape of 'Something else' (line 3)\n"),
                    HasSubstr("\ndata/notes.csv was left out: it has no columns of measured steps, kernels or "
                              "collectives\n")));
}

// A table of one's own in a folder is read even where a name of its columns is mistyped, so that this is told.
TEST_F(Validate, MistypedTablesInAFolder) {
  std::filesystem::create_directories(scratch / "work" / "data");
  write("data/own.csv", own);
  write("data/typo.csv",
        "model,cluster,fsdp,sequences,sequence_length,measured_stepp\nllama-3-8b,h100:8,64,128,8192,3\n");
  const auto told = run({"validate", "--data", "data"});
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.output, "");
  EXPECT_THAT(told.errors, HasSubstr("data/typo.csv:1:46: measured_stepp: is not a column of measured runs; did you "
                                     "mean `measured_step_s`\n"));
  write("data/typo.csv", "model,clster,fsdp,sequences,sequence_length,measured_step_s\nx,h100:8,64,128,8192,3\n");
  EXPECT_THAT(run({"validate", "--data", "data"}).errors,
              HasSubstr("data/typo.csv:1:1: cluster: the column is missing"));
}

// A typing error in a table of a published name is told at its cell; a blank skips its row, at its cell too.
TEST_F(Validate, UnreadableCellsOfPublishedTables) {
  const std::string header =
      "model,layers,d_model,seq,gbs,mbs,precision,chip,n_chips,tp,pp,cp,vp,ga,tokens_per_s_per_gpu,tflops_per_gpu,step_"
      "time_s_derived,source,verified\n";
  const auto row = [](const std::string& sequences) {
    return "LLAMA3-8B,32,4096,8192," + sequences + ",1,BF16,H100 (DGX),8,1,1,2,1,4,10000,,,nowhere,\n";
  };
  std::filesystem::create_directories(scratch / "work" / "data");
  const std::string file = "data/megatron_llama3_fp8_h100.csv";
  write(file, header + row("many") + row("16") + row("6teen"));
  const auto told = run({"validate", "--data", "data"});
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.output, "");
  const std::string expected = "expected an integer of at least 1, or an empty cell where the source does not say\n";
  EXPECT_EQ(told.errors, file + ":2:24: gbs: 'many' is not a count; " + expected + file +
                             ":4:24: gbs: '6teen' is not a count; " + expected);
  write(file, header + row("") + row("16"));
  EXPECT_THAT(good({"validate", "--data", "data", "--model-of-time", "ideal"}),
              HasSubstr("1 of megatron_llama3_fp8_h100: megatron_llama3_fp8_h100.csv:2:24: gbs: is empty; "));
}

// A published table that the folder lacks is a file that is missing there.
TEST_F(Validate, TablesThatTheFolderLacks) {
  std::filesystem::create_directories(scratch / "work" / "data");
  const auto told = run({"validate", "jax_gpu", "--data", "data"});
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.errors, "data/jax_gpu.csv: no such file; expected table jax_gpu in the folder of --data\n");
}

// One mistake is told once, and a table without rows is one.
TEST_F(Validate, OwnRunsThatWereNotMeasured) {
  const std::string header = "model,cluster,fsdp,sequences,sequence_length,measured_step_s\n";
  write("own.csv", header + "llama-3-8b,tpu-v5p:4x4x4,64,64,8192,-2\n");
  EXPECT_EQ(run({"validate", "own.csv"}).errors,
            "own.csv:2:37: measured_step_s: '-2' is not a number above 0; expected a plain number without a unit\n");
  write("own.csv", header);
  const auto told = run({"validate", "own.csv"});
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.errors, "own.csv:1:1: has no rows; expected a line for each measurement below the header\n");
  EXPECT_EQ(run({"calibrate", "own.csv", "--chip", "tpu-v5p"}).errors, told.errors);
}

TEST_F(Validate, ScenariosAndPictures) {
  write("own.csv", own);
  EXPECT_EQ(good({"validate", "own.csv", "--scenarios", "scenarios"}), "");
  EXPECT_EQ(files_in("scenarios/own"), (std::vector<std::string>{"1.yaml", "2.yaml", "3.yaml"}));
  const auto alone = json({"run", "scenarios/own/2.yaml"});
  const auto made = json({"validate", "own.csv", "--plot", "errors.svg"});
  EXPECT_EQ(alone["step_time_s"], made["rows"][1]["predicted_s"]);
  EXPECT_THAT(content("errors.svg"), HasSubstr("own line 2, mine"));
}

// Nothing is simulated for scenarios, so there is nothing to write or print of the errors.
TEST_F(Validate, ScenariosAlone) {
  write("own.csv", own);
  const auto told = run({"validate", "own.csv", "--scenarios", "made", "--json", "-", "--out", "out", "--ablation"});
  EXPECT_EQ(told.exit_code, 2);
  EXPECT_EQ(told.output, "");
  EXPECT_EQ(
      told.errors,
      "--scenarios: simulates nothing, so that nothing is left for --json, --out, --ablation; expected one or the "
      "other\n");
  EXPECT_FALSE(std::filesystem::exists(scratch / "work" / "made"));
}

TEST_F(Validate, APageNeedsItsMarkers) {
  write("own.csv", own);
  write("page.md",
        "before\n<!-- generated by lockstep validate: begin -->\nold\n<!-- generated by lockstep validate: end "
        "-->\nafter\n");
  EXPECT_EQ(good({"validate", "own.csv", "--update-docs", "page.md"}), "written: page.md\n");
  const auto page = content("page.md");
  EXPECT_THAT(page, testing::StartsWith("before\n<!-- generated by lockstep validate: begin -->\n"));
  EXPECT_THAT(page, testing::EndsWith("<!-- generated by lockstep validate: end -->\nafter\n"));
  EXPECT_THAT(page, Not(HasSubstr("\nold\n")));
  EXPECT_THAT(page, HasSubstr("| own | 3 | 0 |"));
  write("plain.md", "nothing\n");
  EXPECT_THAT(run({"validate", "own.csv", "--update-docs", "plain.md"}).errors,
              HasSubstr("plain.md: has no place for what is generated"));
}

// Sections of studies that are not asked for stay as they are; all else is written anew.
TEST_F(Validate, APageKeepsWhatIsNotAskedFor) {
  write("own.csv", own);
  write("page.md",
        "<!-- generated by lockstep validate: begin -->\n\n### Three steps of one's own\n\nold steps\n\n### "
        "Memory\n\nold memory\n\n### Without one effect\n\nold effects\n\n<!-- generated by lockstep validate: end "
        "-->\n");
  (void)good({"validate", "own.csv", "--update-docs", "page.md"});
  const auto page = content("page.md");
  EXPECT_THAT(page, HasSubstr("\n\n### Three steps of one's own\n\nold steps\n\n### Memory\n\nEvery step"));
  EXPECT_THAT(page, HasSubstr("\n\n### Without one effect\n\nold effects\n\n###"));
  EXPECT_THAT(page, Not(HasSubstr("old memory")));
  (void)good({"validate", "own.csv", "--update-docs", "page.md"});
  EXPECT_EQ(content("page.md"), page);
  (void)good({"validate", "own.csv", "--update-docs", "page.md", "--ablation"});
  EXPECT_THAT(content("page.md"), HasSubstr("old steps"));
  EXPECT_THAT(content("page.md"), HasSubstr("### Without one effect\n\nMean errors"));
  EXPECT_THAT(content("page.md"), Not(HasSubstr("old effects")));
}

// 2 x 8192^3 FLOPs at 400 TFLOP/s are measured; at its peak of 989 TFLOP/s an H100 takes 400/989 of that.
TEST_F(Validate, SingleProducts) {
  write("products.csv",
        "chip,precision,m,n,k,tflops,source\nh100,bf16,8192,8192,8192,400,nowhere\nh100,fp4,8192,8192,8192,400,"
        "nowhere\n");
  const auto made = json({"validate", "products.csv", "--model-of-time", "ideal"});
  ASSERT_EQ(made["rows"].size(), 2U);
  EXPECT_NEAR(made["rows"][0]["error_pct"], 100 * (400.0 / 989 - 1), 1e-9);
  EXPECT_EQ(made["rows"][1]["skipped_because"], "chip h100 has no kernel times in fp4");
}

// Collectives have no scenario, but a picture; short times are written in their unit. Mistakes of all rows, and of
// their machines, are told before a step is simulated.
TEST_F(Validate, CollectivesOfOnesOwn) {
  write("own.csv", "collective,chip,n_ranks,size_bytes,time_us\nall_to_all,dgx-h100,8,1048576,60\n");
  EXPECT_THAT(good({"validate", "own.csv", "--plot", "made.svg"}), HasSubstr("60.00 us"));
  EXPECT_THAT(content("made.svg"), HasSubstr("Measured collectives"));
  EXPECT_THAT(content("made.svg"), HasSubstr("own line 2, dgx-h100, all_to_all"));
  EXPECT_THAT(run({"validate", "own.csv", "--scenarios", "made"}).errors, HasSubstr("only a step has a scenario"));
  write("own.csv",
        "collective,chip,n_ranks,size_bytes,time_us\npsum,dgx-h100,8,8,60\nall_reduce,abacus,8,8,60\n"
        "all_reduce,dgx-h100,9,8,60\n");
  const auto told = run({"validate", "own.csv"}).errors;
  for (const auto* place : {"own.csv:2:1: collective: ", "own.csv:3:12: chip: ", "own.csv:4:21: n_ranks: "})
    EXPECT_THAT(told, HasSubstr(place));
}

TEST_F(Validate, LeavingOutNeedsAFit) {
  write("own.csv", own);
  const auto made = run({"validate", "own.csv", "--leave-one-out", "--model-of-time", "ideal"});
  EXPECT_EQ(made.exit_code, 2);
  EXPECT_THAT(made.errors, HasSubstr("--model-of-time calibrated"));
}

TEST_F(Validate, StudiesNeedTheirModelOfTime) {
  write("own.csv", own);
  for (const std::vector<std::string>& study : {std::vector<std::string>{"--ablation"}, {"--own-steps", "3"}}) {
    std::vector<std::string> arguments{"validate", "own.csv", "--model-of-time", "ideal"};
    arguments.insert(arguments.end(), study.begin(), study.end());
    const auto made = run(arguments);
    EXPECT_EQ(made.exit_code, 2);
    EXPECT_THAT(made.errors, HasSubstr(study.front() + ": "));
  }
}

// Small products fill the matrix unit badly, so without that steps are shorter, and all rows have it; collectives of a
// v5p slow no kernels down, and one chip has no other pod.
TEST_F(Validate, WithoutOneEffect) {
  write("own.csv", own);
  const auto text = good({"validate", "own.csv", "--ablation"});
  EXPECT_THAT(text, HasSubstr("tiles, waves and depth of products"));
  EXPECT_THAT(text, HasSubstr("the clock of whole steps"));
  EXPECT_THAT(text, Not(HasSubstr("kernels slowed by collectives beside them")));
  EXPECT_THAT(text, Not(HasSubstr("hosts between pods")));
}

// Six steps of one machine that all take 1.3 times what is predicted: of two that are given a part is believed, and the
// others are nearer to their predictions by that part.
TEST_F(Validate, StepsOfOnesOwn) {
  const std::string header = "model,cluster,fsdp,sequences,sequence_length,measured_step_s,source\n";
  std::string rows;
  for (const int sequences : {64, 128, 192, 256, 320, 384})
    rows += "llama-3-8b,tpu-v5p:4x4x4,64," + std::to_string(sequences) + ",8192,1,made\n";
  write("own.csv", header + rows);
  rows.clear();
  const auto predicted = json({"validate", "own.csv", "--engine", "reference"});
  for (const auto& row : predicted["rows"])
    rows += "llama-3-8b,tpu-v5p:4x4x4,64," + std::to_string(64 * row["row"].get<int>()) + ",8192," +
            std::to_string(1.3 * row["predicted_s"].get<double>()) + ",made\n";
  write("own.csv", header + rows);
  const auto text = good({"validate", "own.csv", "--own-steps", "2"});
  const auto at = text.find("own, tpu-v5p");
  ASSERT_NE(at, std::string::npos) << text;
  std::istringstream line(text.substr(at + std::string("own, tpu-v5p").size()));
  int given = 0, others = 0;
  double before = 0, after = 0;
  std::string percent;
  line >> given >> others >> before >> percent >> after;
  EXPECT_EQ(given, 2);
  EXPECT_EQ(others, 4);
  EXPECT_NEAR(before, 100 * (1 - 1 / 1.3), 0.1);
  const double share = share_of_the_machine(good({"calibrate", "own.csv", "--chip", "tpu-v5p"}), 2);
  EXPECT_GT(share, 0.05);
  EXPECT_NEAR(after, 100 * (1 - std::pow(1.3, share - 1)), 1);
}

// Of three steps two cannot be given and three others predicted.
TEST_F(Validate, TooFewStepsOfOnesOwn) {
  write("own.csv", own);
  const auto text = good({"validate", "own.csv", "--own-steps", "2"});
  EXPECT_THAT(text, HasSubstr("no steps of one's own: no table has 5 timed steps on one chip"));
  EXPECT_THAT(text, Not(HasSubstr("mean before")));
}

// The residuals of one set of runs are what the band of a step like them is made of.
TEST_F(Validate, ErrorsByFamily) {
  write("own.csv", own);
  EXPECT_NE(good({"validate", "own.csv", "--model-of-time", "calibrated", "--errors", "errors.csv"}), "");
  EXPECT_THAT(content("errors.csv"),
              testing::StartsWith("chip,generation,precision,method,chips,parameters,exposed_share,rows,table,family,"
                                  "measured_over_predicted\ntpu-v5p,tpu-v5p,bf16,torus,1,"));
  EXPECT_THAT(content("errors.csv"), HasSubstr(",3,own,"));
}

// A measured peak leaves measured / predicted.
TEST_F(Validate, ErrorsOfMemoryByFamily) {
  write("own.csv", own);
  EXPECT_NE(good({"validate", "own.csv", "--memory-errors", "memory.csv"}), "");
  EXPECT_THAT(content("memory.csv"),
              testing::StartsWith("table,family,measured_over_predicted,capacity_over_predicted\n"));
}

}  // namespace
}  // namespace lockstep::test
