#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/source_dir.hpp"
#include "topologies/chips/chip.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;

struct Reading {
  topologies::Chip chip;
  std::vector<std::string> problems;
};

Reading read(const std::string& yaml) {
  Problems problems;
  Reading reading{topologies::read_chip(YamlView::from_text(yaml, "chip.yaml", problems), "mine"), {}};
  for (const Problem& problem : problems.list()) reading.problems.push_back(problem.to_string());
  return reading;
}

const std::string basics =
    "title: Mine\nmemory: 16 GiB\nmemory_bandwidth: 1 TB/s\npeak: {bf16: 100 TFLOP/s, int8: 200 TFLOP/s}\n";
const std::string fabric = "torus: {pod: [8, 8], host: [2, 2], link: 50 GB/s, hop_latency: 2 us, wrap: {exactly: 8}}\n";

// capacity = usable_memory, or memory where that is not given; another size of memory takes nothing of it over.
TEST(ChipYaml, WhatAProgramCanHaveOfTheMemory) {
  EXPECT_EQ(read(basics + fabric).chip.capacity(), Bytes(17'179'869'184));
  const Reading part = read(basics + fabric + "usable_memory: 15.75 GiB\n");
  EXPECT_THAT(part.problems, testing::IsEmpty());
  EXPECT_EQ(part.chip.capacity(), Bytes(16'911'433'728));  // 15.75 x 2^30
  EXPECT_EQ(part.chip.memory, Bytes(17'179'869'184));
  Problems problems;
  const auto larger =
      topologies::read_chip(YamlView::from_text("memory: 32 GiB\n", "chip.yaml", problems), "larger", &part.chip);
  EXPECT_EQ(larger.capacity(), Bytes(34'359'738'368));
  EXPECT_THAT(read(basics + fabric + "usable_memory: 20 GiB\n").problems,
              testing::ElementsAre(HasSubstr("usable_memory: is more than the chip has")));
}

TEST(ChipYaml, AllValuesArrive) {
  const Reading reading =
      read(basics + fabric + "pcie: 15 GB/s\ndcn_per_host: 200 Gbps\nsources: [a sheet, a measurement]\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  const topologies::Chip& chip = reading.chip;
  EXPECT_EQ(chip.name, "mine");
  EXPECT_EQ(chip.title, "Mine");
  EXPECT_EQ(chip.memory, Bytes(17'179'869'184));  // 16 x 2^30
  EXPECT_EQ(chip.memory_bandwidth, BytesPerSecond(1e12));
  EXPECT_EQ(chip.peak_for(topologies::Precision::int8), FlopsPerSecond(200e12));
  EXPECT_EQ(chip.peak_for(topologies::Precision::fp4), std::nullopt);
  EXPECT_EQ(chip.torus->pod, (std::vector<int>{8, 8}));
  EXPECT_EQ(chip.torus->host, (std::vector<int>{2, 2}));
  EXPECT_EQ(chip.torus->link, BytesPerSecond(50e9));
  EXPECT_EQ(chip.torus->hop_latency, Seconds(2e-6));
  EXPECT_EQ(chip.torus->wrap.exactly, 8);
  EXPECT_EQ(chip.pcie, BytesPerSecond(15e9));
  EXPECT_EQ(chip.dcn_per_host, BytesPerSecond(25e9));  // 200e9 bit/s / 8
  EXPECT_THAT(chip.sources, testing::ElementsAre("a sheet", "a measurement"));
}

// One rate for each axis; if all are equal, that is the rate of all. `link` is the slowest.
TEST(ChipYaml, AxesMayHaveLinksOfDifferentRates) {
  const auto torus = [](const std::string& link) {
    return basics + "torus: {pod: [8, 4], host: [2, 2], link: " + link + ", hop_latency: 2 us, wrap: {exactly: 8}}\n";
  };
  const auto chip = read(torus("[50 GB/s, 25 GB/s]")).chip;
  EXPECT_EQ(chip.torus->link_of(0), BytesPerSecond(50e9));
  EXPECT_EQ(chip.torus->link_of(1), BytesPerSecond(25e9));
  EXPECT_EQ(chip.torus->link, BytesPerSecond(25e9));
  EXPECT_EQ(read(torus("[50 GB/s, 50 GB/s]")).chip, read(torus("50 GB/s")).chip);
  EXPECT_THAT(
      read(torus("[50 GB/s, 25 GB/s, 25 GB/s]")).problems,
      testing::ElementsAre(testing::HasSubstr("has 3 rates; expected one rate, or one for each of the 2 axes")));
}

TEST(ChipYaml, AGpuHasADomainInsteadOfATorus) {
  const Reading reading = read(basics + "scale_up: {bandwidth: 450 GB/s, domain: 8}\n");
  EXPECT_THAT(reading.problems, testing::IsEmpty());
  EXPECT_FALSE(reading.chip.torus);
  EXPECT_EQ(reading.chip.scale_up, BytesPerSecond(450e9));
  EXPECT_EQ(reading.chip.scale_up_domain, 8);
}

// A chip block with `like` takes the keys that it leaves out from the other chip and replaces those that it gives.
TEST(ChipYaml, ABlockLikeAnotherChipSaysWhatDiffers) {
  Problems problems;
  const auto chip = [&](const std::string& yaml) {
    return topologies::read_chip_block(YamlView::from_text(yaml, "chip.yaml", problems),
                                       std::filesystem::path(source_dir) / "topologies/catalog");
  };
  const topologies::Chip smaller = chip("like: a100\nmemory: 40 GB\nmemory_bandwidth: 1555 GB/s\n");
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(smaller.memory, Bytes(40'000'000'000));
  EXPECT_EQ(smaller.memory_bandwidth, BytesPerSecond(1555e9));
  EXPECT_EQ(smaller.peak_for(topologies::Precision::bf16), FlopsPerSecond(312e12));
  EXPECT_EQ(smaller.scale_up, BytesPerSecond(300e9));
  (void)chip("like: a1000\n");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems.list().front().to_string(), HasSubstr("chip.yaml:1:7: like: there is no chip `a1000`"));
}

TEST(ChipYaml, AllProblemsAreFoundAtOnce) {
  const Reading reading = read(
      "title: Mine\nmemory: 16\npeak: {bf61: 1 TFLOP/s}\nmemori: 3\n"
      "torus: {pod: [8, 8], host: [2], link: 50 GB/s, hop_latency: 2 us, wrap: {}}\n");
  EXPECT_THAT(reading.problems, testing::UnorderedElementsAre(
                                    HasSubstr("chip.yaml:2:9: memory:"), HasSubstr("memory_bandwidth: missing"),
                                    HasSubstr("peak.bf61: unknown precision"), HasSubstr("memori: unknown key"),
                                    HasSubstr("torus.host: has 1 axes"), HasSubstr("torus.wrap: not one rule")));
}

TEST(ChipYaml, NoPeakAtAllIsAProblem) {
  EXPECT_THAT(read("title: Mine\nmemory: 16 GB\nmemory_bandwidth: 1 TB/s\npeak: {}\n" + fabric).problems,
              testing::Contains(HasSubstr("peak: no peak given")));
}

TEST(ChipYaml, RefusesWhatIsNoFabric) {
  EXPECT_THAT(read(basics).problems,
              testing::ElementsAre(HasSubstr("not one fabric; expected either torus or scale_up, or pcie where")));
  EXPECT_THAT(read(basics + fabric + "scale_up: {bandwidth: 1 GB/s, domain: 8}\n").problems,
              testing::ElementsAre(HasSubstr("not one fabric")));
  EXPECT_THAT(read(basics + "torus: {pod: [1, 2, 3, 4], host: [1, 1, 1, 1], link: 50 GB/s, hop_latency: 2 us, "
                            "wrap: {exactly: 8}}\n")
                  .problems,
              testing::Each(HasSubstr("one to three sizes")));
  EXPECT_THAT(read(basics + "torus: {pod: [8, 0], host: [1, 1], link: 50 GB/s, hop_latency: 2 us, "
                            "wrap: {exactly: 8, multiple_of: 4}}\n")
                  .problems,
              testing::UnorderedElementsAre(HasSubstr("torus.pod[1]"), HasSubstr("torus.wrap: not one rule")));
}

TEST(ChipYaml, TheDcnNeedsAWayToTheHost) {
  EXPECT_THAT(read(basics + fabric + "dcn_per_host: 25 GB/s\n").problems,
              testing::ElementsAre(HasSubstr("dcn_per_host: cannot be reached")));
}

TEST(ChipYaml, TextInsteadOfAMapIsOneProblem) {
  EXPECT_EQ(read("just a word\n").problems.size(), 1u);
  EXPECT_THAT(read(basics + "torus: 3\n").problems, testing::ElementsAre(HasSubstr("torus: ")));
}

TEST(Precision, NamesReadBack) {
  for (const topologies::Precision precision :
       {topologies::Precision::fp32, topologies::Precision::bf16, topologies::Precision::fp16,
        topologies::Precision::fp8, topologies::Precision::int8, topologies::Precision::fp4,
        topologies::Precision::mxfp8, topologies::Precision::nvfp4}) {
    EXPECT_EQ(topologies::precision_named(name(precision)), precision);
  }
  EXPECT_EQ(topologies::precision_named("fp64"), std::nullopt);
}

/// Bits of the format / 8.
TEST(Precision, ElementSizesAreBitsOverEight) {
  EXPECT_EQ(element_size(topologies::Precision::fp32), Bytes(4));
  EXPECT_EQ(element_size(topologies::Precision::bf16), Bytes(2));
  EXPECT_EQ(element_size(topologies::Precision::fp16), Bytes(2));
  EXPECT_EQ(element_size(topologies::Precision::fp8), Bytes(1));
  EXPECT_EQ(element_size(topologies::Precision::int8), Bytes(1));
  EXPECT_THROW(static_cast<void>(element_size(topologies::Precision::fp4)), InternalError);
}

// A scale of a byte for 32 values of a byte each, and for 16 of half a byte.
TEST(Precision, ScalesOfBlocksCount) {
  EXPECT_DOUBLE_EQ(operand_bytes(topologies::Precision::mxfp8), (32 + 1) / 32.0);
  EXPECT_DOUBLE_EQ(operand_bytes(topologies::Precision::nvfp4), (16 * 0.5 + 1) / 16.0);
  EXPECT_THROW(static_cast<void>(element_size(topologies::Precision::nvfp4)), InternalError);
  for (const auto precision : {topologies::Precision::mxfp8, topologies::Precision::nvfp4})
    EXPECT_TRUE(is_narrow(precision));
  EXPECT_TRUE(has_8_bits(topologies::Precision::mxfp8));
  EXPECT_FALSE(has_8_bits(topologies::Precision::nvfp4));
}

TEST(WrapRule, AMultipleOrExactlyOneSize) {
  const topologies::WrapRule cubes{.multiple_of = 4};
  EXPECT_TRUE(cubes.wraps(4));
  EXPECT_TRUE(cubes.wraps(28));
  EXPECT_FALSE(cubes.wraps(6));
  const topologies::WrapRule full_axis{.exactly = 16};
  EXPECT_TRUE(full_axis.wraps(16));
  EXPECT_FALSE(full_axis.wraps(8));
  EXPECT_FALSE(full_axis.wraps(32));
  EXPECT_FALSE(topologies::WrapRule{}.wraps(16));
}

/// Two chips are neighbours already; a wrap would join them twice.
TEST(WrapRule, NothingBelowThreeWraps) {
  const topologies::WrapRule any{.multiple_of = 1};
  EXPECT_FALSE(any.wraps(1));
  EXPECT_FALSE(any.wraps(2));
  EXPECT_TRUE(any.wraps(3));
}

// What a block with `like` does not say of its kernels is as in the catalog.
TEST(ChipYaml, KernelsOfABlockStandOverThoseOfTheCatalog) {
  Problems problems;
  const auto catalog = std::filesystem::path(source_dir) / "topologies/catalog";
  const auto base = topologies::load_chip(catalog, "h100", problems);
  const auto view =
      YamlView::from_text("like: h100\nkernels: {sustained: 0.5, matrix: {fp8: 0.4}, attention: {backward: 0.25}}\n",
                          "chip.yaml", problems);
  const auto made = topologies::read_chip_block(view, catalog).kernels.value();
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(made.sustained, 0.5);
  EXPECT_EQ(made.matrix.at(topologies::Precision::fp8), 0.4);
  EXPECT_EQ(made.matrix.at(topologies::Precision::bf16), base.kernels->matrix.at(topologies::Precision::bf16));
  EXPECT_EQ(made.attention.backward, 0.25);
  EXPECT_EQ(made.attention.forward, base.kernels->attention.forward);
  EXPECT_EQ(made.units, base.kernels->units);
  EXPECT_EQ(made.host, base.kernels->host);
}

// Kernels of a library that the catalog has keep what a block does not say, new ones must say all, and the usual ones
// stand under `attention`.
TEST(ChipYaml, LibrariesOfAttention) {
  const auto catalog = std::filesystem::path(source_dir) / "topologies/catalog";
  Problems problems;
  const auto base = topologies::load_chip(catalog, "h100", problems).kernels.value();
  EXPECT_EQ(base.attention.name, "cudnn-9");
  EXPECT_EQ(topologies::attention_called(base, "cudnn-9"), &base.attention);
  ASSERT_NE(topologies::attention_called(base, "flash-attention-2"), nullptr);
  EXPECT_EQ(topologies::attention_called(base, "flash-attention-9"), nullptr);
  EXPECT_TRUE(topologies::attention_names(base).starts_with("cudnn-9, "));
  const auto read = [&](const std::string& text) {
    const auto view =
        YamlView::from_text("like: h100\nkernels: {other_attention: {" + text + "}}\n", "c.yaml", problems);
    return topologies::read_chip_block(view, catalog).kernels.value();
  };
  const auto made =
      read("flash-attention-2: {forward: 0.5}, mine: {forward: 1.2, backward: 0.4, softmax: 9, block: 64}");
  EXPECT_TRUE(problems.empty());
  const auto& known = *topologies::attention_called(made, "flash-attention-2");
  EXPECT_EQ(known.forward, 0.5);
  EXPECT_EQ(known.backward, topologies::attention_called(base, "flash-attention-2")->backward);
  EXPECT_EQ(topologies::attention_called(made, "mine")->softmax, 9);
  EXPECT_EQ(topologies::attention_called(made, "mine")->forward, 1.2) << "products in 8 bits, over the rate of 16";
  EXPECT_EQ(made.other_attention.size(), base.other_attention.size() + 1);
  (void)read("mine: {forward: 0.6}, cudnn-9: {forward: 0.7}");
  ASSERT_EQ(problems.list().size(), 4U);
  EXPECT_EQ(problems.list()[0].what, "missing");
  EXPECT_EQ(problems.list()[3].what, "are the usual kernels");
}

}  // namespace
}  // namespace lockstep
