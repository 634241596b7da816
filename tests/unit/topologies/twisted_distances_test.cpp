// Twisted tori against their definition: a chip at (x, y, z) has the neighbours one step along each axis, where a step
// past the end of an axis of k chips also leads on by k along each axis of 2k, and one past the end of an axis of 2k
// leads to its start. Every distance, cut and automorphism below follows from that table of neighbours, which is made
// here without the cluster's links.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/cluster/twisted_torus.hpp"

namespace lockstep::test {
namespace {

using Shape = std::vector<int>;
using topologies::DeviceId;

/// k x k x 2k and k x 2k x 2k of at most 128 chips, in every order of the axes: 2k^3 <= 128 for k up to 4, 4k^3 <= 128
/// for k up to 3. Axes of 2 do not close, so k is 3 or more.
std::vector<Shape> small_shapes() {
  std::vector<Shape> shapes;
  for (const int k : {3, 4}) {
    for (Shape shape : {Shape{k, k, 2 * k}, Shape{k, 2 * k, 2 * k}}) {
      if (shape[0] * shape[1] * shape[2] > 128) continue;
      do {
        shapes.push_back(shape);
      } while (std::next_permutation(shape.begin(), shape.end()));
    }
  }
  return shapes;
}

topologies::Cluster twisted(const Shape& shape) { return topologies::build_torus({chip(always), shape, {}, true}); }

Shape step(const Shape& shape, Shape at, std::size_t axis, int direction) {
  const int k = *std::min_element(shape.begin(), shape.end());
  at[axis] += direction;
  if (at[axis] >= 0 && at[axis] < shape[axis]) return at;
  at[axis] -= direction * shape[axis];
  for (std::size_t other = 0; shape[axis] == k && other < shape.size(); ++other) {
    if (shape[other] == 2 * k) at[other] = (at[other] + k) % (2 * k);
  }
  return at;
}

/// By chip, its neighbours along each axis forward and back.
using Neighbours = std::vector<std::vector<DeviceId>>;

Neighbours neighbours_of(const topologies::Cluster& cluster, const Shape& shape) {
  Neighbours next(position_of(cluster.devices()));
  for (DeviceId from = 0; from < cluster.devices(); ++from) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (const int direction : {1, -1})
        next[position_of(from)].push_back(cluster.device_at(step(shape, cluster.coordinates(from), axis, direction)));
    }
  }
  return next;
}

std::vector<int> distances(const Neighbours& next, DeviceId from) {
  std::vector<int> hops(next.size(), -1);
  std::deque<DeviceId> reached{from};
  hops[position_of(from)] = 0;
  for (; !reached.empty(); reached.pop_front()) {
    for (const auto to : next[position_of(reached.front())]) {
      if (hops[position_of(to)] >= 0) continue;
      hops[position_of(to)] = hops[position_of(reached.front())] + 1;
      reached.push_back(to);
    }
  }
  return hops;
}

std::string text(const Shape& shape) { return topologies::slice_text({chip(always), shape, {}, true}); }

// 3 orders each of 3x3x6, 3x6x6 and 4x4x8. The links are those of the definition.
TEST(TwistedDistances, LinksAreThoseOfTheDefinition) {
  ASSERT_EQ(small_shapes().size(), 9U);
  for (const auto& shape : small_shapes()) {
    const auto cluster = twisted(shape);
    for (DeviceId from = 0; from < cluster.devices(); ++from) {
      for (topologies::AxisId axis = 0; axis < 3; ++axis) {
        for (const int direction : {1, -1}) {
          const auto link = cluster.neighbour_link(from, axis, direction);
          ASSERT_GE(link, 0);
          EXPECT_EQ(cluster.coordinates(cluster.link(link).to),
                    step(shape, cluster.coordinates(from), position_of(axis), direction))
              << text(shape) << ", chip " << from << ", axis " << axis;
        }
      }
    }
  }
}

// |route(a, b)| = |shortest_hops(a, b)| = the distance by breadth-first search, for all pairs of all shapes; a route is
// a chain of links from a to b.
TEST(TwistedDistances, RoutesAreAsLongAsTheSearchSays) {
  std::int64_t pairs = 0;
  for (const auto& shape : small_shapes()) {
    const auto cluster = twisted(shape);
    const auto next = neighbours_of(cluster, shape);
    for (DeviceId from = 0; from < cluster.devices(); ++from) {
      const auto hops = distances(next, from);
      for (DeviceId to = 0; to < cluster.devices(); ++to, ++pairs) {
        const auto route = cluster.route(from, to);
        ASSERT_EQ(std::ssize(route), hops[position_of(to)]) << text(shape) << ": " << from << " to " << to;
        auto at = from;
        for (const auto link : route) {
          ASSERT_EQ(cluster.link(link).from, at);
          at = cluster.link(link).to;
        }
        ASSERT_EQ(at, to);
        const auto way = shortest_hops(cluster, from, to);
        ASSERT_EQ(std::accumulate(way.begin(), way.end(), 0, [](int sum, int one) { return sum + std::abs(one); }),
                  hops[position_of(to)]);
      }
    }
  }
  EXPECT_EQ(pairs, 3 * (54 * 54 + 108 * 108 + 128 * 128));
}

