// Collectives of all chips of a twisted torus against the plain one. Published measurements of v4 slices have
// all-to-all 1.63 times as fast on 4x4x8 and 1.31 times on 4x8x8 (arXiv 2304.01433); the ideal gains below follow from
// hops and cuts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/collectives/network_case.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;

constexpr double link_rate = 100e9;
const Bytes size(std::int64_t{64} << 30);

topologies::ClusterSpec slice(std::vector<int> shape, bool twisted) {
  auto made = chip(multiple_of_four);
  made.torus->hop_latency = Seconds(0);
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{made, std::move(shape), {}, twisted};
  return spec;
}

double time_of(const std::vector<int>& shape, bool twisted, Kind kind) {
  const NetworkCase groups(slice(shape, twisted), "all");
  const auto choice = groups.network().choose(kind, size);
  const double simulated = groups.simulated(choice);
  EXPECT_NEAR(choice.cost.value(), simulated, 1e-9 * simulated);
  EXPECT_NEAR(groups.referenced(choice), simulated, 1e-9 * simulated);
  return simulated;
}

// Plain: a quarter of V crosses between the halves of the longest axis over 2 k^2 links (k x k x 2k) or 4 k^2 links (k
// x 2k x 2k), which is what the all-to-all takes. Twisted: the sum of hops from one chip to all others, by a search
// over the closing links of the definition, is 440 and 1104, so each of the 6 N links carries V/N^2 x 440/6 and V/N^2 x
// 1104/6.
TEST(TwistedTorusCollectives, AllToAllGainsWhatTheHopsSay) {
  const double v = static_cast<double>(size.value());
  const double plain_one = time_of({4, 4, 8}, false, Kind::all_to_all);
  EXPECT_NEAR(plain_one, v / 4 / (2 * 16 * link_rate), 1e-9 * plain_one);
  const double one = time_of({4, 4, 8}, true, Kind::all_to_all);
  EXPECT_NEAR(one, v / (128.0 * 128) * 440 / 6 / link_rate, 1e-9 * one);
  const double plain_two = time_of({4, 8, 8}, false, Kind::all_to_all);
  EXPECT_NEAR(plain_two, v / 4 / (2 * 32 * link_rate), 1e-9 * plain_two);
  const double two = time_of({4, 8, 8}, true, Kind::all_to_all);
  EXPECT_NEAR(two, v / (256.0 * 256) * 1104 / 6 / link_rate, 1e-9 * two);
  // 1.75 and 1.39: a little above what was measured, and below the gain of the cuts, 2 and 2.
  EXPECT_GT(plain_one / one, 1.63);
  EXPECT_LT(plain_one / one, 1.8);
  EXPECT_GT(plain_two / two, 1.31);
  EXPECT_LT(plain_two / two, 1.45);
}

// Every chip must receive V (N-1)/N over six links either way, so gathers and reductions take what they did.
TEST(TwistedTorusCollectives, GathersStayAsTheyAre) {
  for (const std::vector<int>& shape : {std::vector{4, 4, 8}, {4, 8, 8}}) {
    for (const auto kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce}) {
      const double plain = time_of(shape, false, kind);
      EXPECT_NEAR(time_of(shape, true, kind), plain, 1e-9 * plain);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
