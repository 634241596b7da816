// What the links carry, counted member by member: nobody can gather, scatter or exchange with fewer bytes,
// and no byte is carried twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "tests/unit/collectives/small_groups.hpp"

namespace lockstep::test {
namespace {

const Bytes v(48'000'000);

/// Calls `visit` with the coordinates of every member of the group.
void for_all_members(const collectives::Dimensions& dimensions,
                     const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> at(dimensions.size(), 0);
  for (int i = 0; i < collectives::members(dimensions); ++i) {
    visit(at);
    for (std::size_t d = 0; d < at.size() && ++at[d] == dimensions[d].members; ++d) at[d] = 0;
  }
}

using LinkBytes = double (*)(const collectives::Phase&, const collectives::Dimensions&, int, int, int);

double all_links(LinkBytes bytes, const collectives::Phase& phase, const collectives::Dimensions& dimensions,
                 const std::vector<int>& at) {
  double sum = 0;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    for (const int direction : {+1, -1}) sum += bytes(phase, dimensions, d, direction, at[static_cast<std::size_t>(d)]);
  }
  return sum;
}

// Each member lacks N-1 of the N shards: V (N-1)/N arrive over its links, no more and no less.
TEST(CollectiveTraffic, AllGatherBringsEveryMemberWhatItLacks) {
  for (const auto& dimensions : many_groups()) {
    const double n = collectives::members(dimensions);
    const double lacking = static_cast<double>(v.value()) * (n - 1) / n;
    const auto phase = collectives::plan(workloads::CollectiveKind::all_gather, dimensions, v)[0];
    for_all_members(dimensions, [&](const auto& at) {
      ASSERT_NEAR(all_links(arriving, phase, dimensions, at), lacking, 1e-9 * lacking) << describe(dimensions);
    });
  }
}

// The mirror image: each member sends its parts of the N-1 shards that others own.
TEST(CollectiveTraffic, ReduceScatterTakesFromEveryMemberWhatOthersOwn) {
  for (const auto& dimensions : many_groups()) {
    const double n = collectives::members(dimensions);
    const double others = static_cast<double>(v.value()) * (n - 1) / n;
    const auto phase = collectives::plan(workloads::CollectiveKind::reduce_scatter, dimensions, v)[0];
    for_all_members(dimensions, [&](const auto& at) {
      ASSERT_NEAR(all_links(leaving, phase, dimensions, at), others, 1e-9 * others) << describe(dimensions);
    });
  }
}

// On a line the shards below a hop go up through it and those above go down: counted one by one.
TEST(CollectiveTraffic, AllGatherAlongALineHopByHop) {
  for (const int x : {2, 3, 7}) {
    const collectives::Dimensions dimensions{line(x)};
    const auto phase = collectives::plan(workloads::CollectiveKind::all_gather, dimensions, v)[0];
    for (int hop = 0; hop + 1 < x; ++hop) {
      double up = 0;
      double down = 0;
      for (int owner = 0; owner < x; ++owner) (owner <= hop ? up : down) += static_cast<double>(v.value()) / x;
      EXPECT_NEAR(leaving(phase, dimensions, 0, +1, hop), up, 1e-6);
      EXPECT_NEAR(leaving(phase, dimensions, 0, -1, hop + 1), down, 1e-6);
    }
  }
}

/// Every pair's chunk of V/N^2, routed dimension by dimension the shorter way; a tie is split in half.
/// Returns the bytes on the links along dimension d, by direction (0 up, 1 down), position, averaged over its rings.
std::vector<std::vector<double>> routed(const collectives::Dimensions& dimensions, std::size_t d) {
  const int x = dimensions[d].members;
  const double n = collectives::members(dimensions);
  std::vector<std::vector<double>> bytes(2, std::vector<double>(static_cast<std::size_t>(x), 0.0));
  for_all_members(dimensions, [&](const auto& from) {
    for_all_members(dimensions, [&](const auto& to) {
      const double chunk = static_cast<double>(v.value()) / n / n / (n / x);
      const int up = (to[d] - from[d] + x) % x;
      double share_up = up * 2 < x ? 1 : up * 2 == x ? 0.5 : 0;
      if (dimensions[d].shape == Shape::line) share_up = to[d] > from[d] ? 1 : 0;
      for (int i = 0, at = from[d]; at != to[d] && i < x; ++i, at = (at + 1) % x)
        bytes[0][static_cast<std::size_t>(at)] += chunk * share_up;
      for (int i = 0, at = from[d]; at != to[d] && i < x; ++i, at = (at + x - 1) % x)
        bytes[1][static_cast<std::size_t>(at)] += chunk * (1 - share_up);
    });
  });
  return bytes;
}

TEST(CollectiveTraffic, AllToAllIsEveryPairsRoute) {
  for (const auto& dimensions :
       {collectives::Dimensions{ring(4)}, collectives::Dimensions{ring(5)}, collectives::Dimensions{line(4)},
        collectives::Dimensions{line(5)}, collectives::Dimensions{ring(4), ring(3)},
        collectives::Dimensions{ring(4), line(3)}, collectives::Dimensions{line(2), ring(5), line(3)}}) {
    const auto phase = collectives::plan(workloads::CollectiveKind::all_to_all, dimensions, v)[0];
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const auto expected = routed(dimensions, d);
      for (int at = 0; at < dimensions[d].members; ++at) {
        const auto i = static_cast<std::size_t>(at);
        EXPECT_NEAR(leaving(phase, dimensions, static_cast<int>(d), +1, at), expected[0][i], 1e-3)
            << describe(dimensions) << " up from " << at;
        EXPECT_NEAR(leaving(phase, dimensions, static_cast<int>(d), -1, at), expected[1][i], 1e-3)
            << describe(dimensions) << " down from " << at;
      }
    }
  }
}

// Member 0 has all; everyone else must receive V, wherever on rings and lines it is. A reduce is the mirror image.
TEST(CollectiveTraffic, BroadcastBringsTheWholeArray) {
  for (const auto& dimensions : many_groups()) {
    const auto broadcast = collectives::plan(workloads::CollectiveKind::broadcast, dimensions, v)[0];
    const auto reduce = collectives::plan(workloads::CollectiveKind::reduce, dimensions, v)[0];
    for_all_members(dimensions, [&](const auto& at) {
      if (std::all_of(at.begin(), at.end(), [](int place) { return place == 0; })) return;
      ASSERT_NEAR(all_links(arriving, broadcast, dimensions, at), static_cast<double>(v.value()), 1e-3)
          << describe(dimensions);
      ASSERT_NEAR(all_links(leaving, reduce, dimensions, at), static_cast<double>(v.value()), 1e-3)
          << describe(dimensions);
    });
  }
}

// A shift: everyone sends V to the next, and nothing else moves.
TEST(CollectiveTraffic, ShiftLoadsOneDirectionOfTheFirstDimension) {
  const collectives::Dimensions dimensions{ring(4), line(3)};
  const auto phase = collectives::plan(workloads::CollectiveKind::point_to_point, dimensions, v)[0];
  for_all_members(dimensions, [&](const auto& at) {
    EXPECT_DOUBLE_EQ(leaving(phase, dimensions, 0, +1, at[0]), static_cast<double>(v.value()));
    EXPECT_DOUBLE_EQ(all_links(leaving, phase, dimensions, at), static_cast<double>(v.value()));
  });
}

}  // namespace
}  // namespace lockstep::test
