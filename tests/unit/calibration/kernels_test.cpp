// Kernels that were timed: their CSV, and chips' parameters from them. Round trips: times made with known parameters
// must give those parameters back.
#include <gmock/gmock.h>

#include "sim/studies/calibration/calibrate_chip.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

const std::filesystem::path catalog = std::filesystem::path(source_dir) / "topologies/catalog";

topologies::Chip chip_of(const std::string& name) {
  Problems problems;
  auto chip = topologies::load_chip(catalog, name, problems);
  problems.throw_if_any();
  return chip;
}

std::vector<calibration::MeasuredKernel> rows_of(const std::string& text) {
  Problems problems;
  const CsvTable table(text, "kernels.csv", problems);
  auto rows = calibration::read_measured_kernels(table);
  problems.throw_if_any();
  return rows;
}

const std::string header = "kernel,precision,batch,m,n,k,causal,backward,bytes,seconds\n";

TEST(MeasuredKernels, CountFlopsAndBytesAsTheStepDoes) {
  const auto rows = rows_of(header +
                            "product,bf16,1,128,256,512,,,,1e-3\n"
                            "product,fp8,4,128,256,512,,,,1e-3\n"
                            "attention,bf16,64,1024,128,1024,true,false,,1e-3\n"
                            "attention,bf16,64,1024,128,1024,false,true,,1e-3\n"
                            "memory,,,,,,,,1000000,1e-3\n");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].kernel.flops, Flops(2.0 * 128 * 256 * 512));
  EXPECT_EQ(rows[0].kernel.traffic, Bytes(2 * (128 * 512 + 512 * 256 + 128 * 256)));
  EXPECT_EQ(rows[1].kernel.flops, rows[0].kernel.flops * 4.0);
  EXPECT_EQ(rows[1].kernel.traffic, Bytes(4 * (128 * 512 + 512 * 256 + 2 * 128 * 256)));  // the result is wider
  EXPECT_EQ(rows[2].kernel.flops, Flops(2.0 * 64 * 1024 * 1024 * 128));  // 4 b T^2 h, half under the mask
  EXPECT_EQ(rows[3].kernel.flops, rows[2].kernel.flops * 4.0);           // all pairs, and twice backward
  EXPECT_EQ(rows[2].kernel.traffic, Bytes(2 * 64 * 128 * 4 * 1024));     // queries, keys, values, output
  EXPECT_EQ(rows[4].kernel.traffic, Bytes(1000000));
}

TEST(MeasuredKernels, MistakesAreLocatedAllAtOnce) {
  try {
    (void)rows_of(header +
                  "produkt,bf16,1,1,1,1,,,,1\nproduct,bf17,1,0,1,1,,,,1\nproduct,bf16,1,1,1,1,,,,\nattention,bf16,1,1,"
                  "1,1,maybe,,,1\nproduct,bf16,1,1,1,1,,,,-1\n");
    FAIL();
  } catch (const ConfigError& error) {
    std::vector<std::string> lines;
    for (const auto& problem : error.problems()) lines.push_back(problem.to_string());
    EXPECT_THAT(lines, testing::UnorderedElementsAre(
                           testing::StartsWith("kernels.csv:2:1: kernel: unknown kernel 'produkt'"),
                           testing::StartsWith("kernels.csv:3:9: precision: unknown precision 'bf17'"),
                           testing::StartsWith("kernels.csv:3:16: m: "),
                           testing::StartsWith("kernels.csv:4:25: seconds: is missing"),
                           testing::StartsWith("kernels.csv:5:24: causal: 'maybe'"),
                           testing::StartsWith("kernels.csv:6:25: seconds: '-1' is not a number above 0")));
  }
}

