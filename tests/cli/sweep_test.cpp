// lockstep sweep and lockstep merge.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class SweepCommand : public CommandLine {
 protected:
  const std::string file = LOCKSTEP_SCENARIOS "/sweep_small.yaml";
  [[nodiscard]] std::string swept(Words more) const {
    more.insert(more.begin(), {"sweep", file});
    return good(more);
  }
  [[nodiscard]] std::vector<Words> rows(const std::string& csv) const {
    std::vector<Words> all;
    std::istringstream lines(content(csv));
    for (std::string line; std::getline(lines, line);) {
      all.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) all.back().push_back(cell);
    }
    return all;
  }
};

// 3 x 3 points; 3 microbatches do not divide 16 sequences, so these three are refused, with the reason; the rest is
// done.
TEST_F(SweepCommand, EveryPointGetsARow) {
  const auto text = swept({"--export", "out.csv"});
  EXPECT_THAT(text,
              AllOf(HasSubstr("sweep_small.db: 9 points, 6 done, 3 refused"), HasSubstr("most tokens/s a chip: "),
                    HasSubstr("model.layers 1"), HasSubstr("3 refused: "),
                    HasSubstr("sweep_small.yaml:5:32: batch.microbatches: microbatches 3 do not divide 16 sequences")));
  EXPECT_EQ(files_in("."), (Words{"out.csv", "sweep_small.db"}));
  const auto table = rows("out.csv");
  ASSERT_EQ(table.size(), 10U);
  EXPECT_EQ(table[0][0], "batch.microbatches");
  EXPECT_EQ(table[1][0], "1") << "ordered by the inputs";
  EXPECT_EQ(table[9][0], "3");
}

// A point's numbers are those that `run` gives for the scenario with its settings.
TEST_F(SweepCommand, APointIsWhatRunSays) {
  (void)swept({"--export", "out.csv"});
  const auto alone = json(
      {"run", LOCKSTEP_SCENARIOS "/small_two_matmul.yaml", "--set", "batch.microbatches=2", "--set", "model.layers=3"});
  const auto table = rows("out.csv");
  const auto& row = table[6];
  ASSERT_EQ(row[2], "done");
  EXPECT_EQ(std::stod(row[3]), alone["step_time_s"].get<double>());
  EXPECT_EQ(std::stod(row[7]), alone["mfu"].get<double>());
  EXPECT_EQ(table[0][7], "mfu");
}

const std::string on_four_chips = R"(format: 1
model: llama-3-8b
cluster: tpu-v5p:2x2
batch: {sequences: 16, sequence_length: 512}
parallel: {fsdp: 4}
)";

// A value goes to the scenario as it stands in the sweep file, whatever YAML would make of its first letter without
// quotes.
TEST_F(SweepCommand, QuotesOfAValueStay) {
  write("s.yaml", on_four_chips + R"(sweep: {grid: {model: [llama-3-8b, "@x/m.json", "%y", "a: b"]}}
)");
  const auto text = good({"sweep", "s.yaml", "--export", "s.csv"});
  EXPECT_THAT(text, HasSubstr("4 points, 1 done, 3 refused"));
  EXPECT_THAT(content("s.csv"), AllOf(HasSubstr("there is no file '@x/m.json'"), HasSubstr("'%y'"), HasSubstr("'a: b'"),
                                      Not(HasSubstr("malformed"))));
}

// Spreadsheets take a cell that begins with = + - @ for a formula; numbers stay numbers.
TEST_F(SweepCommand, TextIsNoFormula) {
  write(
      "s.yaml",
      on_four_chips +
          R"(sweep: {list: [{model: =SUM(A1), batch.sequences: -1.5}, {model: +x, batch.sequences: 16}, {model: -x, batch.sequences: 16}, {model: llama-3-8b, batch.sequences: +4}]}
)");
  (void)good({"sweep", "s.yaml", "--export", "s.csv"});
  const auto csv = content("s.csv");
  for (const auto* row : {"\n'=SUM(A1),-1.5,refused", "\n'+x,16,refused", "\n'-x,16,refused", "\nllama-3-8b,+4,"})
    EXPECT_THAT(csv, HasSubstr(row));
}

TEST_F(SweepCommand, JobsDoNotChangeTheExport) {
  (void)swept({"--jobs", "1", "--db", "one.db", "--export", "one.csv"});
  (void)swept({"--jobs", "5", "--db", "five.db", "--export", "five.csv"});
  EXPECT_EQ(content("one.csv"), content("five.csv"));
}

