// A link is slack if the limiters of its flows add up to no more than its capacity. The proof obligation is that
// leaving out every slack link leaves all max-min shares as they are, whichever flows run at the moment.
#include "sim/program/slack_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace lockstep {
namespace {

using Routes = std::vector<std::vector<std::int32_t>>;

program::Program program_of(const std::vector<double>& capacities, const Routes& routes) {
  program::Program program;
  for (const double capacity : capacities) program.links.emplace_back(capacity);
  program.communicators.push_back({"all", 1, {{}}});
  for (const auto& route : routes) program.communicators.front().groups.front().flows.push_back({0, route});
  return program;
}

// NICs 0 and 1 of 50 GB/s each send over uplink 2 to NICs 3 and 4. At most 2 x 50 = 100 arrive at the uplink.
TEST(SlackLinksTest, AnUplinkAsFastAsItsNicsIsSlack) {
  const Routes routes{{0, 2, 3}, {1, 2, 4}, {0, 2, 4}, {1, 2, 3}};
  EXPECT_THAT(slack_links(program_of({50, 50, 100, 50, 50}, routes)), testing::ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(slack_links(program_of({50, 50, 99.9, 50, 50}, routes)), testing::ElementsAre(0, 0, 0, 0, 0));
}

// A third source makes 150 into the uplink, but the two receivers after it take 100.
TEST(SlackLinksTest, LimitersMayComeAfterTheLink) {
  const Routes routes{{0, 3, 4}, {1, 3, 5}, {2, 3, 4}};
  EXPECT_TRUE(slack_links(program_of({50, 50, 50, 100, 50, 50}, routes))[3]);
  EXPECT_FALSE(slack_links(program_of({50, 50, 50, 100, 51, 50}, routes))[3]);
}

// A ring that leaves twice through one NIC crosses each link with both hops: its rate is 50 / 2, and 2 x 25 = 50 cross
// the uplink. With two hops over the uplink for one over the NIC, twice the NIC's rate crosses it.
TEST(SlackLinksTest, CrossingsOfOneFlowAreCounted) {
  EXPECT_TRUE(slack_links(program_of({50, 60}, {{0, 1, 0, 1}}))[1]);
  EXPECT_FALSE(slack_links(program_of({50, 60}, {{0, 1, 1}}))[1]);
  EXPECT_TRUE(slack_links(program_of({50, 100}, {{0, 1, 1}}))[1]);
}

// Two links of one capacity crossed by the same flows could each be left out for the other, but not both: both stay.
TEST(SlackLinksTest, LinksThatLimitEachOtherStay) {
  EXPECT_THAT(program::slack_links(program_of({50, 50}, {{0, 1}, {1, 0}})), testing::ElementsAre(0, 0));
}

TEST(SlackLinksTest, LinksThatNoFlowCrossesAreNotSlack) {
  EXPECT_THAT(slack_links(program_of({50, 70}, {{0}})), testing::ElementsAre(0, 0));
}

/// Progressive filling: all rates rise together, and those of flows over a full link stay.
std::vector<double> max_min_rates(const std::vector<double>& capacities, const Routes& routes,
                                  const std::vector<bool>& left_out) {
  std::vector<double> rates(routes.size(), -1);
  for (;;) {
    double lowest = std::numeric_limits<double>::infinity();
    std::vector<double> level(capacities.size(), lowest);
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      if (left_out[link]) continue;
      double left = capacities[link], open = 0;
      for (std::size_t flow = 0; flow < routes.size(); ++flow) {
        const auto times =
            static_cast<double>(std::count(routes[flow].begin(), routes[flow].end(), static_cast<std::int32_t>(link)));
        (rates[flow] < 0 ? open : left) += rates[flow] < 0 ? times : -times * rates[flow];
      }
      if (open > 0) level[link] = left / open;
      lowest = std::min(lowest, level[link]);
    }
    if (lowest == std::numeric_limits<double>::infinity()) return rates;
    for (std::size_t flow = 0; flow < routes.size(); ++flow) {
      if (rates[flow] >= 0) continue;
      for (const auto link : routes[flow]) {
        if (level[static_cast<std::size_t>(link)] <= lowest * (1 + 1e-12)) {
          rates[flow] = lowest;
          break;
        }
      }
    }
  }
}

// 3,000 random networks of two to eight links and one to eight flows, with capacities that often add up exactly; each
// with all flows under way and with a random part of them.
TEST(SlackLinksTest, LeavesMaxMinSharesAsTheyAre) {
  std::mt19937_64 random(5);
  int slack_found = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<double> capacities(2 + random() % 7);
    for (auto& capacity : capacities) capacity = static_cast<double>(1 + random() % 6) * 25;
    Routes routes(1 + random() % 8);
    for (auto& route : routes) {
      for (auto hops = 1 + random() % 4; hops > 0; --hops)
        route.push_back(static_cast<std::int32_t>(random() % capacities.size()));
    }
    const auto slack = slack_links(program_of(capacities, routes));
    slack_found += static_cast<int>(std::count(slack.begin(), slack.end(), true));
    for (const bool all : {true, false}) {
      Routes running;
      for (const auto& route : routes) {
        if (all || random() % 2 == 0) running.push_back(route);
      }
      const auto with = max_min_rates(capacities, running, std::vector<bool>(capacities.size(), false));
      const auto without = max_min_rates(capacities, running, slack);
      for (std::size_t flow = 0; flow < running.size(); ++flow)
        ASSERT_NEAR(without[flow] / with[flow], 1, 1e-9) << "trial " << trial << ", flow " << flow;
    }
  }
  EXPECT_GT(slack_found, 1000);
}

}  // namespace
}  // namespace lockstep
