// lockstep run.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Run : public CommandLine {};

/// The result without what the machine's clock decides.
json without_clock(json result) {
  result["engine"].erase("wall_s");
  result["engine"].erase("fold_wall_s");
  return result;
}

double sum(const json& breakdown) {
  return breakdown["compute_s"].get<double>() + breakdown["exposed_comm_s"].get<double>() +
         breakdown["bubble_s"].get<double>();
}

// At ideal rates replicas of equal work compute in the ratio of their chips' peaks, 989 to 312 TFLOP/s, as far as
// products take the time; the rest goes with the memories, 3.35 to 2.04 TB/s.
TEST_F(Run, NamesTheKindOfChipThatTheOthersWaitFor) {
  const Words mixed{"run",   small,
                    "--set", "cluster={groups: [{node: dgx-h100, nodes: 1}, {node: dgx-a100, nodes: 1}]}",
                    "--set", "mesh={tensor: [gpu/4], data: rest}",
                    "--set", "parallel={tensor: 4, data: 4}",
                    "--set", "model_of_time=ideal"};
  EXPECT_THAT(good(mixed), HasSubstr("the others wait for a100: 8 h100 compute for "));
  const auto kinds = json(mixed)["chip_kinds"];
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0]["chip"], "h100");
  EXPECT_EQ(kinds[1]["chips"], 8);
  const double ratio =
      kinds[1]["breakdown"]["compute_s"].get<double>() / kinds[0]["breakdown"]["compute_s"].get<double>();
  EXPECT_GT(ratio, 3.35 / 2.04);
  EXPECT_LT(ratio, 989.0 / 312);
  EXPECT_TRUE(json({"run", small})["chip_kinds"].empty());
}

// A dumped scenario is the same one in any folder: with the replaced keys, and files by their whole path.
TEST_F(Run, DumpsTheScenarioAsOneDocument) {
  write("config.json", R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 128})");
  const Words changed{
      "run", small, "--set", "batch.sequences=128", "--set", "model=" + (scratch / "work/config.json").string()};
  auto dumped = changed;
  dumped.insert(dumped.end(), {"--dump", "scenario"});
  std::filesystem::create_directories(scratch / "work/other");
  write("other/same.yaml", good(dumped));
  EXPECT_EQ(json({"run", "other/same.yaml"})["step_time_s"], json(changed)["step_time_s"]);
  EXPECT_THAT(content("other/same.yaml"), testing::HasSubstr((scratch / "work/config.json").string()));
}

TEST_F(Run, JsonHasTheKeysThatStay) {
  const auto result = json({"run", small});
  EXPECT_THAT(keys_of(result),
              IsSupersetOf(Words{"scenario", "step_time_s", "tokens_per_s", "tokens_per_s_per_chip",
                                 "model_flops_per_step", "mfu", "hfu", "tflops_per_chip", "chips", "params",
                                 "breakdown", "comm", "pipeline", "memory", "stages", "engine"}));
  EXPECT_THAT(keys_of(result["pipeline"]),
              IsSupersetOf(Words{"schedule", "bubble_fraction_step", "bubble_fraction_span"}));
  EXPECT_THAT(keys_of(result["engine"]), IsSupersetOf(Words{"folded", "rank_classes", "ranks", "link_classes", "links",
                                                            "ops", "activities", "wall_s", "fold_wall_s"}));
  ASSERT_FALSE(result["comm"].empty());
  for (const auto& use : result["comm"]) {
    EXPECT_THAT(keys_of(use), IsSupersetOf(Words{"axis", "kind", "count", "full_size_bytes", "busy_s", "exposed_s"}));
  }
  ASSERT_EQ(result["stages"].size(), 1u);
  for (const auto& part : {result, result["stages"][0]}) {
    EXPECT_THAT(keys_of(part["breakdown"]), IsSupersetOf(Words{"compute_s", "exposed_comm_s", "bubble_s"}));
    EXPECT_THAT(keys_of(part["memory"]),
                IsSupersetOf(Words{"peak_bytes", "capacity_bytes", "fits", "weights_bytes", "gradients_bytes",
                                   "optimizer_bytes", "activations_bytes", "other_bytes"}));
  }
}