// Vertex-transitive: going from chip 0 to chip t by f hops along each axis is an automorphism, since the neighbours are
// those of a lattice's quotient. So the distance from a to a + f is that from 0 to f for every a, and the counts of
// chips by distance are alike seen from all chips.
TEST(TwistedDistances, AllChipsSeeTheSame) {
  for (const auto& shape : small_shapes()) {
    const auto cluster = twisted(shape);
    const auto next = neighbours_of(cluster, shape);
    const auto moved = [&](DeviceId at, const Shape& hops) {
      auto place = cluster.coordinates(at);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        for (int hop = 0; hop < hops[axis]; ++hop) place = step(shape, place, axis, 1);
      }
      return cluster.device_at(place);
    };
    const auto from_0 = distances(next, 0);
    for (DeviceId by = 0; by < cluster.devices(); ++by) {
      const auto hops = cluster.coordinates(by);
      ASSERT_EQ(moved(0, hops), by);
      const auto seen = distances(next, by);
      std::set<DeviceId> images;
      for (DeviceId at = 0; at < cluster.devices(); ++at) {
        const auto image = moved(at, hops);
        images.insert(image);
        ASSERT_EQ(seen[position_of(image)], from_0[position_of(at)]) << text(shape) << " moved by " << by;
        for (std::size_t way = 0; way < 6; ++way) {
          ASSERT_EQ(moved(next[position_of(at)][way], hops), next[position_of(image)][way]);
        }
      }
      ASSERT_EQ(std::ssize(images), cluster.devices());
    }
  }
}

/// Links one way from the lower half of an axis to the upper.
int cut(const topologies::Cluster& cluster, const Shape& shape, std::size_t axis) {
  const auto next = neighbours_of(cluster, shape);
  const auto is_low = [&](DeviceId chip) { return 2 * cluster.coordinates(chip)[axis] < shape[axis]; };
  int links = 0;
  for (DeviceId from = 0; from < cluster.devices(); ++from) {
    for (const auto to : next[position_of(from)]) links += is_low(from) && !is_low(to) ? 1 : 0;
  }
  return links;
}

// Halves of an axis of 2k, by hand. The axis itself has two seams of N / 2k links each. Every closing link of a short
// axis leads from one half to the other: half of the N / k links of each short axis, both directions counted, leave the
// lower half: N / 2k in + and N / 2k in - direction.
// k x k x 2k, N = 2k^3: 2 k^2 + 2 x 2 k^2 = 6 k^2. k x 2k x 2k, N = 4k^3: 4 k^2 + 1 x 4 k^2 = 8 k^2. An even short
// axis keeps its two seams: 2 N / k.
TEST(TwistedDistances, CutsAreThoseByHand) {
  for (const auto& shape : small_shapes()) {
    const auto cluster = twisted(shape);
    const int k = *std::min_element(shape.begin(), shape.end()), chips = cluster.devices();
    const auto shorts = static_cast<int>(std::count(shape.begin(), shape.end(), k));
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 2 * k) {
        EXPECT_EQ(cut(cluster, shape, axis), shorts == 2 ? 6 * k * k : 8 * k * k) << text(shape);
        EXPECT_EQ(cut(cluster, shape, axis), (1 + shorts) * chips / k);
      } else if (k % 2 == 0) {
        EXPECT_EQ(cut(cluster, shape, axis), 2 * chips / k) << text(shape);
      }
    }
  }
}

// A twisted ring's exchange is the mean load: the sum of hops from one chip over the 6 N links; its diameter is the
// hops to the farthest chip. The order of the axes changes neither. The diameter of the plain torus is half of each
// axis, added up; the twist makes it no longer.
TEST(TwistedDistances, ExchangeIsTheMeanOverTheLinks) {
  for (const auto& shape : small_shapes()) {
    const auto cluster = twisted(shape);
    const auto hops = distances(neighbours_of(cluster, shape), 0);
    const auto ring = twisted_ring(cluster, {0, 1, 2});
    EXPECT_DOUBLE_EQ(ring.exchange, std::accumulate(hops.begin(), hops.end(), 0.0) / (6 * cluster.devices()));
    EXPECT_EQ(ring.diameter, *std::max_element(hops.begin(), hops.end()));
    auto sorted = shape;
    std::sort(sorted.begin(), sorted.end());
    const auto other = twisted_ring(twisted(sorted), {0, 1, 2});
    EXPECT_EQ(ring.exchange, other.exchange) << text(shape);
    EXPECT_EQ(ring.diameter, other.diameter) << text(shape);
    int plain = 0;
    for (const int size : shape) plain += size / 2;
    EXPECT_LE(ring.diameter, plain);
  }
}

}  // namespace
}  // namespace lockstep::test