/// Products from one tile to far more than the chip has units for, attention with and without masks, copies.
std::vector<calibration::MeasuredKernel> timed_on(const topologies::Chip& chip) {
  std::string text = header;
  const auto add = [&](const std::string& row) { text += row + ",1\n"; };
  for (const int m : {256, 1024, 4096, 16384}) {
    for (const int n : {1024, 5120, 12288}) {
      for (const int k : {128, 1024, 8192})
        add("product,bf16,1," + std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(k) + ",,,");
    }
  }
  for (const int head : {64, 128, 256}) {
    for (const int length : {1024, 4096, 16384}) {
      for (const char* mask : {"true", "false"}) {
        for (const char* backward : {"true", "false"}) {
          add("attention,bf16,64," + std::to_string(length) + "," + std::to_string(head) + "," +
              std::to_string(length) + "," + mask + "," + backward + ",");
        }
      }
    }
  }
  for (const int megabytes : {1, 10, 100, 1000}) add("memory,,,,,,,," + std::to_string(megabytes) + "000000");
  auto rows = rows_of(text);
  for (auto& row : rows) row.time = kernel_by_itself(chip, row);
  return rows;
}

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, KnownParametersComeBack) {
  auto truth = chip_of(GetParam());
  auto& kernels = *truth.kernels;
  kernels.matrix[topologies::Precision::bf16] = 0.81;
  kernels.memory = 0.72;
  kernels.depth = 96;
  kernels.gap = Seconds(3e-6);
  kernels.attention.forward = 0.55;
  kernels.attention.backward = 0.42;
  kernels.attention.softmax = 40;
  kernels.attention.block = 200;
  const auto rows = timed_on(truth);
  const auto made = calibrate_chip(chip_of(GetParam()), rows);
  EXPECT_LT(made.fit.after, 0.002);
  for (const auto& residual : made.residuals) EXPECT_NEAR(residual.error(), 0, 0.01) << residual.measured.to_string();
  const auto& found = *made.chip.kernels;
  EXPECT_NEAR(found.matrix.at(topologies::Precision::bf16), 0.81, 0.02);
  EXPECT_NEAR(found.memory, 0.72, 0.01);
  EXPECT_NEAR(found.gap.value(), 3e-6, 3e-7);
  // Attention's shares are of the matrix rate, so their product is what the times tell.
  EXPECT_NEAR(found.attention.forward * found.matrix.at(topologies::Precision::bf16), 0.55 * 0.81, 0.01);
  EXPECT_NEAR(found.attention.backward * found.matrix.at(topologies::Precision::bf16), 0.42 * 0.81, 0.01);
  EXPECT_NEAR(found.attention.softmax, 40, 4);
  EXPECT_EQ(found.sustained, truth.kernels->sustained) << "is of whole steps";
}

INSTANTIATE_TEST_SUITE_P(Chips, RoundTrip, testing::Values("h100", "tpu-v5p"),
                         [](const auto& chip) { return std::string(chip.param).substr(0, 3); });

// Measurements of copies alone do not change the parameters of products.
TEST(CalibrateChip, KeepsWhatWasNotMeasured) {
  const auto chip = chip_of("h100");
  const auto made =
      calibrate_chip(chip, rows_of(header + "memory,,,,,,,,1000000000,0.5e-3\nmemory,,,,,,,,4000000000,2e-3\n"));
  EXPECT_EQ(made.chip.kernels->matrix, chip.kernels->matrix);
  EXPECT_EQ(made.chip.kernels->attention.forward, chip.kernels->attention.forward);
  EXPECT_NEAR(made.chip.kernels->memory, 2e12 / 3.35e12, 0.005);  // 2 TB/s of 3.35
}

