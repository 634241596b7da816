// lockstep collective.
#include <gmock/gmock.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::IsSupersetOf;
using Words = std::vector<std::string>;

class Collective : public CommandLine {
 protected:
  nlohmann::json measured(const std::string& kind, const std::string& group, const std::string& bytes) const {
    return json({"collective", kind, "--cluster", "tpu-v5p:4x4x4", "--group", group, "--bytes", bytes});
  }
};

TEST_F(Collective, ADesignSaysWhyInTheSameWordsEverywhere) {
  const Words words{"collective", "all_reduce", "--cluster", "tpu-v5e:2x4", "--group",
                    "x+y",        "--bytes",    "16MiB",     "--algorithm", "designed"};
  auto with_folder = words;
  with_folder.insert(with_folder.end(), {"--out", "made"});
  const auto text = good(with_folder);
  EXPECT_EQ(files_in("made"), with_page({"collective.json", "links.svg", "report.html"}));
  const auto designed = json_file("made/collective.json")["designed"];
  for (const auto* key : {"why", "what_if"}) {
    ASSERT_FALSE(designed[key].empty());
    for (const auto& sentence : designed[key])
      EXPECT_NE(text.find("\n" + sentence.get<std::string>() + "\n"), std::string::npos) << sentence;
  }
  EXPECT_GT(designed["with_wider_cuts"]["links"], 0);
  // Cuts with 1.1 times the rate: between 1 / 1.1 of the bound, if no other cut binds, and the bound itself.
  const double wider = designed["with_wider_cuts"]["bound_s"], bound = json(words)["rows"][0]["bound_s"];
  EXPECT_LE(wider, bound);
  EXPECT_GE(wider, bound / 1.1 * (1 - 1e-9));
}

// 21 sizes on 64 chips take far longer than the wait here, which is longer than a start.
TEST_F(Collective, ADesignThatIsInterruptedEndsWithOneLine) {
  const auto file = (scratch / "told").string();
  const std::string command = std::string("timeout --preserve-status -s INT 1.5 ") + LOCKSTEP_PROGRAM +
                              " collective all_reduce --cluster tpu-v5p:4x4x4 --group x+y+z --bytes 1KiB..1GiB "
                              "--algorithm designed >" +
                              file + " 2>&1";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::ostringstream told;
  told << std::ifstream(file).rdbuf();
  EXPECT_EQ(told.str(), "lockstep: stopped before the collective was designed and timed\n");
}

/// Bus bandwidth over algorithm bandwidth in a group of n, as nccl-tests defines it.
double bus_factor(const std::string& kind, double n) {
  if (kind == "all_reduce") return 2 * (n - 1) / n;
  if (kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all") return (n - 1) / n;
  return 1;
}

class EveryKind : public Collective, public testing::WithParamInterface<const char*> {};

// Groups that cover whole axes share no link, so simulated times are the closed forms, on one to three axes.
TEST_P(EveryKind, RowsAreConsistentOnEveryGroup) {
  const std::string kind = GetParam();
  const std::map<std::string, int> sizes = {{"x", 4}, {"x,y", 16}, {"x,y,z", 64}, {"x/2,y/2", 4}, {"8", 8}};
  for (const auto& [group, size] : sizes) {
    const auto table = measured(kind, group, "1MiB");
    EXPECT_EQ(table["group_size"], size) << group;
    ASSERT_EQ(table["rows"].size(), 1u);
    const auto& row = table["rows"][0];
    EXPECT_THAT(keys_of(row), IsSupersetOf(Words{"bytes", "time_s", "bound_s", "algbw_bytes_per_s", "busbw_bytes_per_s",
                                                 "algorithm", "bottleneck"}));
    const double time = row["time_s"];
    const double algorithm_bandwidth = 1048576 / time;
    EXPECT_EQ(row["bytes"], 1048576);
    EXPECT_NEAR(row["algbw_bytes_per_s"], algorithm_bandwidth, 1e-9 * algorithm_bandwidth);
    EXPECT_NEAR(row["busbw_bytes_per_s"], algorithm_bandwidth * bus_factor(kind, size), 1e-9 * algorithm_bandwidth)
        << group;
    EXPECT_NEAR(row["time_s"], row["closed_form_s"], 1e-9 * time) << group;
    EXPECT_NE(row["algorithm"], "");
    EXPECT_NE(row["bottleneck"], "none");
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryKind,
                         testing::Values("all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast",
                                         "reduce", "point_to_point"),
                         [](const auto& kind) { return std::string(kind.param); });

// The page's document has every algorithm that can serve; the text is that without --out.
TEST_F(Collective, FolderHasEveryAlgorithm) {
  const Words words{"collective", "all_reduce", "--cluster", "dgx-h100:2",
                    "--group",    "gpu+node",   "--bytes",   "1MiB..4MiB"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), words.begin(), words.end());
    return more;
  };
  const auto table = good(words), with_folder = good(with({"--out", "made"}));
  EXPECT_EQ(with_folder.substr(0, table.size()), table);
  EXPECT_EQ(with_folder.substr(with_folder.rfind("written: ")), "written: made/\n");
  EXPECT_EQ(json_file("made/collective.json"), json(with({"--all"})));
}

