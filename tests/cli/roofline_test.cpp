// lockstep roofline on the book's layer.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using Words = std::vector<std::string>;

class Roofline : public CommandLine {
 protected:
  const std::string layer = LOCKSTEP_SCENARIOS "/small_two_matmul.yaml";
};

// C = 459 TFLOP/s, W = 2 * 90 GB/s an axis: C/W = 2550, and over M axes FSDP needs C/(W M) tokens a chip.
TEST_F(Roofline, ThresholdsAreTheBooksAndTheSimulatedOnesTheExactOnes) {
  const auto study = json({"roofline", layer});
  EXPECT_EQ(study["intensity_flops_per_byte"], 2550);
  EXPECT_EQ(study["chips"], 16);
  EXPECT_EQ(study["tokens_per_chip"], 1024);
  ASSERT_EQ(study["fsdp_thresholds"].size(), 2u);
  EXPECT_EQ(study["fsdp_thresholds"][0]["book"], 2550);
  EXPECT_EQ(study["fsdp_thresholds"][1]["book"], 1275);
  for (const auto& row : study["fsdp_thresholds"]) {
    EXPECT_NEAR(row["simulated"], row["exact"], 0.01 * row["exact"].get<double>()) << row["group"];
  }
}

TEST_F(Roofline, JsonHasItsKeys) {
  const auto study = json({"roofline", layer});
  EXPECT_THAT(keys_of(study), IsSupersetOf(Words{"scenario", "flops_per_s", "axis_bandwidth_bytes_per_s",
                                                 "intensity_flops_per_byte", "chips", "tokens_per_chip", "best_fsdp",
                                                 "named_plan", "fsdp_thresholds", "tensor_limit", "splits"}));
  ASSERT_EQ(study["splits"].size(), 5u) << "16 x 1, 8 x 2, 4 x 4, 2 x 8, 1 x 16";
  for (const auto& split : study["splits"]) {
    EXPECT_EQ(split["fsdp"].get<int>() * split["tensor"].get<int>(), 16);
    EXPECT_GE(split["step_with_contention_s"].get<double>(),
              split["step_without_contention_s"].get<double>() * (1 - 1e-9));
  }
}

TEST_F(Roofline, OutHoldsTheStudyAndItsPlots) {
  EXPECT_THAT(good({"roofline", layer, "--out", "out"}), HasSubstr("FSDP is compute-bound above"));
  EXPECT_EQ(files_in("out"),
            with_page({"ratio_by_tokens_per_chip.svg", "report.html", "roofline.json", "times_by_batch.svg"}));
  EXPECT_EQ(json_file("out/roofline.json"), json({"roofline", layer}));
}

// Inside a node a chip's port of 450 GB/s brings the whole array: C / P = 989e12 / 450e9 tokens a chip. Over nodes all
// eight NICs of 50 GB/s do: C / 400e9. The simulated thresholds are those of the real collectives.
TEST_F(Roofline, NodesHaveAThresholdInsideAndOneOverAllOfThem) {
  const auto study = json({"roofline", layer, "--set", "cluster={node: dgx-h100, nodes: 4}", "--set",
                           "parallel={fsdp: 32}", "--set", "mesh={fsdp: rest}", "--set", "batch.sequences=32"});
  EXPECT_THAT(good({"roofline", layer, "--set", "cluster={node: dgx-h100, nodes: 4}", "--set", "parallel={fsdp: 32}",
                    "--set", "mesh={fsdp: rest}", "--set", "batch.sequences=32", "--out", "out"}),
              HasSubstr("Communication hides behind compute above"));
  EXPECT_EQ(files_in("out"), with_page({"exposed_by_tokens_per_chip.svg", "report.html", "roofline.json"}));
  EXPECT_EQ(json_file("out/roofline.json"), study);
  ASSERT_EQ(study["levels"].size(), 2u);
  EXPECT_DOUBLE_EQ(study["levels"][0]["book"], study["flops_per_s"].get<double>() / 450e9);
  EXPECT_DOUBLE_EQ(study["levels"][1]["book"], study["flops_per_s"].get<double>() / 400e9);
  for (const auto& level : study["levels"]) {
    EXPECT_GT(level["exact"], level["book"]);
    EXPECT_NEAR(level["simulated"], level["exact"], 0.01 * level["exact"].get<double>()) << level["group"];
    for (const auto& point : level["points"])
      EXPECT_NEAR(point["simulated_exposed_share"], point["line_exposed_share"], 0.02) << level["group"];
  }
}

// The book's tokens of a slice over the data-centre network: C / W_dcn of one chip, 459e12 / (25e9 / 4) = 73,440,
// however large the slice.
TEST_F(Roofline, PodsHaveTheThresholdOfTheDataCentreNetwork) {
  for (const auto* shape : {"[4, 4, 4]", "[4, 4, 8]"}) {
    const auto study = json(
        {"roofline", layer, "--set", "cluster={chip: tpu-v5p, shape: " + std::string(shape) + ", pods: 2}", "--set",
         "parallel={data: 2, fsdp: " + std::string(shape == std::string("[4, 4, 4]") ? "64" : "128") + "}", "--set",
         "mesh={data: [pod], fsdp: rest}", "--set", "batch.sequences=256"});
    ASSERT_EQ(study["levels"].size(), 1u);
    const auto& level = study["levels"][0];
    EXPECT_NEAR(level["book"].get<double>() * level["chips_of_a_pod"].get<double>(), 73440, 1e-6);
    EXPECT_GT(level["exact"], level["book"].get<double>() / 2);  // two pods move V, not 2 V; and latencies
    EXPECT_LT(level["exact"], level["book"]);
    EXPECT_NEAR(level["simulated"], level["exact"], 0.02 * level["exact"].get<double>());
  }
}

TEST_F(Roofline, SetReplacesAKey) {
  EXPECT_EQ(json({"roofline", layer, "--set", "batch.sequences=32"})["tokens_per_chip"], 2048);
}

}  // namespace
}  // namespace lockstep::test
