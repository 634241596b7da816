// lockstep plan on a node of eight chips.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>

#include "tests/cli/program_run.hpp"
#include "tests/cli/terminal_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

const std::string node =
    "format: 1\n"
    "model: {layers: 4, d_model: 512, d_ff: 2048, heads: 8, kv_heads: 4, vocabulary: 4096}\n"
    "cluster: h100:1\n"
    "batch: {sequences: 32, sequence_length: 512}\n";

class Plan : public CommandLine {
 protected:
  Plan() {
    write("node.yaml", node +
                           "search: {tensor: [1, 2], pipeline: [1, 2], zero: [1, 3], recompute: none, microbatches: "
                           "[2, 4], schedules: [1f1b, gpipe]}\n");
  }

  /// Exit 2, nothing on stdout, one line.
  void refused(const Words& options, const std::string& line) const {
    Words arguments = {"plan", "node.yaml"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto done = run(arguments);
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_EQ(done.output, "");
    EXPECT_EQ(done.errors, line + "\n");
  }
};

Words lines_of(const std::string& text) {
  Words lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// tensor 1 or 2 x pipeline 1 or 2 x ZeRO-1 or 3 x 2 or 4 microbatches: 16, of them the 8 with a pipeline under two
// schedules, so 24. On one node axes lie one inside the other: one placement each.
TEST_F(Plan, EveryPlanIsInOneCountOfTheProof) {
  const auto found = json({"plan", "node.yaml"});
  const auto& proof = found["proof"];
  EXPECT_EQ(proof["space"], 24);
  EXPECT_EQ(proof["space"],
            proof["pruned_bound"].get<int>() + proof["pruned_memory"].get<int>() + proof["simulated"].get<int>());
  EXPECT_EQ(proof["gap"], 0);
  EXPECT_EQ(found["chips"], 8);
  EXPECT_GT(found["plans_per_s"], 0);
}

TEST_F(Plan, JsonHasItsKeys) {
  const auto found = json({"plan", "node.yaml"});
  EXPECT_THAT(keys_of(found), IsSupersetOf(Words{"scenario", "chips", "best", "proof", "plans_per_s"}));
  EXPECT_THAT(keys_of(found["proof"]),
              IsSupersetOf(Words{"space", "pruned_memory", "pruned_bound", "simulated", "gap"}));
  ASSERT_EQ(found["best"].size(), 5u) << "--top is 5 unless said otherwise";
  for (const auto& plan : found["best"]) {
    EXPECT_THAT(keys_of(plan),
                IsSupersetOf(Words{"parallel", "microbatches", "schedule", "chunks", "recompute", "set", "step_time_s",
                                   "lower_bound_s", "mfu", "memory", "breakdown", "loses_by"}));
    EXPECT_THAT(keys_of(plan["memory"]),
                IsSupersetOf(Words{"peak_bytes", "capacity_bytes", "fits", "weights_bytes", "gradients_bytes",
                                   "optimizer_bytes", "activations_bytes", "other_bytes"}));
    EXPECT_LE(plan["lower_bound_s"], plan["step_time_s"]);
  }
}

// Sizes multiply to the chips; the fastest comes first; computing + exposed communication + bubble = step time.
TEST_F(Plan, PlansAddUp) {
  double before = 0;
  const auto found = json({"plan", "node.yaml", "--top", "8"});
  for (const auto& plan : found.at("best")) {
    int chips = 1;
    for (const auto& [axis, size] : plan["parallel"].items()) chips *= axis == "zero" ? 1 : size.get<int>();
    EXPECT_EQ(chips, 8);
    const double step = plan["step_time_s"];
    EXPECT_GE(step, before);
    before = step;
    const auto& breakdown = plan["breakdown"];
    const double exposed = breakdown["exposed_comm_s"];
    EXPECT_NEAR(breakdown["compute_s"].get<double>() + exposed + breakdown["bubble_s"].get<double>(), step,
                1e-9 * step);
    double of_axes = 0;
    for (const auto& [axis, seconds] : breakdown["exposed_comm_by_axis_s"].items()) of_axes += seconds.get<double>();
    EXPECT_NEAR(of_axes, exposed, 1e-9 * step);
  }
}

TEST_F(Plan, FewerPlansAreTheFirstOfMore) {
  const auto one = json({"plan", "node.yaml", "--top", "1"})["best"];
  const auto more = json({"plan", "node.yaml", "--top", "4"})["best"];
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(more.size(), 4u);
  EXPECT_EQ(one[0], more[0]);
}

TEST_F(Plan, TableShowsThePlansAndWhyTheOthersLose) {
  const auto text = good({"plan", "node.yaml", "--top", "3"});
  EXPECT_THAT(text, StartsWith("node: "));
  const auto lines = lines_of(text);
  std::vector<std::string> starts;
  for (const auto& line : lines) {
    if (line.starts_with("1.") || line.starts_with("2.") || line.starts_with("3.")) starts.push_back(line.substr(0, 2));
  }
  EXPECT_THAT(starts, ElementsAre("1.", "2.", "3."));
  EXPECT_THAT(text, AllOf(HasSubstr("\nbest: "), HasSubstr("step time"), HasSubstr("MFU"), HasSubstr("exposed"),
                          HasSubstr("bubble"), HasSubstr("memory"), HasSubstr("\nwhy the others lose\n  2. +"),
                          HasSubstr("\nproof: of "), HasSubstr("; gap 0\n")));
  EXPECT_THAT(good({"plan", "node.yaml", "--top", "1"}), Not(HasSubstr("why the others lose")));
}

// What `set` says, `run` simulates; what --write writes too.
TEST_F(Plan, BestPlanRunsAsPlanned) {
  const auto best = json({"plan", "node.yaml", "--top", "1"})["best"][0];
  Words run = {"run", "node.yaml"};
  for (const std::string key : best["set"]) run.insert(run.end(), {"--set", key});
  EXPECT_EQ(json(run)["step_time_s"], best["step_time_s"]);
  (void)good({"plan", "node.yaml", "--top", "1", "--write", "best.yaml"});
  const auto written = json({"run", "best.yaml"});
  EXPECT_EQ(written["step_time_s"], best["step_time_s"]);
  EXPECT_EQ(written["memory"]["peak_bytes"], best["memory"]["peak_bytes"]);
}

// Eight tensor ranks have two copies of each of the 4 key-value heads: planned and run as any other plan.
TEST_F(Plan, SplitsFurtherThanTheKeyValueHeads) {
  write("split.yaml", node + "search: {tensor: 8, recompute: none, microbatches: [1, 2]}\n");
  const auto best = json({"plan", "split.yaml", "--top", "1"})["best"][0];
  EXPECT_EQ(best["parallel"]["tensor"], 8);
  (void)good({"plan", "split.yaml", "--top", "1", "--write", "best.yaml"});
  EXPECT_EQ(json({"run", "best.yaml"})["step_time_s"], best["step_time_s"]);
}

// A scenario's files are seen from its folder, and the written one's from where it is written: beside it, in another
// folder, named with a folder or without one.
TEST_F(Plan, WrittenPlansFindTheirFiles) {
  std::filesystem::create_directories(scratch / "work" / "mine");
  std::filesystem::create_directories(scratch / "work" / "plans");
  write(
      "mine/config.json",
      R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
            "vocab_size": 4096, "hidden_act": "silu", "tie_word_embeddings": false})");
  write("mine/order.txt", "7\n6\n5\n4\n3\n2\n1\n0\n");
  write(
      "mine/node.yaml",
      "format: 1\nmodel: ./config.json\ncluster: {node: dgx-h100, nodes: 1, order: order.txt}\nbatch: {sequences: 32, "
      "sequence_length: 512}\n"
      "search: {tensor: [1, 2], pipeline: [1, 2], zero: [1], recompute: none, microbatches: [2], schedules: [1f1b]}\n");
  const double best = json({"plan", "mine/node.yaml", "--top", "1"})["best"][0]["step_time_s"];
  for (const std::string place : {"best.yaml", "plans/best.yaml", "mine/best.yaml", "./best2.yaml"}) {
    (void)good({"plan", "mine/node.yaml", "--top", "1", "--write", place});
    EXPECT_EQ(json({"run", place})["step_time_s"], best) << place;
  }
  const auto written = json({"run", (scratch / "work" / "plans" / "best.yaml").string()});
  EXPECT_EQ(written["step_time_s"], best);
}

// A search leaves out plans that a schedule cannot make: v-min ends at 256 stages.
TEST_F(Plan, LimitsOfSchedulesAreLimitsOfPlans) {
  write("stages.yaml",
        "format: 1\nmodel: {layers: 1100, d_model: 64, heads: 1, d_ff: 64, vocabulary: 64}\ncluster: h100:64\nbatch: "
        "{sequences: 16, sequence_length: 64}\n"
        "search: {schedules: [v-min], tensor: [1], pipeline: [512], microbatches: [16], recompute: [none]}\n");
  const auto done = run({"plan", "stages.yaml"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.errors,
            "stages.yaml:5:9: search: no plan splits 16 sequences over 512 chips (v-min on 512 ranks takes too long to "
            "work out); "
            "expected sizes that multiply to the chips and divide the model and the batch\n");
}

TEST_F(Plan, BytesDoNotDependOnJobs) {
  const auto text = good({"plan", "node.yaml", "--jobs", "1", "--json", "plans.json"});
  const auto document = content("plans.json");
  EXPECT_EQ(good({"plan", "node.yaml", "--jobs", "2", "--json", "plans.json"}), text);
  EXPECT_EQ(content("plans.json"), document);
  EXPECT_THAT(document, HasSubstr("\"wall_s\": null"));
}

TEST_F(Plan, ComparesWithTheFilesOwnPlan) {
  write("own.yaml", content("node.yaml") + "parallel: {data: 8, zero: 1}\nmodel_of_time: ideal\n");
  const double own = json({"run", "own.yaml"})["step_time_s"];
  const double best = json({"plan", "own.yaml", "--top", "1"})["best"][0]["step_time_s"];
  char less[64];
  std::snprintf(less, sizeof less, "the best takes %.1f %% less", 100 * (1 - best / own));
  ASSERT_LT(best, own);
  EXPECT_THAT(good({"plan", "own.yaml", "--top", "1"}), HasSubstr(less));
}

// Exit 1: answered, and the answer is no. Nothing is written but the answer.
TEST_F(Plan, NothingMayFit) {
  const auto text =
      run({"plan", "node.yaml", "--set", "search.memory=1 MB", "--json", "none.json", "--write", "best.yaml"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(text.errors, "");
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("no plan keeps within 1.00 MB of memory"), HasSubstr("no plan does on 64 chips")));
  EXPECT_EQ(json_file("none.json")["best"].size(), 0u);
  EXPECT_FALSE(std::filesystem::exists(scratch / "work" / "best.yaml"));
}

// With ZeRO-3 alone on one node, twice the chips hold half the weights each: what a chip needs on 16 is less than on 8.
// Room for just that is told to be enough on 16 chips.
TEST_F(Plan, SaysHowManyChipsWouldFit) {
  write("sharded.yaml", node + "search: {tensor: 1, pipeline: 1, zero: 3, recompute: none, microbatches: 1}\n");
  const auto rows = json({"plan", "sharded.yaml", "--chips", "8..16"})["rows"];
  const std::int64_t eight = rows[0]["best"]["memory"]["peak_bytes"], sixteen = rows[1]["best"]["memory"]["peak_bytes"];
  ASSERT_LT(sixteen, eight);
  const auto done = run({"plan", "sharded.yaml", "--set", "search.memory=" + std::to_string(sixteen) + " B"});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.output, HasSubstr("\nwhat would do: 16 chips, fsdp 16, "));
}

// Each point under less memory is what a search under that memory proves, and none is left out where one fits.
TEST_F(Plan, FolderHasTheBestPlansUnderLessMemory) {
  const std::string memory = "search.memory=280000000 B";
  (void)good({"plan", "node.yaml", "--set", memory, "--out", "found"});
  const auto found = json_file("found/plan.json");
  EXPECT_EQ(found["best"], json({"plan", "node.yaml", "--set", memory})["best"]);
  const auto& points = found["within_memory"];
  ASSERT_GE(points.size(), 2u);
  std::int64_t bytes = 280'000'000;
  for (const auto& point : points) {
    EXPECT_EQ(point["memory_bytes"], bytes);
    const auto alone = run({"plan", "node.yaml", "--top", "1", "--set", "search.memory=" + std::to_string(bytes) + " B",
                            "--json", "alone.json"});
    ASSERT_EQ(alone.exit_code, point["best"].is_null() ? 1 : 0);
    if (!point["best"].is_null()) {
      const auto best = json_file("alone.json")["best"][0];
      for (const char* key : {"parallel", "microbatches", "step_time_s"}) EXPECT_EQ(point["best"][key], best[key]);
      EXPECT_EQ(point["proof"]["gap"], 0);
      EXPECT_LE(point["best"]["memory"]["peak_bytes"], bytes);
    }
    bytes -= 70'000'000;
  }
  EXPECT_EQ(points.size() == 4u, !points.back()["best"].is_null() || points[2]["best"].is_object());
  EXPECT_EQ(json({"run", "found/best.yaml"})["step_time_s"], found["best"][0]["step_time_s"]);
}

TEST_F(Plan, FolderHasTheTableOfChips) {
  (void)good({"plan", "node.yaml", "--chips", "8..16", "--out", "found"});
  EXPECT_EQ(json_file("found/plan.json"), json({"plan", "node.yaml", "--chips", "8..16"}));
  for (const auto& file : files_in("found")) EXPECT_NE(file, "best.yaml");
}

// Ctrl-C on a terminal reaches the search's processes too. The search, of 376,224 plans, takes far longer than its
// first line of progress; it ends with a plan that fits and what others may gain, and the scenario is written.
TEST_F(Plan, AnInterruptEndsTheSearchWithTheBestSoFar) {
  write("large.yaml",
        "format: 1\nmodel: llama-3-405b\ncluster: h100:2048\nbatch: {sequences: 2048, sequence_length: 8192}\n"
        "search: {context: [1, 2, 4, 8, 16]}\n");
  const auto done = on_terminal(scratch / "work", 120, {"plan", "large.yaml", "--write", "best.yaml"}, " bounds, ");
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, AllOf(HasSubstr("\nbest: "), HasSubstr("\nstopped after "), HasSubstr(" plans are open"),
                                 HasSubstr("; gap ")));
  EXPECT_EQ(json({"run", "best.yaml"})["memory"]["fits"], true);
}