// A ring of 4 gathers V bytes in two directions: V (4-1)/4 / (2 * 90 GB/s), plus latency that a large V hides.
TEST_F(Collective, LargeGathersReachTheBandwidthOfARing) {
  const auto row = measured("all_gather", "x", "16GiB")["rows"][0];
  const double bytes = 17179869184.0;
  EXPECT_NEAR(row["time_s"], bytes * 0.75 / 180e9, 1e-3 * bytes * 0.75 / 180e9);
}

// nccl-tests print S, the larger of what a rank sends and receives: the whole array, but of an all-to-all what one rank
// sends and of a send what it sends (nccl-tests, *GetCollByteCount; common.cu prints max(sendBytes, expectedBytes)).
// Then no kind's busbw is above what the ports of a rank carry. On a ring of 4 a rank has two links of W = 90 GB/s:
//   all_gather, reduce_scatter  S 3/4 arrive over two links:      busbw = S 3/4 / T = 2 W; all_reduce both, with twice
//   the factor all_to_all                  S/4 for each of 3, one of them two hops away: 2 (1 + 1 + 2) S/4 x 4 ranks
//   over 8 links of W, so
//                               T = S / (2 W) and busbw = 3/4 x 2 W
//   broadcast, reduce           S / (2 W):                         busbw = 2 W;  point_to_point over one link: W
TEST_F(Collective, BusBandwidthIsThatOfThePortsOfARing) {
  const double link = 90e9;
  const std::map<std::string, double> ports = {{"all_gather", 2},    {"reduce_scatter", 2}, {"all_reduce", 2},
                                               {"all_to_all", 1.5},  {"broadcast", 2},      {"reduce", 2},
                                               {"point_to_point", 1}};
  for (const auto& [kind, links] : ports) {
    const double reached = measured(kind, "x", "64GiB")["rows"][0]["busbw_bytes_per_s"];
    EXPECT_NEAR(reached / link, links, 1e-3) << kind;
    EXPECT_LT(reached, 2 * link) << kind;
  }
}

// A scenario's slow and missing links count. A ring of 4 sends half of its bytes each way round, so with half of one
// link left its bytes take twice as long; with the link gone, its flow shares the way round through a neighbouring
// ring.
TEST_F(Collective, LinksOfAScenarioMayBeSlowOrMissing) {
  const auto gathered = [&](const std::string& perturbations) {
    write("torus.yaml", R"(format: 1
model: {type: two-matmul, layers: 2, d_model: 1024, d_ff: 4096}
cluster: tpu-v5p:4x4x4
mesh: {fsdp: rest}
parallel: {fsdp: 64}
batch: {sequences: 64, sequence_length: 512}
)" + perturbations);
    return json({"collective", "all_gather", "--cluster", "torus.yaml", "--group", "x", "--bytes",
                 "16GiB"})["rows"][0]["time_s"]
        .get<double>();
  };
  const double whole = gathered("");
  EXPECT_NEAR(gathered("perturbations: [{link: [[0, 0, 0], [1, 0, 0]], bandwidth: 0.5}]\n") / whole, 2, 1e-3);
  EXPECT_NEAR(gathered("perturbations: [{link: [[0, 0, 0], [1, 0, 0]], bandwidth: 0}]\n") / whole, 2, 1e-3);
  EXPECT_NEAR(gathered("perturbations: [{chip: [0, 0, 0], slowdown: 3}]\n") / whole, 1, 1e-12);
}

