#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

using test::on;
using test::sized;
using testing::HasSubstr;

struct Outcome {
  std::vector<topologies::MeshAxis> axes;
  topologies::PlacementError error;
  int tried = 0;
};

Outcome search(const topologies::Cluster& cluster, const std::vector<topologies::AxisRequest>& requests,
               const std::function<Seconds(const topologies::Mesh&)>& cost) {
  Outcome outcome;
  auto result = place_by_cost(cluster, requests, cost, outcome.tried);
  if (auto* error = std::get_if<topologies::PlacementError>(&result))
    outcome.error = *error;
  else
    outcome.axes = std::get<std::vector<topologies::MeshAxis>>(result);
  return outcome;
}

Seconds indifferent(const topologies::Mesh&) { return Seconds(1); }

/// Prefers that tp closes into one ring of adjacent chips.
Seconds wants_ring_for_tp(const topologies::Mesh& mesh) {
  const topologies::GroupDimensions tp = mesh.dimensions({"tp"});
  const bool ring =
      tp.size() == 1 && tp[0].shape == topologies::GroupDimension::Shape::ring && tp[0].links_per_hop == 1;
  return Seconds(ring ? 1 : 2);
}

/// 4 positions on 8 x 8 x 8 as a product of three factors out of 1, 2, 4:
/// 3 with one factor 4, 3 with two factors 2.
TEST(PlacementSearch, TriesEveryFactorisation) {
  const topologies::Cluster cluster = test::torus({8, 8, 8}, test::always);
  std::set<std::string> seen;
  const Outcome outcome = search(cluster, {sized("tp", 4), sized("dp", 128)}, [&](const topologies::Mesh& mesh) {
    seen.insert(mesh.to_string());
    return Seconds(1);
  });
  EXPECT_EQ(outcome.tried, 6);
  EXPECT_EQ(seen.size(), 6u);
}

TEST(PlacementSearch, KeepsTheCheapest) {
  const topologies::Cluster cluster = test::torus({8, 8}, test::always);
  const Outcome outcome = search(cluster, {sized("tp", 4), sized("dp", 16)}, wants_ring_for_tp);
  EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 2, 1}, {1, 2, 1}}));
  EXPECT_EQ(outcome.axes[1].factors, (std::vector<topologies::Factor>{{0, 4, 2}, {1, 4, 2}}));
  EXPECT_EQ(outcome.tried, 3);
}

TEST(PlacementSearch, TheFirstFoundWinsTies) {
  const topologies::Cluster cluster = test::torus({8, 8}, test::always);
  const Outcome outcome = search(cluster, {sized("tp", 4), sized("dp", 16)}, indifferent);
  EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 4, 1}}));
}

/// Later ones cost less by 2^-52, as sums in another order may.
TEST(PlacementSearch, RoundingBreaksNoTies) {
  const topologies::Cluster cluster = test::torus({8, 8}, test::always);
  double cost = 1;
  const Outcome outcome = search(cluster, {sized("tp", 4), sized("dp", 16)},
                                 [&](const topologies::Mesh&) { return Seconds(cost -= 0x1p-52); });
  EXPECT_EQ(outcome.tried, 3);
  EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 4, 1}}));
}

/// Earlier requests lie innermost: on one axis the first has stride 1.
TEST(PlacementSearch, EarlierRequestsLieInnermost) {
  const topologies::Cluster cluster = test::torus({24}, test::always);
  const Outcome outcome = search(cluster, {sized("a", 2), sized("b", 3), sized("c", 4)}, indifferent);
  EXPECT_EQ(outcome.tried, 1);
  EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 2, 1}}));
  EXPECT_EQ(outcome.axes[1].factors, (std::vector<topologies::Factor>{{0, 3, 2}}));
  EXPECT_EQ(outcome.axes[2].factors, (std::vector<topologies::Factor>{{0, 4, 6}}));
}

