// Rates r are max-min fair if no link carries more than its capacity, sum over transfers of (times it crosses l) r <=
// C(l), and every transfer has a bottleneck: a full link on which nobody is faster. There is exactly one such set of
// rates.
#include "sim/engine/max_min/link_shares.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace lockstep::test {
namespace {

using engine::LinkShares;
using Route = std::vector<LinkShares::Crossing>;

constexpr double rounding = 1e-9;

std::vector<std::int32_t> sorted(std::span<const std::int32_t> numbers) {
  std::vector<std::int32_t> result(numbers.begin(), numbers.end());
  std::sort(result.begin(), result.end());
  return result;
}

// Links of 1 and 9: transfer 0 on both gets 1, transfer 1 on the second what it leaves, 8. A third on the second link
// leaves transfer 0 its 1 and shares the rest: (9 - 1) / 2 = 4. Without transfer 0 both get 9 / 2.
TEST(LinkShares, WhoKeepsItsBottleneckKeepsItsRate) {
  const Route both = {{0, 1}, {1, 1}}, second = {{1, 1}};
  LinkShares shares({1, 9});
  shares.add(0, both);
  shares.add(1, second);
  EXPECT_THAT(sorted(shares.update()), testing::ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(shares.rate(0), 1);
  EXPECT_DOUBLE_EQ(shares.rate(1), 8);
  shares.add(2, second);
  EXPECT_THAT(sorted(shares.update()), testing::ElementsAre(1, 2)) << "the first link is as it was";
  EXPECT_DOUBLE_EQ(shares.rate(1), 4);
  EXPECT_DOUBLE_EQ(shares.rate(2), 4);
  shares.remove(0);
  EXPECT_THAT(sorted(shares.update()), testing::ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(shares.rate(1), 4.5);
  EXPECT_THAT(shares.update(), testing::IsEmpty()) << "nothing has happened";
}

// A chain of links of 3, 5 and 7 with transfers {0}, {0, 1}, {1, 2}, {2}: 1.5 and 1.5 fill the first link, 5 - 1.5
// = 3.5 is left on the second, 7 - 3.5 = 3.5 on the third. Without the first transfer, the second goes to its link's 3
// if the next leaves it that much: of 5, 2.5 each; then 7 - 2.5 = 4.5. One end moves the whole chain.
TEST(LinkShares, AChangeRunsDownAChainOfBottlenecks) {
  const std::vector<Route> routes = {{{0, 1}}, {{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{2, 1}}};
  LinkShares shares({3, 5, 7});
  for (std::int32_t transfer = 0; transfer < 4; ++transfer)
    shares.add(transfer, routes[static_cast<std::size_t>(transfer)]);
  (void)shares.update();
  EXPECT_DOUBLE_EQ(shares.rate(1), 1.5);
  EXPECT_DOUBLE_EQ(shares.rate(2), 3.5);
  EXPECT_DOUBLE_EQ(shares.rate(3), 3.5);
  shares.remove(0);
  EXPECT_THAT(sorted(shares.update()), testing::ElementsAre(1, 2, 3));
  EXPECT_DOUBLE_EQ(shares.rate(1), 2.5);
  EXPECT_DOUBLE_EQ(shares.rate(2), 2.5);
  EXPECT_DOUBLE_EQ(shares.rate(3), 4.5);
}

/// Links and transfers under way, with the definition of fairness.
struct Network {
  std::vector<double> capacities;
  std::map<std::int32_t, Route> under_way;

  void expect_fair(const LinkShares& shares) const {
    std::vector<double> carried(capacities.size(), 0), fastest(capacities.size(), 0);
    for (const auto& [number, route] : under_way) {
      for (const auto& [link, times] : route) {
        carried[static_cast<std::size_t>(link)] += times * shares.rate(number);
        fastest[static_cast<std::size_t>(link)] =
            std::max(fastest[static_cast<std::size_t>(link)], shares.rate(number));
      }
    }
    for (std::size_t link = 0; link < carried.size(); ++link)
      ASSERT_LE(carried[link], capacities[link] * (1 + rounding)) << "link " << link;
    for (const auto& [number, route] : under_way) {
      ASSERT_TRUE(std::any_of(route.begin(), route.end(),
                              [&, number = number](const auto& crossing) {
                                const auto link = static_cast<std::size_t>(crossing.link);
                                return carried[link] >= capacities[link] * (1 - rounding) &&
                                       fastest[link] <= shares.rate(number) * (1 + rounding);
                              }))
          << "transfer " << number << " has no bottleneck";
    }
  }
};

// Transfers come and go at random, several at a time, over few links of few capacities, so that they share and tie
// often.
TEST(LinkShares, AreFairAfterEveryChange) {
  std::size_t kept = 0, changed = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return static_cast<std::int32_t>(random() % bound); };
    Network network;
    for (std::int32_t link = 0; link < 3 + below(12); ++link) network.capacities.push_back(1e9 * (1 + below(5)) / 3);
    LinkShares shares(network.capacities);
    for (int round = 0; round < 30; ++round) {
      for (int change = 0; change < 1 + below(3); ++change) {
        const std::int32_t number = below(12);
        if (const auto found = network.under_way.find(number); found != network.under_way.end()) {
          shares.remove(number);
          network.under_way.erase(found);
          continue;
        }
        std::map<std::int32_t, double> times;
        for (std::int32_t hop = 0; hop < 1 + below(4); ++hop) times[below(network.capacities.size())] += 1;
        Route& route = network.under_way[number];
        for (const auto& [link, count] : times) route.push_back({link, count});
        shares.add(number, route);
      }
      std::map<std::int32_t, double> before;
      for (const auto& [number, route] : network.under_way) before[number] = shares.rate(number);
      const std::vector<std::int32_t> told = sorted(shares.update());
      ASSERT_NO_FATAL_FAILURE(network.expect_fair(shares)) << "seed " << seed << " round " << round;
      std::vector<std::int32_t> moved;
      for (const auto& [number, rate] : before) {
        if (rate != shares.rate(number)) moved.push_back(number);
      }
      ASSERT_EQ(told, moved) << "seed " << seed << " round " << round;
      changed += moved.size();
      kept += before.size() - moved.size();
    }
  }
  EXPECT_GT(kept, changed / 4) << "the cases leave something as it was";
}

}  // namespace
}  // namespace lockstep::test
