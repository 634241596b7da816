// lockstep schedule.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Schedule : public CommandLine {
 protected:
  /// Exit 2, nothing on stdout, one line that starts with the option at fault.
  void refused(const Words& options, const std::string& place, const std::string& what) const {
    Words arguments = {"schedule"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto done = run(arguments);
    EXPECT_EQ(done.exit_code, 2) << place;
    EXPECT_EQ(done.output, "");
    EXPECT_THAT(done.errors, AllOf(StartsWith(place), HasSubstr(what)));
  }
};

const Words one_f_one_b = {"1f1b", "--stages", "4", "--microbatches", "8"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Schedule, ADesignThatIsStoppedGivesItsBest) {
  const auto text = good({"schedule", "design", "--stages", "16", "--microbatches", "64", "--times", "1,1.2,0.7",
                          "--memory-limit", "9", "--limit", "0.05"});
  EXPECT_THAT(text, HasSubstr("makespan"));
  EXPECT_THAT(text, HasSubstr("The search was stopped; a longer one may find a shorter order.\n"));
  refused(with(one_f_one_b, {"--limit", "1"}), "--limit", "is for design");
}

TEST_F(Schedule, ADesignHasAPageToSend) {
  const Words words{"schedule", "design", "--stages", "3", "--microbatches", "6", "--memory-limit", "2"};
  const auto text = good(with(words, {"--out", "made"}));
  const auto document = json_file("made/schedule.json");
  for (const auto* key : {"why", "what_if"}) {
    for (const auto& sentence : document["design"][key])
      EXPECT_THAT(text, HasSubstr(sentence.get<std::string>() + "\n"));
  }
  EXPECT_EQ(files_in("made"), with_page({"report.html", "schedule.csv", "schedule.json", "schedule.svg"}));
  if (!has_page()) return;
  const auto page = content("made/report.html");
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  (void)good(with(words, {"--out", "again"}));
  EXPECT_EQ(content("again/report.html"), page) << "the place of a page is no part of it";
}

TEST_F(Schedule, APairIsNotFasterThanItsParts) {
  refused({"dualpipe", "--stages", "4", "--microbatches", "8", "--pair", "0.1"}, "--pair",
          "0.1 is less than the 1 that one of the two takes alone");
}