// compute + exposed communication + bubble = step time, on the critical rank and on each stage.
TEST_F(Run, TheBreakdownSumsToTheStepTime) {
  const auto result = json({"run", small});
  const double step = result["step_time_s"];
  EXPECT_GT(step, 0);
  EXPECT_NEAR(sum(result["breakdown"]), step, 1e-9 * step);
  EXPECT_NEAR(sum(result["stages"][0]["breakdown"]), step, 1e-9 * step);
}

// tokens = 64 * 512 = 32768; tokens/s = tokens / step; MFU = model FLOPs / (step * 64 chips * 459 TFLOP/s).
TEST_F(Run, RatesFollowFromTheStepTime) {
  const auto result = json({"run", small});
  const double step = result["step_time_s"];
  const double flops = result["model_flops_per_step"];
  EXPECT_EQ(result["chips"], 64);
  EXPECT_NEAR(result["tokens_per_s"], 32768 / step, 1e-9 * 32768 / step);
  EXPECT_NEAR(result["tokens_per_s_per_chip"], 512 / step, 1e-9 * 512 / step);
  EXPECT_NEAR(result["mfu"], flops / (step * 64 * 459e12), 1e-9);
  EXPECT_EQ(result["hfu"], result["mfu"]) << "nothing is recomputed";
  EXPECT_NEAR(result["tflops_per_chip"], flops / step / 64 / 1e12, 1e-6);
}

TEST_F(Run, TwoRunsAreAlikeToTheByte) {
  EXPECT_EQ(good({"run", small}), good({"run", small}));
  EXPECT_EQ(good({"run", small, "--dump", "timeline"}), good({"run", small, "--dump", "timeline"}));
  EXPECT_EQ(without_clock(json({"run", small})).dump(), without_clock(json({"run", small})).dump());
}

TEST_F(Run, OutHoldsWholeFilesOnly) {
  EXPECT_THAT(good({"run", small, "--out", "a/b", "--json", "also.json"}), HasSubstr("step time"));
  EXPECT_THAT(files_in("a/b"), IsSupersetOf(Words{"result.json", "timeline.svg"}));
  EXPECT_THAT(files_in("a/b"), Each(testing::AnyOf("result.json", "timeline.svg", "trace.pftrace.gz", "report.html")));
  EXPECT_EQ(files_in("."), (Words{"a", "also.json"}));
  EXPECT_EQ(content("a/b/result.json"), content("also.json"));
  EXPECT_EQ(without_clock(json_file("also.json")), without_clock(json({"run", small})));
  EXPECT_THAT(content("a/b/timeline.svg"), HasSubstr("</svg>"));

  (void)good({"run", small, "--out", "a/b"});  // once more, over the old files
  EXPECT_EQ(files_in("."), (Words{"a", "also.json"}));
}

// Chrome's JSON is written beside Perfetto's form where it is asked for, and changes no other file.
TEST_F(Run, TraceAsJsonOnRequest) {
  (void)good({"run", small, "--out", "a"});
  (void)good({"run", small, "--out", "b", "--trace-json"});
  auto files = files_in("b");
  EXPECT_EQ(std::erase(files, "trace.json.gz"), 1u);
  EXPECT_EQ(files, files_in("a"));
  for (const auto* file : {"result.json", "timeline.svg", "trace.pftrace.gz"})
    EXPECT_EQ(content(std::string("a/") + file), content(std::string("b/") + file)) << file;
  EXPECT_THAT(content("b/trace.json.gz"), StartsWith("\x1f\x8b"));
  EXPECT_EQ(run({"run", small, "--trace-json"}).exit_code, 2) << "of what folder?";
}

// A broken module in the way of the real one, since the loader looks into LD_LIBRARY_PATH first: only who uses SimGrid
// notices.
TEST_F(Run, SimGridIsLoadedWhereItIsUsed) {
  write("liblockstep_simgrid.so", "not a library");
  ::setenv("LD_LIBRARY_PATH", (scratch / "work").c_str(), 1);
  (void)good({"--version"});
  (void)good({"check", small});
  const auto by_max_min = good({"run", small, "--engine", "max_min"});
  EXPECT_EQ(good({"run", small}), by_max_min) << "automatic takes max_min where there is no SimGrid";
  const auto broken = run({"run", small, "--engine", "simgrid"});
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.errors, StartsWith("simgrid: the engine cannot be loaded: "));
  EXPECT_THAT(broken.errors, HasSubstr("; expected liblockstep_simgrid.so "));
  EXPECT_EQ(std::count(broken.errors.begin(), broken.errors.end(), '\n'), 1);
  EXPECT_THAT(by_max_min, testing::EndsWith("by max_min\n"));
  EXPECT_THAT(good({"run", small}), testing::EndsWith("by simgrid\n"));
}

