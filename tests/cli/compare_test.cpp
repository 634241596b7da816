// lockstep compare.
#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "tests/cli/program_run.hpp"
#include "tests/cli/terminal_run.hpp"

namespace lockstep::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class Compare : public CommandLine {
 protected:
  /// small.yaml with one text replaced, under another name.
  void write_changed(const std::string& name, const std::string& from, const std::string& to) const {
    auto text = content(small);
    ASSERT_NE(text.find(from), std::string::npos);
    write(name, text.replace(text.find(from), from.size(), to));
  }
};

// Every scenario is simulated as `run` does it, in the order given.
TEST_F(Compare, EachScenarioIsWhatRunSays) {
  write_changed("double.yaml", "sequences: 64", "sequences: 128");
  const auto both = json({"compare", small, "double.yaml"});
  ASSERT_EQ(both["scenarios"].size(), 2u);
  EXPECT_EQ(both["scenarios"][0]["name"], "small");
  EXPECT_EQ(both["scenarios"][1]["name"], "double");
  for (std::size_t i = 0; i < 2; ++i) {
    auto alone = json({"run", i == 0 ? small : "double.yaml"});
    auto result = both["scenarios"][i]["result"];
    result.erase("format");
    result.erase("lockstep");
    for (auto* one : {&alone, &result}) {
      one->at("engine").erase("wall_s");
      one->at("engine").erase("fold_wall_s");
    }
    EXPECT_EQ(alone, result);
  }
}

// Two scenarios side by side stay within 80 columns: long names and values go on in the next line.
TEST_F(Compare, TwoScenariosFitATerminal) {
  const std::string longer = "a-name-that-is-much-longer-than-a-column-of-the-table";
  write_changed(longer + ".yaml", "tensor: [x]", "tensor: [x/2, y/2]");
  const Words words{"compare", small, longer + ".yaml"};
  std::istringstream drawn(on_terminal(scratch / "work", 80, words).output);
  std::size_t rows = 0;
  for (std::string line; std::getline(drawn, line); ++rows) EXPECT_LE(line.size(), 81u) << line;  // with its \r
  EXPECT_GT(rows, 12u) << on_terminal(scratch / "work", 80, words).output;
  EXPECT_THAT(good(words), HasSubstr(longer));  // a pipe gets each row as one line
}

// Only what differs is listed: 64 and 128 sequences, and nothing else.
TEST_F(Compare, OnlyChangedInputsAreListed) {
  write_changed("double.yaml", "sequences: 64", "sequences: 128");
  EXPECT_EQ(json({"compare", small, "double.yaml"})["changed"], json::parse(R"({"sequences": ["64", "128"]})"));
  EXPECT_EQ(json({"compare", small, small})["changed"], json::object());
  EXPECT_THAT(good({"compare", small, small}), HasSubstr("no input differs"));
}

// computing + exposed of every kind + idle = step time, so the differences of these parts add up to that of the steps.
TEST_F(Compare, ContributorsAddUpToTheDifference) {
  write_changed("line.yaml", "tensor: [x]", "tensor: [x/2, y/2]");
  const auto both = json({"compare", small, "line.yaml"});
  const double first = both["scenarios"][0]["result"]["step_time_s"];
  const double other = both["scenarios"][1]["result"]["step_time_s"];
  EXPECT_NE(first, other);
  EXPECT_NEAR(both["scenarios"][1]["step_time_ratio"], other / first, 1e-12);
  double sum = 0, before = 1e9;
  for (const auto& part : both["scenarios"][1]["difference"]) {
    sum += part["seconds"].get<double>();
    EXPECT_LE(std::abs(part["seconds"].get<double>()), before) << "the largest come first";
    before = std::abs(part["seconds"].get<double>());
  }
  EXPECT_NEAR(sum, other - first, 1e-9 * first);
  EXPECT_NEAR(both["scenarios"][1]["tokens_per_s_per_chip_ratio"], first / other, 1e-9)
      << "equal tokens on equal chips";
}

// Twice the layers compute twice as long, apart from what is not in layers: computing leads the list.
TEST_F(Compare, TheTextNamesWhereTheTimeWent) {
  const auto text = good({"compare", small, "--vary", "model.layers=4,8"});
  EXPECT_THAT(text, HasSubstr("layers=8: "));
  EXPECT_THAT(text, HasSubstr("x the step time of layers=4"));
  EXPECT_THAT(text.substr(text.find("layers=8: ")), HasSubstr("computing"));
  EXPECT_THAT(text, Not(HasSubstr("axis tensor"))) << "it does not differ";
}