// N tokens at B a step take N / B steps; their days times 24 times the chips times the price of an hour is the cost.
TEST_F(Plan, TableOfChipsHasDaysAndCost) {
  constexpr double tokens = 1e13, price = 2.5;
  const auto text = good({"plan", "node.yaml", "--chips", "8..32", "--tokens", "1e13", "--price", "2.5"});
  EXPECT_THAT(lines_of(text).front(), AllOf(HasSubstr("chips"), HasSubstr("days"), HasSubstr("cost"),
                                            HasSubstr("step time"), HasSubstr("plan")));
  ASSERT_EQ(lines_of(text).size(), 4u) << text;  // 8, 16, 32
  const double step = json({"plan", "node.yaml", "--top", "1"})["best"][0]["step_time_s"];
  const double days = tokens / (32 * 512) * step / 86400;
  char shown[32];
  std::snprintf(shown, sizeof shown, " %.1f ", days);
  EXPECT_THAT(lines_of(text)[1], AllOf(StartsWith("8 "), HasSubstr(shown)));
  std::string cost = std::to_string(std::llround(days * 24 * 8 * price));
  for (auto at = static_cast<std::ptrdiff_t>(cost.size()) - 3; at > 0; at -= 3)
    cost.insert(static_cast<std::size_t>(at), ",");
  EXPECT_THAT(lines_of(text)[1], HasSubstr(cost));
}

