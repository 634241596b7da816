// docs/scenario_reference.md, scenario_keys() and the loader know the same keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "sim/scenario/limits.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/scenario_keys.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/scenario/values_of_keys.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep {
namespace {

using Words = std::set<std::string>;

const std::filesystem::path source_root = source_dir;

/// Sizes that suit every value (values_of_keys.hpp): 4 chips, 4 sequences.
constexpr std::string_view small =
    "format: 1\n"
    "model: {type: two-matmul, layers: 2, d_model: 64, d_ff: 128}\n"
    "cluster: {chip: tpu-v5p, shape: [4]}\n"
    "batch: {sequences: 4, sequence_length: 8}\n";

/// The maps of a scenario whose keys are fixed; "" is the file itself. (`mesh` takes any axis name.)
const std::vector<std::string> sections = {"",
                                           "cluster",
                                           "cluster.placement",
                                           "parallel",
                                           "parallel.zero",
                                           "training.muon",
                                           "pipeline",
                                           "plan",
                                           "batch",
                                           "routing",
                                           "training",
                                           "training.offload",
                                           "training.local_updates",
                                           "communication",
                                           "search",
                                           "reliability",
                                           "reliability.checkpoint"};

class Reference : public testing::Test {
 protected:
  void SetUp() override {
    // A file of its own: tests run side by side.
    file_ =
        std::filesystem::temp_directory_path() /
        (std::string("lockstep_reference_") + testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml");
    std::ofstream(file_) << small;
  }
  void TearDown() override { std::filesystem::remove(file_); }

  [[nodiscard]] scenario::Scenario load(const std::vector<scenario::KeyOverride>& overrides = {}) const {
    return load_scenario(file_, overrides);
  }

  /// What loading complains of: "key: what; expected ..." for each problem.
  [[nodiscard]] std::vector<Problem> problems(const std::string& key, const std::string& value) const {
    std::vector<scenario::KeyOverride> overrides;
    // Only in a cluster of nodes.
    for (const auto* of_nodes : {"cluster.node", "cluster.nodes", "cluster.fabric", "cluster.halls",
                                 "cluster.between_halls", "cluster.order"}) {
      if (key == of_nodes) overrides.push_back({"cluster", "{node: dgx-h100, nodes: 2}"});
    }
    // Only on a graph; free hosts only beside how many of them are wanted.
    if (key == "cluster.twisted") overrides.push_back({"cluster", "{chip: tpu-v5p, shape: [4, 4, 8]}"});
    if (key == "cluster.groups") overrides.push_back({"cluster", "{fabric: crossbar}"});
    if (key == "cluster.graph" || key == "cluster.routing" || key.starts_with("cluster.placement"))
      overrides.push_back(
          {"cluster", "{graph: " + test::values_of_keys().at("cluster.graph") + ", node: {like: dgx-h100, chips: 1}}"});
    if (key.starts_with("cluster.placement.") && !key.ends_with("hosts"))
      overrides.push_back({"cluster.placement", "{best: 2}"});
    // Only with Muon, and of axes that are there.
    if (key.starts_with("training.muon")) overrides.push_back({"training.optimizer", "muon"});
    for (const auto* axis : {"data", "fsdp", "context", "expert"}) {
      if (key == std::string("parallel.zero.") + axis)
        overrides.push_back({"parallel", "{" + std::string(axis) + ": 2, zero: {" + axis + ": 0}}"});
    }
    if (key == "parallel.zero.qqqqqqqqqqqq") overrides.push_back({"parallel", "{data: 2, zero: {data: 1}}"});
    // Only beside experts, and in a recomputation with a mode.
    if (key.starts_with("routing")) overrides.push_back({"model", "mixtral-8x7b"});
    if (key.starts_with("training.recompute.")) overrides.push_back({"training.recompute", "{mode: selective}"});
    // Only of replicas.
    if (key.starts_with("training.local_updates")) overrides.push_back({"parallel", "{data: 2}"});
    if (key.starts_with("training.local_updates."))
      overrides.push_back({"training.local_updates", "{inner_steps: 100}"});
    if (key.starts_with("training.kept_activations."))
      overrides.push_back({"training.kept_activations", "{format: 8-bit}"});
    // What of it is required.
    if (key.starts_with("reliability.")) {
      overrides.push_back({"reliability",
                           "{failures: {gpu: {of: chip, mtbf: 50000 h}}, restart: 5 min, checkpoint: {write_bandwidth: "
                           "1 TB/s, mode: asynchronous, stall: 1 s}}"});
    }
    if (key == "batch.packing" || key == "batch.lengths_seed")
      overrides.push_back({"batch.lengths", test::values_of_keys().at("batch.lengths")});
    if (key == "batch.packing") overrides.push_back({"batch.sequence_length", "4096"});
    if (key.starts_with("communication.dispatcher")) {
      overrides.push_back({"model", "mixtral-8x7b"});
      overrides.push_back({"cluster", "{node: dgx-h100, nodes: 2}"});
      if (key.ends_with("sms")) overrides.push_back({"communication.dispatcher", "hybridep"});
    }
    overrides.push_back({key, value});
    // Only beside a CSV file, which does not say where its stages stand.
    if (key == "pipeline.placement")
      overrides.push_back({"pipeline.schedule", source_root / "scenarios" / "deepseek-v3-pair.csv"});
    try {
      (void)load(overrides);
    } catch (const ConfigError& error) {
      return error.problems();
    }
    return {};
  }

  std::filesystem::path file_;
};

std::string page() {
  std::ifstream file(source_root / "docs" / "scenario_reference.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

/// The keys of one section as scenario_keys() lists them, without the section's name.
Words listed_in(const std::string& section) {
  const std::string before = section.empty() ? "" : section + ".";
  Words keys;
  for (const auto& key : scenario::scenario_keys()) {
    if (!key.starts_with(before)) continue;
    const auto own = key.substr(before.size());
    if (own.find('.') == std::string::npos) keys.insert(own);
  }
  return keys;
}

TEST_F(Reference, TheSmallScenarioIsValid) { EXPECT_EQ(load().batch.sequences, 4); }

TEST_F(Reference, EveryKeyStandsInThePageInBackticks) {
  const auto text = page();
  ASSERT_FALSE(text.empty());
  for (const auto& key : scenario::scenario_keys()) EXPECT_NE(text.find("`" + key + "`"), std::string::npos) << key;
}

TEST_F(Reference, EveryDottedKeyInThePagesTablesIsKnown) {
  Words in_tables;
  std::istringstream lines(page());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    for (const auto& key : matches(line, std::regex("`([a-z_]+(?:\\.[a-z_]+)+)`"))) in_tables.insert(key);
  }
  Words dotted;
  for (const auto& key : scenario::scenario_keys()) {
    if (key.find('.') != std::string::npos) dotted.insert(key);
  }
  EXPECT_EQ(in_tables, dotted);
}

TEST_F(Reference, EveryListedKeyIsAccepted) {
  Words with_value;
  for (const auto& [key, value] : test::values_of_keys()) {
    with_value.insert(key);
    for (const auto& problem : problems(key, value)) ADD_FAILURE() << key << ": " << problem.to_string();
  }
  const auto keys = scenario::scenario_keys();
  EXPECT_EQ(with_value, Words(keys.begin(), keys.end())) << "each listed key has a value here";
  EXPECT_EQ(keys.size(), with_value.size()) << "no key is listed twice";
}

// A word that a key does not take is refused, and the refusal names every word of the table.
TEST_F(Reference, WordsAreThoseThatTheLoaderTakes) {
  int checked = 0;
  for (const auto& key : scenario::scenario_key_table()) {
    if (!has(key.kinds, scenario::ValueKind::word)) continue;
    ASSERT_FALSE(key.words.empty()) << key.path;
    const auto found = problems(std::string(key.path), "qqqq");
    std::string expected;
    for (const auto& problem : found) expected += problem.key == key.path ? problem.expected : "";
    EXPECT_FALSE(expected.empty()) << key.path << ": a word that nobody knows is refused";
    for (const auto word : key.words) EXPECT_THAT(expected, testing::HasSubstr(std::string(word))) << key.path;
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

/// The refusal of an unknown key names all keys that the section knows: these are the listed ones, no fewer.
TEST_F(Reference, EverySectionKnowsExactlyTheListedKeys) {
  for (const auto& section : sections) {
    const std::string extra = (section.empty() ? "" : section + ".") + "qqqqqqqqqqqq";
    const auto found = problems(extra, "1");
    ASSERT_EQ(found.size(), 1U) << section;
    EXPECT_EQ(found[0].key, extra);
    EXPECT_EQ(found[0].what, "unknown key");
    const auto known = matches(found[0].expected.substr(std::string("one of").size()), std::regex("([a-z_]+)"));
    EXPECT_EQ(Words(known.begin(), known.end()), listed_in(section)) << section;
  }
}

/// Maps in lower rows, each with keys of its own that the page describes in prose.
TEST_F(Reference, UnknownKeysOfInlineBlocksAreRefused) {
  const std::string torus = "{pod: [8], host: [4], link: 90 GB/s, hop_latency: 1 us, wrap: {multiple_of: 4}}";
  const std::string chip =
      "title: T, memory: 96 GB, memory_bandwidth: 2 TB/s, peak: {bf16: 400 TFLOP/s}, torus: " + torus;
  EXPECT_TRUE(problems("cluster.chip", "{" + chip + "}").empty());
  const auto in_chip = problems("cluster.chip", "{" + chip + ", colour: red}");
  ASSERT_EQ(in_chip.size(), 1U);
  EXPECT_EQ(in_chip[0].key, "cluster.chip.colour");
  const auto in_model = problems("model.colour", "red");
  ASSERT_EQ(in_model.size(), 1U);
  EXPECT_EQ(in_model[0].key, "model.colour");
}

/// The page's list of keys of an inline model and of an inline chip, against what the readers know.
TEST_F(Reference, ThePageNamesEveryKeyOfInlineBlocks) {
  const auto text = page();
  const std::string chip =
      "{title: T, memory: 96 GB, memory_bandwidth: 2 TB/s, peak: {bf16: 400 TFLOP/s}, qqqqqqqqqqqq: 1}";
  const std::string perturbation =
      "[{chip: [0], slowdown: 2, qqqqqqqqqqqq: 1}, {random_links: 1, seed: 1, bandwidth: 1, qqqqqqqqqqqq: 1}, "
      "{jitter: 0.1, seed: 1, qqqqqqqqqqqq: 1}]";
  const std::string reliability =
      "{failures: {gpu: {of: chip, qqqqqqqqqqqq: 1, observed: {failures: 1, over: 1 h, qqqqqqqqqqqq: 1}}}, restart: 5 "
      "min, "
      "checkpoint: {write_bandwidth: 1 TB/s}}";
  const std::string transformer = "{layers: 2, d_model: 64, d_ff: 128, heads: 4, vocabulary: 256, qqqqqqqqqqqq: 1}";
  const std::string replay =
      "{layers: 2, qqqqqqqqqqqq: 1, forward: [{name: a, time: 1 ms, qqqqqqqqqqqq: 1}], "
      "backward: [{name: b, time: 1 ms, qqqqqqqqqqqq: 1}]}";
  for (const auto& [key, block] : {std::pair{std::string("cluster.chip"), chip},
                                   {std::string("model"), "{replay: " + replay + "}"},
                                   {std::string("model"), transformer},
                                   {std::string("reliability"), reliability},
                                   {std::string("perturbations"), perturbation}}) {
    int refusals = 0;
    for (const auto& problem : problems(key, block)) {
      if (problem.what != "unknown key") continue;
      ++refusals;
      for (const auto& name : matches(problem.expected.substr(std::string("one of").size()), std::regex("([a-z_]+)"))) {
        EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << key << "." << name;
      }
    }
    EXPECT_GT(refusals, 0) << key;
  }
}

/// The example in the page loads and is placed as it says.
TEST_F(Reference, ThePagesExampleLoads) {
  const auto text = page();
  const std::string fence = "```yaml\n";
  const auto from = text.find(fence) + fence.size();
  std::ofstream(file_) << text.substr(from, text.find("```", from) - from);
  const auto scenario = load();
  EXPECT_EQ(scenario.model.name, "llama-3-70b");
  EXPECT_EQ(scenario.cluster.torus()->shape, (std::vector<int>{16, 20, 28}));
}

// The limits that the reference names under `batch` are those that `prepare` refuses above.
TEST_F(Reference, NamesTheLimitsOfAStep) {
  std::ifstream in(source_root / "docs/scenario_reference.md");
  std::stringstream text;
  text << in.rdbuf();
  auto page = text.str();
  page = page.substr(page.find("A step is refused if"), 2000);  // std::regex takes stack for every character
  page = std::regex_replace(page, std::regex("\\s+"), " ");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      page, found,
      std::regex("A step is refused if it has more than \\S+ tokens, more than (\\S+) forward passes of "
                 "stages or more than (\\S+) weight tensors, if it computes for more than (\\S+) s, "
                 "if its arrays have more than (\\S+) bytes on one chip, or if one array has more "
                 "than (\\S+) elements.*if more than (\\S+) operations of it would have to be "
                 "simulated \\((\\S+) over all ranks\\)")));
  EXPECT_EQ(std::stod(found[1]), scenario::most_passes);
  EXPECT_EQ(std::stod(found[2]), scenario::most_weight_tensors);
  EXPECT_EQ(std::stod(found[3]), scenario::longest_step_s);
  EXPECT_EQ(std::stod(found[4]), scenario::most_step_bytes);
  EXPECT_EQ(std::stod(found[5]), workloads::most_elements);
  EXPECT_EQ(std::stod(found[6]), scenario::most_step_operations);
  EXPECT_EQ(std::stod(found[7]), scenario::most_rank_operations);
}

}  // namespace
}  // namespace lockstep
