// docs/json.md has every key that a command's JSON has, and no other: small inputs make each of them appear, lists and
// null as the page says, and each row of the page is printed by some command. Every command with --json has a section.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/docs/json_page.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/from_trace/llama_trace.hpp"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string small = "tests/data/scenarios/small.yaml ";
/// Small, in a pipeline on a network that hashes and that others use too, at measured rates.
const std::string hashed =
    small +
    "--set 'cluster={node: dgx-h100, nodes: 4, fabric: {kind: fat_tree, radix: 8, link: 50 GB/s, routing: ecmp,"
    " nic_latency: 1 us, switch_latency: 1 us}, background: [{links: \"*\", load: 10 %}]}' --set mesh={}"
    " --set 'parallel={tensor: 8, pipeline: 4}' --set pipeline.schedule=1f1b --set batch.sequences=4"
    " --set model_of_time=calibrated ";
const std::string mixed =
    small +
    "--set 'cluster={groups: [{node: dgx-h100, nodes: 1}, {node: dgx-a100, nodes: 1}]}' --set mesh={}"
    " --set 'parallel={fsdp: 16}' ";
const std::string nodes =
    small + "--set 'cluster={node: dgx-h100, nodes: 2}' --set mesh={} --set 'parallel={data: 16}' ";
/// So many draws that only the slowest of its replicas are simulated.
const std::string replicas =
    small + "--set 'cluster={node: dgx-h100, nodes: 2}' --set mesh={} --set 'parallel={tensor: 8, data: 2}' ";
const std::string kineto = "tests/data/traces/kineto_rank0.json tests/data/traces/kineto_rank1.json ";

/// A run that goes on without NICs and without hosts, and of which not everything can be simulated.
const std::string unreliable =
    "'reliability={failures: {port: {of: nic, mtbf: 1000 h, stops: false, bandwidth: 0.5}, gpu: {of: chip, mtbf: 5000 "
    "h}, throttled: {of: chip, mtbf: 5000 h, stops: false, slowdown: 2}}, restart: 1 min, repair: 1 h, elastic: true, "
    "checkpoint: {host_bandwidth: 1 GB/s}}' ";

