// Memory of Megatron's models as Korthikanti et al. count it (arXiv 2205.05198), from simulated steps: a sequence s = 2048,
// microbatch b, hidden h, heads a, tensor ranks t = 8, L layers, p pipeline ranks of v parts.
//
//     activations of a layer:   none s b h (10 + 24/t + 5 a s/(h t));  sequence parallel s b h/t (34 + 5 a s/h);
//                               selective: the same without 5 a s/h;  full 2 s b h
//     of the first rank:        L (1 + (p-1)/(p v)) layers where the schedule is interleaved, else L
//     weights and optimizer:    18 bytes x 12 L h^2/(t p): weights 2, gradients 4, fp32 weights and Adam's moments 12
//
// tests/data/korthikanti2022_memory.csv has the paper's numbers, in GiB or in percent of "none", with their figure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/source_dir.hpp"
#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep::test {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

struct Shape {
  std::string name;
  std::int64_t layers, hidden, heads, pipeline, chunks, microbatch, microbatches;
};

/// Microbatches enough to fill the pipeline.
const Shape shapes[] = {{"22B", 48, 6144, 64, 1, 1, 4, 1},
                        {"175B", 96, 12288, 96, 8, 3, 1, 16},
                        {"530B", 105, 20480, 128, 35, 3, 1, 70},
                        {"1T", 128, 25600, 160, 64, 1, 1, 64}};

double published(const std::string& model, const std::string& quantity) {
  std::ifstream file(std::filesystem::path(source_dir) / "tests/data/korthikanti2022_memory.csv");
  for (std::string line; std::getline(file, line);) {
    std::erase(line, '"');
    const auto start = model + "," + quantity + ",";
    if (line.starts_with(start)) return std::stod(line.substr(start.size()));
  }
  ADD_FAILURE() << "no row " << model << " " << quantity;
  return 0;
}

OneRank simulated(const Shape& shape, bool sequence_parallel, const std::string& recompute) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  std::vector<KeyOverride> overrides{
      {"model", "{layers: " + number(shape.layers) + ", d_model: " + number(shape.hidden) + ", d_ff: " + number(4 * shape.hidden) + ", heads: " + number(shape.heads) +
                    ", vocabulary: 0, mlp: plain, norm: none, learned_positions: 2048}"},
      {"cluster.nodes", number(shape.pipeline)},
      {"parallel.pipeline", number(shape.pipeline)},
      {"parallel.sequence_parallel", sequence_parallel ? "true" : "false"},
      {"batch.sequences", number(shape.microbatch * shape.microbatches)},
      {"batch.microbatches", number(shape.microbatches)},
      {"training.recompute", recompute}};
  if (shape.chunks > 1) overrides.push_back({"pipeline", "{schedule: interleaved, chunks: " + number(shape.chunks) + "}"});
  return OneRank("korthikanti_memory.yaml", overrides);
}

/// The most that the first rank ever keeps of its forwards for its backwards.
double kept(const OneRank& rank) {
  std::vector<std::pair<Seconds, std::int64_t>> changes;
  for (const auto& buffer : rank.step().buffers) {
    if (buffer.stage != 0 || buffer.kind != MemoryKind::activations || rank.step().op(buffer.producer).pass != StepPass::forward) continue;
    Seconds until(0);
    bool backward = false;
    for (const auto reader : buffer.readers) {
      backward = backward || rank.step().op(reader).pass == StepPass::backward;
      until = std::max(until, rank.timeline.span(reader, 0).end);
    }
    if (!backward) continue;
    changes.emplace_back(rank.timeline.span(buffer.producer, 0).end, buffer.size.value());
    changes.emplace_back(until, -buffer.size.value());
  }
  std::sort(changes.begin(), changes.end());  // what ends makes room first: its bytes are negative
  std::int64_t now = 0, most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, now += bytes);
  return static_cast<double>(most);
}

class Korthikanti : public testing::TestWithParam<Shape> {};

TEST_P(Korthikanti, FigureOneToTheByte) {
  const auto& shape = GetParam();
  EXPECT_EQ(kept(simulated(shape, false, "none")) / gib, published(shape.name, "activation GiB/GPU, TP only, no recompute"));
  EXPECT_EQ(kept(simulated(shape, true, "selective")) / gib, published(shape.name, "activation GiB/GPU, SP + selective recompute"));
}

// Figure 7, read off a plot: about 0.1 % too high throughout.
TEST_P(Korthikanti, FigureSevenInPercent) {
  auto shape = GetParam();
  shape.layers = 2;
  shape.pipeline = shape.chunks = shape.microbatches = 1;
  const double whole = kept(simulated(shape, false, "none"));
  const auto percent = [&](bool sequence_parallel, const std::string& recompute) {
    return 100 * kept(simulated(shape, sequence_parallel, recompute)) / whole;
  };
  const std::string row = "activation % of TP baseline: ";
  EXPECT_NEAR(percent(true, "none"), published(shape.name, row + "seq"), 0.12);
  EXPECT_NEAR(percent(false, "selective"), published(shape.name, row + "sel"), 0.12);
  EXPECT_NEAR(percent(true, "selective"), published(shape.name, row + "seqsel"), 0.12);
  EXPECT_NEAR(percent(false, "full"), published(shape.name, row + "full"), 0.12);
}

// The paper accumulates gradients in 4 bytes, this simulator in 2: 16 of 18 bytes.
TEST_P(Korthikanti, WeightsAndOptimizer) {
  const auto& shape = GetParam();
  const auto rank = simulated(shape, true, "selective");
  const auto held = rank.memory.weights + rank.memory.optimizer + rank.accumulated_gradients();
  EXPECT_EQ(static_cast<double>(held.value()) / gib, published(shape.name, "param+opt GiB/GPU") * 16 / 18);
}

INSTANTIATE_TEST_SUITE_P(Models, Korthikanti, testing::ValuesIn(shapes), [](const auto& info) { return "Of" + info.param.name; });

}  // namespace
}  // namespace lockstep::test
