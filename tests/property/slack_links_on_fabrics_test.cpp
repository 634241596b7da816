// Links that cannot fill shape no rate (docs/models/folding.md): on the networks of the random irregular steps, which
// are tori, trees, rails, dragonflies, crossbars, pods and halls with slow, missing and faster links, the max-min
// shares of flows are the same with the slack links and without them, whichever groups have a collective under way.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "sim/engine/max_min/link_shares.hpp"
#include "sim/program/slack_links.hpp"
#include "tests/property/irregular_steps.hpp"

namespace lockstep {
namespace {

using Route = std::vector<engine::LinkShares::Crossing>;

Route route_of(const collectives::Flow& flow, const program::SomeLinks& left_out) {
  std::map<std::int32_t, double> times;
  for (const auto link : flow.links) {
    if (!left_out[link]) times[link] += 1;
  }
  Route route;
  for (const auto& [link, count] : times) route.push_back({link, count});
  return route;
}

std::vector<double> shares(const program::Program& program, const std::vector<const collectives::Flow*>& flows,
                           const program::SomeLinks& left_out) {
  std::vector<double> capacities;
  for (const auto capacity : program.links) capacities.push_back(capacity.value());
  engine::LinkShares shares(std::move(capacities));
  std::vector<Route> routes;
  for (const auto* flow : flows) routes.push_back(route_of(*flow, left_out));
  for (std::size_t i = 0; i < flows.size(); ++i) shares.add(static_cast<std::int32_t>(i), routes[i]);
  (void)shares.update();
  std::vector<double> rates;
  for (std::size_t i = 0; i < flows.size(); ++i) rates.push_back(shares.rate(static_cast<std::int32_t>(i)));
  return rates;
}

TEST(SlackLinksOnFabrics, LeaveMaxMinSharesAsTheyAre) {
  constexpr int steps = 84, draws = 5;  // every fabric with every irregularity, twice
  std::map<std::string, std::size_t> slack_on, flows_on;
  for (int number = 0; number < steps; ++number) {
    const auto step = test::irregular_step(number);
    SCOPED_TRACE("step " + std::to_string(number) + "\n" + step.text);
    const auto& program = step.program;
    const auto slack = program::slack_links(program);
    const program::SomeLinks none(program.links.size(), false);
    const auto fabric = test::irregular_deal(number).fabric;
    for (const bool one : slack) slack_on[fabric] += one ? 1 : 0;
    std::mt19937_64 random(static_cast<std::uint64_t>(number));
    for (int draw = 0; draw < draws; ++draw) {
      const auto under_way = 20 * (1 + static_cast<std::uint64_t>(draw));  // percent of the groups; at last all
      std::vector<const collectives::Flow*> flows;
      for (const auto& communicator : program.communicators) {
        for (const auto& group : communicator.groups) {
          if (random() % 100 >= under_way) continue;
          for (const auto& flow : group.flows) {
            if (!flow.links.empty()) flows.push_back(&flow);
          }
        }
      }
      flows_on[fabric] += flows.size();
      const auto with = shares(program, flows, none), without = shares(program, flows, slack);
      for (std::size_t flow = 0; flow < flows.size(); ++flow) ASSERT_NEAR(without[flow] / with[flow], 1, 1e-9);
    }
  }
  for (const auto& [fabric, flows] : flows_on) {
    EXPECT_GT(flows, 1000U) << fabric;
    RecordProperty(fabric, std::to_string(slack_on[fabric]) + " slack links, " + std::to_string(flows) + " flows");
  }
  for (const auto* fabric : {"fat_tree", "rail_optimised", "dragonfly", "pods", "halls"})
    EXPECT_GT(slack_on[fabric], 10U) << fabric;
}

}  // namespace
}  // namespace lockstep