struct Documented {
  std::string heading;                ///< of the page
  std::vector<std::string> commands;  ///< that print such documents with --json -, which is added
};
const std::vector<Documented> documented{
    {"run",
     {"lockstep run " + hashed, "lockstep run --sensitivity " + hashed, "lockstep run " + mixed,
      "lockstep run --set batch.lengths=../lengths_of_documents.csv " + small,
      "lockstep run --set 'training={local_updates: {inner_steps: 8, delay: 1}}' " + replicas,
      "lockstep run --draws 50 --set 'variations=[{jitter: 0.1}, {stragglers: 0.1, slowdown: 2}]' " + small,
      "lockstep run --draws 20000 --set 'variations=[{stragglers: 0.01, slowdown: 2}]' " + replicas}},
    {"check", {"lockstep check " + small}},
    {"compare",
     {"lockstep compare " + small + "tests/data/scenarios/small_two_matmul.yaml",
      "lockstep compare --draws 3 --set 'variations=[{jitter: 0.1}]' " + small +
          "tests/data/scenarios/small_two_matmul.yaml"}},
    {"plan",
     {"lockstep plan --set 'search={tensor: 8, pipeline: 4}' " + hashed, "lockstep plan --limit 0.001 " + small,
      "lockstep plan --set 'search={tensor: 8, pipeline: 1}' " + nodes,
      "lockstep plan --draws 2 --set 'variations=[{jitter: 0.1}]' --set 'search={tensor: 8, pipeline: 1}' " + nodes,
      "lockstep plan --for-run --set " + unreliable + "--set 'search={tensor: 8, pipeline: 1}' " + nodes,
      "lockstep plan --set 'search={tensor: 8, pipeline: 1}' --out $TMP/plan " + nodes +
          "--json $TMP/all.json >$TMP/text && cat $TMP/plan/plan.json #"}},  // its document is that file
    {"plan --chips",
     {"lockstep plan --chips 16..64 --tokens 1e12 --price 2 --set 'search={tensor: 8, pipeline: 1}'"
      " --set batch.sequences=4 " +
      nodes}},
    {"schedule",
     {"lockstep schedule zb-h1 --stages 2 --microbatches 4",
      "lockstep schedule design --stages 2 --microbatches 4 --memory-limit 1,2"}},
    {"schedule of several",
     {"lockstep schedule 1f1b dualpipe --stages 3 --microbatches 8"}},  // dualpipe needs even ones
    {"cost",
     {"lockstep cost --prices tests/data/prices/round.yaml --tokens 1e12 " + small,
      "lockstep cost --prices tests/data/prices/dear_switches.yaml --tokens 1e12 --fabrics "
      "infiniband-ndr-rail,roce-400g " +
          nodes}},
    {"design network",
     {"lockstep design network --prices tests/data/prices/round.yaml --tokens 1e12 --space $TMP/space.yaml " + nodes,
      "lockstep design network --prices tests/data/prices/round.yaml --tokens 1e12 --within 50 --space "
      "$TMP/space.yaml " +
          nodes}},
    {"design experts", {"lockstep design experts $TMP/experts.yaml"}},
    {"design placement",
     {"lockstep design placement --moves 4 " + nodes, "lockstep design placement --moves 0 $TMP/west.yaml"}},
    {"goodput",
     {"lockstep goodput scenarios/published/llama3-405b-54-days.yaml --step-time '10 s' --runs 2 --published --tokens "
      "1e12 --price "
      "2",
      "lockstep goodput --runs 2 --set " + unreliable + nodes}},
    {"roofline of a torus", {"lockstep roofline " + small}},
    {"roofline of a network", {"lockstep roofline " + nodes}},
    {"collective",
     {"lockstep collective all_reduce --cluster h100:4 --group node --bytes 1MiB --all",
      "lockstep collective all_gather --cluster tpu-v5p:4x4x4 --group x --bytes 1MiB",
      "lockstep collective all_reduce --cluster h100 --group gpu --bytes 1MiB --algorithm designed"}},
    {"collective --trace",
     {"lockstep collective all_reduce --cluster h100:4 --group node --bytes 1MiB --trace $TMP/links.json --json "
      "$TMP/all.json >$TMP/text && cat $TMP/links.json #"}},  // its document is that file
    {"model",
     {"lockstep model deepseek-v3", "lockstep model deepseek-v4-flash",
      "lockstep model tests/data/hf_configs/Qwen__Qwen3-Next-80B-A3B-Instruct.json"}},
    {"validate", {"lockstep validate tests/docs/my_steps.csv", "lockstep validate collectives_multinode"}},
    {"faults", {"lockstep faults " + nodes}},
    {"jobs", {"lockstep jobs $TMP/west.yaml $TMP/east.yaml --hosts given --hosts best"}},
    {"rl", {"lockstep rl $TMP/loop.yaml", "lockstep rl $TMP/loop.yaml --set generation.nodes=1"}},
    {"rl --nodes", {"lockstep rl $TMP/loop.yaml --set generation.nodes=1 --nodes 2"}},
    {"import of a network", {"lockstep import network tests/data/networks/small.ibnetdiscover"}},
    {"import of a node",
     {"lockstep import network tests/data/networks/h100_node.xml",
      "lockstep import network tests/data/networks/mi300_node.xml"}},  // whose GPUs have unlike numbers of links
    {"import of a recipe",
     {"lockstep import recipe tests/data/recipes/megatron/mixtral_8x7b.sh --cluster dgx-h100:128"}},
    {"replay", {"lockstep replay " + kineto, "lockstep replay $TMP/paused.json"}},
    {"replay --against", {"lockstep replay " + kineto + "--against " + small}},
    {"replay --scenario", {"lockstep replay $TMP/llama.json --cluster dgx-h100:1 --scenario $TMP/job.yaml"}},
    {"calibrate", {"lockstep calibrate tests/fuzz/seeds/measured_csv/kernels.csv --chip h100"}},
};

