// lockstep design: networks worth their price, what is written, what is refused.
#include <gmock/gmock.h>

#include <iomanip>
#include <set>
#include <sstream>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Design : public CommandLine {
 protected:
  const std::string prices = std::string(LOCKSTEP_SCENARIOS) + "/../prices/";
  const Words on_nodes{
      "--set", "mesh={}", "--set", "parallel={data: 32}", "--set", "cluster={node: dgx-h100, nodes: 4}"};

  /// On four nodes, whose leaves need no spine at all ports, with the space of a file.
  [[nodiscard]] Words network(const std::string& space, Words more = {}) const {
    Words words{"design", "network", small, "--prices", prices + "round.yaml", "--tokens", "1e12"};
    if (!space.empty()) {
      write("space.yaml", space);
      words.insert(words.end(), {"--space", "space.yaml"});
    }
    words.insert(words.end(), on_nodes.begin(), on_nodes.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  const std::string two_radices =
      "grid:\n  cluster.fabric.radix: [8, 64]\n  cluster.fabric.kind: [fat_tree, crossbar]\n";
};

TEST_F(Design, NetworkOfASpace) {
  const auto document = json(network(two_radices));
  EXPECT_EQ(document["proof"]["space"], 4);
  EXPECT_EQ(document["currency"], "USD");
  ASSERT_GE(document["front"].size(), 1u);
  const auto& first = document["front"][0];
  EXPECT_TRUE(first["settings"].contains("cluster.fabric.radix"));
  EXPECT_GE(first["run_s"].get<double>(), first["bound_s"].get<double>());
  double bill = 0;
  for (const auto& line : first["network"]) bill += line["price"].get<double>();
  EXPECT_DOUBLE_EQ(first["to_buy"].get<double>(), bill);
  const auto text = good(network(two_radices));
  EXPECT_THAT(text, HasSubstr("worth"));
  EXPECT_THAT(text, HasSubstr("of 4 networks"));
  EXPECT_THAT(text, HasSubstr("10 % more money"));
}

// A run costs c + f n, f the prices of the network's parts over those of the list: of two networks the dearer is the
// cheapest run while f < (c' - c) / (n - n'). Beyond that, a list with such prices has the other one.
TEST_F(Design, PricesAtWhichAnotherRunIsTheCheapest) {
  const auto list = [](double factor) {
    const auto money = [&](double price) { return "{price: " + std::to_string(price * factor) + " USD}"; };
    return "chips: {h100: {hour: 2 USD/h}}\nnetwork: {lifetime: 1 year, nic: " + money(1000) +
           ", switch: " + money(10000) + "}\n";
  };
  auto words = network("grid: {cluster.node.nics.count: [8, 2]}\n");
  words[4] = "prices.yaml";
  write("prices.yaml", list(1));
  const auto document = json(words);
  ASSERT_EQ(document["front"].size(), 2U);
  const auto& small_one = document["front"][0];
  const auto& large_one = document["front"][1];
  ASSERT_EQ(document["cheapest_run"], large_one["number"]);
  const auto cost = [](const nlohmann::json& of, const char* what) { return of["cost"][what].get<double>(); };
  const double factor =
      (cost(small_one, "chips") + cost(small_one, "energy") - cost(large_one, "chips") - cost(large_one, "energy")) /
      (cost(large_one, "network") - cost(small_one, "network"));
  std::ostringstream times;
  times << std::fixed << std::setprecision(2) << factor;
  EXPECT_EQ(document["what_if"].back(),
            "It stays the cheapest run of this list while the network's parts cost less than " + times.str() +
                " times what they do; above that, 1. would be cheaper.");
  write("prices.yaml", list(factor * 0.99));
  EXPECT_EQ(json(words)["cheapest_run"], large_one["number"]);
  write("prices.yaml", list(factor * 1.01));
  EXPECT_EQ(json(words)["cheapest_run"], small_one["number"]);
}

TEST_F(Design, TextHasTheReasonsOfTheJson) {
  const auto document = json(network(two_radices));
  const auto text = good(network(two_radices));
  EXPECT_THAT(text, HasSubstr("\n" + document["answer"].get<std::string>() + "\n"));
  for (const auto* key : {"why", "what_if"}) {
    for (const auto& sentence : document[key]) EXPECT_THAT(text, HasSubstr("\n" + sentence.get<std::string>() + "\n"));
  }
  EXPECT_GE(document["front"][0]["exposed"].size(), 1U);
}

TEST_F(Design, FolderHasTheSpaceThatWasWalked) {
  (void)good(network("", {"--out", "made"}));
  EXPECT_EQ(files_in("made"), with_page({"network.json", "network.svg", "report.html", "space.yaml"}));
  EXPECT_THAT(content("made/network.svg"), StartsWith("<svg"));
  const auto usual = content("made/space.yaml");
  EXPECT_THAT(usual, HasSubstr("cluster.fabric.oversubscription: [1, 2, 4, 8]"));
  EXPECT_EQ(json(network(usual)), json_file("made/network.json"));
}

TEST_F(Design, NetworksOfATorusAreShapes) {
  const auto document = json({"design", "network", small, "--prices", prices + "round.yaml", "--tokens", "1e12"});
  EXPECT_GE(document["proof"]["space"].get<int>(), 3);  // 4x4x4 as placed and anew, and 2x4x8
  for (const auto& one : document["front"]) EXPECT_TRUE(one["settings"].contains("cluster.shape"));
}

TEST_F(Design, ScenariosShareTheTokensByWeight) {
  const auto once = json(network(two_radices));
  auto words = network(two_radices, {"--weights", "3,1"});
  words.insert(words.begin() + 3, small);
  const auto twice = json(words);
  EXPECT_EQ(once["front"][0]["to_buy"], twice["front"][0]["to_buy"]);
  EXPECT_NEAR(once["front"][0]["run_s"].get<double>(), twice["front"][0]["run_s"].get<double>(), 1);
  EXPECT_EQ(twice["front"][0]["step_times_s"].size(), 2u);
  EXPECT_EQ(twice["workloads"][0]["weight"], 3);
}

TEST_F(Design, SpacesThatNobodyCanWalkAreCounted) {
  std::string space = "grid:\n";
  for (const auto* key :
       {"cluster.fabric.seed", "cluster.fabric.radix", "cluster.fabric.channels", "cluster.fabric.queue_pairs"})
    space += "  " + std::string(key) + ": {from: 1, to: 1000, step: 1}\n";
  const auto refused = run(network(space));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("space.yaml:1:1: the space has 1000000000000 networks"));
  EXPECT_THAT(
      refused.errors,
      HasSubstr(
          "1000 values of cluster.fabric.seed x 1000 of cluster.fabric.radix x 1000 of cluster.fabric.channels x ..."));
  EXPECT_THAT(refused.errors, HasSubstr("at most 10000"));
}