// Two keys of two values each are four scenarios, the last key fastest; commas in brackets do not part values.
TEST_F(Compare, VariedKeysAreCombined) {
  const auto all = json({"compare", small, "--vary", "batch.sequences=64,128", "--vary", "mesh.tensor=[x],[x/2,y/2]"});
  Words names;
  for (const auto& scenario : all["scenarios"]) names.push_back(scenario["name"]);
  EXPECT_EQ(names, (Words{"sequences=64 tensor=[x]", "sequences=64 tensor=[x/2,y/2]", "sequences=128 tensor=[x]",
                          "sequences=128 tensor=[x/2,y/2]"}));
  EXPECT_EQ(all["changed"]["sequences"], json::parse(R"(["64", "64", "128", "128"])"));
}

TEST_F(Compare, SetHoldsForAll) {
  const auto both = json({"compare", small, "--vary", "batch.sequences=64,128", "--set", "training.optimizer=sgd"});
  for (const auto& scenario : both["scenarios"]) EXPECT_EQ(scenario["result"]["memory"]["optimizer_bytes"], 0);
  EXPECT_FALSE(both["changed"].contains("optimizer"));
}

TEST_F(Compare, OutHoldsJsonAndBars) {
  const Words words = {"compare", small, "--vary", "batch.sequences=64,128", "--out", "out"};
  const auto text = good(words);
  EXPECT_EQ(files_in("out"), with_page({"compare.json", "compare.svg", "report.html"}));
  EXPECT_EQ(json_file("out/compare.json")["scenarios"].size(), 2u);
  EXPECT_THAT(content("out/compare.svg"),
              testing::AllOf(HasSubstr("sequences=128"), HasSubstr("computing"), HasSubstr("</svg>")));
  const auto before = content("out/compare.json");
  EXPECT_EQ(good(words), text);
  EXPECT_EQ(content("out/compare.json"), before) << "equal runs give equal bytes";
}

// Problems of all files at once, each once, and nothing is simulated or written.
TEST_F(Compare, EveryFilesProblemsAreTold) {
  write_changed("bad.yaml", "sequences: 64", "sequences: none");
  write_changed("worse.yaml", "tensor: [x]", "tensor: [w]");
  const auto done = run({"compare", "bad.yaml", small, "worse.yaml", "bad.yaml", "--out", "out"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.output, "");
  EXPECT_THAT(done.errors, testing::AllOf(HasSubstr("bad.yaml:7:"), HasSubstr("worse.yaml:5:")));
  EXPECT_EQ(done.errors.find("bad.yaml"), done.errors.rfind("bad.yaml"));
  EXPECT_EQ(files_in("."), (Words{"bad.yaml", "worse.yaml"}));
}

TEST_F(Compare, OneScenarioIsTooFew) {
  for (const auto& words : {Words{"compare", small}, Words{"compare", small, "--vary", "batch.sequences=64"},
                            Words{"compare", small, "--vary", "batch"}}) {
    const auto done = run(words);
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_EQ(done.output, "");
  }
}

// Plans on one cluster meet the same chips in the same draw, so their difference is told draw by draw: that of a
// scenario from itself is 0 in each, though its steps differ.
TEST_F(Compare, ComparesTheSameDraws) {
  const Words words = {"compare", small, "--vary", "parallel.zero=3,1",
                       "--draws", "20",  "--set",  "variations=[{jitter: 0.05}]"};
  const auto compared = json(words);
  std::vector<std::vector<double>> times;
  for (const auto& scenario : compared["scenarios"])
    times.push_back(scenario["result"]["step_distribution"]["step_times_s"].get<std::vector<double>>());
  ASSERT_EQ(times.size(), 2U);
  const auto& first = compared["scenarios"][0]["same_draws"];
  EXPECT_EQ(first["median_longer_s"], 0);
  EXPECT_EQ(first["p95_longer_s"], 0);
  double mean = 0;
  for (std::size_t draw = 0; draw < 20; ++draw) mean += (times[1][draw] - times[0][draw]) / 20;
  EXPECT_NEAR(compared["scenarios"][1]["same_draws"]["mean_longer_s"], mean, 1e-12);
  EXPECT_THAT(good(words), testing::AllOf(HasSubstr("median of 20 draws"), HasSubstr("same draw, to the first")));
}

}  // namespace
}  // namespace lockstep::test
