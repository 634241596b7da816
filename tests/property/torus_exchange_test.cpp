// An all-to-all on any part of any torus. Whatever the algorithm, a half of each group that lies below the middle of
// one of its axes sends V/4 to the other half (for odd axes the share of its members), over the links that leave all
// these halves; and all bytes together cross as many links as the members are hops apart. No time is below the larger
// of the two, and none above twice of it: a line inside a ring leaves the other way round unused. In a twisted torus it
// may be three times the bound, since the links of axes that the group does not have help to cross a middle; and half
// as much again where the group has two parts of one axis, which share its links. Cost and engine agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "tests/unit/collectives/network_case.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep::test {
namespace {

using topologies::DeviceId;
using Kind = workloads::CollectiveKind;

constexpr double v = 1 << 30;

struct Slice {
  std::vector<int> shape;
  topologies::WrapRule wrap;
  bool twisted = false;
};

topologies::ClusterSpec spec_of(const Slice& slice) {
  auto made = chip(slice.wrap);
  made.torus->hop_latency = Seconds(0);
  made.pcie.reset();
  made.dcn_per_host.reset();
  topologies::ClusterSpec spec;
  spec.unit = topologies::TorusSpec{made, slice.shape, {}, slice.twisted};
  return spec;
}

/// The part of an axis that a group has: nothing, all of it, its inner half, every second position, or every second
/// pair of neighbours.
enum class Part { none, whole, inner, outer, both };

/// The group's factors of one axis and those of others; nothing if the axis cannot be cut in this way.
std::optional<std::pair<std::vector<topologies::Factor>, std::vector<topologies::Factor>>> cut(topologies::AxisId axis,
                                                                                               int size, Part part) {
  using Factors = std::vector<topologies::Factor>;
  switch (part) {
    case Part::none: return std::pair<Factors, Factors>{{}, {{axis, size, 1}}};
    case Part::whole: return std::pair<Factors, Factors>{{{axis, size, 1}}, {}};
    case Part::inner:
      if (size % 2 != 0 || size == 2) return std::nullopt;
      return std::pair<Factors, Factors>{{{axis, size / 2, 1}}, {{axis, 2, size / 2}}};
    case Part::outer:
      if (size % 2 != 0 || size == 2) return std::nullopt;
      return std::pair<Factors, Factors>{{{axis, size / 2, 2}}, {{axis, 2, 1}}};
    case Part::both:
      if (size % 8 != 0) return std::nullopt;
      return std::pair<Factors, Factors>{{{axis, size / 4, 4}, {axis, 2, 1}}, {{axis, 2, 2}}};
  }
  return std::nullopt;
}

std::vector<std::vector<DeviceId>> devices_of(const NetworkCase& groups) {
  std::vector<std::vector<DeviceId>> devices;
  for (const auto& group : groups.mesh().groups({"group"})) {
    auto& members = devices.emplace_back();
    for (const auto rank : group.members) members.push_back(groups.mesh().device_of(rank));
  }
  return devices;
}

/// What leaves the halves of all groups along one of their factors, over the links that lead out of these.
double time_of_cut(const NetworkCase& groups, const std::vector<std::vector<DeviceId>>& members,
                   const topologies::Factor& factor) {
  const auto& cluster = groups.cluster();
  Indexed<DeviceId, bool> lower(cluster.devices(), false);
  double bytes = 0;
  for (const auto& group : members) {
    double below = 0;
    for (const DeviceId device : group) {
      const int at = cluster.coordinates(device)[position_of(factor.axis)] / factor.stride % factor.size;
      lower[device] = at < factor.size / 2;
      below += lower[device] ? 1 : 0;
    }
    const double n = static_cast<double>(group.size());
    bytes += v * below * (n - below) / (n * n);
  }
  double rate = 0;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (lower[link.from] && !lower[link.to]) rate += link.bandwidth.value();
  }
  return bytes / rate;
}

double time_of_hops(const NetworkCase& groups, const std::vector<std::vector<DeviceId>>& members) {
  const auto& cluster = groups.cluster();
  double bytes = 0, rate = 0;
  for (const auto& group : members) {
    const double n = static_cast<double>(group.size());
    for (const DeviceId from : group) {
      for (const DeviceId to : group)
        bytes += from == to ? 0 : v / (n * n) * static_cast<double>(cluster.route_nodes(from, to).size());
    }
  }
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) rate += cluster.link(id).bandwidth.value();
  return bytes / rate;
}

TEST(TorusExchange, IsNearItsBoundOnEveryPartOfEveryTorus) {
  int compared = 0, tight = 0;
  for (const Slice& slice : {Slice{{8}, always}, Slice{{7}, always}, Slice{{8}, never}, Slice{{4, 4}, never},
                             Slice{{6, 3}, always}, Slice{{3, 5}, never}, Slice{{8, 4}, multiple_of_four},
                             Slice{{6, 6, 4}, multiple_of_four}, Slice{{5, 3, 2}, never}, Slice{{4, 4, 4}, always},
                             Slice{{2, 8, 6}, never}, Slice{{4, 4, 8}, always, true}, Slice{{4, 8, 8}, always, true}}) {
    const auto axes = static_cast<int>(slice.shape.size());
    int combinations = 1;
    for (int axis = 0; axis < axes; ++axis) combinations *= 5;
    for (int combination = 1; combination < combinations; ++combination) {
      topologies::MeshAxis group{"group", {}}, others{"others", {}};
      std::string text;
      bool possible = true, two_parts = false;
      for (int axis = 0, left = combination; axis < axes; ++axis, left /= 5) {
        const int size = slice.shape[position_of(axis)];
        const auto factors = cut(axis, size, static_cast<Part>(left % 5));
        possible = possible && factors;
        if (!possible) break;
        group.factors.insert(group.factors.end(), factors->first.begin(), factors->first.end());
        others.factors.insert(others.factors.end(), factors->second.begin(), factors->second.end());
        two_parts = two_parts || static_cast<Part>(left % 5) == Part::both;
        text += " " + std::to_string(size) + "/" + std::to_string(left % 5);
      }
      if (!possible || group.size() == 1) continue;
      const NetworkCase groups(spec_of(slice), {group, others}, {"group"});
      const auto choice = groups.network().choose(Kind::all_to_all, Bytes(1 << 30));
      const auto members = devices_of(groups);
      double bound = time_of_hops(groups, members);
      for (const auto& factor : group.factors) bound = std::max(bound, time_of_cut(groups, members, factor));
      const double time = groups.shared(choice);
      EXPECT_NEAR(choice.cost.value(), time, 1e-9 * time) << choice.label << " of" << text;
      EXPECT_GE(time, bound * (1 - 1e-9)) << choice.label << " of" << text;
      const double most = (slice.twisted ? 3 : 2) * (two_parts ? 1.5 : 1);
      EXPECT_LE(time, most * bound * (1 + 1e-9)) << choice.label << " of" << text << (slice.twisted ? " twisted" : "");
      ++compared;
      tight += time < 1.001 * bound ? 1 : 0;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(tight, compared / 4);
}

}  // namespace
}  // namespace lockstep::test