// Rings on hashed trees end at different times. A row is the collective by itself, whatever other sizes and algorithms
// were asked for.
TEST_F(Collective, RowsDoNotDependOnEachOther) {
  write("hashed.yaml", R"(format: 1
model: {type: two-matmul, layers: 2, d_model: 1024, d_ff: 4096}
cluster: {node: dgx-h100, nodes: 32, fabric: {like: roce-400g, kind: fat_tree, radix: 32, routing: ecmp}}
mesh: {fsdp: rest}
parallel: {fsdp: 256}
batch: {sequences: 256, sequence_length: 512}
)");
  const auto last = [&](const std::string& sizes) {
    return json({"collective", "all_gather", "--cluster", "hashed.yaml", "--group", "node", "--bytes", sizes})["rows"]
        .back();
  };
  const auto alone = last("1GiB");
  EXPECT_GT(alone["time_s"].get<double>(), 1.01 * alone["bound_s"].get<double>()) << "some groups share a cable";
  EXPECT_EQ(last("256MiB..1GiB"), alone);
}

// Of two nodes of 8 chips random links are drawn from 2 x 8 scale-up links and some more cables, each way counted; with
// half of every one left, the bytes take twice as long.
TEST_F(Collective, RandomLinksOfNodes) {
  const auto scenario = [&](const std::string& perturbations) {
    write("nodes.yaml", R"(format: 1
model: {type: two-matmul, layers: 2, d_model: 1024, d_ff: 4096}
cluster: h100:2
mesh: {fsdp: rest}
parallel: {fsdp: 16}
batch: {sequences: 64, sequence_length: 512}
)" + perturbations);
    return std::vector<std::string>{"collective", "all_gather", "--cluster", "nodes.yaml", "--group",
                                    "16",         "--bytes",    "64GiB",     "--json",     "-"};
  };
  const auto seconds = [&](const std::string& perturbations) {
    return nlohmann::json::parse(good(scenario(perturbations)))["rows"][0]["time_s"].get<double>();
  };
  const double whole = seconds("");
  EXPECT_NEAR(seconds("perturbations: [{random_links: 80, seed: 1, bandwidth: 0.5}]\n") / whole, 2, 0.01);
  EXPECT_GE(seconds("perturbations: [{random_links: 8, seed: 2, bandwidth: 0.5}]\n"), whole);
  const auto many = run(scenario("perturbations: [{random_links: 1000, seed: 1, bandwidth: 0.5}]\n"));
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.errors, testing::HasSubstr("nodes.yaml:7:17: perturbations[0]: the cluster has only "));
  const auto gone = run(scenario("perturbations: [{links_of: \"nvswitch(0,0)\", bandwidth: 0}]\n"));
  EXPECT_EQ(gone.exit_code, 2) << gone.errors;
  EXPECT_EQ(gone.output, "");
}

TEST_F(Collective, ARangeOfSizesDoubles) {
  const auto rows = measured("all_gather", "x", "1MiB..5MiB")["rows"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]["bytes"], 1048576);
  EXPECT_EQ(rows[1]["bytes"], 2097152);
  EXPECT_EQ(rows[2]["bytes"], 4194304);
  EXPECT_EQ(rows[3]["bytes"], 5242880) << "the end of the range is there even if no doubling meets it";
  EXPECT_LT(rows[0]["time_s"], rows[3]["time_s"]);
}

TEST_F(Collective, PrintsATableAndWritesJson) {
  const auto text = good({"collective", "all_reduce", "--cluster", "tpu-v5p:4x4x4", "--group", "x,y", "--bytes",
                          "1MiB..4MiB", "--json", "table.json"});
  EXPECT_THAT(text, testing::StartsWith("all_reduce on groups of 16 of tpu-v5p:4x4x4"));
  EXPECT_THAT(text, testing::HasSubstr("busbw"));
  EXPECT_EQ(json_file("table.json")["rows"].size(), 3u);
  EXPECT_EQ(files_in("."), Words{"table.json"});
}

/// What groups of a cluster with a network take.
class OnNetworks : public CommandLine {
 protected:
  nlohmann::json measured(const std::string& kind, const std::string& cluster, const std::string& group,
                          Words more) const {
    Words words = {"collective", kind, "--cluster", cluster, "--group", group};
    words.insert(words.end(), more.begin(), more.end());
    return json(words);
  }
};

// Groups are symmetric and share no link unevenly, so the simulation meets the cost by which the algorithm was chosen.
TEST_F(OnNetworks, GroupsByAxesOrByNumber) {
  const std::map<std::pair<std::string, std::string>, int> sizes = {
      {{"h100:4", "gpu"}, 8},          {{"h100:4", "node"}, 4},        {{"h100:4", "gpu+node"}, 32},
      {{"h100:4", "16"}, 16},          {{"gb200-nvl72", "gpu"}, 72},   {{"tpu-v5p:2x2x2x2", "pod"}, 2},
      {{"tpu-v5p:2x2x2x2", "x,y"}, 4}, {{"tpu-v5p:2x2x2x2", "16"}, 16}};
  for (const auto& [where, size] : sizes) {
    const auto table = measured("all_gather", where.first, where.second, {"--bytes", "64MiB"});
    EXPECT_EQ(table["group_size"], size) << where.first << " " << where.second;
    const auto& row = table["rows"][0];
    EXPECT_NEAR(row["time_s"], row["closed_form_s"], 1e-9 * row["time_s"].get<double>())
        << where.first << " " << where.second;
    EXPECT_NE(row["bottleneck"], "none");
  }
}