// Three shards together are the whole; merging again adds nothing.
TEST_F(SweepCommand, ShardsMakeUpTheWhole) {
  (void)swept({"--export", "whole.csv"});
  Words into = {"merge", "merged.db"};
  for (const std::string shard : {"0", "1", "2"}) {
    (void)swept({"--shard", shard + "/3", "--db", shard + ".db"});
    into.push_back(shard + ".db");
  }
  EXPECT_THAT(good(into), Not(HasSubstr("DIFFERING")));
  EXPECT_THAT(good(into), AllOf(HasSubstr("0.db: 0 added"), HasSubstr("1.db: 0 added"), HasSubstr("2.db: 0 added")));
  EXPECT_THAT(good({"sweep", "--db", "merged.db", "--export", "merged.csv"}), HasSubstr("9 points, 6 done, 3 refused"));
  EXPECT_EQ(content("merged.csv"), content("whole.csv"));
}

// What stands in the database is not simulated again: a sweep over more values takes up the one before it.
TEST_F(SweepCommand, ALargerSweepGoesOnWithTheDatabase) {
  const std::string base = content(LOCKSTEP_SCENARIOS "/small_two_matmul.yaml");
  write("s.yaml", base + "sweep: {grid: {model.layers: [1, 2]}}\n");
  EXPECT_THAT(good({"sweep", "s.yaml"}), HasSubstr("2 points, 2 done"));
  write("s.yaml", base + "sweep: {grid: {model.layers: [1, 2, 3]}}\n");
  EXPECT_THAT(good({"sweep", "s.yaml", "--export", "s.csv"}), HasSubstr("3 points, 3 done"));
  EXPECT_EQ(rows("s.csv").size(), 4U);
}

TEST_F(SweepCommand, KeptResultsAreThoseOfRun) {
  write("s.yaml", content(LOCKSTEP_SCENARIOS "/small_two_matmul.yaml") + "sweep: {grid: {model.layers: [4]}}\n");
  (void)good({"sweep", "s.yaml", "--keep-results"});
  EXPECT_THAT(content("s.db"), HasSubstr("\"critical_rank\":"));
}

// More points than anyone means by accident are asked for with their number.
TEST_F(SweepCommand, ManyPointsNeedYes) {
  write(
      "s.yaml",
      content(LOCKSTEP_SCENARIOS "/small_two_matmul.yaml") +
          "sweep: {grid: {model.layers: {from: 1, to: 300, step: 1}, batch.sequences: {from: 1, to: 100, step: 1}}}\n");
  const auto done = run({"sweep", "s.yaml"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.errors, "s.yaml: the sweep has 30,000 points; expected fewer values, or --yes\n");
  EXPECT_EQ(files_in("."), (Words{"s.yaml"}));
}

TEST_F(SweepCommand, WrongArgumentsAreRefused) {
  const auto refused = [&](const Words& words) {
    const auto done = run(words);
    EXPECT_EQ(done.exit_code, 2) << words.back();
    EXPECT_EQ(done.output, "");
    return done.errors;
  };
  EXPECT_EQ(refused({"sweep"}),
            "sweep: there is nothing to sweep and nothing to read; expected a sweep file, or --db with a database that "
            "is there\n");
  EXPECT_EQ(refused({"sweep", "none.yaml"}), "none.yaml: no such file\n");
  EXPECT_EQ(refused({"sweep", "--db", "none.db"}), "none.db: no such file; expected a database of lockstep sweep\n");
  EXPECT_EQ(refused({"merge", "out.db", "none.db"}), "none.db: no such file; expected a database of lockstep sweep\n");
  for (const std::string shard : {"3/3", "x", "1", "-1/3", "0/0", "0/3x"}) {
    EXPECT_THAT(refused({"sweep", file, "--shard", shard}), HasSubstr("is not a shard; expected I/N"));
  }
  EXPECT_EQ(files_in("."), Words{});
  (void)swept({});
  write("s.yaml", content(LOCKSTEP_SCENARIOS "/small_two_matmul.yaml") + "sweep: {grid: {model.layers: [4]}}\n");
  EXPECT_EQ(refused({"sweep", "s.yaml", "--db", "sweep_small.db"}),
            "sweep_small.db: is of a sweep over other keys; expected the same keys in the same order, or a new file\n");
  EXPECT_EQ(refused({"sweep", "s.yaml", "--db", "s.yaml"}),
            "s.yaml: is not a sound database: file is not a database; expected a database of lockstep sweep, or a new "
            "file\n");
}

}  // namespace
}  // namespace lockstep::test