// P = 4, M = 8, F = I = W = 1: busy 8 * 3 = 24, bubble (P-1)(F+B) = 9, makespan 33; rank r starts F r late and its
// drain is B r early, so its span idles 9 - 3r; it holds P - r microbatches.
TEST_F(Schedule, JsonOfOneForwardOneBackward) {
  const auto result = json(with({"schedule"}, one_f_one_b));
  EXPECT_THAT(keys_of(result), IsSupersetOf(Words{"makespan", "bubble_step", "bubble_span", "peak_activations",
                                                  "closed_form", "orders"}));
  EXPECT_EQ(result["makespan"], 33);
  EXPECT_EQ(result["bubble_step"], (std::vector<double>{9, 9, 9, 9}));
  EXPECT_EQ(result["bubble_span"], (std::vector<double>{9, 6, 3, 0}));
  EXPECT_EQ(result["peak_activations"], (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(result["closed_form"]["value"], 9);
  EXPECT_EQ(result["closed_form"]["applies"], true);
  EXPECT_THAT(result["closed_form"]["symbols"].get<std::string>(), HasSubstr("B = I + W"));
  ASSERT_EQ(result["orders"].size(), 4u);
  EXPECT_EQ(result["orders"][3][1], "3B0");
  EXPECT_EQ(result["spans"][0][0], (std::vector<double>{0, 1}));
}

// F = 1, I = 2, W = 1: simulated 11, the form says (P/2-1)(F&B+B-3W) = 3 * 4 = 12 and does not apply as F != I.
TEST_F(Schedule, SaysWhenTheClosedFormDoesNotApply) {
  const Words dualpipe = {"schedule", "dualpipe", "--stages", "8", "--microbatches", "16", "--times", "1,2,1"};
  const auto result = json(dualpipe);
  EXPECT_EQ(result["closed_form"]["applies"], false);
  EXPECT_EQ(result["closed_form"]["value"], 12);
  EXPECT_EQ(result["worst"]["bubble_step"], 11);
  EXPECT_THAT(good(dualpipe), AllOf(HasSubstr("DOES NOT APPLY"), HasSubstr("F = I"), HasSubstr("simulated 11")));
}

// 2(P-1)c of latency on GPipe's (P-1)(F+B) = 9: 9 + 6 * 0.5 = 12.
TEST_F(Schedule, LatencyStandsBesideTheForm) {
  EXPECT_THAT(good({"schedule", "gpipe", "--stages", "4", "--microbatches", "8", "--latency", "0.5"}),
              AllOf(HasSubstr("2(P-1)c = 3"), HasSubstr("latency 12"), HasSubstr("simulated 12")));
}

// The last of two stages twice as slow, M = 2: rank 1 works 2 * 2 * 3 = 12, rank 0 starts 1 before and ends 2 after.
TEST_F(Schedule, StagesMayDiffer) {
  const auto result = json({"schedule", "1f1b", "--stages", "2", "--microbatches", "2", "--stage-scale", "1,2"});
  EXPECT_EQ(result["makespan"], 15);
  EXPECT_EQ(result["closed_form"]["applies"], false);
}

TEST_F(Schedule, ExportComesBackByImport) {
  for (const auto& [name, placement] : {std::pair{"dualpipe", "bidirectional"},
                                        {"zb-v", "v"},
                                        {"interleaved", "loop"},
                                        {"wave", "wave"},
                                        {"zb-h1", "linear"}}) {
    const Words made = {"schedule", name,      "--stages",  "4",         "--microbatches",
                        "8",        "--times", "1,1.2,0.8", "--latency", "0.1"};
    write("order.csv", good(with(made, {"--csv", "-"})));
    const auto again = json(
        {"schedule", "--import", "order.csv", "--placement", placement, "--times", "1,1.2,0.8", "--latency", "0.1"});
    const auto before = json(made);
    for (const auto* key : {"orders", "makespan", "bubble_step", "bubble_span", "peak_activations"})
      EXPECT_EQ(again[key], before[key]) << name << " " << key;
    EXPECT_TRUE(again["closed_form"].is_null());
  }
}

TEST_F(Schedule, OutHasOrderResultAndPicture) {
  (void)good(
      {"schedule", "zb-h1", "--stages", "4", "--microbatches", "8", "--out", "made/here", "--svg", "picture.svg"});
  EXPECT_EQ(files_in("made/here"), with_page({"report.html", "schedule.csv", "schedule.json", "schedule.svg"}));
  EXPECT_EQ(files_in("."), (Words{"made", "picture.svg"}));
  EXPECT_THAT(content("picture.svg"),
              AllOf(StartsWith("<svg"), HasSubstr("bubble on the worst rank"), HasSubstr("</svg>")));
}

// 64 ranks, 1024 microbatches, 4 chunks: half a million cells, but a picture is at most a few thousand pixels wide.
TEST_F(Schedule, PictureOfALargeScheduleStaysSmall) {
  (void)good(
      {"schedule", "interleaved", "--stages", "64", "--microbatches", "1024", "--chunks", "4", "--svg", "large.svg"});
  EXPECT_LT(content("large.svg").size(), 10'000'000u);
}

// Equal devices and work: 1F1B (P-1)(F+B) = 7 * 6 = 42; ZB-H1 (P-1)(F+I-W) = 14; DualPipeV with chunks of half the
// time, (P-1)(F&B+B-3W) = 7 (3 + 2 - 3) = 14.
TEST_F(Schedule, ComparesAtEqualWork) {
  const Words words = {"schedule", "1f1b",           "zb-h1", "dualpipe-v", "--stages",
                       "8",        "--microbatches", "16",    "--times",    "2,2,2"};
  const auto rows = json(words)["schedules"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["worst"]["bubble_step"], 42);
  EXPECT_EQ(rows[1]["worst"]["bubble_step"], 14);
  EXPECT_EQ(rows[2]["worst"]["bubble_step"], 14);
  for (const auto& row : rows) EXPECT_EQ(row["busy"][0], 96) << "M * (F + I + W)";
  EXPECT_THAT(good(words), AllOf(StartsWith("Equal devices"), HasSubstr("1/V")));
}

// A schedule that cannot be had (v-min needs two chunks of each rank's blocks) stands in the document with its reason.
TEST_F(Schedule, FolderOfSeveralHasTheComparison) {
  const Words words{"schedule", "1f1b", "zb-h1", "v-min", "--stages", "4", "--microbatches", "8"};
  auto into = words;
  into.insert(into.end(), {"--out", "made"});
  (void)good(into);
  EXPECT_EQ(json_file("made/schedules.json"), json(words));
}

// P = 4, M = 8, n = 4, F = I = W = 1: a slice takes 3/4 of a rank, so the step (M n + P - 1) 3/4 = 26.25 with 3 x 3/4
// of bubble; rank r holds P - r + n - 1 slices. Its CSV counts slices, and says nothing of n.
TEST_F(Schedule, SlicesPassAsMicrobatchesDo) {
  const Words made = {"schedule", "seq1f1b", "--stages", "4", "--microbatches", "8", "--slices", "4"};
  const auto result = json(made);
  EXPECT_EQ(result["microbatches"], 8);
  EXPECT_EQ(result["slices"], 4);
  EXPECT_EQ(result["makespan"], 26.25);
  EXPECT_EQ(result["worst"]["bubble_step"], 2.25);
  EXPECT_EQ(result["closed_form"]["value"], 2.25);
  EXPECT_EQ(result["peak_activations"], (std::vector<int>{7, 6, 5, 4}));
  EXPECT_EQ(result["peak_activations_microbatches"], 1.75);
  EXPECT_THAT(good(made), AllOf(HasSubstr("M = 8 microbatches of n = 4 slices"), HasSubstr("a slice takes 1/4")));
  write("order.csv", good(with(made, {"--csv", "-"})));
  const auto again = json({"schedule", "--import", "order.csv", "--placement", "linear", "--slices", "4"});
  for (const auto* key : {"orders", "makespan", "slices", "microbatches", "peak_activations"})
    EXPECT_EQ(again[key], result[key]) << key;
  refused({"--import", "order.csv", "--placement", "linear", "--slices", "5"},
          "order.csv: ", "32 slices are no whole microbatches of 5");
}

// Two ranks, one microbatch of two slices that take 1/4 and 3/4 of F = B = 4, by hand:
//   rank 0  F0 0-1  F1 1-4          B1 10-13  B0 13-14
//   rank 1          F0 1-2  F1 4-7  B1 7-10   B0 10-11
TEST_F(Schedule, SlicesMayDiffer) {
  const auto result = json({"schedule", "seq1f1b", "--stages", "2", "--microbatches", "1", "--slices", "2", "--times",
                            "4,2,2", "--slice-scale", "1,3"});
  EXPECT_EQ(result["makespan"], 14);
  EXPECT_EQ(result["spans"][1][1], (std::vector<double>{4, 7}));
  EXPECT_EQ(result["closed_form"]["applies"], false);
}

TEST_F(Schedule, ListsAllSchedules) {
  EXPECT_THAT(good({"schedule", "--list"}),
              AllOf(HasSubstr("1f1b"), HasSubstr("dualpipe-v"), HasSubstr("overlap-1f1b")));
}

TEST_F(Schedule, RefusesBadOptions) {
  refused({}, "NAME: is missing", "--list");
  refused({"1f1c", "--stages", "4", "--microbatches", "8"}, "NAME: '1f1c' is not a schedule", "did you mean `1f1b`");
  refused({"1f1b", "--microbatches", "8"}, "--stages: is missing", "");
  refused({"1f1b", "--stages", "4"}, "--microbatches: is missing", "");
  refused({"1f1b", "--stages", "0", "--microbatches", "8"}, "--stages: ", "0 is out of range");
  refused({"1f1b", "--stages", "60000", "--microbatches", "1000000"}, "--microbatches: ", "fewer");
  refused(with(one_f_one_b, {"--times", "1,2"}), "--times: '1,2' has 2 numbers", "three");
  refused(with(one_f_one_b, {"--times", "1,2,x"}), "--times: 'x' is not a number", "");
  refused(with(one_f_one_b, {"--times", "1,nan,1"}), "--times: 'nan' is not a number", "");
  refused(with(one_f_one_b, {"--times", "0,0,0"}), "--times: ", "nothing takes any time");
  refused(with(one_f_one_b, {"--latency", "-1"}), "--latency: '-1' is negative", "");
  refused({"seq1f1b", "--stages", "4", "--microbatches", "8"}, "--slices: is missing", "the number of slices");
  refused(with(one_f_one_b, {"--slices", "4"}), "--slices: ", "'1f1b' does not cut microbatches into slices");
  refused(with(one_f_one_b, {"--slices", "0"}), "--slices: 0 is out of range", "1 to 1024");
  refused({"seq1f1b", "--stages", "4", "--microbatches", "8", "--slices", "2", "--slice-scale", "1"},
          "--slice-scale: has 1 numbers", "2 slices");
  refused({"seq1f1b", "--stages", "4", "--microbatches", "8", "--slices", "2", "--slice-scale", "0,0"},
          "--slice-scale: no slice takes any time", "above 0");
  refused({"seq1f1b-interleaved", "--stages", "4", "--microbatches", "8", "--slices", "3"},
          "--slices: ", "3 slices do not divide the 4 stages");
  refused(with(one_f_one_b, {"--stage-scale", "1,2"}), "--stage-scale: has 2 numbers", "4 stages");
  refused(with(one_f_one_b, {"--placement", "v"}), "--placement: ", "--import");
  refused(with(one_f_one_b, {"--csv", "-", "--json", "-"}), "--csv: ", "stdout");
  refused(with(one_f_one_b, {"--svg", "nowhere/x.svg"}), "nowhere/x.svg: ", "there is no folder");
  refused(with({"gpipe"}, with(one_f_one_b, {"--csv", "-"})), "--csv: is for one schedule", "one NAME");
  refused(with(one_f_one_b, {"--import", "x.csv"}), "--import: ", "either NAME or");
}

TEST_F(Schedule, RefusesSizesAgainstTheRulesOfASchedule) {
  refused({"interleaved", "--stages", "4", "--microbatches", "9"}, "--microbatches: interleaved", "");
  refused({"dualpipe", "--stages", "3", "--microbatches", "8"}, "--stages: dualpipe", "");
  refused({"dualpipe", "--stages", "4", "--microbatches", "6"}, "--microbatches: dualpipe", "");
  refused(with(one_f_one_b, {"--chunks", "2"}), "--chunks: 1f1b", "one chunk");
}

TEST_F(Schedule, RefusesBadImports) {
  write("good.csv", good(with({"schedule"}, with(one_f_one_b, {"--csv", "-"}))));
  refused({"--import", "good.csv"}, "--placement: is missing", "bidirectional");
  refused({"--import", "good.csv", "--placement", "ring"}, "--placement: 'ring' is not a placement",
          "linear, loop, v, wave, bidirectional");
  refused({"--import", "none.csv", "--placement", "v"}, "none.csv: no such file", "");
  refused({"--import", ".", "--placement", "v"}, ".: is a directory", "the CSV of a schedule");
  refused({"--import", "good.csv", "--placement", "linear", "--stages", "4"}, "--stages: cannot be given with --import",
          "");
  write("empty.csv", "");
  refused({"--import", "empty.csv", "--placement", "linear"}, "empty.csv", "");
}

// The older form is recognised and said; W without I or BW tells it from the current one.
TEST_F(Schedule, OlderDialectIsRecognised) {
  const Words made = {"schedule", "zb-h1", "--stages", "4", "--microbatches", "8"};
  write("older.csv", good(with(made, {"--csv", "-", "--csv-dialect", "older"})));
  const Words import = {"schedule", "--import", "older.csv", "--placement", "linear"};
  EXPECT_THAT(good(import), HasSubstr("older dialect"));
  EXPECT_EQ(json(import)["orders"], json(made)["orders"]);
}

// Every bad cell by row and column, counted from one as a spreadsheet counts.
TEST_F(Schedule, TellsEveryBadCell) {
  write("bad.csv", "0F0junk,0B0\n1F0,1X0\n");
  const auto done = run({"schedule", "--import", "bad.csv", "--placement", "linear"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.errors, AllOf(HasSubstr("bad.csv:1:1: cell '0F0junk': "), HasSubstr("bad.csv:2:2: cell '1X0': ")));
}

}  // namespace
}  // namespace lockstep::test