TEST_F(Design, MistakesAreToldTogether) {
  write("prices.yaml", "chips: {h100: {hour: 2}}\nnetwork: {switch: {price: 3 USD}}\n");
  auto words = network("grid: {cluster.fabric.radii: [1]}\n");
  words[4] = "prices.yaml";
  const auto refused = run(words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("prices.yaml:1:22: chips.h100.hour"));
  EXPECT_THAT(refused.errors, HasSubstr("network.lifetime"));
  EXPECT_THAT(refused.errors, HasSubstr("space.yaml:1:"));
  EXPECT_THAT(refused.errors, HasSubstr("radii"));
}

TEST_F(Design, WrongWordsAreRefused) {
  EXPECT_THAT(run(network(two_radices, {"--weights", "1,2"})).errors, HasSubstr("has 2 numbers for 1 scenario"));
  EXPECT_THAT(run(network(two_radices, {"--weights", "-1"})).errors, HasSubstr("'-1' is not a weight"));
  EXPECT_THAT(run(network("grid: {}\n")).errors, HasSubstr("varies nothing"));
  EXPECT_THAT(run({"design"}).errors, HasSubstr("lockstep design: a word is missing; expected one of network"));
  EXPECT_THAT(run({"design", "networks"}).errors,
              HasSubstr("lockstep design: 'networks' is not a command; expected a command; did you mean `network`"));
  EXPECT_THAT(run({"design", "network", "--price", "x"}).errors, HasSubstr("did you mean `--prices`"));
  EXPECT_THAT(run({"design", "network"}).errors, HasSubstr("lockstep design network: --prices is missing"));
}

