// Every command says the same word about the same step, on either side of each boundary of the verdict: with a peak P
// and the band's `high` and `least`, a step fits while P x high <= capacity, and does not fit once P x least >
// capacity.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

struct Boundary {
  const char* name;
  const char* of;     ///< the key of `memory.peak_band`, or peak_bytes, at which the capacity lies
  std::int64_t more;  ///< bytes of capacity beyond it
  const char* word;
};

std::string shouted(const std::string& word) {
  return word == "fits" ? word : word == "may not fit" ? "MAY NOT FIT" : "DOES NOT FIT";
}

class MemoryVerdict : public CommandLine, public testing::WithParamInterface<Boundary> {
 protected:
  /// it.yaml has a chip of the boundary's capacity, large.yaml one of 80 GB.
  MemoryVerdict() {
    write("large.yaml", scenario("80000000000", "parallel: {tensor: 4, data: 4, zero: 1}\n"));
    const auto memory = json({"run", "large.yaml"})["memory"];
    EXPECT_EQ(memory["verdict"], "fits");
    const auto& boundary = GetParam();
    const std::int64_t at =
        std::string(boundary.of) == "peak_bytes" ? memory["peak_bytes"] : memory["peak_band"][boundary.of];
    capacity_ = at + boundary.more;
    peak_ = memory["peak_bytes"];
    word_ = boundary.word;
    words_ = shouted(word_);
    write("it.yaml", scenario(std::to_string(capacity_), "parallel: {tensor: 4, data: 4, zero: 1}\n"));
  }

  [[nodiscard]] static std::string scenario(const std::string& memory, const std::string& plan) {
    return "format: 1\nmodel: {layers: 2, d_model: 256, d_ff: 512, heads: 4, vocabulary: 512}\n"
           "cluster: {node: {like: dgx-h100, chip: {like: h100, memory: " +
           memory + " B}}, nodes: 2}\n" + plan +
           "batch: {sequences: 16, sequence_length: 64, microbatch_size: 1}\n"
           "search: {tensor: 4, pipeline: 1, zero: 1, microbatches: 4, recompute: none}\n";
  }
  [[nodiscard]] bool is_no_answer() const { return word_ == "does not fit"; }

  std::int64_t capacity_ = 0, peak_ = 0;
  std::string word_, words_;
};

TEST_P(MemoryVerdict, RunAndCheck) {
  const auto memory = json({"run", "it.yaml"})["memory"];
  EXPECT_EQ(memory["capacity_bytes"], capacity_);
  EXPECT_EQ(memory["verdict"], word_);
  EXPECT_EQ(memory["fits"], !is_no_answer());
  EXPECT_THAT(good({"run", "it.yaml"}), HasSubstr(word_ == "fits" ? "(fits, " : "  " + words_));
  EXPECT_EQ(json({"check", "it.yaml"})["scenarios"][0]["verdict"], word_);
  EXPECT_EQ(run({"check", "it.yaml", "--fail-if-unfit"}).exit_code, is_no_answer() ? 1 : 0);
}

TEST_P(MemoryVerdict, Compare) {
  std::istringstream lines(good({"compare", "large.yaml", "it.yaml"}));
  std::string verdicts;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  verdict")) verdicts = line;
  EXPECT_THAT(verdicts, testing::EndsWith("  " + words_));
  EXPECT_EQ(json({"compare", "large.yaml", "it.yaml"})["scenarios"][1]["result"]["memory"]["verdict"], word_);
}

TEST_P(MemoryVerdict, Sweep) {
  write("sweep.yaml", "scenario: it.yaml\nsweep: {grid: {training.optimizer: [adam]}}\n");
  const auto text = good({"sweep", "sweep.yaml", "--export", "out.csv"});
  EXPECT_EQ(text.find("in memory") != std::string::npos, word_ != "fits") << text;
  if (word_ != "fits") EXPECT_THAT(text, HasSubstr(is_no_answer() ? "DO NOT FIT in memory" : "MAY NOT FIT in memory"));
  std::istringstream csv(content("out.csv"));
  std::string header, row;
  std::getline(csv, header);
  std::getline(csv, row);
  EXPECT_THAT(header, testing::EndsWith(",peak_bytes,capacity_bytes,fits,verdict,error"));
  EXPECT_THAT(row, testing::EndsWith("," + std::to_string(peak_) + "," + std::to_string(capacity_) + "," +
                                     (is_no_answer() ? "0," : "1,") + word_ + ","));
}

