// lockstep cost: which of several fabrics is worth its price, what is written, what is refused.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

class Cost : public CommandLine {
 protected:
  const std::string prices = std::string(LOCKSTEP_SCENARIOS) + "/../prices/";
  const Words on_nodes{
      "cost",  small,     "--prices", prices + "dear_switches.yaml", "--tokens", "1e12",
      "--set", "mesh={}", "--set",    "parallel={data: 16}",         "--set",    "cluster={node: dgx-h100, nodes: 2}"};

  [[nodiscard]] static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

// On two nodes both fabrics have the same switches, at 1,000,000 and at 1 EUR each; roce is the slower one by less than
// that.
TEST_F(Cost, FabricsAreComparedByPrice) {
  const auto document = json(with(on_nodes, {"--fabrics", "infiniband-ndr-rail,roce-400g"}));
  ASSERT_EQ(document["runs"].size(), 2u);
  const auto &dear = document["runs"][0], &cheap = document["runs"][1];
  EXPECT_EQ(dear["name"], "infiniband-ndr-rail");
  EXPECT_EQ(document["currency"], "EUR");
  EXPECT_GT(dear["cost"]["network"], 1e5 * cheap["cost"]["network"].get<double>());
  EXPECT_LT(cheap["cost"]["total"], dear["cost"]["total"]);
  EXPECT_TRUE(cheap["better_in_all"].is_null());
}

TEST_F(Cost, FolderHasTheDocumentAndThePicture) {
  (void)good(with(on_nodes, {"--out", "made"}));
  EXPECT_EQ(json_file("made/cost.json"), json(on_nodes));
  EXPECT_THAT(content("made/power.svg"), StartsWith("<svg"));
}

TEST_F(Cost, BlocksAreFabricsToo) {
  EXPECT_THAT(good(with(on_nodes, {"--fabrics", "roce-400g,{like: roce-400g, link: 200 Gbps}"})),
              HasSubstr("roce-400g, link: 200 Gbps"));
}

// A mistake in the prices and one in the scenario are told at once, and nothing is written.
TEST_F(Cost, EveryMistakeIsTold) {
  const auto refused = run({"cost", small, "--prices", prices + "dear_switches.yaml", "--tokens", "1e12", "--set",
                            "batch.sequences=63", "--out", "made"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("chips.tpu-v5p: has no price"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "made"));
  EXPECT_THAT(
      run({"cost", small, "--prices", prices + "round.yaml", "--tokens", "1e12", "--fabrics", "roce-400g"}).errors,
      HasSubstr("has no single fabric that --fabrics could replace"));
  EXPECT_THAT(run(with(on_nodes, {"--fabrics", "roce-400g,"})).errors, HasSubstr("has an empty name"));
  EXPECT_THAT(run(with(on_nodes, {"--fabrics", "roce-400"})).errors, HasSubstr("roce-400g"));
}

}  // namespace
}  // namespace lockstep::test