TEST_F(Design, AListWithoutNetworksSaysSo) {
  write("chips.yaml", "chips: {h100: {hour: 2 USD/h}}\n");
  auto words = network(two_radices);
  EXPECT_THAT(good(words), Not(HasSubstr("Assumed")));
  words[4] = "chips.yaml";
  EXPECT_THAT(good(words), HasSubstr("Assumed: the network costs nothing beside the chip hours and draws no power"));
}

// Networks that cannot be built are counted; where none can, the first reason is told.
TEST_F(Design, WhatCannotBeBuiltIsCounted) {
  const auto document = json(network("grid: {cluster.node.nics.count: [8, 3]}\n"));
  EXPECT_EQ(document["proof"]["refused"], 1);
  EXPECT_EQ(document["refused"][0]["settings"]["cluster.node.nics.count"], "3");
  const auto refused = run(network("grid: {cluster.node.nics.count: [3, 5]}\n"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("runs on no network of the space, the first of which says: 3 NICs do not"));
  EXPECT_THAT(refused.errors, Not(testing::ContainsRegex("expected.*expected")));
}

TEST_F(Design, ValuesThatNoNetworkHasAreALineEach) {
  const auto refused = run(network("grid:\n  cluster.fabric.oversubscription: [1, x, -2, 0.5, .nan]\n"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(std::count(refused.errors.begin(), refused.errors.end(), '\n'), 4) << refused.errors;
  EXPECT_THAT(refused.errors, HasSubstr("space.yaml:2:40: cluster.fabric.oversubscription: `x` is not a"));
}

TEST_F(Design, TheWorkIsTheSameOnAllNetworks) {
  const auto refused = run(network("grid:\n  batch.sequences: [64, 128]\n  cluster.fabric.radix: [8, 64]\n"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors,
              HasSubstr("space.yaml:2:21: batch.sequences: all networks of a space have the same work"));
}

TEST_F(Design, ScenariosOnOtherMachinesAreLocated) {
  write("other.yaml", content(small));
  Words words{"design", "network", small, "other.yaml", "--prices", prices + "round.yaml", "--tokens", "1e12"};
  auto text = content("other.yaml");
  text.replace(text.find("tpu-v5p"), 7, "tpu-v4");
  write("other.yaml", text);
  const auto refused = run(words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, testing::ContainsRegex("other.yaml:[0-9]+:[0-9]+: cluster: is another machine than"));
}

TEST_F(Design, StopsWithWhatItKnows) {
  const auto stopped = run(network("", {"--limit", "0.001"}));
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_THAT(stopped.output, HasSubstr("The search was stopped before any network was simulated."));
  EXPECT_THAT(stopped.output, HasSubstr("their parts were not counted yet"));
}

TEST_F(Design, PlacesThatTakeNoFilesAreRefusedFirst) {
  const auto refused = run(network(two_radices, {"--out", "/proc/made"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("/proc/made"));
}

class Placement : public CommandLine {
 protected:
  /// Two leaves of two hosts, a job in turn over them.
  Placement() {
    write("network.csv",
          "source,source_kind,target,target_kind,count,rate\ngpu1,host,leaf1,switch,1,400 Gbps\n"
          "gpu2,host,leaf1,switch,1,400 Gbps\ngpu3,host,leaf2,switch,1,400 Gbps\ngpu4,host,leaf2,switch,1,400 Gbps\n"
          "leaf1,switch,spine,switch,1,50 Gbps\nleaf2,switch,spine,switch,1,50 Gbps\n");
    write("job.yaml",
          "format: 1\nmodel: {type: two-matmul, layers: 4, d_model: 4096, d_ff: 8192}\ncluster: {graph: network.csv, "
          "node: "
          "{like: dgx-h100, chips: 1}, placement: {hosts: [gpu1, gpu3, gpu2, gpu4]}}\n"
          "mesh: {fsdp: [node/2], data: [node]}\nparallel: {fsdp: 2, data: 2}\nbatch: {sequences: 16, sequence_length: "
          "64}\n");
  }
};

TEST_F(Placement, HostsInTheOrderOfRanks) {
  const auto document = json({"design", "placement", "job.yaml"});
  EXPECT_LT(document["best_step_s"].get<double>(), 0.7 * document["given_step_s"].get<double>());
  EXPECT_LE(document["bound_s"], document["best_step_s"]);
  const auto hosts = document["hosts"].get<std::vector<std::string>>();
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_TRUE((std::set<std::string>{hosts[0], hosts[1]} == std::set<std::string>{"gpu1", "gpu2"} ||
               std::set<std::string>{hosts[0], hosts[1]} == std::set<std::string>{"gpu3", "gpu4"}));
}

// One axis over all nodes of one switch: whatever the order, each group has all nodes, and nothing is said to be
// better.
TEST_F(Placement, OrdersThatAreAlikeHaveNoReasons) {
  const auto document = json({"design", "placement", small, "--set",
                              "cluster={node: dgx-h100, nodes: 4, fabric: {kind: crossbar}, order: {scattered: 3}}",
                              "--set", "mesh={}", "--set", "parallel={data: 32}", "--moves", "4"});
  EXPECT_NEAR(document["best_step_s"].get<double>() / document["given_step_s"].get<double>(), 1, 1e-6);
  EXPECT_TRUE(document["why"].empty()) << document["why"];
  EXPECT_THAT(document["answer"].get<std::string>(),
              StartsWith("No order was found in which a step is noticeably shorter"));
}

// Groups of fsdp have a member on each leaf as given, and none of data has; in the best order it is the other way
// round.
TEST_F(Placement, SaysWhichBytesLeaveTheSwitches) {
  const Words words{"design", "placement", "job.yaml", "--out", "made"};
  const auto text = good(words);
  EXPECT_EQ(files_in("made"), with_page({"placement.json", "placement.svg", "report.html"}));
  const auto document = json_file("made/placement.json");
  for (const auto* key : {"why", "what_if"}) {
    ASSERT_FALSE(document[key].empty()) << key;
    for (const auto& sentence : document[key]) EXPECT_THAT(text, HasSubstr(sentence.get<std::string>() + "\n"));
  }
  for (const auto& one : document["waits"]) {
    const bool is_data = one["axis"] == "data";
    EXPECT_EQ(one["given_between_switches_bytes"] == 0, is_data) << one;
    EXPECT_EQ(one["best_between_switches_bytes"] == 0, !is_data) << one;
  }
  EXPECT_LT(document["with_faster_links_s"], document["best_step_s"]);
  EXPECT_LT(document["without_limits_s"], document["with_faster_links_s"]);
  EXPECT_THAT(content("made/placement.svg"), HasSubstr("gpu4: place "));
}

TEST_F(Placement, WritesAScenarioThatTakesAsLong) {
  const auto document = json({"design", "placement", "job.yaml"});
  (void)good({"design", "placement", "job.yaml", "--write", "best.yaml"});
  EXPECT_THAT(content("best.yaml"), HasSubstr("placement: {hosts: "));
  EXPECT_DOUBLE_EQ(json({"run", "best.yaml"})["step_time_s"].get<double>(), document["best_step_s"].get<double>());
}

// Four hosts in two pairs have few orders, and the text says that none was left.
TEST_F(Placement, SaysWhyItEnded) {
  const auto text = good({"design", "placement", "job.yaml", "--moves", "500"});
  const auto document = json({"design", "placement", "job.yaml", "--moves", "500"});
  EXPECT_EQ(document["no_new_order"].get<bool>(),
            text.find("no move from the best makes another one") != std::string::npos);
  EXPECT_TRUE(document["no_new_order"].get<bool>() || document["gap_ratio"].get<double>() < 1e-6);
  EXPECT_THAT(text, Not(HasSubstr("DOES NOT FIT")));
}

// A model alone is split as `lockstep run` splits it.
TEST_F(Placement, ModelsAreSplitByAPlan) {
  EXPECT_THAT(good({"design", "placement", "llama-3-8b", "--cluster", "h100:2", "--batch-tokens", "256k",
                    "--sequence-length", "8k", "--moves", "0"}),
              StartsWith("plan: "));
}

TEST_F(Placement, WarnsOfMemoryAsARunDoes) {
  const auto text = good(
      {"design", "placement", "job.yaml", "--set", "batch.sequences=16384", "--set", "batch.sequence_length=65536"});
  EXPECT_THAT(text, HasSubstr("DOES NOT FIT"));
}

TEST_F(Placement, WritesNothingOverWhatItReads) {
  const auto refused = run({"design", "placement", "job.yaml", "--write", "./job.yaml"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("./job.yaml: is what the command reads; expected another file to write"));
}

// On a generated fabric the order is a file.
TEST_F(Placement, WritesAnOrderFile) {
  const Words scattered{"design",
                        "placement",
                        small,
                        "--set",
                        "cluster={node: dgx-h100, nodes: 4, order: {scattered: 3}}",
                        "--set",
                        "mesh={}",
                        "--set",
                        "parallel={data: 32}",
                        "--moves",
                        "4",
                        "--write",
                        "best.yaml"};
  (void)good(scattered);
  EXPECT_THAT(content("best.yaml"), HasSubstr("order: best.order"));
  EXPECT_THAT(good({"run", "best.yaml"}), HasSubstr("step time"));
}

TEST_F(Placement, OneNodeHasNoOtherOrder) {
  const auto refused = run({"design", "placement", small});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("has one node or pod, whose ranks have no other order"));
}

class Experts : public CommandLine {
 protected:
  Experts() {
    write("counted.csv",
          "expert,tokens\n0,400000\n1,300000\n2,100000\n3,100000\n4,200000\n5,50000\n6,50000\n7,100000\n");
    write("job.yaml",
          "format: 1\nmodel: {layers: 2, d_model: 512, heads: 8, vocabulary: 0, moe: {experts: 8, experts_per_token: "
          "2, d_ff: 2048}}\n"
          "cluster: {node: {like: dgx-h100, chips: 4}, nodes: 1}\nparallel: {expert: 4}\n"
          "batch: {sequences: 8, sequence_length: 2048}\nrouting: {loads: counted.csv}\n");
  }
};

// 1,300,000 tokens on four ranks: 700,000 at most in the order of numbers, 450,000 placed (400,000 and 50,000), which
// no order beats.
TEST_F(Experts, PlacedAndRunAgain) {
  const auto document = json({"design", "experts", "job.yaml", "--write", "placed.csv"});
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_DOUBLE_EQ(document["layers"][0]["given_ratio"].get<double>(), 700.0 / 325);
  EXPECT_DOUBLE_EQ(document["layers"][0]["placed_ratio"].get<double>(), 450.0 / 325);
  EXPECT_DOUBLE_EQ(document["layers"][0]["bound_ratio"].get<double>(), 450.0 / 325);
  EXPECT_LT(document["placed_step_s"], document["given_step_s"]);
  EXPECT_DOUBLE_EQ(json({"run", "job.yaml", "--set", "routing.loads=placed.csv"})["step_time_s"].get<double>(),
                   document["placed_step_s"].get<double>());
}

// With equal tokens every rank has the mean, so no step is shorter; each of the three is simulated.
TEST_F(Experts, SayHowMuchPlacesCanGive) {
  const auto text = good({"design", "experts", "job.yaml", "--out", "made"});
  EXPECT_EQ(files_in("made"), with_page({"experts.json", "report.html"}));
  const auto document = json_file("made/experts.json");
  EXPECT_LE(document["even_step_s"].get<double>(), document["placed_step_s"].get<double>() * (1 + 1e-9));
  EXPECT_LE(document["placed_step_s"], document["given_step_s"]);
  for (const auto* key : {"why", "what_if"}) {
    ASSERT_EQ(document[key].size(), 1U);
    EXPECT_THAT(text, HasSubstr("\n" + document[key][0].get<std::string>() + "\n"));
  }
}

TEST_F(Experts, AreNotWrittenOverTheCountedTokens) {
  EXPECT_THAT(run({"design", "experts", "job.yaml", "--write", "counted.csv"}).errors,
              HasSubstr("counted.csv: is what the command reads"));
}

TEST_F(Experts, WithoutTokensAreTold) {
  EXPECT_THAT(good({"design", "experts", "job.yaml"}), Not(HasSubstr("Assumed")));
  write("counted.csv", "expert,tokens\n0,400000\n1,300000\n");
  EXPECT_THAT(good({"design", "experts", "job.yaml"}), HasSubstr("Assumed: experts without a token, 6 in all layers"));
  write("counted.csv", "expert,tokens\n0,0\n1,0\n");
  EXPECT_THAT(run({"design", "experts", "job.yaml"}).errors, HasSubstr("no expert has a token"));
}

TEST_F(Experts, NeedCountedTokens) {
  EXPECT_THAT(run({"design", "experts", small}).errors,
              HasSubstr("routing.loads: there are no counted tokens of experts"));
}

}  // namespace
}  // namespace lockstep::test