// The choice is the cheapest of all that can serve, and each of them can be asked for.
TEST_F(OnNetworks, AllAlgorithmsBesideTheChosen) {
  const auto table = measured("all_reduce", "h100:4", "gpu+node", {"--bytes", "16MiB", "--all"});
  const auto& chosen = table["rows"][0];
  ASSERT_GT(table["others"].size(), 3u);
  double least = 1;
  for (const auto& other : table["others"]) {
    least = std::min(least, other["time_s"].get<double>());
    const auto name = other["algorithm"].get<std::string>();
    const auto forced = measured("all_reduce", "h100:4", "gpu+node",
                                 {"--bytes", "16MiB", "--algorithm", name.substr(0, name.find(" ("))});
    EXPECT_EQ(forced["rows"][0]["algorithm"], other["algorithm"]);
    EXPECT_NEAR(forced["rows"][0]["time_s"], other["time_s"], 1e-9 * least);
  }
  EXPECT_NEAR(chosen["time_s"], least, 1e-9 * least);
}

/// The row of an algorithm among those beside the chosen one.
nlohmann::json row_of(const nlohmann::json& table, const std::string& algorithm) {
  for (const auto& row : table["others"]) {
    if (row["algorithm"] == algorithm) return row;
  }
  return {};
}

// Nodes with one switch between them. A ring written transfer by transfer is the ring: N - 1 steps (2 (N - 1) for an
// all-reduce) of a latency and V/N each, with nothing that holds one rank up longer than another.
TEST_F(OnNetworks, ARingFromAFileIsTheRing) {
  const std::string folder = LOCKSTEP_SCENARIOS "/../collectives/";
  const std::map<std::string, std::string> files = {{"all_gather", "ring_all_gather_4.yaml"},
                                                    {"all_reduce", "ring_all_reduce_4.xml"}};
  for (const auto& [kind, file] : files) {
    const auto table = measured(kind, "h100:4", "node", {"--bytes", "1GiB", "--algorithm", folder + file});
    const double time = table["rows"][0]["time_s"];
    const auto ring = row_of(table, "ring (Simple)");
    ASSERT_FALSE(ring.empty()) << kind;
    EXPECT_NEAR(time, ring["time_s"], 1e-12 * time) << kind;
    EXPECT_EQ(table["rows"][0]["algorithm"].get<std::string>().substr(0, 4), "ring");
    EXPECT_EQ(table["rows"][0]["bottleneck"], ring["bottleneck"]) << kind;
  }
}

// A broadcast through a chain of 4 in two halves, each hop of each half a step of its own. As rounds that would be 6
// transfers of V/2 one after the other. The second half follows the first by one hop, so that only 4 of them follow one
// another: twice V takes 4 (V/2)/B = 2 V/B longer. V in one piece takes 3 V/B longer.
TEST_F(OnNetworks, StepsOfAFileWaitForWhatTheyNeedAlone) {
  const auto longer = [&](const std::string& name, const std::string& text) {
    write(name, "collective: broadcast\nranks: 4\nprotocol: Simple\n" + text);
    const auto rows = measured("broadcast", "h100:4", "node", {"--bytes", "1GiB..2GiB", "--algorithm", name})["rows"];
    return rows[1]["time_s"].get<double>() - rows[0]["time_s"].get<double>();
  };
  const double whole = longer("whole.yaml",
                              "chunks: 1\nsteps:\n- [{from: 0, to: 1, chunks: 0}]\n- [{from: 1, to: 2, chunks: 0}]\n"
                              "- [{from: 2, to: 3, chunks: 0}]\n");
  const double halves = longer("halves.yaml",
                               "chunks: 2\nsteps:\n- [{from: 0, to: 1, chunks: 0}]\n- [{from: 0, to: 1, chunks: 1}]\n"
                               "- [{from: 1, to: 2, chunks: 0}]\n- [{from: 1, to: 2, chunks: 1}]\n"
                               "- [{from: 2, to: 3, chunks: 0}]\n- [{from: 2, to: 3, chunks: 1}]\n");
  EXPECT_NEAR(halves, whole * 2 / 3, 1e-9 * whole);
}

