#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/source_dir.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "topologies/catalog";

TEST(ChipCatalog, HoldsEveryChipSorted) {
  EXPECT_THAT(chip_names(catalog),
              testing::ElementsAre("a100", "a100-40gb", "b200", "gb200", "gb300", "h100", "h200", "h800", "mi300x",
                                   "mi355x", "tpu-v3", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"));
}

TEST(ChipCatalog, EveryChipReadsWithoutProblemsAndNamesItsSources) {
  for (const std::string& name : chip_names(catalog)) {
    SCOPED_TRACE(name);
    Problems problems;
    const Chip chip = load_chip(catalog, name, problems);
    EXPECT_EQ(problems.size(), 0u);
    EXPECT_EQ(chip.name, name);
    EXPECT_FALSE(chip.title.empty());
    EXPECT_FALSE(chip.sources.empty());
    EXPECT_GT(chip.memory, Bytes(10'000'000'000));
    EXPECT_TRUE(chip.peak_for(Precision::bf16));
    EXPECT_NE(chip.torus.has_value(), chip.scale_up.has_value());
    EXPECT_EQ(chip.torus.has_value(), name.starts_with("tpu-"));
  }
}

/// The numbers that the worked examples divide by: arithmetic intensity over one axis of v5p is
/// C / W = 4.59e14 / (2 x 9e10) = 2550 FLOPs per byte both ways.
TEST(ChipCatalog, V5pHasTheIntensityOfTheWorkedExamples) {
  const Chip chip = test::catalog_chip("tpu-v5p");
  EXPECT_EQ(chip.peak_for(Precision::bf16)->value() / (2 * chip.torus->link.value()), 2550.0);
  EXPECT_EQ(chip.memory, Bytes(96'000'000'000));
  EXPECT_EQ(chip.torus->pod, (std::vector<int>{16, 20, 28}));
}

/// DCN per chip = rate of a host / chips of a host, GB/s.
TEST(ChipCatalog, DcnPerChipIsTheHostsShare) {
  const auto per_chip = [](const std::string& name) {
    const Chip chip = test::catalog_chip(name);
    int chips = 1;
    for (const int size : chip.torus->host) chips *= size;
    return chip.dcn_per_host->value() / chips / 1e9;
  };
  EXPECT_EQ(per_chip("tpu-v4"), 6.25);
  EXPECT_EQ(per_chip("tpu-v5p"), 6.25);
  EXPECT_EQ(per_chip("tpu-v5e"), 3.125);
  EXPECT_EQ(per_chip("tpu-v6e"), 12.5);
  EXPECT_EQ(per_chip("tpu-v7x"), 12.5);
}

TEST(ChipCatalog, PodsHaveTheChipsTheirVendorSells) {
  const auto chips = [](const std::string& name) {
    const Chip chip = test::catalog_chip(name);
    int count = 1;
    for (const int size : chip.torus->pod) count *= size;
    return count;
  };
  EXPECT_EQ(chips("tpu-v3"), 1024);
  EXPECT_EQ(chips("tpu-v4"), 4096);
  EXPECT_EQ(chips("tpu-v5p"), 8960);
  EXPECT_EQ(chips("tpu-v5e"), 256);
  EXPECT_EQ(chips("tpu-v6e"), 256);
  EXPECT_EQ(chips("tpu-v7x"), 9216);
}

TEST(ChipCatalog, AnUnknownChipIsAProblemWithASuggestion) {
  Problems problems;
  EXPECT_EQ(load_chip(catalog, "tpu-v5pp", problems).name, "tpu-v5pp");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.list()[0].what, testing::HasSubstr("tpu-v5pp"));
  EXPECT_THAT(problems.list()[0].expected, testing::HasSubstr("`tpu-v5p`"));
}

TEST(ChipCatalog, AnUnknownChipFarFromAllListsThem) {
  Problems problems;
  EXPECT_FALSE(load_chip(catalog, "../../abacus", problems).torus);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.list()[0].expected, testing::AllOf(testing::HasSubstr("a100"), testing::HasSubstr("tpu-v7x")));
}

TEST(ChipCatalog, AMissingCatalogIsAProblem) {
  EXPECT_TRUE(chip_names("no/such/folder").empty());
  Problems problems;
  static_cast<void>(load_chip("no/such/folder", "tpu-v4", problems));
  EXPECT_EQ(problems.size(), 1u);
}

TEST(ChipCatalog, AChipPrintsItself) {
  EXPECT_EQ(to_string(test::catalog_chip("tpu-v4")),
            "tpu-v4 (TPU v4 (v4p)): 32.0 GB at 1.20 TB/s, bf16 275 TFLOP/s, int8 275 TFLOP/s\n"
            "  torus: pod 16x16x16, host 2x2x1, link 45.0 GB/s one way, hop 1.00 us, "
            "an axis wraps if its size is a multiple of 4\n"
            "  PCIe: 15.0 GB/s one way\n"
            "  DCN: 25.0 GB/s per host\n");
  EXPECT_THAT(to_string(test::catalog_chip("h100")), testing::HasSubstr("scale-up: 450 GB/s one way, domain of 8\n"));
}

}  // namespace
}  // namespace lockstep
