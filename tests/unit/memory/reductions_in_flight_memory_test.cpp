// Whole gradients under ZeRO-2 and 3. A layer of two matrices has 2 D F elements; with n reductions in flight at most n
// + 1 layers are whole, however slow the network:
//   gradients(t) <= (n + 1) 2 D F e_r + L 2 D F e_g / N
#include <gtest/gtest.h>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

constexpr std::int64_t d = 1024, f = 4096, layers = 12, ranks = 8;
constexpr std::int64_t layer = 2 * d * f * 2;  // bytes of a whole gradient in bf16

constexpr const char* zero_2 = "{data: 8, zero: 2}";
constexpr const char* zero_3 = "{data: 8, zero: 3}";

/// On links of `gigabytes` per second.
OneRank on_links_of(int gigabytes, const char* parallel, int in_flight) {
  return OneRank("zero_on_slow_links.yaml", {{"cluster.chip.torus.link", std::to_string(gigabytes) + " GB/s"},
                                             {"parallel", parallel},
                                             {"communication.reductions_in_flight", std::to_string(in_flight)}});
}

std::int64_t most_gradients(const OneRank& rank) {
  std::int64_t most = 0;
  for (const auto& point : metrics::memory_curve(rank.step(), rank.program, rank.timeline, 0))
    most = std::max(most, point.gradients.value());
  return most;
}

TEST(ReductionsInFlightMemoryTest, BoundHoldsHoweverSlowTheNetwork) {
  for (const auto* parallel : {zero_2, zero_3}) {
    for (const int in_flight : {0, 1, 3}) {
      for (const int gigabytes : {1, 10, 1000}) {
        EXPECT_LE(most_gradients(on_links_of(gigabytes, parallel, in_flight)),
                  (in_flight + 1) * layer + layers * layer / ranks)
            << in_flight << " at " << gigabytes << " GB/s";
      }
    }
  }
}

// Under ZeRO-2, where no gather holds compute back, a slow network reaches the bound: the last layer computes while n
// wait.
TEST(ReductionsInFlightMemoryTest, BoundIsReached) {
  for (const int in_flight : {0, 1, 3})
    EXPECT_GE(most_gradients(on_links_of(1, zero_2, in_flight)), (in_flight + 1) * layer) << in_flight;
  EXPECT_GE(most_gradients(on_links_of(1, zero_2, 1000)), layers * layer)
      << "without a limit that matters all layers pile up";
}

// More microbatches of the same size reuse what the ones before have left: the same peak.
TEST(ReductionsInFlightMemoryTest, PeakDoesNotGrowWithTheNumberOfMicrobatches) {
  for (const int gigabytes : {1, 10}) {
    const auto two =
        OneRank("zero_on_slow_links.yaml", {{"cluster.chip.torus.link", std::to_string(gigabytes) + " GB/s"},
                                            {"batch", "{sequences: 16, sequence_length: 128, microbatches: 2}"}});
    const auto eight =
        OneRank("zero_on_slow_links.yaml", {{"cluster.chip.torus.link", std::to_string(gigabytes) + " GB/s"},
                                            {"batch", "{sequences: 64, sequence_length: 128, microbatches: 8}"}});
    EXPECT_EQ(two.memory.peak, eight.memory.peak) << gigabytes;
  }
}

// A larger microbatch computes longer beside the same reductions; it must not need less memory.
TEST(ReductionsInFlightMemoryTest, PeakDoesNotFallWithTheSizeOfMicrobatches) {
  for (const int gigabytes : {1, 10, 100}) {
    Bytes before(0);
    for (const char* tokens : {"64", "128", "256", "512", "1024", "2048"}) {
      const auto rank = OneRank(
          "zero_on_slow_links.yaml",
          {{"cluster.chip.torus.link", std::to_string(gigabytes) + " GB/s"}, {"batch.sequence_length", tokens}});
      EXPECT_GE(rank.memory.peak, before) << tokens << " tokens at " << gigabytes << " GB/s";
      before = rank.memory.peak;
    }
  }
}

}  // namespace
}  // namespace lockstep