/// Two kernels, launched together, with a millisecond between them that nothing explains.
constexpr const char* paused = R"({"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 0, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "a", "tid": 7, "ts": 10, "dur": 9, "args": {"correlation": 1, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "b", "tid": 7, "ts": 1019, "dur": 9, "args": {"correlation": 2, "stream": 7}}]})";

/// A job that reduces its gradients from one leaf of the network of two leaves to the other, on two of its hosts.
std::string job_on(const std::string& hosts) {
  return "format: 1\nmodel: {type: two-matmul, layers: 2, d_model: 4096, d_ff: 8192}\ncluster: {graph: '" +
         std::string(source_dir) +
         "/tests/data/networks/two_leaves.csv', node: {like: dgx-h100, chips: 1}, placement: {hosts: '" + hosts +
         "'}}\nparallel: {data: 2}\nbatch: {sequences: 8, sequence_length: 16}\n";
}

class JsonReference : public testing::Test {
 protected:
  JsonReference() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "paused.json") << paused;
    std::ofstream(folder_ / "llama.json") << LlamaTrace().json();
    std::ofstream(folder_ / "space.yaml") << "grid: {cluster.node.nics.count: [8, 4, 3],"
                                             " cluster.fabric.oversubscription: [1, 2, 4]}";
    std::ofstream(folder_ / "experts.yaml")
        << "format: 1\nmodel: {layers: 2, d_model: 512, heads: 8, vocabulary: 0, moe: {experts: 8, experts_per_token: "
           "2, "
           "d_ff: 512}}\ncluster: {node: {like: dgx-h100, chips: 4}}\nparallel: {expert: 4}\n"
           "batch: {sequences: 8, sequence_length: 256}\nrouting: {loads: '"
        << source_dir << "/tests/data/loads_of_8_experts.csv'}\n";
    std::ofstream(folder_ / "west.yaml") << job_on("gpu1,gpu3");
    std::ofstream(folder_ / "east.yaml") << job_on("gpu2,gpu4");
    std::ofstream(folder_ / "policy.yaml")
        << "format: 1\nmodel: {layers: 2, d_model: 256, d_ff: 512, heads: 4, vocabulary: 512}\n"
           "cluster: {node: dgx-h100, nodes: 1}\nparallel: {data: 8}\nbatch: {sequences: 8, sequence_length: 64}\n";
    std::ofstream(folder_ / "loop.yaml")
        << "format: 1\npolicy: policy.yaml\nrollouts: {prompts: 8, response_tokens: {mean: 50, most: 50}}\n"
           "generation: {tokens_per_s: 1000}\n";
  }
  ~JsonReference() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// What a command prints to stdout; $TMP is a folder of the test's own.
  std::string output_of(const std::string& command) const {
    const std::string whole = "cd '" + std::string(source_dir) + "' && export TMP='" + folder_.string() + "' PATH='" +
                              fs::path(LOCKSTEP_PROGRAM).parent_path().string() + "':\"$PATH\" && " + command;
    std::string text;
    auto* pipe = ::popen(whole.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("no process for " + command);
    std::array<char, 4096> part{};
    for (std::size_t count = 0; (count = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
      text.append(part.data(), count);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return text;
  }

  fs::path folder_ = fs::temp_directory_path() / ("lockstep-json-" + std::to_string(::getpid()));
};

int lists_of(const Json& value) {
  if (value.is_null()) return any_lists;
  if (!value.is_array()) return 0;
  return 1 + (value.empty() ? 0 : lists_of(value.front()));
}

void add_paths(const Json& value, const JsonPath& at, std::set<JsonPath>& paths) {
  if (value.is_array()) {
    for (const auto& item : value) add_paths(item, at, paths);
  }
  if (!value.is_object()) return;
  for (const auto& [key, item] : value.items()) {
    auto path = at;
    path.push_back({key, lists_of(item)});
    paths.insert(path);
    add_paths(item, path, paths);
  }
}

/// The paths of a document that the keys lack; `found` gets the lines of those that it has.
std::set<std::string> missing(const std::vector<DocumentedKey>& keys, const Json& document, std::set<int>& found) {
  std::set<JsonPath> printed;
  add_paths(document, {}, printed);
  std::set<std::string> lacking;
  for (const auto& path : printed) {
    bool known = false;
    for (const auto& key : keys) {
      if (!key.names(path)) continue;
      known = true;
      found.insert(key.line);
    }
    if (!known) lacking.insert(text_of(path));
  }
  return lacking;
}

std::string page_text() {
  std::ostringstream text;
  text << std::ifstream(fs::path(source_dir) / "docs/json.md").rdbuf();
  return text.str();
}

TEST_F(JsonReference, HasTheKeysThatCommandsPrint) {
  const JsonPage page(page_text());
  std::set<int> found;
  for (const auto& [heading, commands] : documented) {
    auto keys = page.keys_of(heading);
    EXPECT_FALSE(keys.empty()) << "docs/json.md has no section '" << heading << "'";
    const auto shared = page.keys_of("What all documents share");
    keys.insert(keys.end(), shared.begin(), shared.end());
    for (const auto& command : commands) {
      const auto document = Json::parse(output_of(command + " --json -"), nullptr, false);
      ASSERT_TRUE(document.is_object()) << command;
      for (const auto& path : missing(keys, document, found))
        ADD_FAILURE() << "docs/json.md, section '" << heading << "', lacks `" << path << "`, printed by\n" << command;
    }
  }
  for (const auto& row : page.rows())
    EXPECT_TRUE(found.contains(row.line))
        << "docs/json.md:" << row.line << ": no command prints `" << text_of(row.path) << '`';
}

/// The names below a line "Subcommands:" of a help.
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Subcommands:")) listed = true;
    if (listed && line.empty()) break;
    if (listed && line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST_F(JsonReference, HasASectionForEachCommand) {
  std::set<std::string> told;
  for (const auto& [heading, commands] : documented) told.insert(heading.substr(0, heading.find(' ')));
  int with_json = 0;
  for (const auto& command : commands_in(output_of("lockstep --help"))) {
    auto help = output_of("lockstep " + command + " --help");
    for (const auto& below : commands_in(help)) help += output_of("lockstep " + command + " " + below + " --help");
    if (help.find("--json TEXT") == std::string::npos) continue;
    ++with_json;
    EXPECT_TRUE(told.contains(command)) << "docs/json.md: lockstep " << command << " --json has no section";
  }
  EXPECT_EQ(with_json, static_cast<int>(told.size()));
}

// A made-up page: a key without a row, a list where the page has none, and a row that is not printed are seen; a null
// stands for a list too, a name in <> for any key, and a reference brings the keys of its section below its own.
TEST(JsonPage, TellsBothKindsOfDifferences) {
  const JsonPage page(
      "## run\nThe keys of [Shared](#shared), and:\n| `rows[]` | none: null |\n| `rows[].at` | the keys of [A "
      "place](#a-place) |\n| `never` | x |\n## Shared\n| `format` | x |\n### A place\n| `<axis>` | x |\n");
  const auto keys = page.keys_of("run");
  std::set<int> found;
  EXPECT_EQ(missing(keys, {{"format", 1}, {"rows", nullptr}}, found), (std::set<std::string>{}));
  EXPECT_EQ(missing(keys, {{"rows", {{{"at", {{"x", 1}}}}}}}, found), (std::set<std::string>{}));
  EXPECT_EQ(found, (std::set<int>{3, 4, 7, 9})) << "all rows but `never`, which is on line 5";
  EXPECT_EQ(missing(keys, {{"format", {1}}, {"row", 2}}, found), (std::set<std::string>{"format[]", "row"}));
  EXPECT_EQ(page.rows().size(), 5U);
}

}  // namespace
}  // namespace lockstep::test