// What the critical path was spent on adds up to the step; what would help is a share of it, in both kinds of output.
TEST_F(Run, SaysWhatSetsTheStepTimeAndWhatWouldHelp) {
  const auto result = json({"run", small});
  double sum = 0;
  for (const auto& part : result["critical_path"]["parts"]) sum += part["time_s"].get<double>();
  EXPECT_NEAR(sum, result["step_time_s"], 1e-12 * sum);
  EXPECT_TRUE(result["elasticity"].is_null());
  EXPECT_THAT(good({"run", small}),
              testing::AllOf(HasSubstr("critical path: "), testing::Not(HasSubstr("what would help"))));

  const auto answered = json({"run", small, "--sensitivity"});
  ASSERT_FALSE(answered["elasticity"].empty());
  for (const auto& one : answered["elasticity"]) EXPECT_LE(std::abs(one["value"].get<double>()), 1.001) << one;
  EXPECT_EQ(answered["step_time_s"], result["step_time_s"]);
  EXPECT_THAT(good({"run", small, "--sensitivity"}), HasSubstr("what would help most: 1 % "));
}

TEST_F(Run, WithoutOutNothingIsWritten) {
  EXPECT_THAT(good({"run", small}), HasSubstr("64 tpu-v5p"));
  EXPECT_EQ(files_in("."), Words{});
}

// Twice the sequences of one length are twice the tokens and twice the FLOPs.
TEST_F(Run, SetReplacesAKey) {
  const auto once = json({"run", small});
  const auto twice = json({"run", "--set", "batch.sequences=128", small});
  EXPECT_EQ(twice["tokens_per_step"], 2 * once["tokens_per_step"].get<double>());
  EXPECT_EQ(twice["model_flops_per_step"], 2 * once["model_flops_per_step"].get<double>());
  EXPECT_GT(twice["step_time_s"], once["step_time_s"]);

  auto text = content(small);
  text.replace(text.find("sequences: 64"), 13, "sequences: 128");
  write("small.yaml", text);
  EXPECT_EQ(without_clock(json({"run", "small.yaml"})), without_clock(twice));
}

// 64 sequences in microbatches of 2 on each of n ranks: 64 / (2 n) of them.
TEST_F(Run, MicrobatchesByTheirSize) {
  const auto by_size = [&](int ranks, const std::string& batch) {
    write("sized.yaml",
          "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 1024, d_ff: 4096}\ncluster: tpu-v5p:4x4\nparallel: "
          "{tensor: " +
              std::to_string(16 / ranks) + ", fsdp: " + std::to_string(ranks) +
              "}\nbatch: {sequences: 64, sequence_length: 512, " + batch + "}\n");
    return without_clock(json({"run", "sized.yaml"}));
  };
  EXPECT_EQ(by_size(4, "microbatch_size: 2"), by_size(4, "microbatches: 8"));
  EXPECT_EQ(by_size(8, "microbatch_size: 2"), by_size(8, "microbatches: 4"));
  EXPECT_NE(by_size(8, "microbatch_size: 2"), by_size(8, "microbatches: 2"));
}

TEST_F(Run, SetAddsAKeyAndRepeats) {
  const auto result = json(
      {"run", small, "--set", "training.optimizer=sgd", "--set", "mesh={data: rest}", "--set", "parallel={data: 64}"});
  EXPECT_EQ(result["memory"]["optimizer_bytes"], 0);
  ASSERT_EQ(result["mesh"].size(), 1u);
  EXPECT_EQ(result["mesh"][0]["axis"], "data");
}