TEST(PlacementSearch, HonoursWhatIsPlacedAndFillsTheRemainder) {
  const topologies::Cluster cluster = test::torus({8, 4}, test::always);
  for (const topologies::AxisRequest& dp :
       {on("dp", {"rest"}), sized("dp", 0), topologies::AxisRequest{"dp", 4, {{"rest"}}}}) {
    const Outcome outcome = search(cluster, {dp, sized("cp", 2), on("tp", {"y"})}, indifferent);
    EXPECT_EQ(outcome.tried, 1);
    ASSERT_EQ(outcome.axes.size(), 3u);
    EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 4, 2}}));
    EXPECT_EQ(outcome.axes[1].factors, (std::vector<topologies::Factor>{{0, 2, 1}}));
    EXPECT_EQ(outcome.axes[2].factors, (std::vector<topologies::Factor>{{1, 4, 1}}));
  }
}

TEST(PlacementSearch, WithEverythingPlacedThereIsOneCandidate) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  const Outcome outcome = search(cluster, {on("a", {"x"}), on("b", {"y"})}, indifferent);
  EXPECT_EQ(outcome.tried, 1);
  EXPECT_EQ(outcome.axes.size(), 2u);
}

TEST(PlacementSearch, SizesMustMultiplyToTheChips) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  const Outcome outcome = search(cluster, {sized("a", 4), sized("b", 2)}, indifferent);
  EXPECT_EQ(outcome.error.axis, "b");
  EXPECT_EQ(outcome.error.what, "the axes without a place have 8 positions together but 16 chips are left for them");
  EXPECT_EQ(outcome.error.expected, "sizes that multiply to 16");
  EXPECT_EQ(outcome.tried, 0);
  EXPECT_EQ(search(cluster, {sized("a", 3), sized("b", 0)}, indifferent).error.expected,
            "sizes whose product divides 16");
  EXPECT_THAT(
      search(cluster, {sized("a", 2'000'000'000), sized("b", 2'000'000'000), sized("c", 3)}, indifferent).error.what,
      HasSubstr("have too many positions"));
  EXPECT_EQ(search(cluster, {on("a", {"x"})}, indifferent).error.what, "no axis takes a factor 4 of y");
  EXPECT_EQ(search(cluster, {on("a", {"x"}), topologies::AxisRequest{"b", 8, {{"rest"}}}}, indifferent).error.axis,
            "b");
}

/// Sizes that multiply to the chips always fit, prime by prime: 15 = 3 x 5 and 4 = 2 x 2 on 6 x 10 lie one way.
TEST(PlacementSearch, SizesSplitOverTheAxesByTheirPrimes) {
  const topologies::Cluster cluster = test::torus({6, 10}, test::never);
  const Outcome outcome = search(cluster, {sized("a", 15), sized("b", 4)}, indifferent);
  EXPECT_EQ(outcome.tried, 1);
  EXPECT_EQ(outcome.axes[0].factors, (std::vector<topologies::Factor>{{0, 3, 1}, {1, 5, 1}}));
  EXPECT_EQ(outcome.axes[1].factors, (std::vector<topologies::Factor>{{0, 2, 3}, {1, 2, 5}}));
}

TEST(PlacementSearch, BadRequestsAreErrorsHereToo) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  EXPECT_EQ(search(cluster, {sized("a", 0), sized("b", 0)}, indifferent).error.axis, "b");
  EXPECT_EQ(search(cluster, {sized("a", 4), sized("a", 4)}, indifferent).error.what, "two axes have this name");
  EXPECT_THAT(search(cluster, {on("a", {"q"}), sized("b", 4)}, indifferent).error.what, HasSubstr("`q`"));
  EXPECT_EQ(search(cluster, {topologies::AxisRequest{"a", 2, {{"x"}}}, sized("b", 4)}, indifferent).error.axis, "a");
}

/// Eleven axes of 2 on 16 x 16 x 8: 11! / (4! 4! 3!) = 11 550 ways, more than anyone wants to wait for.
TEST(PlacementSearch, GivesUpOnHopelesslyManyCandidates) {
  const topologies::Cluster cluster = test::torus({16, 16, 8}, test::always);
  std::vector<topologies::AxisRequest> requests;
  for (char letter = 'a'; letter < 'l'; ++letter) requests.push_back(sized(std::string(1, letter), 2));
  const Outcome outcome = search(cluster, requests, indifferent);
  EXPECT_EQ(outcome.error.axis, "a");
  EXPECT_THAT(outcome.error.what, HasSubstr("placements are possible"));
}

}  // namespace
}  // namespace lockstep