// Products alone, 20 % slower than the catalog's chip makes them: memory, attention, clock and host stay, though some
// of the short products would fit better with another memory.
TEST(CalibrateChip, ProductsDoNotMoveMemory) {
  const auto chip = chip_of("b200");
  std::string text = header;
  for (const int m : {512, 2048, 8192}) {
    for (const int n : {1024, 4096, 16384}) {
      for (const int k : {64, 512, 4096})
        text += "product,bf16,1," + std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(k) + ",,,,1\n";
    }
  }
  auto rows = rows_of(text);
  double noise = 1;
  for (auto& row : rows) row.time = kernel_by_itself(chip, row) * (1.2 * (noise = 2.03 - noise));
  const auto made = calibrate_chip(chip, rows);
  EXPECT_EQ(made.chip.kernels->memory, chip.kernels->memory);
  EXPECT_EQ(made.chip.kernels->attention.forward, chip.kernels->attention.forward);
  EXPECT_EQ(made.chip.kernels->sustained, chip.kernels->sustained);
  EXPECT_LT(made.chip.kernels->matrix.at(topologies::Precision::bf16),
            0.95 * chip.kernels->matrix.at(topologies::Precision::bf16));
  for (const auto& parameter : made.fit.parameters) {
    if (parameter.name == "memory") {
      EXPECT_EQ(parameter.kept_because, "no copy was measured");
    }
    if (parameter.kept()) {
      EXPECT_EQ(parameter.after, parameter.before) << parameter.name;
    }
  }
}

// Tables as people publish them. 2 m n k = 1.0995e12 FLOPs at 500 TFLOP/s take 2.199 ms.
TEST(MeasuredKernels, ProductsByShapeInOtherPeoplesColumns) {
  const auto read = [](const std::string& text, const std::string& chip = "") {
    Problems problems;
    const CsvTable table(text, "products.csv", problems);
    EXPECT_TRUE(topologies::has_product_shapes(table));
    auto products = topologies::read_timed_products(table, chip);
    problems.throw_if_any();
    return products;
  };
  const auto in_tflops = read("M,N,K,dtype,TFLOPS\n8192,8192,8192,bfloat16,500\n").front();
  EXPECT_EQ(in_tflops.shape, (topologies::ProductShape{topologies::Precision::bf16, 1, 8192, 8192, 8192}));
  EXPECT_NEAR(in_tflops.time.value(), 2.0 * 8192 * 8192 * 8192 / 500e12, 1e-12);
  const auto in_us = read("b,m,n,k,precision,us\n4,16,32,64,fp8,12.5\n").front();
  EXPECT_EQ(in_us.shape, (topologies::ProductShape{topologies::Precision::fp8, 4, 16, 32, 64}));
  EXPECT_NEAR(in_us.time.value(), 12.5e-6, 1e-18);
  const std::string chips = "chip,precision,m,n,k,ms\nh100,bf16,1,1,1,1\nb200,bf16,2,2,2,1\n";
  ASSERT_EQ(read(chips, "b200").size(), 1U);
  EXPECT_EQ(read(chips, "b200").front().shape.m, 2);
  EXPECT_EQ(read(chips).size(), 2U);
  EXPECT_EQ(calibration::measured_product(in_us).kernel.flops, Flops(2.0 * 4 * 16 * 32 * 64));
  Problems problems;
  const CsvTable bad("m,n,k,precision,ms\n1,1,0,bf16,1\n1,1,1,bf1,1\n1,1,1,bf16,\n1,1,1,bf16,1e12\n", "p.csv",
                     problems);
  (void)topologies::read_timed_products(bad);
  EXPECT_EQ(problems.size(), 4U);
  Problems negative;
  const CsvTable rate("m,n,k,precision,tflops\n1,1,1,bf16,-5\n", "p.csv", negative);
  (void)topologies::read_timed_products(rate);
  ASSERT_EQ(negative.size(), 1U) << "one mistake is told once";
  EXPECT_EQ(negative.list().front().to_string(),
            "p.csv:2:12: tflops: '-5' is not a number above 0; expected a plain number without a unit");
}