TEST_F(Run, DumpsPrintOneValue) {
  EXPECT_THAT(good({"run", small, "--dump", "cluster"}), StartsWith("cluster tpu-v5p 4x4x4: 64 chips\n"));
  EXPECT_THAT(good({"run", small, "--dump", "mesh"}), StartsWith("mesh of 64 ranks on tpu-v5p 4x4x4"));
  EXPECT_THAT(good({"run", small, "--dump", "plan"}), HasSubstr("Wdown[F_tensor, D_fsdp]"));
  EXPECT_THAT(good({"run", small, "--dump", "step"}), HasSubstr("AllGather_fsdp"));
  EXPECT_THAT(good({"run", small, "--dump", "program"}), StartsWith("64 ranks in 1 classes"));
  EXPECT_THAT(good({"run", small, "--dump", "program", "--no-fold"}), StartsWith("64 ranks in 64 classes"));
  EXPECT_THAT(good({"run", small, "--dump", "timeline"}), StartsWith("timeline of rank 0"));
  EXPECT_EQ(files_in("."), Words{});
}

// tensor lies on x, fsdp on y and z: no link is shared, so contention adds nothing to the closed forms.
TEST_F(Run, EnginesAgreeWithoutContention) {
  const double step = json({"run", small})["step_time_s"];
  EXPECT_NEAR(json({"run", small, "--engine", "reference"})["step_time_s"], step, 1e-9 * step);
}

// Links are shared max-min fairly, whoever computes it: with contention and with faults both engines give one result,
// and the result says which of them ran.
TEST_F(Run, MaxMinIsThatOfSimGrid) {
  for (const Words& more : {Words{}, Words{"--set", "mesh={tensor: [x/2, y/2], fsdp: rest}"},
                            Words{"--set", "perturbations=[{chip: [0, 0, 0], slowdown: 1.5}]"}}) {
    Words words = {"run", small};
    words.insert(words.end(), more.begin(), more.end());
    auto named = words;
    named.insert(named.end(), {"--engine", "simgrid"});
    const auto simgrid = json(named);
    words.insert(words.end(), {"--engine", "max_min"});
    const auto max_min = json(words);
    EXPECT_EQ(simgrid["engine"]["name"], "simgrid");
    EXPECT_EQ(max_min["engine"]["name"], "max_min");
    for (const auto* key : {"step_time_s", "mfu"}) {
      const double expected = simgrid[key];
      EXPECT_NEAR(max_min[key].get<double>(), expected, 1e-9 * expected) << key;
    }
    EXPECT_EQ(max_min["memory"]["peak_bytes"], simgrid["memory"]["peak_bytes"]);
    ASSERT_EQ(max_min["links"].size(), simgrid["links"].size());
    ASSERT_FALSE(simgrid["links"].empty()) << "loads of links are recorded";
    for (std::size_t i = 0; i < simgrid["links"].size(); ++i)
      EXPECT_NEAR(max_min["links"][i]["used_share"], simgrid["links"][i]["used_share"], 1e-9) << i;
  }
}

// Jitter on every chip leaves each a class of its own; whoever is not told which engine to take takes max_min.
TEST_F(Run, AnIrregularStepTakesMaxMinAndAgreesWithSimGrid) {
  Words words = {"run",   small,
                 "--set", "perturbations=[{jitter: 0.02, seed: 7}, {random_links: 5, seed: 2, bandwidth: 0.5}]",
                 "--set", "mesh={tensor: [x/2, y/2], fsdp: rest}"};
  EXPECT_EQ(json({"run", small})["engine"]["name"], "simgrid");
  const auto taken = json(words);
  EXPECT_EQ(taken["engine"]["name"], "max_min");
  words.insert(words.end(), {"--engine", "simgrid"});
  const auto simgrid = json(words);
  EXPECT_EQ(simgrid["engine"]["name"], "simgrid") << "--engine decides";
  const double expected = simgrid["step_time_s"];
  EXPECT_NEAR(taken["step_time_s"].get<double>(), expected, 1e-9 * expected);
}

// tensor takes half of x, fsdp the strided rest of it: their rings share x links, which the closed forms do not see.
TEST_F(Run, ContentionCostsTimeOnSharedLinks) {
  const Words shared = {"run", small, "--set", "mesh={tensor: [x/2, y/2], fsdp: rest}"};
  auto without = shared;
  without.insert(without.end(), {"--engine", "reference"});
  EXPECT_GT(json(shared)["step_time_s"].get<double>(), 1.001 * json(without)["step_time_s"].get<double>());
}

TEST_F(Run, FoldingChangesNoSpan) {
  const auto whole = json({"run", small, "--no-fold"});
  EXPECT_FALSE(whole["engine"]["folded"]);
  EXPECT_EQ(whole["engine"]["rank_classes"], 64);
  EXPECT_EQ(good({"run", small, "--no-fold", "--dump", "timeline"}), good({"run", small, "--dump", "timeline"}));
}