// The best of the splits is one that does not surely not fit.
TEST_P(MemoryVerdict, Rl) {
  write("loop.yaml",
        "format: 1\npolicy: it.yaml\nrollouts: {prompts: 8, generations: 4, response_tokens: {mean: 48, most: 48}}\n"
        "generation: {chips_of_replica: 4, sequences: 8, tokens_per_s: 800}\nmode: synchronous\n");
  const auto loop = json({"rl", "loop.yaml"});
  EXPECT_EQ(loop["verdict"], word_);
  EXPECT_EQ(loop["fits"], !is_no_answer());
  EXPECT_THAT(good({"rl", "loop.yaml"}),
              word_ == "fits" ? testing::Matcher<std::string>(Not(HasSubstr("FIT"))) : HasSubstr("training " + words_));
  const auto splits = json({"rl", "loop.yaml", "--set", "generation.nodes=1", "--nodes", "3"});
  bool any = false;
  for (const auto& split : splits["splits"]) any = any || split["loop"]["fits"].get<bool>();
  EXPECT_EQ(splits["best"].is_object(), any);
}

TEST_P(MemoryVerdict, DesignsOfNetworksAndPlaces) {
  write("space.yaml", "grid: {cluster.fabric.radix: [64]}\n");
  const Words design{"design",
                     "network",
                     "it.yaml",
                     "--space",
                     "space.yaml",
                     "--prices",
                     std::string(LOCKSTEP_SCENARIOS) + "/../prices/round.yaml",
                     "--tokens",
                     "1e12"};
  if (is_no_answer()) {
    const auto none = run(design);
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_THAT(none.output, HasSubstr("DO NOT FIT"));
  } else {
    const auto document = json(design);
    ASSERT_EQ(document["front"].size(), 1U);
    EXPECT_EQ(document["front"][0]["verdict"], word_);
    EXPECT_EQ(good(design).find("MAY NOT FIT") != std::string::npos, word_ == "may not fit");
  }
  const Words place{"design", "placement", "it.yaml", "--moves", "1"};
  EXPECT_EQ(json(place)["verdict"], word_);
  EXPECT_EQ(json(place)["best_verdict"], word_);
  EXPECT_THAT(good(place), word_ == "fits" ? testing::Matcher<std::string>(Not(HasSubstr("memory of one chip")))
                                           : HasSubstr("  " + words_));
}

// The space holds the one plan of the file. A search shows no plan of a larger predicted peak than its memory, and says
// that in bytes; what it shows has the word that `run` has for it.
TEST_P(MemoryVerdict, PlanAndInit) {
  const bool keeps_within = peak_ <= capacity_;
  const auto found = run({"plan", "it.yaml", "--out", "planned", "--json", "plan.json"});
  EXPECT_EQ(found.exit_code, keeps_within ? 0 : 1);
  const auto beside = "the file's own plan takes ";
  const Words chips{"plan", "it.yaml", "--chips", "16..16"};
  if (!keeps_within) {
    EXPECT_THAT(found.output, HasSubstr("no plan keeps within "));
    EXPECT_THAT(run(chips).output, HasSubstr("no plan keeps within the memory"));
    return;
  }
  const auto best = json_file("plan.json")["best"][0];
  EXPECT_EQ(best["memory"]["peak_bytes"], peak_);
  EXPECT_EQ(best["memory"]["verdict"], word_);
  EXPECT_THAT(found.output, HasSubstr(beside));
  EXPECT_EQ(found.output.find(" and may not fit; ") != std::string::npos, word_ == "may not fit") << found.output;
  EXPECT_EQ(found.output.find("the best: MAY NOT FIT") != std::string::npos, word_ == "may not fit");
  EXPECT_EQ(json({"run", "planned/best.yaml"})["memory"]["verdict"], word_);
  EXPECT_EQ(json(chips)["rows"][0]["best"]["memory"]["verdict"], word_);
  EXPECT_EQ(good(chips).find(", MAY NOT FIT") != std::string::npos, word_ == "may not fit");
}

const std::vector<Boundary> boundaries{
    {"RoomForTheBand", "high_bytes", 1, "fits"},          {"TheBandsEndTooLarge", "high_bytes", -1, "may not fit"},
    {"RoomForThePeak", "peak_bytes", 0, "may not fit"},   {"ThePeakTooLarge", "peak_bytes", -1, "may not fit"},
    {"RoomForTheLeast", "least_bytes", 1, "may not fit"}, {"TheLeastTooLarge", "least_bytes", -1, "does not fit"}};
INSTANTIATE_TEST_SUITE_P(Boundaries, MemoryVerdict, testing::ValuesIn(boundaries),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::test