TEST(MeasuredKernels, ATableKnowsShapesEitherWayRound) {
  const auto bf16 = topologies::Precision::bf16;
  const topologies::MeasuredProducts table({{{bf16, 1, 8, 16, 32}, Seconds(1), {}},
                                            {{bf16, 1, 8, 16, 32}, Seconds(3), {}},
                                            {{bf16, 2, 8, 16, 32}, Seconds(7), {}}});
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.time_of({bf16, 1, 8, 16, 32}), Seconds(2)) << "the mean of two";
  EXPECT_EQ(table.time_of({bf16, 1, 16, 8, 32}), Seconds(2)) << "transposed";
  EXPECT_FALSE(table.time_of({bf16, 1, 8, 32, 16}));
  EXPECT_FALSE(table.time_of({topologies::Precision::fp8, 1, 8, 16, 32}));
}

TEST(CalibrateChip, RefusesAPrecisionThatTheChipLacks) {
  EXPECT_THROW((void)calibrate_chip(chip_of("a100"), rows_of(header + "product,fp8,1,1024,1024,1024,,,,1e-3\n")),
               ConfigError);
}

// The number of own steps is written as a key.
TEST(CalibrateChip, OwnStepsAreWrittenAndReadBack) {
  auto kernels = *chip_of("h100").kernels;
  EXPECT_EQ(kernels.own_steps, 0);
  kernels.own_steps = 3;
  Problems problems;
  const auto view = YamlView::from_text(calibration::kernels_yaml(kernels, "mine"), "written.yaml", problems);
  EXPECT_EQ(topologies::read_chip_kernels(view["kernels"]).own_steps, 3);
  problems.throw_if_any();
}

// What is written is read back as it was, to the four digits that are written.
TEST(CalibrateChip, WritesABlockThatIsReadBack) {
  const auto chip = chip_of("h100");
  const auto text = calibration::kernels_yaml(*chip.kernels, "a \"quoted\" log");
  Problems problems;
  const auto view = YamlView::from_text(text, "written.yaml", problems);
  const auto read = topologies::read_chip_kernels(view["kernels"]);
  problems.throw_if_any();
  EXPECT_EQ(read.matrix, chip.kernels->matrix);
  EXPECT_EQ(read.units, chip.kernels->units);
  EXPECT_EQ(read.staging, chip.kernels->staging);
  EXPECT_EQ(read.communication_units, chip.kernels->communication_units);
  EXPECT_DOUBLE_EQ(read.host.value(), chip.kernels->host.value());
  EXPECT_EQ(read.sources, std::vector<std::string>{"a \"quoted\" log"});
}

// A TPU has no multiprocessors for collectives to hold, but a memory.
TEST(CalibrateChip, WritesWhatCollectivesTakeOfATpu) {
  const auto kernels = *chip_of("tpu-v6e").kernels;
  Problems problems;
  const auto view = YamlView::from_text(calibration::kernels_yaml(kernels, "mine"), "written.yaml", problems);
  EXPECT_EQ(topologies::read_chip_kernels(view["kernels"]).communication_memory, kernels.communication_memory);
  EXPECT_GT(kernels.communication_memory, 0);
  problems.throw_if_any();
}

// With whose kernels they are, and with those of other libraries; to four digits.
TEST(CalibrateChip, WritesKernelsOfAttentionAndSums) {
  for (const auto* name : {"h100", "b200", "tpu-v5p"}) {
    auto kernels = *chip_of(name).kernels;
    kernels.attention.unlike_heads = 0.75;
    kernels.accumulation = 0.5;
    Problems problems;
    const auto view = YamlView::from_text(calibration::kernels_yaml(kernels, "mine"), "written.yaml", problems);
    const auto read = topologies::read_chip_kernels(view["kernels"]);
    problems.throw_if_any();
    EXPECT_EQ(read.attention, kernels.attention) << name;
    EXPECT_EQ(read.other_attention, kernels.other_attention) << name;
    EXPECT_EQ(read.accumulation, kernels.accumulation);
    EXPECT_EQ(read.indexed, kernels.indexed);
    EXPECT_EQ(read.grouped_tile, kernels.grouped_tile);
  }
}

}  // namespace
}  // namespace lockstep::test
