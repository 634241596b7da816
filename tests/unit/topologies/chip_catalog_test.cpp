#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/source_dir.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "topologies/catalog";

TEST(ChipCatalog, HoldsEveryChipSorted) {
  EXPECT_THAT(
      topologies::chip_names(catalog),
      testing::ElementsAre("a100", "a100-40gb", "ascend-910c", "b200", "b300", "gb200", "gb300", "h100", "h20", "h200",
                           "h800", "l40s", "mi300x", "mi325x", "mi350x", "mi355x", "mi455x", "rubin", "tpu-v3",
                           "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x", "trainium2", "trainium3"));
}

TEST(ChipCatalog, EveryChipReadsWithoutProblemsAndNamesItsSources) {
  for (const std::string& name : topologies::chip_names(catalog)) {
    SCOPED_TRACE(name);
    Problems problems;
    const topologies::Chip chip = topologies::load_chip(catalog, name, problems);
    EXPECT_EQ(problems.size(), 0u);
    EXPECT_EQ(chip.name, name);
    EXPECT_FALSE(chip.title.empty());
    EXPECT_FALSE(chip.sources.empty());
    EXPECT_GT(chip.memory, Bytes(10'000'000'000));
    EXPECT_TRUE(chip.peak_for(topologies::Precision::bf16));
    EXPECT_FALSE(chip.torus && chip.scale_up);
    EXPECT_TRUE(chip.torus || chip.scale_up || chip.pcie) << "a chip without a link";
    EXPECT_EQ(chip.torus.has_value(), name.starts_with("tpu-") || name == "trainium2");
  }
}

// One die with other memory: same kernels at the same peaks, 40 GB at 1555 GB/s, and the errors of the other's measured
// steps.
TEST(ChipCatalog, TheSmallerA100IsLikeTheLarger) {
  const topologies::Chip small = test::catalog_chip("a100-40gb"), large = test::catalog_chip("a100");
  ASSERT_TRUE(small.kernels && large.kernels);
  EXPECT_EQ(small.kernels->sustained, large.kernels->sustained);
  EXPECT_EQ(small.kernels->matrix, large.kernels->matrix);
  EXPECT_EQ(small.peak, large.peak);
  EXPECT_EQ(small.memory, Bytes(40'000'000'000));
  EXPECT_EQ(small.memory_bandwidth, BytesPerSecond(1555e9));
  EXPECT_EQ(small.measured_as, "a100");
  EXPECT_EQ(large.measured_as, "a100");
}

// A file may be like another of the catalog that stands for itself.
TEST(ChipCatalog, AChipIsLikeOneThatStandsForItself) {
  const auto root = std::filesystem::temp_directory_path() / "lockstep_chips_like_others";
  std::filesystem::create_directories(root / "chips");
  std::ofstream(root / "chips/first.yaml") << "title: first\nmemory: 8 GB\nmemory_bandwidth: 1 TB/s\npeak: {bf16: 1 "
                                              "TFLOP/s}\nscale_up: {bandwidth: 1 GB/s, domain: 2}\n";
  std::ofstream(root / "chips/second.yaml") << "like: first\nmemory: 9 GB\n";
  std::ofstream(root / "chips/third.yaml") << "like: second\n";
  std::ofstream(root / "chips/fourth.yaml") << "like: fifth\n";
  const auto problems_of = [&](const char* name) {
    Problems problems;
    (void)topologies::load_chip(root, name, problems);
    return problems.empty() ? std::string() : problems.list().front().to_string();
  };
  EXPECT_EQ(problems_of("second"), "");
  EXPECT_THAT(problems_of("third"),
              testing::HasSubstr(
                  "third.yaml:1:7: like: is itself `like` another chip; expected a chip with values of its own"));
  EXPECT_THAT(problems_of("fourth"), testing::HasSubstr("fourth.yaml:1:7: like: there is no chip `fifth`"));
  std::filesystem::remove_all(root);
}

/// The numbers that the worked examples divide by: arithmetic intensity over one axis of v5p is
/// C / W = 4.59e14 / (2 x 9e10) = 2550 FLOPs per byte both ways.
TEST(ChipCatalog, V5pHasTheIntensityOfTheWorkedExamples) {
  const topologies::Chip chip = test::catalog_chip("tpu-v5p");
  EXPECT_EQ(chip.peak_for(topologies::Precision::bf16)->value() / (2 * chip.torus->link.value()), 2550.0);
  EXPECT_EQ(chip.memory, Bytes(96'000'000'000));
  EXPECT_EQ(chip.torus->pod, (std::vector<int>{16, 20, 28}));
}

/// DCN per chip = rate of a host / chips of a host, GB/s.
TEST(ChipCatalog, DcnPerChipIsTheHostsShare) {
  const auto per_chip = [](const std::string& name) {
    const topologies::Chip chip = test::catalog_chip(name);
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
    const topologies::Chip chip = test::catalog_chip(name);
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
  EXPECT_EQ(topologies::load_chip(catalog, "tpu-v5pp", problems).name, "tpu-v5pp");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.list()[0].what, testing::HasSubstr("tpu-v5pp"));
  EXPECT_THAT(problems.list()[0].expected, testing::HasSubstr("`tpu-v5p`"));
}

TEST(ChipCatalog, AnUnknownChipFarFromAllListsThem) {
  Problems problems;
  EXPECT_FALSE(topologies::load_chip(catalog, "../../abacus", problems).torus);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.list()[0].expected, testing::AllOf(testing::HasSubstr("a100"), testing::HasSubstr("tpu-v7x")));
}

TEST(ChipCatalog, AMissingCatalogIsAProblem) {
  EXPECT_TRUE(topologies::chip_names("no/such/folder").empty());
  Problems problems;
  static_cast<void>(topologies::load_chip("no/such/folder", "tpu-v4", problems));
  EXPECT_EQ(problems.size(), 1u);
}

TEST(ChipCatalog, AChipPrintsItself) {
  EXPECT_EQ(to_string(test::catalog_chip("tpu-v4")),
            "tpu-v4 (TPU v4 (v4p)): 32.0 GB (33.0 GB usable) at 1.20 TB/s, bf16 275 TFLOP/s, int8 275 TFLOP/s\n"
            "  torus: pod 16x16x16, host 2x2x1, link 45.0 GB/s one way, hop 1.00 us, "
            "an axis wraps if its size is a multiple of 4\n"
            "  PCIe: 15.0 GB/s one way\n"
            "  DCN: 25.0 GB/s per host\n");
  EXPECT_THAT(to_string(test::catalog_chip("h100")), testing::HasSubstr("scale-up: 450 GB/s one way, domain of 8\n"));
}

}  // namespace
}  // namespace lockstep