// 8 H100 on ports of 450 GB/s one way. Every byte that counts for busbw crosses a port, so no algorithm of any kind has
// more, but the all-reduce that the switch adds up: it moves S (1 + 1/N) where nccl-tests count 2 S (N-1)/N, at most
// 14/9 of the port. In the direct all-to-all a rank sends S/8 to each of 7 through its port at the protocol's share of
// 450 GB/s, which is busbw; of 1 GiB that is 0.9 GiB in no less than 2.088 ms.
TEST_F(OnNetworks, BusBandwidthIsAtMostThePort) {
  const double port = 450e9;
  for (const auto* kind :
       {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "reduce", "point_to_point"}) {
    const auto table = measured(kind, "h100", "gpu", {"--bytes", "1GiB", "--all"});
    auto rows = table["rows"];
    for (const auto& other : table["others"]) rows.push_back(other);
    for (const auto& row : rows) {
      const auto algorithm = row["algorithm"].get<std::string>();
      const bool added_by_switch = std::string(kind) == "all_reduce" && algorithm.starts_with("in-network");
      EXPECT_LE(row["busbw_bytes_per_s"].get<double>(), (added_by_switch ? 14.0 / 9 : 1.0) * port * (1 + 1e-9))
          << kind << " " << algorithm;
      EXPECT_GT(row["busbw_bytes_per_s"].get<double>(), 0.01 * port) << kind << " " << algorithm;
    }
  }
  const auto row = measured("all_to_all", "h100", "gpu", {"--bytes", "1GiB"})["rows"][0];
  EXPECT_GE(row["time_s"].get<double>(), 7.0 / 8 * 1073741824 / port);
  EXPECT_GE(row["busbw_bytes_per_s"].get<double>(), 0.7 * port);
}

// What `collective` prints is what `calibrate` reads: a table of its own times is met without an error.
TEST_F(OnNetworks, CalibrateReadsTheSameSizes) {
  std::string table = "collective,ranks,nodes,bytes,seconds\n";
  for (const auto* kind : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"}) {
    const auto row = measured(kind, "dgx-h100:2", "gpu+node", {"--bytes", "256MiB"})["rows"][0];
    table += std::string(kind) + ",16,2," + row["bytes"].dump() + "," + row["closed_form_s"].dump() + "\n";
  }
  write("own.csv", table);
  const auto fitted = json({"calibrate", "own.csv", "--node", "dgx-h100"});
  EXPECT_LT(fitted["rms_before"].get<double>(), 1e-9);
}

// Each chip of a pod sends its V/2 to its partner in the other pod, and the 4 chips of a host share its NIC: 2 V = 2
// MiB.
TEST_F(OnNetworks, TraceTellsWhatLinksCarry) {
  const Words words = {"collective", "all_gather", "--cluster", "tpu-v5p:2x2x2x2", "--group",
                       "pod",        "--bytes",    "1MiB",      "--trace"};
  auto with_json = words, with_csv = words;
  with_json.emplace_back("links.json");
  with_csv.emplace_back("links.csv");
  EXPECT_THAT(good(with_json), testing::HasSubstr("busiest links"));
  const auto trace = json_file("links.json")["sizes"];
  ASSERT_EQ(trace.size(), 1u);
  int dcn = 0;
  for (const auto& link : trace[0]["links"]) {
    if (link["kind"] != "dcn") continue;
    ++dcn;
    EXPECT_NEAR(link["bytes"], 2 * 1048576, 1);
    EXPECT_NEAR(
        link["used_share"],
        link["bytes"].get<double>() / (link["bandwidth_bytes_per_s"].get<double>() * trace[0]["time_s"].get<double>()),
        1e-9);
    EXPECT_LE(link["used_share"], link["busy_share"].get<double>() * (1 + 1e-9));
    EXPECT_LE(link["peak_share"], 1);
  }
  EXPECT_GT(dcn, 0);
  (void)good(with_csv);
  EXPECT_THAT(content("links.csv"),
              testing::StartsWith("message_bytes,algorithm,link,alike,kind,bandwidth_bytes_per_s,bytes,"));
}

// small.yaml lies on tpu-v5p:4x4x4.
TEST_F(OnNetworks, TheClusterOfAScenario) {
  EXPECT_EQ(measured("all_gather", small, "x", {"--bytes", "1MiB"})["rows"],
            measured("all_gather", "tpu-v5p:4x4x4", "x", {"--bytes", "1MiB"})["rows"]);
}

}  // namespace
}  // namespace lockstep::test