TEST_F(Plan, RowsOfChipsAreThePlansOfThoseChips) {
  const auto rows = json({"plan", "node.yaml", "--chips", "8..16", "--tokens", "1e12"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["chips"], 8);
  EXPECT_EQ(rows[1]["chips"], 16);
  EXPECT_EQ(rows[0]["best"], json({"plan", "node.yaml", "--top", "1"})["best"][0]);
  for (const auto& row : rows)
    EXPECT_NEAR(row["days"], 1e12 / (32 * 512) * row["best"]["step_time_s"].get<double>() / 86400, 1e-9);
  EXPECT_TRUE(rows[0]["cost"].is_null());
}

TEST_F(Plan, TokensTakeDaysAndCost) {
  const double step = json({"plan", "node.yaml", "--top", "1"})["best"][0]["step_time_s"];
  char line[64];
  std::snprintf(line, sizeof line, "\n1,000,000,000,000 tokens take %.1f days and cost ",
                1e12 / (32 * 512) * step / 86400);
  EXPECT_THAT(good({"plan", "node.yaml", "--top", "1", "--tokens", "1e12", "--price", "2"}), HasSubstr(line));
}

// The deadline lies between what 8 and what 16 chips take.
TEST_F(Plan, FewestChipsForADeadline) {
  constexpr int sequences = 1024;  // enough to compute for two nodes
  const auto days = [&](const std::string& chips) {
    return 1e12 / (sequences * 512) *
           json({"plan", "node.yaml", "--top", "1", "--set", "cluster.nodes=" + chips})["best"][0]["step_time_s"]
               .get<double>() /
           86400;
  };
  write("node.yaml", node.substr(0, node.find("cluster")) +
                         "cluster: {node: dgx-h100, nodes: 1}\nbatch: {sequences: 1024, sequence_length: 512}\n"
                         "search: {tensor: 1, pipeline: 1, zero: 1, recompute: none, microbatches: 1}\n");
  const double one = days("1"), two = days("2");
  ASSERT_LT(two, one);
  char deadline[32];
  std::snprintf(deadline, sizeof deadline, "%.6f", (one + two) / 2);
  const auto text = good({"plan", "node.yaml", "--tokens", "1e12", "--days", deadline});
  EXPECT_THAT(text, HasSubstr("\n16 chips are the fewest, doubling from 8, that finish in "));
  EXPECT_THAT(good({"plan", "node.yaml", "--chips", "8..8", "--tokens", "1e12", "--days", deadline}),
              HasSubstr("no number of chips in the range finishes in "));
}

// Four sequences of 512 tokens on each of 8 chips: as one microbatch or two they have 2,048 and 1,024 tokens, enough
// for 1,000 tiles, and as four 512. No microbatch is enough for 3,000.
TEST_F(Plan, LossesAreCutIntoTheirTiles) {
  const Words alone{"--set", "search={tensor: 1, context: 1, pipeline: 1, zero: 3, recompute: none}"};
  Words arguments{"plan", "node.yaml", "--set", "training.cross_entropy.tiles=1000"};
  arguments.insert(arguments.end(), alone.begin(), alone.end());
  const auto found = json(arguments);
  EXPECT_EQ(found["proof"]["space"], 2);
  ASSERT_EQ(found["best"].size(), 2U);
  for (const auto& plan : found["best"]) EXPECT_LE(plan["microbatches"], 2);
  refused(
      {"--set", "training.cross_entropy.tiles=3000", alone[0], alone[1]},
      "--set search: search: no plan splits 32 sequences over 8 chips (training.cross_entropy.tiles: 2048 tokens of "
      "a rank's microbatch cannot be cut into 3000 tiles); expected sizes that multiply to the chips and divide the "
      "model and the batch");
  // 33 sequences are no multiple of 8 chips, whatever the tiles.
  refused({"--set", "training.cross_entropy.tiles=1000", "--set", "batch.sequences=33", alone[0], alone[1]},
          "--set search: search: no plan splits 33 sequences over 8 chips; expected sizes that multiply to the chips "
          "and divide the model and the batch");
}

TEST_F(Plan, RefusesWhatMakesNoSense) {
  refused({"--chips", "64"}, "--chips: '64' is not a range; expected two numbers such as 64..1024");
  refused({"--chips", "64..8"}, "--chips: '64..8' is not a range; expected two numbers such as 64..1024");
  refused({"--days", "30"}, "--days: a deadline without an amount of work; expected --tokens");
  refused({"--price", "2"}, "--price: a price without an amount of work; expected --tokens");
  refused({"--chips", "8..16", "--write", "best.yaml"},
          "--write: a table of several clusters is not a scenario; expected one number of chips, the scenario's own");
  refused({"--set", "search.tensor=3"},
          "node.yaml:5:9: search: no plan splits 32 sequences over 8 chips; expected sizes that multiply to the chips "
          "and divide the model and the batch");
  refused({"--set", "search.tensr=2"}, "--set search.tensr: search.tensr: unknown key; did you mean `tensor`");
  refused(
      {"--set", "perturbations=[{jitter: 0.1, seed: 1}]"},
      "--set perturbations: perturbations: a search looks at the machine without faults; expected no perturbations");
}

}  // namespace
}  // namespace lockstep::test