// A folded class of links stands for equal links: the most used ones carry what they do when every link is simulated.
TEST_F(Run, LinkLoadsOfFoldedRunsAreThoseOfTheWhole) {
  const Words shared = {"run", small, "--set", "mesh={tensor: [x/2, y/2], fsdp: rest}"};
  auto unfolded = shared;
  unfolded.emplace_back("--no-fold");
  const auto folded = json(shared)["links"], whole = json(unfolded)["links"];
  ASSERT_FALSE(folded.empty());
  ASSERT_FALSE(whole.empty());
  EXPECT_GT(folded[0]["alike"], 1);
  EXPECT_EQ(whole[0]["alike"], 1);
  for (const auto* share : {"used_share", "busy_share"}) {
    EXPECT_NEAR(folded[0][share], whole[0][share], 1e-9);
    EXPECT_LE(folded[0][share], 1);
  }
  EXPECT_NEAR(folded[0]["bytes"], whole[0]["bytes"], 1);
  std::int64_t links = 0;  // 4x4x4 chips with 6 links each, and no other kind carries anything
  for (const auto& link : folded) links += link["alike"].get<std::int64_t>();
  EXPECT_EQ(links, 384);
}

// Draws of all causes: the table's figures are those of the times that JSON lists, and the healthy step stays what it
// is.
TEST_F(Run, DrawsStepsAsADistribution) {
  const Words drawn = {
      "run", small,   "--draws",
      "60",  "--set", "variations=[{jitter: 0.05, distribution: exponential}, {flaky_links: 0.2, bandwidth: 0.1}]"};
  const auto result = json(drawn);
  const auto& steps = result["step_distribution"];
  EXPECT_EQ(steps["healthy_step_time_s"], json({"run", small})["step_time_s"]);
  EXPECT_EQ(result["step_time_s"], steps["healthy_step_time_s"]);
  auto times = steps["step_times_s"].get<std::vector<double>>();
  ASSERT_EQ(times.size(), 60U);
  std::sort(times.begin(), times.end());
  EXPECT_EQ(steps["worst_step_time_s"], times.back());
  EXPECT_NEAR(steps["median_step_time_s"], (times[29] + times[30]) / 2, 1e-15);
  EXPECT_NEAR(steps["p95_step_time_s"], times[56] * 0.95 + times[57] * 0.05, 1e-12);  // place 0.95 x 59 = 56.05
  ASSERT_EQ(steps["causes"].size(), 2U);
  EXPECT_EQ(steps["causes"][0]["cause"], "jitter");
  EXPECT_EQ(steps["causes"][1]["cause"], "flaky links");
  EXPECT_EQ(steps["slowest_of"].size(), 1U);
  EXPECT_EQ(json(drawn)["step_distribution"], steps) << "the same seeds give the same steps";
  const auto text = good(drawn);
  for (const auto* part : {"60 steps drawn", "healthy", "jitter alone", "flaky links alone", "all together",
                           "the slowest of 10 steps in a row takes"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_TRUE(json({"run", small})["step_distribution"].is_null());

  // The picture has as many steps in its bars as were drawn: of two causes alone, and of both together.
  auto with_out = drawn;
  with_out.insert(with_out.end(), {"--out", "drawn"});
  (void)good(with_out);
  const auto picture = content("drawn/draws.svg");
  for (const auto* part : {"healthy", "jitter alone", "flaky links alone", "all together"})
    EXPECT_THAT(picture, HasSubstr(part));
  const auto shown = steps["causes"][0]["draws"].get<std::size_t>() + steps["causes"][1]["draws"].get<std::size_t>();
  const std::regex bar("<title>([0-9]+) steps</title>");
  std::size_t in_bars = 0;
  for (std::sregex_iterator found(picture.begin(), picture.end(), bar), end; found != end; ++found)
    in_bars += std::stoul((*found)[1]);
  EXPECT_EQ(in_bars, shown + 60);
}

TEST_F(Run, HasNothingToDrawWithoutVariations) {
  const auto done = ProgramRun(run({"run", small, "--draws", "3"}));
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.errors,
            "--draws: nothing varies from step to step in small; expected a scenario with variations, batch.lengths, "
            "routing.variation or hashed paths\n");
}

}  // namespace
}  // namespace lockstep::test
