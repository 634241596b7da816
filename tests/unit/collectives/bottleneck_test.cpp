// The link that holds a collective up is the one that is used most, with all that are used as much; where waiting takes
// longer than all bytes it is the latency.
#include <gtest/gtest.h>

#include "sim/studies/collectives/collective_study.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

class Bottleneck : public testing::Test {
 protected:
  static metrics::LinkLoad load(std::int32_t link, std::int32_t alike, double used) {
    return {link, alike, BytesPerSecond(100e9), 1e9, used, used, 1};
  }
  /// Of 10 s, one of them latency.
  static studies::MeasuredCollective measured(std::vector<metrics::LinkLoad> loads) {
    return {Bytes(1), Seconds(10), Seconds(10), Seconds(1), std::nullopt, "ring", std::move(loads)};
  }
  topologies::Cluster cluster_ = torus({4, 4}, always);
};

// Links 3 and 1 are as busy but for rounding: they and the two alike are named by the lowest.
TEST_F(Bottleneck, TheMostUsedLinksByTheirLowest) {
  EXPECT_EQ(bottleneck(cluster_, measured({load(3, 2, 0.5), load(1, 1, 0.5 * (1 - 1e-12)), load(0, 1, 0.4)})),
            cluster_.link_name(1) + " and 2 alike");
  EXPECT_EQ(bottleneck(cluster_, measured({load(5, 1, 0.5), load(0, 7, 0.49)})), cluster_.link_name(5));
}

// 6 of 10 s in which nothing flows are latency; on a torus the book's form has the hops in its own time.
TEST_F(Bottleneck, LatencyThatTakesLongerThanTheBytes) {
  auto slow = measured({load(5, 1, 0.5)});
  slow.latency = Seconds(6);
  EXPECT_EQ(bottleneck(cluster_, slow), "latency");
  slow.latency = Seconds(5);
  EXPECT_EQ(bottleneck(cluster_, slow), cluster_.link_name(5)) << "as long is not longer";
  slow.latency = Seconds(6);
  slow.book = Seconds(10);
  EXPECT_EQ(bottleneck(cluster_, slow), cluster_.link_name(5));
}

TEST_F(Bottleneck, NothingFlowsInAGroupOfOne) { EXPECT_EQ(bottleneck(cluster_, measured({})), "none"); }

}  // namespace
}  // namespace lockstep::test
